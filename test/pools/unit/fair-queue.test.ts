import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Caller } from '../../../src/core/kit/callers.js';
import { FairLane, type LaneTask } from '../../../src/workers/threads/fair-lane.js';
import { FairQueue } from '../../../src/workers/threads/fair-queue.js';

/** Classes of callers take turns in a queue by weight, the callers of a class one after the other. */

const keyed = (id: string): Caller => ({ class: 'keyed', id });
const anonymous = (id: string): Caller => ({ class: 'anonymous', id });
const background: Caller = { class: 'background', id: 'server' };
const task = (caller: Caller, name = '', heavy = false) => ({ caller, name, heavy });
type Task = ReturnType<typeof task>;

function drained(queue: FairQueue<Task>): string[] {
  const names: string[] = [];
  for (let next = queue.next(); next; next = queue.next()) names.push(next.name);
  return names;
}

describe('turns', () => {
  it('gives the callers of a class one turn after the other', () => {
    const queue = new FairQueue<Task>();
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.push(task(anonymous(name[0]!), name));
    expect(drained(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  });

  it('gives classes turns by weight, and starves none', () => {
    const queue = new FairQueue<Task>();
    for (let i = 0; i < 70; i++) {
      queue.push(task(keyed('k'), 'k'));
      queue.push(task(anonymous('a'), 'a'));
      queue.push(task(background, 'b'));
    }
    const first = drained(queue).slice(0, 70);
    const count = (name: string) => first.filter((one) => one === name).length;
    expect([count('k'), count('a'), count('b')]).toEqual([40, 20, 10]);
  });

  it('lets a task that may start pass one that may not', () => {
    const queue = new FairQueue<Task>();
    queue.push(task(anonymous('a'), 'heavy', true));
    queue.push(task(anonymous('a'), 'light'));
    expect(queue.next(({ heavy }) => !heavy)?.name).toBe('light');
    expect(queue.next(({ heavy }) => !heavy)).toBeUndefined();
    expect(queue.size).toBe(1);
  });

  it('knows how many go before one more of a caller', () => {
    const queue = new FairQueue<Task>();
    for (let i = 0; i < 100; i++) queue.push(task(anonymous('flood')));
    for (let i = 0; i < 3; i++) queue.push(task(anonymous('other')));
    expect(queue.ahead(anonymous('flood'))).toBe(103);
    expect(queue.ahead(anonymous('new'))).toBe(2);
    expect(queue.ahead(anonymous('other'))).toBe(7);
    expect(queue.ahead(keyed('k'))).toBe(0);
  });
});

describe('a full queue', () => {
  const full = () => {
    const queue = new FairQueue<Task>();
    for (let i = 0; i < 5; i++) queue.push(task(anonymous('flood'), `f${i}`));
    queue.push(task(anonymous('other'), 'o'));
    queue.push(task(background, 'b'));
    return queue;
  };

  it('takes the place of the newest task of the caller that has the most', () => {
    expect(full().displaced(anonymous('new'))?.name).toBe('f4');
    expect(full().displaced(keyed('k'))?.name).toBe('f4');
  });

  it('takes none from those who have no more than the caller would have, nor from the server', () => {
    expect(full().displaced(anonymous('flood'))).toBeUndefined();
    const queue = new FairQueue<Task>();
    queue.push(task(keyed('k')));
    queue.push(task(background));
    expect(queue.displaced(anonymous('a'))).toBeUndefined();
    expect(queue.displaced(keyed('l'))).toBeUndefined();
    expect(queue.displaced(background)).toBeUndefined();
  });

  it('has room for background work', () => {
    const queue = full();
    expect(queue.hasRoom(anonymous('new'), 6)).toBe(false);
    expect(queue.hasRoom(anonymous('new'), 7)).toBe(true);
    expect(queue.hasRoom(background, 6)).toBe(true);
  });

  it('takes none whose response has begun', () => {
    const queue = new FairQueue<Task & { begun: boolean }>();
    for (const name of ['1', '2', '3']) queue.push({ ...task(anonymous('a'), name), begun: name === '3' });
    expect(queue.displaced(anonymous('b'))?.name).toBe('2');
  });
});

describe('seats', () => {
  const lane = () => new FairLane<LaneTask & { name: string }>({ common: 2, reserved: 1, heavy: 1 });
  const started = (from: ReturnType<typeof lane>) => {
    const all: (LaneTask & { name: string })[] = [];
    for (let next = from.next(); next; next = from.next()) all.push(next.task);
    return all;
  };

  it('keeps one for callers with a key', () => {
    const seats = lane();
    for (const name of ['a1', 'a2', 'a3']) seats.queue.push(task(anonymous('a'), name));
    const [first] = started(seats);
    expect(seats.queue.size).toBe(1);
    seats.queue.push(task(keyed('k'), 'k1'));
    seats.queue.push(task(keyed('k'), 'k2'));
    expect(started(seats).map(({ name }) => name)).toEqual(['k1']);
    // A seat of everyone is free again: the reserved one does not count for it.
    seats.ended(first!);
    expect(started(seats)).toHaveLength(1);
    expect(seats.queue.size).toBe(1);
  });

  it('does not keep the seats of everyone from the others while the reserved one is taken', () => {
    const seats = lane();
    seats.queue.push(task(anonymous('a'), 'a1'));
    seats.queue.push(task(anonymous('a'), 'a2'));
    const [first] = started(seats);
    seats.queue.push(task(keyed('k'), 'k1'));
    started(seats);
    seats.ended(first!);
    seats.queue.push(task(anonymous('a'), 'a3'));
    expect(started(seats).map(({ name }) => name)).toEqual(['a3']);
  });

  it('leaves one to clients while these send requests, and gives all to background work when they do not', () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(10_000);
    onTestFinished(() => clock.mockRestore());
    const seats = lane();
    seats.queue.push(task(anonymous('a'), 'a1'));
    const [client] = started(seats);
    seats.ended(client!);
    for (const name of ['b1', 'b2', 'b3']) seats.queue.push(task(background, name));
    const [first] = started(seats);
    expect(seats.queue.size).toBe(2);
    seats.queue.push(task(anonymous('a'), 'a2'));
    expect(started(seats).map(({ name }) => name)).toEqual(['a2']);
    seats.ended(first!);
    expect(started(seats).map(({ name }) => name)).toEqual(['b2']);
    clock.mockReturnValue(13_000);
    seats.ended({ ...first!, caller: anonymous('a') });
    clock.mockReturnValue(16_000);
    expect(started(seats).map(({ name }) => name)).toEqual(['b3']);
  });

  it('may give callers with a key the reserved one first, where their task is light', () => {
    const seats = new FairLane<LaneTask>({ common: 1, reserved: 1, reservedFirst: true, heavy: 1 });
    const free = (heavy: boolean) => seats.seats.free(task(keyed('k'), '', heavy));
    expect([free(false), free(true)]).toEqual(['reserved', 'common']);
    expect(seats.seats.free(task(anonymous('a')))).toBe('common');
  });

  it('lets heavy tasks take a part of them, and one more of callers with a key', () => {
    const seats = lane();
    for (const name of ['a1', 'a2']) seats.queue.push(task(anonymous(name), name, true));
    expect(started(seats).map(({ name }) => name)).toEqual(['a1']);
    for (const name of ['k1', 'k2']) seats.queue.push(task(keyed('k'), name, true));
    expect(started(seats).map(({ name }) => name)).toEqual(['k1']);
    // A flood of heavy tasks of one key leaves the reserved seat to the others.
    seats.queue.push(task(keyed('other'), 'light'));
    expect(started(seats).map(({ name }) => name)).toEqual(['light']);
  });
});
