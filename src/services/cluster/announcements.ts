import type { Announcement, AnnouncementStore, Topic } from '../../stores/database/announcements.js';

/**
 * Applies announced changes. `all` if missed announcements make the subjects unknown. Can be called twice with the
 * same subjects.
 */
export type Take = (subjects: readonly unknown[] | 'all') => void | Promise<void>;

export interface AnnouncementsOptions {
  readonly store: AnnouncementStore;
  /** Version of the newest announcement before this process read anything of the state. */
  readonly start: number;
  /** Receives the version that this process has applied. */
  applied(version: number): void;
  /** Called if announcements could not be read or applied. They are retried. */
  onError(error: unknown): void;
}

interface Follower {
  readonly take: Take;
  /** Announcements that are not yet applied, oldest first. */
  queue: Announcement[];
  running: boolean;
  /** Whether announcements were missed, so that everything must be read again. */
  reset: boolean;
  /** Whether everything is being read again, because announcements were missed. */
  isResetting: boolean;
}

interface Waiter {
  readonly version: number;
  resolve(): void;
  reject(error: unknown): void;
}

const RETRY_MS = 1000;

/**
 * Applies the announcements of the processes of one state: each in its order, as soon as it arrives, and only once.
 * Topics do not wait for each other.
 */
export class Announcements {
  readonly #options: AnnouncementsOptions;
  readonly #followers = new Map<Topic, Follower>();
  readonly #retries = new Set<NodeJS.Timeout>();
  #waiters: Waiter[] = [];
  /** Version up to which announcements were read, and version up to which they were applied. */
  #read: number;
  #applied: number;
  #reading: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(options: AnnouncementsOptions) {
    this.#options = options;
    this.#read = options.start;
    this.#applied = options.start;
  }

  /** Version up to which this process has applied all announcements. */
  get applied(): number {
    return this.#applied;
  }

  /** Sets a function that applies announcements of a topic, after the earlier functions for the topic. */
  on(topic: Topic, take: Take): void {
    const former = this.#followers.get(topic)?.take;
    const inTurn: Take = async (subjects) => {
      await former?.(subjects);
      await take(subjects);
    };
    this.#followers.set(topic, {
      take: former ? inTurn : take,
      queue: [],
      running: false,
      reset: false,
      isResetting: false,
    });
  }

  /** Starts reading new announcements. */
  look(): void {
    this.#again = true;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
  }

  /** Resolves when this process has applied an announcement. Rejects with the error that prevented it. */
  reached(version: number): Promise<void> {
    if (this.#applied >= version) return Promise.resolve();
    this.look();
    return new Promise((resolve, reject) => this.#waiters.push({ version, resolve, reject }));
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#retries) clearTimeout(timer);
    for (const { reject } of this.#waiters.splice(0)) reject(new Error('the server stops'));
  }

  async #readAll(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      try {
        this.#sort(await this.#options.store.after(this.#read));
      } catch (error) {
        this.#fail(error, Number.POSITIVE_INFINITY);
      }
    }
  }

  #sort(announcements: readonly Announcement[]): void {
    const [first] = announcements;
    if (!first) return;
    const missed = first.version > this.#read + 1;
    this.#read = announcements.at(-1)!.version;
    for (const announcement of announcements)
      this.#followers.get(announcement.topic)?.queue.push(announcement);
    for (const follower of this.#followers.values()) {
      follower.reset ||= missed;
      void this.#run(follower);
    }
    this.#advance();
  }

  /** Applies announcements one run after another. Announcements that arrived in between are applied together. */
  async #run(follower: Follower): Promise<void> {
    if (follower.running) return;
    follower.running = true;
    while ((follower.queue.length > 0 || follower.reset) && !this.#closed) {
      const { queue, reset } = follower;
      const count = queue.length;
      follower.reset = false;
      follower.isResetting = reset;
      try {
        await follower.take(reset ? 'all' : queue.map(({ subject }) => subject));
        follower.isResetting = false;
        follower.queue = follower.queue.slice(count);
        this.#advance();
      } catch (error) {
        follower.reset ||= reset;
        follower.isResetting = false;
        this.#fail(error, queue.at(-1)?.version ?? this.#read);
        this.#retry(follower);
        break;
      }
    }
    follower.running = false;
  }

  #retry(follower: Follower): void {
    if (this.#closed) return;
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      void this.#run(follower);
    }, RETRY_MS).unref();
    this.#retries.add(timer);
  }

  #advance(): void {
    // The topics of missed versions are unknown. A follower that reads everything again can therefore be behind in all
    // of them.
    const open = [...this.#followers.values()].flatMap(({ queue, reset, isResetting }) =>
      reset || isResetting ? [this.#applied] : queue[0] ? [queue[0].version - 1] : [],
    );
    const applied = Math.min(this.#read, ...open);
    if (applied <= this.#applied) return;
    this.#applied = applied;
    this.#options.applied(applied);
    const reached = this.#waiters.filter(({ version }) => version <= applied);
    this.#waiters = this.#waiters.filter(({ version }) => version > applied);
    for (const { resolve } of reached) resolve();
  }

  /** Rejects the waiters of failed announcements, so that they do not wait for another attempt. */
  #fail(error: unknown, version: number): void {
    this.#options.onError(error);
    const failed = this.#waiters.filter((one) => one.version <= version);
    this.#waiters = this.#waiters.filter((one) => one.version > version);
    for (const { reject } of failed) reject(error);
  }
}
