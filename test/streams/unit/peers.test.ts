import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AnswerNote, AskNote } from '../../../src/core/cluster/notes.js';
import { Peers } from '../../../src/services/cluster/peers.js';

/** As many gateways, each of which hears what the others tell, after a turn of the event loop. */
function gateways(count: number): Peers[] {
  const all: Peers[] = [];
  for (let i = 0; i < count; i++) {
    const tell = (note: AskNote | AnswerNote) =>
      queueMicrotask(() => {
        for (const [j, other] of all.entries()) if (j !== i) other.hear(note);
      });
    const others = Array.from({ length: count }, (_, j) => `gateway ${j}`).filter((_, j) => j !== i);
    all.push(new Peers(`gateway ${i}`, () => others, tell));
  }
  return all;
}

// No time passes unless a test says so: an answer that waits for its end would never come.
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a question to the other gateways', () => {
  it('is answered when the last of them has, and not before', async () => {
    const all = gateways(3);
    for (const [i, one] of all.entries()) one.answer('name', (about) => `${about}${i}`);
    expect(await all[1]!.ask('name', 'g')).toEqual(['g1', 'g0', 'g2']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits a second for who does not answer', async () => {
    const all = gateways(3);
    for (const one of all.slice(0, 2)) one.answer('name', () => 'here');
    let answers: unknown[] | undefined;
    void all[0]!.ask('name').then((them) => (answers = them));
    await vi.advanceTimersByTimeAsync(999);
    expect(answers).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(answers).toEqual(['here', 'here']);
  });

  it('names who does not answer', async () => {
    const all = gateways(4);
    for (const one of all.slice(0, 2)) one.answer('name', () => 'here');
    const gathered = all[1]!.gather('name');
    await vi.advanceTimersByTimeAsync(1000);
    expect(await gathered).toEqual({ answers: ['here', 'here'], missing: ['gateway 2', 'gateway 3'] });
  });

  it('is told apart from another one of the same topic', async () => {
    const all = gateways(2);
    for (const one of all) one.answer('double', (n) => 2 * (n as number));
    expect(await Promise.all([all[0]!.ask('double', 1), all[0]!.ask('double', 5)])).toEqual([
      [2, 2],
      [10, 10],
    ]);
  });

  it('is answered at once where there are no others', async () => {
    const [alone] = gateways(1) as [Peers];
    alone.answer('name', () => 'me');
    expect(await alone.ask('name')).toEqual(['me']);
  });
});
