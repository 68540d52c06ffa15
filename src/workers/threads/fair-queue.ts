import { CALLER_CLASSES, type Caller, type CallerClass } from '../../core/kit/callers.js';

/** Something that waits for a place, on behalf of a caller. */
export interface Waiter {
  readonly caller: Caller;
  /** Whether its response has started, so that it keeps its place in the queue. */
  readonly begun?: boolean;
}

/** Relative number of turns of each class while the other classes also wait. */
const WEIGHTS: Readonly<Record<CallerClass, number>> = { keyed: 4, anonymous: 2, background: 1 };

/** Background tasks that may wait: more than any server has, and few enough for its memory. */
const MAX_BACKGROUND = 100_000;

/** The waiters of one class, by caller. The caller whose turn is next comes first. */
class ClassQueue<T extends Waiter> {
  readonly #callers = new Map<string, T[]>();
  /** Turns that the class is owed, in smooth weighted round robin. */
  credit = 0;
  size = 0;

  push(waiter: T): void {
    const { id } = waiter.caller;
    const waiting = this.#callers.get(id);
    if (waiting) waiting.push(waiter);
    else this.#callers.set(id, [waiter]);
    this.size++;
  }

  remove(waiter: T): boolean {
    const { id } = waiter.caller;
    const waiting = this.#callers.get(id) ?? [];
    const place = waiting.indexOf(waiter);
    if (place < 0) return false;
    waiting.splice(place, 1);
    if (waiting.length === 0) this.#callers.delete(id);
    this.size--;
    return true;
  }

  /** The first waiter that may start, in the order of the callers' turns. */
  find(mayStart: (waiter: T) => boolean): T | undefined {
    for (const waiting of this.#callers.values()) {
      const found = waiting.find(mayStart);
      if (found) return found;
    }
    return undefined;
  }

  /** Removes a waiter and moves its caller behind the other callers. */
  take(waiter: T): void {
    this.remove(waiter);
    const { id } = waiter.caller;
    const rest = this.#callers.get(id);
    if (!rest) return;
    this.#callers.delete(id);
    this.#callers.set(id, rest);
  }

  /** Waiters that go before one more of this caller. */
  ahead(id: string): number {
    const own = this.#callers.get(id)?.length ?? 0;
    let ahead = own;
    for (const [other, { length }] of this.#callers) if (other !== id) ahead += Math.min(length, own + 1);
    return ahead;
  }

  sizeOf(id: string): number {
    return this.#callers.get(id)?.length ?? 0;
  }

  /** Returns the newest waiter of the caller with the most waiters, if it has more than `than`. */
  longest(than: number): T | undefined {
    let longest: T[] | undefined;
    for (const waiting of this.#callers.values())
      if (waiting.length > Math.max(than, longest?.length ?? 0)) longest = waiting;
    return longest?.findLast(({ begun }) => !begun);
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const waiting of this.#callers.values()) yield* waiting;
  }
}

/**
 * A queue in which classes of callers take turns by weight, and the callers of a class one after the other. The waiters of
 * one caller start in the order in which they came, except that one which may not start yet lets the next one pass.
 */
export class FairQueue<T extends Waiter> {
  readonly #classes: Readonly<Record<CallerClass, ClassQueue<T>>> = {
    keyed: new ClassQueue(),
    anonymous: new ClassQueue(),
    background: new ClassQueue(),
  };

  get size(): number {
    return this.#classes.keyed.size + this.#classes.anonymous.size + this.#classes.background.size;
  }

  /** Waiters that are requests of clients. */
  get requests(): number {
    return this.#classes.keyed.size + this.#classes.anonymous.size;
  }

  /**
   * Whether one more waiter of a caller fits, in addition to at most `maxRequests` requests. Background work waits as
   * long as necessary: a job does not fail because of many client requests.
   */
  hasRoom({ class: name }: Caller, maxRequests: number): boolean {
    return name === 'background'
      ? this.#classes.background.size < MAX_BACKGROUND
      : this.requests < maxRequests;
  }

  push(waiter: T): void {
    this.#classes[waiter.caller.class].push(waiter);
  }

  /** False when it is not in the queue. */
  remove(waiter: T): boolean {
    return this.#classes[waiter.caller.class].remove(waiter);
  }

  /** Removes and returns the next waiter that can start. Waiters of a class without a free place are skipped. */
  next(
    mayStart: (waiter: T) => boolean = () => true,
    hasPlace: (name: CallerClass) => boolean = () => true,
  ): T | undefined {
    let chosen: { queue: ClassQueue<T>; waiter: T } | undefined;
    let weights = 0;
    for (const name of CALLER_CLASSES) {
      const queue = this.#classes[name];
      const waiter = queue.size > 0 && hasPlace(name) ? queue.find(mayStart) : undefined;
      if (!waiter) continue;
      weights += WEIGHTS[name];
      queue.credit += WEIGHTS[name];
      if (!chosen || queue.credit > chosen.queue.credit) chosen = { queue, waiter };
    }
    if (!chosen) return undefined;
    chosen.queue.credit -= weights;
    chosen.queue.take(chosen.waiter);
    return chosen.waiter;
  }

  /** Waiters of its class that go before one more of this caller. */
  ahead(caller: Caller): number {
    return this.#classes[caller.class].ahead(caller.id);
  }

  /** Waiters of a class. */
  sizeOf(name: CallerClass): number {
    return this.#classes[name].size;
  }

  /**
   * Returns the waiter that is displaced by one more waiter of this caller in a full queue. It belongs to the caller
   * of the same class with the most waiters or, for a keyed caller, to an anonymous caller. Undefined if no caller
   * would have more waiters than this one.
   */
  displaced(caller: Caller): T | undefined {
    const { anonymous, [caller.class]: own } = this.#classes;
    const stranger = caller.class === 'keyed' ? anonymous.longest(0) : undefined;
    return stranger ?? own.longest(own.sizeOf(caller.id) + 1);
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const name of CALLER_CLASSES) yield* this.#classes[name];
  }
}
