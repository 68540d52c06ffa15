import type { Announcement, AnnouncementStore, Topic } from '../../stores/database/announcements.js';

/** Takes what was announced over; `all` when too much was missed to say what. May be told the same twice. */
export type Take = (subjects: readonly unknown[] | 'all') => void | Promise<void>;

export interface AnnouncementsOptions {
  readonly store: AnnouncementStore;
  /** Version of the newest announcement before this process read anything of the state. */
  readonly start: number;
  /** Told how far this process has come. */
  applied(version: number): void;
  /** What was announced could not be read, or taken over; it is tried again. */
  onError(error: unknown): void;
}

interface Follower {
  readonly take: Take;
  /** Announcements that are not taken over yet, oldest first. */
  queue: Announcement[];
  running: boolean;
  /** What was missed is not known. */
  reset: boolean;
  /** All is read again now, because of what was missed. */
  isResetting: boolean;
}

interface Waiter {
  readonly version: number;
  resolve(): void;
  reject(error: unknown): void;
}

const RETRY_MS = 1000;

/**
 * Takes over what the processes of one state announce: each announcement in its order, once it is there and never
 * again. Topics do not wait for each other.
 */
export class Announcements {
  readonly #options: AnnouncementsOptions;
  readonly #followers = new Map<Topic, Follower>();
  readonly #retries = new Set<NodeJS.Timeout>();
  #waiters: Waiter[] = [];
  /** Version up to which announcements were read, and up to which they are taken over. */
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

  /** Version up to which all announcements are taken over here. */
  get applied(): number {
    return this.#applied;
  }

  /** Says how this process takes announcements of a topic over, after all that was said of the topic before. */
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

  /** Looks for new announcements. */
  look(): void {
    this.#again = true;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
  }

  /** Resolves when an announcement is taken over here; rejects with what kept it from that. */
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

  /** One after the other; what came in between is taken together. */
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
    // Nobody knows which of the missed versions are of the topic of a follower that reads all again.
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

  /** Tells those who wait for what failed: they need not wait for another attempt. */
  #fail(error: unknown, version: number): void {
    this.#options.onError(error);
    const failed = this.#waiters.filter((one) => one.version <= version);
    this.#waiters = this.#waiters.filter((one) => one.version > version);
    for (const { reject } of failed) reject(error);
  }
}
