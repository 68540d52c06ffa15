import { BACKGROUND, type Caller, type CallerClass } from '../../core/kit/callers.js';
import { FairQueue, type Waiter } from './fair-queue.js';
import { Pace } from './pace.js';
import { type Seat, type SeatOptions, Seats, type Sitter } from './seats.js';

/** A task that waits in a lane, and takes a seat of it while it runs. */
export interface LaneTask extends Waiter, Sitter {
  /** Called when it gets a seat. From then on `heavy` stays the same. */
  start?(): void;
}

/** The queue of a lane, its seats, and the pace of each class of callers. */
export class FairLane<T extends LaneTask> {
  readonly queue = new FairQueue<T>();
  readonly seats: Seats;
  readonly #paces: Readonly<Record<CallerClass, Pace>> = {
    keyed: new Pace(),
    anonymous: new Pace(),
    background: new Pace(),
  };

  constructor(
    options: SeatOptions,
    /** A further reason for which a task has to wait. */
    private readonly mayStart: (task: T) => boolean = () => true,
  ) {
    this.seats = new Seats(options);
  }

  /** Milliseconds that one more task of a caller would wait. */
  waitMs(caller: Caller = BACKGROUND): number {
    return this.#paces[caller.class].waitMs(this.queue.ahead(caller));
  }

  /** Whether a task can start, or wait in addition to at most `maxRequests` requests. */
  hasRoom(task: Sitter, maxRequests: number): boolean {
    return this.seats.free(task) !== undefined || this.queue.hasRoom(task.caller, maxRequests);
  }

  /** Takes out the task that starts next, and seats it. */
  next(): { task: T; seat: Seat } | undefined {
    if (this.queue.size === 0) return undefined;
    const task = this.queue.next(
      (one) => this.mayStart(one) && this.seats.free(one) !== undefined,
      (name) => this.seats.hasSeat(name),
    );
    if (!task) return undefined;
    task.start?.();
    const seat = this.seats.free(task) ?? 'common';
    this.seats.sit(task, seat);
    return { task, seat };
  }

  ended(task: T): void {
    this.seats.leave(task);
    const { class: name } = task.caller;
    this.#paces[name].ended(this.queue.sizeOf(name));
  }
}
