import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiError } from '../../../src/core/errors/errors.js';
import { JobEngine } from '../../../src/services/jobs/engine.js';
import type { JobContext, JobKind, PartContext, PartState } from '../../../src/services/jobs/kinds.js';
import { JobParts } from '../../../src/stores/jobs/job-parts.js';
import { describeStates, type TemporaryState } from '../../support/state.js';

const LEASE_MS = 1500;
const HOUR_MS = 3_600_000;

describeStates('a divided job', (temporary) => {
  let t: TemporaryState;
  let engines: JobEngine[];
  let errors: unknown[];
  beforeEach(async () => {
    t = await temporary();
    errors = [];
    engines = [];
  });
  afterEach(async () => {
    await Promise.all(engines.map((engine) => engine.stop()));
    await t.close();
  });

  interface Work {
    count?: number;
    tell?(states: readonly PartState[]): void;
    doPart(context: PartContext<never>, server: number): Promise<unknown>;
    /** Of the run that divides. */
    before?(context: JobContext<never>, server: number): Promise<void>;
    cleanup?: JobKind<never>['cleanup'];
    leaseMs?: number;
    /** Nobody looks again by a clock: what is not told is not known within the time of a test. */
    isTold?: boolean;
  }

  /** As many servers as are asked for, that share the work. */
  async function serve(
    servers: number,
    { count = 20, tell = () => {}, leaseMs = LEASE_MS, isTold, ...work }: Work,
  ) {
    for (let i = 0; i < servers; i++) {
      const state = i === 0 ? t.state : await t.again();
      const engine = new JobEngine(state.jobs, {
        leaseMs: isTold ? HOUR_MS : leaseMs,
        pollMs: isTold ? HOUR_MS : 30,
        onError: (error) => errors.push(error),
      });
      engine.register<never, unknown>({
        kind: 'k',
        title: 'K',
        console: 'Geoprocessing',
        operationType: 9,
        resumable: true,
        maxAttempts: 10,
        async run(context) {
          await work.before?.(context, i);
          return context.divide(
            Array.from({ length: count }, (_, n) => ({ n })),
            tell,
          );
        },
        doPart: (context) => work.doPart(context, i),
        ...(work.cleanup ? { cleanup: work.cleanup } : {}),
      });
      engine.start();
      engines.push(engine);
    }
  }
  const submit = async () => (await engines[0]!.submit('k', { factor: 3 }, { owner: 'me' })).job.id;
  const numberOf = ({ part }: PartContext<never>) => (part as { n: number }).n;

  it('is done by all servers, each part once, and has the results in order', async () => {
    const done: [number, number][] = [];
    const serversWorking = new Set<number>();
    await serve(3, {
      ...{ count: 30, leaseMs: HOUR_MS },
      async doPart(context, server) {
        done.push([numberOf(context), server]);
        serversWorking.add(server);
        // Each server does one part at a time: nobody ends one before all have begun one.
        while (serversWorking.size < 3) await sleep(10);
        return numberOf(context) * (context.input as { factor: number }).factor;
      },
    });
    const job = await engines[0]!.finished(await submit());
    const thirty = Array.from({ length: 30 }, (_, n) => n);
    expect(job).toMatchObject({ state: 'Succeeded', result_json: JSON.stringify(thirty.map((n) => n * 3)) });
    expect(done.map(([n]) => n).toSorted((a, b) => a - b)).toEqual(thirty);
    expect(await new JobParts(t.state.jobs.db, 'x').since(job.id, 0)).toEqual([]);
    expect(errors).toEqual([]);
  });

  it('shows what its parts tell while they run', async () => {
    const sums: number[] = [];
    let goOn = false;
    await serve(2, {
      count: 2,
      tell: (states) => sums.push(states.reduce((sum, { progress }) => sum + ((progress as number) ?? 0), 0)),
      async doPart(context) {
        while (!goOn) {
          context.progress(5);
          await sleep(20);
        }
      },
    });
    const id = await submit();
    await vi.waitFor(() => expect(sums.at(-1)).toBe(10), 20_000);
    goOn = true;
    expect(await engines[0]!.finished(id)).toMatchObject({ state: 'Succeeded', result_json: '[null,null]' });
  });

  it('of no parts is done at once', async () => {
    await serve(1, { count: 0, doPart: async () => 1 });
    expect(await engines[0]!.finished(await submit())).toMatchObject({
      state: 'Succeeded',
      result_json: '[]',
    });
  });

  it('does a part again, perhaps elsewhere, that failed, and fails with the reason of one that goes on failing', async () => {
    const attempts = new Map<number, number>();
    let bad = 3;
    const doPart = async (context: PartContext<never>) => {
      const n = numberOf(context);
      attempts.set(n, (attempts.get(n) ?? 0) + 1);
      if (n === bad && attempts.get(n)! < 3) throw new ApiError('unavailable', 'Not now.');
      if (n === 7 && bad === 7) throw new ApiError('unprocessable', 'The tile is bad.');
    };
    await serve(2, { doPart });
    expect((await engines[0]!.finished(await submit())).state).toBe('Succeeded');
    expect(attempts.get(3)).toBe(3);
    bad = 7;
    attempts.clear();
    const job = await engines[0]!.finished(await submit());
    expect(job).toMatchObject({
      state: 'Failed',
      failure_code: 'unprocessable',
      failure_message: 'The tile is bad.',
    });
    expect(attempts.get(7)).toBe(3);
    expect(errors).toEqual([]);
  });

  it('ends everywhere when it is cancelled, before it is cleaned up', async () => {
    let working = 0;
    let atCleanup: number | undefined;
    await serve(3, {
      async doPart({ signal }) {
        working++;
        try {
          await sleep(60_000, undefined, { signal });
        } finally {
          await sleep(200);
          working--;
        }
      },
      cleanup: async () => {
        atCleanup = working;
      },
    });
    const id = await submit();
    await vi.waitFor(() => expect(working).toBe(3), 20_000);
    await engines[1]!.cancel(id);
    expect(await engines[0]!.finished(id)).toMatchObject({ state: 'Cancelled' });
    expect(atCleanup).toBe(0);
  });

  it('tells all servers its end, which no clock brings', async () => {
    let working = 0;
    let end = () => {};
    const both = new Promise<void>((resolve) => {
      end = resolve;
    });
    await serve(2, {
      ...{ isTold: true, count: 6 },
      async doPart(context) {
        working++;
        if (working === 2) end();
        await both;
        return numberOf(context);
      },
    });
    const id = await submit();
    const ends = await Promise.all(engines.map((engine) => engine.finished(id)));
    expect(ends.map(({ state, result_json }) => [state, result_json])).toEqual([
      ['Succeeded', '[0,1,2,3,4,5]'],
      ['Succeeded', '[0,1,2,3,4,5]'],
    ]);
  });

  it('tells all servers that it is cancelled, which no clock brings', async () => {
    let working = 0;
    await serve(2, {
      isTold: true,
      async doPart({ signal }) {
        working++;
        await once(signal, 'abort');
        working--;
        signal.throwIfAborted();
      },
    });
    const id = await submit();
    await vi.waitFor(() => expect(working).toBe(2), 20_000);
    await engines[1]!.cancel(id);
    const ends = await Promise.all(engines.map((engine) => engine.finished(id)));
    expect(ends.map(({ state }) => state)).toEqual(['Cancelled', 'Cancelled']);
    expect(working).toBe(0);
  });

  it('fails everywhere with the part that fails, which no clock brings', async () => {
    let working = 0;
    await serve(2, {
      ...{ isTold: true, count: 2 },
      async doPart({ signal, ...context }) {
        if ((context.part as { n: number }).n === 1) {
          await vi.waitFor(() => expect(working).toBe(1), 20_000);
          throw new ApiError('unprocessable', 'The tile is bad.');
        }
        working++;
        await once(signal, 'abort');
        working--;
      },
    });
    const job = await engines[0]!.finished(await submit());
    expect(job).toMatchObject({ state: 'Failed', failure_message: 'The tile is bad.' });
    expect(working).toBe(0);
  });

  it('goes on with the parts that are left when the server that divided it stops', async () => {
    const done: number[] = [];
    const dividers: number[] = [];
    await serve(3, {
      before: async (_, server) => void dividers.push(server),
      async doPart(context) {
        await sleep(60, undefined, { signal: context.signal });
        done.push(numberOf(context));
      },
    });
    const id = await submit();
    await vi.waitFor(() => expect(done.length).toBeGreaterThan(5), 20_000);
    const [divider] = dividers;
    await engines[divider!]!.stop();
    const other = engines[(divider! + 1) % 3]!;
    expect(await other.finished(id)).toMatchObject({ state: 'Succeeded', attempt: 1 });
    expect(dividers).toHaveLength(2);
    expect(done.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  it('fails when a part has ended the process of ten runs', async () => {
    const doPart = vi.fn(async () => {
      // As if the process had ended in the midst of the tenth run.
      const { db } = t.state.jobs;
      await db.updateTable('job_parts').set({ attempt: 10, lease_owner: null }).execute();
      throw new Error('gone');
    });
    await serve(1, { count: 1, doPart });
    expect(await engines[0]!.finished(await submit())).toMatchObject({
      state: 'Failed',
      failure_code: 'worker-lost',
    });
    expect(doPart).toHaveBeenCalledOnce();
  });

  it('has a part done by others whose server is silent, and takes no result of that server for it', async () => {
    const silent = new JobParts((await t.again()).jobs.db, 'elsewhere:1:x');
    const done: number[] = [];
    let taken: number | undefined;
    await serve(1, {
      count: 3,
      async doPart(context) {
        await vi.waitFor(() => expect(taken).toBeDefined(), 20_000);
        done.push(numberOf(context));
        return 'server 0';
      },
    });
    const id = await submit();
    await vi.waitFor(async () => {
      const claim = await silent.claim({ kinds: ['k'], anywhere: [], leaseMs: 300 });
      expect(claim).toMatchObject({ part: { attempt: 1 } });
      taken = claim!.part.ordinal;
    }, 20_000);
    await vi.waitFor(() => expect(done).toContain(taken), 20_000);
    expect(await silent.finish(id, taken!, 'late')).toBe(false);
    expect(await silent.beat(id, taken!, LEASE_MS, 1)).toBe(false);
    expect(await engines[0]!.finished(id)).toMatchObject({
      state: 'Succeeded',
      result_json: '["server 0","server 0","server 0"]',
    });
    expect(done.toSorted()).toEqual([0, 1, 2]);
  });
});
