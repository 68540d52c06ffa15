import { EventEmitter } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';
import type { ToChild } from '../../src/supervisor/messages.js';
import { Reloader } from '../../src/supervisor/reload.js';
import type { SlotChild } from '../../src/supervisor/slot.js';

/** Gateways hear what changed, each change once, and again after a reload that failed. */

afterEach(() => void vi.useRealTimers());

function gateway() {
  const sent: ToChild[] = [];
  const child = { process: new EventEmitter(), send: (message: ToChild) => void sent.push(message) };
  const reloader = new Reloader(() => [child as unknown as SlotChild]);
  const prepared = () => sent.filter((message) => message.type === 'prepare');
  const goOn = () =>
    reloader.receive({ type: 'preparing', round: prepared().at(-1)!.round }, child as unknown as SlotChild);
  const end = async (isOk: boolean) => {
    const { round } = prepared().at(-1)!;
    const outcome = isOk ? { ok: true as const } : { ok: false as const, reason: 'late' };
    reloader.receive({ type: 'prepared', round, ...outcome }, child as unknown as SlotChild);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { reloader, prepared, goOn, end, changes: () => prepared().map((message) => message.changes) };
}

it('takes the changes that come during a reload together', async () => {
  const { reloader, changes, end } = gateway();
  const all = [reloader.reload(['a']), reloader.reload(['b']), reloader.reload(['c'])];
  await end(true);
  await end(true);
  expect(await Promise.all(all)).toEqual(Array(3).fill({ ok: true }));
  expect(changes()).toEqual([['a'], ['b', 'c']]);
});

it('reloads everything if one of them asks for it', async () => {
  const { reloader, changes, end } = gateway();
  const all = [reloader.reload(['a']), reloader.reload(['b']), reloader.reload()];
  await end(true);
  await end(true);
  await Promise.all(all);
  expect(changes()).toEqual([['a'], undefined]);
});

it('repeats what a failed reload was to load', async () => {
  const { reloader, changes, end } = gateway();
  const first = reloader.reload(['a']);
  await end(false);
  expect(await first).toEqual({ ok: false, reason: 'late' });
  const second = reloader.reload(['b']);
  await end(true);
  await second;
  const third = reloader.reload([]);
  await end(true);
  await third;
  expect(changes()).toEqual([['a'], ['a', 'b'], []]);
});

it('waits as long as more is read, and a minute for one source', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { reloader, goOn, end } = gateway();
  const long = reloader.reload(['a']);
  for (let minute = 0; minute < 5; minute += 1) {
    vi.advanceTimersByTime(59_000);
    goOn();
  }
  await end(true);
  expect(await long).toEqual({ ok: true });
  const stuck = reloader.reload(['b']);
  vi.advanceTimersByTime(59_000);
  goOn();
  vi.advanceTimersByTime(60_000);
  expect(await stuck).toEqual({ ok: false, reason: 'a gateway read nothing more for 60 s' });
});
