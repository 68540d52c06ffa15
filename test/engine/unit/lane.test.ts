import { expect, it, vi } from 'vitest';
import { TaskFailure } from '../../../src/core/errors/failure.js';
import { TaskLane } from '../../../src/workers/engine/lane.js';

const lane = (more: Partial<ConstructorParameters<typeof TaskLane>[0]> = {}) =>
  new TaskLane({ name: 'test', concurrency: 1, maxQueue: 2, graceMs: 30, onStuck: () => {}, ...more });

function gate(): { promise: Promise<string>; open: () => void } {
  let open = () => {};
  const promise = new Promise<string>((resolve) => {
    open = () => resolve('done');
  });
  return { promise, open };
}

it('runs as many at once as it may, in order', async () => {
  const two = lane({ concurrency: 2 });
  const gates = [gate(), gate(), gate()];
  const started: number[] = [];
  const runs = gates.map(({ promise }, index) =>
    two.run(() => {
      started.push(index);
      return promise;
    }),
  );
  expect(started).toEqual([0, 1]);
  gates[1]!.open();
  await runs[1];
  await vi.waitFor(() => expect(started).toEqual([0, 1, 2]));
  for (const { open } of gates) open();
  expect(await Promise.all(runs)).toEqual(['done', 'done', 'done']);
  expect([two.running, two.queued]).toEqual([0, 0]);
});

it('refuses one request more than its queue holds, and lets background work wait', async () => {
  const full = lane();
  const { promise, open } = gate();
  const caller = { class: 'anonymous', id: 'a' } as const;
  const runs = [1, 2, 3].map(() => full.run(() => promise, { caller }));
  await expect(full.run(() => promise, { caller })).rejects.toMatchObject({ code: 'queue-full' });
  const later = Array.from({ length: 20 }, () => full.run(() => promise));
  open();
  await Promise.all([...runs, ...later]);
});

it('drops a cancelled task that waits, and never starts it', async () => {
  const { promise, open } = gate();
  const one = lane();
  const first = one.run(() => promise);
  const body = vi.fn(() => promise);
  const abort = new AbortController();
  const second = one.run(body, { signal: abort.signal });
  abort.abort();
  await expect(second).rejects.toMatchObject({ code: 'cancelled' });
  open();
  await first;
  expect(body).not.toHaveBeenCalled();
});

it('answers at once past the deadline but keeps the place until the task ends', async () => {
  const onStuck = vi.fn();
  const one = lane({ onStuck, graceMs: 10_000 });
  const { promise, open } = gate();
  let raised = false;
  const late = one.run(
    async (cancellation) => {
      const result = await promise;
      raised = cancellation.requested;
      return result;
    },
    { deadlineMs: 20 },
  );
  await expect(late).rejects.toMatchObject({ code: 'deadline-exceeded' });
  expect(one.running).toBe(1);
  open();
  await vi.waitFor(() => expect(one.running).toBe(0));
  expect(raised).toBe(true);
  expect(onStuck).not.toHaveBeenCalled();
});

it('reports a task that does not end within the grace period', async () => {
  const onStuck = vi.fn();
  const one = lane({ onStuck });
  const { promise, open } = gate();
  await expect(one.run(() => promise, { deadlineMs: 10 })).rejects.toBeInstanceOf(TaskFailure);
  await vi.waitFor(() => expect(onStuck).toHaveBeenCalledOnce());
  open();
});

it('leaves no listener behind', async () => {
  const abort = new AbortController();
  const remove = vi.spyOn(abort.signal, 'removeEventListener');
  const one = lane({ maxQueue: 100 });
  await Promise.all(Array.from({ length: 20 }, () => one.run(async () => 1, { signal: abort.signal })));
  expect(remove).toHaveBeenCalledTimes(20);
});
