import { createHash } from 'node:crypto';
import type { FeatureEvent } from '../../core/edits/edits.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type { Caller } from '../../core/kit/callers.js';
import type { EventSource, EventsResult, FeedEntry, Retention } from '../../core/streams/events.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { FeedStore, NewEntry, OutboxPosition } from '../../stores/streams/feed.js';
import { Turns } from '../kit/turns.js';
import type { Notices } from '../notices/notices.js';
import * as metrics from '../telemetry/event-metrics.js';
import type { Log } from '../telemetry/log.js';

/** A store that is published, with its outbox. */
export interface Outbox {
  /** Names the store in the state database: a path, or a URL without passwords. */
  readonly key: string;
  readonly source: EventSource;
  /** Cursor of the last event that the published collections know of. */
  readonly start: number;
  readonly collections: readonly string[];
  /** The collections of each table, under the name that events give it. */
  readonly tables: ReadonlyMap<string, readonly PublishedTable[]>;
  /** Ids of the collections of other tables and views that show rows of a table, by its name. */
  readonly readers: ReadonlyMap<string, readonly string[]>;
}

export interface PublishedTable {
  readonly id: string;
  readonly layerId: number;
  /** See `rowImage`. */
  readonly image: string;
}

export interface RelayOptions {
  pools: Pools;
  store: FeedStore;
  /** Name of this process among the processes that share the state database. */
  instance: string;
  log: Log;
  /** Retention of the feed. */
  retention: Retention;
  notices: Notices;
  /** Called with what was appended to the feed, in order. */
  appended(entries: readonly FeedEntry[]): void;
}

interface OutboxEntry {
  outbox: Outbox;
  position: OutboxPosition | undefined;
  claimedAt: number;
  running: boolean;
  again: boolean;
  failures: number;
  /** Start of the present failures, in milliseconds of `performance.now()`. */
  failingSince: number | undefined;
  timer: NodeJS.Timeout | undefined;
}

const BATCH = 500;
/** Many stores that wake together take turns with other work of the server. */
const RELAY: Caller = { class: 'background', id: 'relay' };
/**
 * Milliseconds of a lease. Other processes check after a third of it, so another one has it within 15 seconds of its
 * holder's end.
 */
const LEASE_MS = 10_000;
/**
 * Maximum number of files whose outboxes are read at the same time. A start wakes all outboxes, and its queries of
 * the state database must not wait behind all of their queries.
 */
const MAX_FILES = 8;
const MAX_BACKOFF_MS = 15_000;
/** Milliseconds between log lines about captures of one table that fail. */
const UNCAPTURED_LOG_MS = 60_000;
/** Number of consecutive failures after which operators are alerted. */
const ALERT_FAILURES = 5;

/**
 * Moves events from the outboxes of the stores into the feed. One process at a time reads each outbox and has its
 * lease. Another process resumes at the same position when the lease expires, or immediately if the process is known
 * to have ended. Position and entries change together, so each event is in the feed once.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #outboxes = new Map<string, OutboxEntry>();
  /** When a failed capture was logged last, by store and table. */
  readonly #uncaptured = new Map<string, number>();
  readonly #fileTurns = new Turns(MAX_FILES);
  #closed = false;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** Adds these outboxes, or changes their tables, and removes the outboxes with these keys. */
  change(outboxes: readonly Outbox[], removed: readonly string[]): void {
    for (const key of removed) {
      clearTimeout(this.#outboxes.get(key)?.timer);
      this.#outboxes.delete(key);
    }
    for (const outbox of outboxes) {
      const current = this.#outboxes.get(outbox.key);
      const isSame = current !== undefined && hasSameTables(current.outbox, outbox);
      if (current) current.outbox = outbox;
      else this.#outboxes.set(outbox.key, newEntry(outbox));
      // A change of the catalog concerns few stores.
      if (!isSame) this.wake(outbox.key);
    }
  }

  /** Reads new events of a store now. */
  wake(key: string): void {
    const current = this.#outboxes.get(key);
    if (!current || this.#closed) return;
    current.again = true;
    if (current.running) return;
    current.running = true;
    clearTimeout(current.timer);
    void this.#runInTurn(current).finally(() => {
      current.running = false;
    });
  }

  /**
   * Runs an outbox. Databases do not wait for turns, because a database that does not respond would occupy its turn
   * for long.
   */
  async #runInTurn(entry: OutboxEntry): Promise<void> {
    if (entry.outbox.source.path === undefined) return this.#run(entry);
    const giveBack = await this.#fileTurns.take();
    try {
      // The source can be removed while its outbox waits.
      if (this.#outboxes.get(entry.outbox.key) === entry) await this.#run(entry);
    } finally {
      giveBack();
    }
  }

  /** Milliseconds for which events of each store could not be moved. 0 without failures. */
  status(): { name: string; failingMs: number }[] {
    const now = performance.now();
    return [...this.#outboxes.values()].map(({ outbox, failingSince }) => ({
      name: outbox.key,
      failingMs: failingSince === undefined ? 0 : now - failingSince,
    }));
  }

  async close(): Promise<void> {
    this.#closed = true;
    const { store, instance } = this.#options;
    const claims = [...this.#outboxes.values()].filter(({ position }) => position);
    for (const { timer } of this.#outboxes.values()) clearTimeout(timer);
    await Promise.all(claims.map(({ outbox }) => store.release(outbox.key, instance).catch(() => {})));
  }

  async #run(claim: OutboxEntry): Promise<void> {
    try {
      while (claim.again && !this.#closed) {
        claim.again = false;
        if (await this.#isQuiet(claim)) continue;
        if (!(await this.#claim(claim))) this.#later(claim, LEASE_MS / 3);
        else if (await this.#take(claim)) claim.again = true;
      }
      // Also where another process takes them over: then it is that one's to fail.
      claim.failures = 0;
      claim.failingSince = undefined;
    } catch (error) {
      if (this.#closed) return;
      metrics.outboxFailed.cell().inc();
      claim.failingSince ??= performance.now();
      const backoff = Math.min(500 * 2 ** claim.failures++, MAX_BACKOFF_MS);
      const reason = error instanceof TaskFailure ? (error.cause_ ?? error.message) : String(error);
      this.#options.log.write('feed.store.failed', {
        Store: claim.outbox.key,
        Error: reason,
      });
      if (claim.failures === ALERT_FAILURES) this.#tellFailing(claim.outbox.key, reason);
      this.#later(claim, backoff);
    }
  }

  #tellFailing(subject: string, reason: string): void {
    const message = `The events of a store could not be read ${ALERT_FAILURES} times: ${reason}`;
    this.#options.notices.notify({ kind: 'delivery-failing', severity: 'error', subject, message });
  }

  #later(claim: OutboxEntry, ms: number): void {
    clearTimeout(claim.timer);
    claim.timer = setTimeout(() => this.wake(claim.outbox.key), ms).unref();
  }

  /** Whether the outbox is unchanged since this process read it. Then it needs no lease. */
  async #isQuiet(entry: OutboxEntry): Promise<boolean> {
    const { position, outbox } = entry;
    if (!position || isHeld(entry)) return false;
    const read = await this.#read(outbox, position);
    return continued(position, read, outbox.collections).entries.length === 0;
  }

  #read(outbox: Outbox, position: OutboxPosition): Promise<EventsResult> {
    const from = position.eventId === null ? position.cursor + 1 : position.cursor;
    const task = { source: outbox.source, from, limit: BATCH };
    return this.#options.pools.run('vector.events', task, { caller: RELAY });
  }

  /** Holds the lease, or prolongs it in time; false while another process has it. */
  async #claim(entry: OutboxEntry): Promise<boolean> {
    if (isHeld(entry)) return true;
    const { store, instance } = this.#options;
    const { key, start } = entry.outbox;
    const began = performance.now();
    const claim = await store.claim(key, instance, start, LEASE_MS);
    if (claim?.takenOver) metrics.outboxRecovered.cell().inc();
    entry.claimedAt = began;
    // If the lease never expired, the position in memory is valid.
    if (!claim || !entry.position || claim.cursor !== entry.position.cursor) entry.position = claim;
    return claim !== undefined;
  }

  /** Why edits of other programs could not be captured: the first reason of a table in each minute. */
  #logUncaptured({ key }: Outbox, { events, gaps = [] }: EventsResult): void {
    for (const { cursor, table, attributes } of events) {
      if (attributes === undefined || !gaps.includes(cursor)) continue;
      const name = `${key} ${table}`;
      const now = performance.now();
      if (now - (this.#uncaptured.get(name) ?? -Infinity) < UNCAPTURED_LOG_MS) continue;
      this.#uncaptured.set(name, now);
      const { error } = JSON.parse(attributes) as { error: string };
      this.#options.log.write('database.capture.lost', { Store: key, Table: table, Error: error });
    }
  }

  /** Moves one batch into the feed. Returns true if there can be more. */
  async #take(claim: OutboxEntry): Promise<boolean> {
    const { store, instance } = this.#options;
    const { outbox } = claim;
    const position = claim.position!;
    const read = await this.#read(outbox, position);
    const { entries: page, next } = continued(position, read, outbox.collections);
    if (page.length === 0) return false;
    const more = read.events.length === BATCH;
    this.#logUncaptured(outbox, read);
    const entries = page.flatMap((entry, i) => [
      ...(endsEdit(entry, page[i + 1]) ? readersGap(entry, outbox) : []),
      ...published(entry, outbox, read.gaps),
    ]);
    const last = entries.at(-1);
    if (last?.kind === 'event' && !more) entries[entries.length - 1] = { ...last, ends: true };
    const first = await store.append(outbox.key, instance, entries, next, this.#options.retention);
    if (first === undefined) {
      claim.position = undefined;
      return true;
    }
    claim.position = next;
    metrics.outboxDispatched.cell().inc(read.events.length);
    const numbered = entries.map((entry, i) => ({ ...entry, cursor: first + i }) as FeedEntry);
    if (numbered.length > 0) this.#options.appended(numbered);
    return more;
  }
}

/** Whether the lease is valid for long enough to write under it. */
function isHeld({ position, claimedAt }: OutboxEntry): boolean {
  return position !== undefined && performance.now() - claimedAt < LEASE_MS / 3;
}

function hasSameTables(one: Outbox, other: Outbox): boolean {
  const { collections } = other;
  return (
    one.start === other.start &&
    one.collections.length === collections.length &&
    one.collections.every((id, i) => id === collections[i])
  );
}

function newEntry(outbox: Outbox): OutboxEntry {
  return {
    outbox,
    position: undefined,
    claimedAt: 0,
    running: false,
    again: false,
    failures: 0,
    failingSince: undefined,
    timer: undefined,
  };
}

/**
 * The events of an entry under the names of this server, because another server can publish the table under other
 * names. A table that is published several times has an event for each layer. Layers that show the rows in another
 * form receive a gap instead. Empty if this server does not publish the table.
 */
function published(entry: NewEntry, { tables }: Outbox, gaps: readonly number[] = []): NewEntry[] {
  if (entry.kind === 'gap') return [entry];
  const { event } = entry;
  const here = tables.get(event.table) ?? [];
  if (here.length === 0) return [];
  if (gaps.includes(event.cursor)) return [gapAt(event, here)];
  const own = here.find(({ id }) => id === event.collection);
  const isCaptured = event.protocol === CAPTURED;
  const same = isCaptured
    ? here.filter(({ image }) => image === event.collection)
    : here.filter(({ image }) => image === (own ?? here[0])!.image);
  // Each form of the rows is captured separately, unless another server publishes the table in other forms.
  if (isCaptured && same.length === 0) return [gapAt(event, here)];
  const others = isCaptured ? [] : here.filter((one) => !same.includes(one));
  if (!isCaptured && !own && others.length > 0) return [gapAt(event, here)];
  const first = own ?? same[0];
  return [
    ...(others.length > 0 ? [gapAt(event, others)] : []),
    ...same.map((one): NewEntry => ({ kind: 'event', event: renamed(event, one, one === first) })),
  ];
}

/** Name of edits by other programs in events. */
const CAPTURED = 'Database';

const gapAt = ({ time, cursor }: FeatureEvent, layers: readonly PublishedTable[]): NewEntry => ({
  kind: 'gap',
  time,
  outboxCursor: cursor,
  collections: layers.map(({ id }) => id),
});

/** The gap of the collections that show rows of the edited table too, once for each edit. */
function readersGap(entry: NewEntry, { readers }: Outbox): NewEntry[] {
  if (entry.kind === 'gap') return [];
  const { table, time, cursor } = entry.event;
  const collections = readers.get(table) ?? [];
  return collections.length > 0 ? [{ kind: 'gap', collections, time, outboxCursor: cursor }] : [];
}

/** Whether this is the last entry of an edit in the same table. */
function endsEdit(entry: NewEntry, next: NewEntry | undefined): boolean {
  if (entry.kind === 'gap' || next?.kind !== 'event') return true;
  return next.event.requestId !== entry.event.requestId || next.event.table !== entry.event.table;
}

/** The event of a layer. Events of further layers have separate ids, which are always the same. */
function renamed(event: FeatureEvent, { id, layerId }: PublishedTable, isFirst: boolean): FeatureEvent {
  if (isFirst && event.collection === id && event.layerId === layerId) return event;
  const eventId = isFirst ? event.eventId : deriveId(event.eventId, id);
  return { ...event, eventId, collection: id, layerId };
}

/** A UUID of version 8 (RFC 9562). */
function deriveId(eventId: string, collection: string): string {
  const bytes = createHash('sha256').update(`${eventId} ${collection}`).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * Entries after a position in an outbox. If the event at the position is missing, events may have been trimmed
 * unread, or the store was replaced. Then the feed gets a gap.
 */
function continued(
  position: OutboxPosition,
  { events, newest }: EventsResult,
  collections: readonly string[],
): { entries: NewEntry[]; next: OutboxPosition } {
  const gap: NewEntry = { kind: 'gap', collections, time: new Date().toISOString() };
  const [first] = events;
  const isContinued = position.eventId !== null && first?.cursor === position.cursor;
  if (newest < position.cursor || (isContinued && first.eventId !== position.eventId)) {
    // Another outbox: its earlier events are not sent, later ones are.
    return { entries: [gap], next: { cursor: newest, eventId: null } };
  }
  const fresh = isContinued ? events.slice(1) : events;
  const last = fresh.at(-1);
  if (!last) return { entries: [], next: position };
  const entries: NewEntry[] = fresh.map((event) => ({ kind: 'event', event }));
  if (!isContinued && fresh[0]!.cursor !== position.cursor + 1) entries.unshift(gap);
  return { entries, next: { cursor: last.cursor, eventId: last.eventId } };
}
