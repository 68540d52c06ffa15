import { randomUUID } from 'node:crypto';
import type { StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';

/** Parts of the state whose changes processes wait for. */
const STATE_PARTS = [
  'announcements',
  'feed',
  'jobs',
  'deliveries',
  'instances',
  'alerts',
  'alert-events',
] as const;
export type StatePart = (typeof STATE_PARTS)[number];

/** Means by which a process detects changes by other processes. */
export type ChangeDetection =
  /** Another connection wrote to the file: the state thread says so, without saying where. */
  | 'file'
  /** PostgreSQL notifies at each commit, while a process listens. */
  | 'notifications';

/** Milliseconds between checks of everything while no notifications arrive. */
const LOOK_MS = 1000;

/**
 * Wakes listeners for changes of the state, so that they need not poll the database. A listener can be called without
 * a change. After a change it is called within a second.
 */
export class StateSignals {
  /** Name of this connection to the state among the notified ones. */
  readonly id = randomUUID();
  readonly #listeners = new Map<StatePart, Set<() => void>>();
  #timer: NodeJS.Timeout | undefined;
  #isHeard: boolean;

  constructor(readonly hearing: ChangeDetection) {
    this.#isHeard = hearing === 'file';
  }

  /** Whether signals of changes by other processes arrive now. */
  get isHeard(): boolean {
    return this.#isHeard;
  }

  /** Calls back after changes of a part of the state. Returns how to stop that. */
  on(part: StatePart, listener: () => void): () => void {
    const listeners = this.#listeners.get(part) ?? new Set();
    this.#listeners.set(part, listeners.add(listener));
    this.#watch();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(part);
      this.#watch();
    };
  }

  wake(part: StatePart): void {
    for (const listener of [...(this.#listeners.get(part) ?? [])]) listener();
  }

  /** Anything may have changed. */
  wakeAll(): void {
    for (const part of [...this.#listeners.keys()]) this.wake(part);
  }

  /** Sets whether notifications arrive from now on. Earlier ones may have been missed. */
  setHeard(isHeard: boolean): void {
    this.#isHeard = isHeard;
    this.#watch();
    if (isHeard) this.wakeAll();
  }

  close(): void {
    this.#listeners.clear();
    this.#watch();
  }

  #watch(): void {
    const isNeeded = !this.#isHeard && this.#listeners.size > 0;
    if (isNeeded) this.#timer ??= setInterval(() => this.wakeAll(), LOOK_MS).unref();
    else {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

/** The signals of the database that a store, or a transaction, works on. */
export function getSignals(db: StateDb): StateSignals {
  return (db.getExecutor().adapter as unknown as { signals: StateSignals }).signals;
}

/** Wakes the other processes once what was written is committed; called in the transaction, or after a statement. */
export async function signalOthers(db: StateDb, part: StatePart): Promise<void> {
  const statement = getVocabulary(db).notify(`${part} ${getSignals(db).id}`);
  if (statement) await db.executeQuery(statement);
}

/**
 * Like `signalOthers`, but also wakes this process. For a file with one connection, the statements of this process
 * wait for the end of the transaction.
 */
export async function signalAll(db: StateDb, part: StatePart): Promise<void> {
  const statement = getVocabulary(db).notify(part);
  if (statement) await db.executeQuery(statement);
  else getSignals(db).wake(part);
}

/** Wakes the listeners for the part of the state in a notification. The sender ignores its own notification. */
export function hearSignal(signals: StateSignals, payload: string): void {
  const [part, sender] = payload.split(' ');
  if (sender === signals.id) return;
  const known = STATE_PARTS.find((one) => one === part);
  if (known) signals.wake(known);
}
