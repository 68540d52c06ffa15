import { type Insertable, type Selectable, sql } from 'kysely';
import { EPOCH_SIZE, type FeedEntry, type Retention, USUAL_RETENTION } from '../../core/streams/events.js';
import { STREAM_LIMITS } from '../../core/streams/limits.js';
import { isHeldByAnother } from '../database/instance.js';
import { getSignals, signalOthers } from '../database/signals.js';
import type { StateDb } from '../schema/database.js';
import type { FeedTable } from '../schema/schema.js';
import { getVocabulary } from '../schema/vocabulary.js';

/** An entry without its cursor. */
export type NewEntry = {
  [K in FeedEntry['kind']]: Omit<Extract<FeedEntry, { kind: K }>, 'cursor'>;
}[FeedEntry['kind']];

/** Position up to which an outbox was moved into the feed. */
export interface OutboxPosition {
  readonly cursor: number;
  /** Id of the event at that cursor, which shows whether the outbox is still the same. Null before the first. */
  readonly eventId: string | null;
}

export interface FeedBounds {
  /** Cursor of the oldest stored entry. `newest` plus 1 if there is none. */
  readonly oldest: number;
  /** Cursor of the newest entry that was ever appended. */
  readonly newest: number;
}

/** Selection of entries. Times are milliseconds since 1970, inclusive. */
export interface FeedPageQuery {
  readonly after: number;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
}

/** Entries inserted by one statement. */
const CHUNK = 500;

/**
 * The feed: events of all outboxes under one cursor, and the position in each outbox. Both change in one transaction.
 * The instance with the lease of an outbox reads it.
 */
export class FeedStore {
  constructor(private readonly db: StateDb) {}

  /**
   * Leases an outbox, or prolongs the lease. Undefined while another instance has it, unless that instance is known
   * to have ended. A new outbox starts after `start`.
   */
  claim(source: string, instance: string, start: number, leaseMs: number) {
    return this.db.transaction().execute(async (db) => {
      const { now, forUpdate } = getVocabulary(db);
      const lease = { owner: instance, lease_expires_at: sql<number>`${now()} + ${leaseMs}` };
      const find = () =>
        forUpdate(db.selectFrom('outboxes').selectAll().where('source', '=', source))
          .select(sql<number>`lease_expires_at - ${now()}`.as('left_ms'))
          .executeTakeFirst();
      let last = await find();
      if (!last) {
        const { numInsertedOrUpdatedRows } = await db
          .insertInto('outboxes')
          .values({ source, cursor: start, event_id: null, ...lease })
          .onConflict((c) => c.doNothing())
          .executeTakeFirst();
        if (numInsertedOrUpdatedRows) return { cursor: start, eventId: null, takenOver: false };
        // Another server was quicker.
        last = (await find())!;
      }
      if (isHeldByAnother(last, instance)) return undefined;
      await db.updateTable('outboxes').set(lease).where('source', '=', source).execute();
      return {
        cursor: last.cursor,
        eventId: last.event_id,
        takenOver: last.owner !== null && last.owner !== instance,
      };
    });
  }

  /** Lets another instance take the outbox immediately. */
  async release(source: string, instance: string): Promise<void> {
    await this.db
      .updateTable('outboxes')
      .set({ owner: null, lease_expires_at: 0 })
      .where('source', '=', source)
      .where('owner', '=', instance)
      .execute();
  }

  /**
   * Appends entries of an outbox, and stores its position. Deletes entries by count and by the time of their insertion.
   * Returns the cursor of the first entry, or undefined if another instance has the lease.
   */
  append(
    source: string,
    instance: string,
    entries: readonly NewEntry[],
    last: OutboxPosition,
    { count, ageMs }: Retention = USUAL_RETENTION,
  ): Promise<number | undefined> {
    return this.db.transaction().execute(async (db) => {
      const moved = await db
        .updateTable('outboxes')
        .set({ cursor: last.cursor, event_id: last.eventId })
        .where('source', '=', source)
        .where('owner', '=', instance)
        .executeTakeFirst();
      if (moved.numUpdatedRows === 0n) return undefined;
      const first = await getVocabulary(db).takeCursors(db, entries.length);
      const rows = entries.map((entry, i) => buildRow(entry, first + i));
      for (let i = 0; i < rows.length; i += CHUNK)
        await db
          .insertInto('feed')
          .values(rows.slice(i, i + CHUNK))
          .execute();
      const newest = first + entries.length - 1;
      await db
        .deleteFrom('feed')
        .where((w) => w.or([w('cursor', '<=', newest - count), w('at', '<', Date.now() - ageMs)]))
        .execute();
      await signalOthers(db, 'feed');
      return first;
    });
  }

  /** Calls the listener when another process may have appended entries. Returns a function that stops this. */
  follow(listener: () => void): () => void {
    return getSignals(this.db).on('feed', listener);
  }

  /** Entries after a cursor, oldest first. */
  async after(cursor: number, limit: number): Promise<FeedEntry[]> {
    const rows = await this.db
      .selectFrom('feed')
      .selectAll()
      .where('cursor', '>', cursor)
      .orderBy('cursor')
      .limit(limit)
      .execute();
    return rows.map(parseEntry);
  }

  /**
   * A page of entries after a cursor, oldest first. `from` and `to` (milliseconds, inclusive) select by the times of
   * the edits. `more` is true if the limit or the maximum of bytes ended the page. The first entry always fits.
   */
  async page({ after, from, to, limit }: FeedPageQuery): Promise<{ entries: FeedEntry[]; more: boolean }> {
    const { entryTime } = getVocabulary(this.db);
    const { rows } = await sql<Selectable<FeedTable> & { page_size: number }>`
      WITH page AS (
        SELECT cursor, length(entry_json) AS size FROM feed
        WHERE cursor > ${after}
          AND ${entryTime} BETWEEN ${chooseIso(from, '')} AND ${chooseIso(to, '~')}
        ORDER BY cursor LIMIT ${limit + 1}),
      sized AS (
        SELECT cursor, sum(size) OVER (ORDER BY cursor) - size AS before, row_number() OVER (ORDER BY cursor) AS position
        FROM page)
      SELECT feed.*, (SELECT count(*) FROM page) AS page_size FROM sized JOIN feed USING (cursor)
      WHERE position <= ${limit} AND before < ${STREAM_LIMITS.replayBytes} ORDER BY cursor
    `.execute(this.db);
    return { entries: rows.map(parseEntry), more: rows.length < (rows[0]?.page_size ?? 0) };
  }

  /** Cursor up to which an outbox was moved into the feed. Undefined before the first move. */
  async positionOf(source: string): Promise<number | undefined> {
    const row = await this.db
      .selectFrom('outboxes')
      .select('cursor')
      .where('source', '=', source)
      .executeTakeFirst();
    return row?.cursor;
  }

  bounds(): Promise<FeedBounds> {
    return boundsIn(this.db);
  }
}

/** The newest cursor that was ever assigned. */
export async function readNewestCursor(db: StateDb): Promise<number> {
  const { rows } = await sql<{ newest: number }>`SELECT ${getVocabulary(db).newestCursor} AS newest`.execute(
    db,
  );
  return rows[0]!.newest;
}

async function boundsIn(db: StateDb): Promise<FeedBounds> {
  const { rows } = await sql<{ oldest: number | null; newest: number }>`
    SELECT (SELECT min(cursor) FROM feed) AS oldest, ${getVocabulary(db).newestCursor} AS newest
  `.execute(db);
  const { oldest, newest } = rows[0]!;
  return { oldest: oldest ?? newest + 1, newest };
}

/** A time in the format of events. `fallback` is a string that sorts before or after all times. */
function chooseIso(time: number | undefined, fallback: string): string {
  return time === undefined ? fallback : new Date(time).toISOString();
}

function buildRow(entry: NewEntry, cursor: number): Insertable<FeedTable> {
  const collection = entry.kind === 'event' ? entry.event.collection : null;
  return { cursor, at: Date.now(), collection, entry_json: JSON.stringify(entry) };
}

function parseEntry({ cursor, entry_json }: Selectable<FeedTable>): FeedEntry {
  return { ...(JSON.parse(entry_json) as NewEntry), cursor } as FeedEntry;
}

/**
 * First cursor of a new feed: the start of a random epoch between 1 and 2^20 - 1. The server thereby detects clients with
 * a cursor of an earlier feed.
 */
export function firstCursor(): number {
  return (1 + Math.floor(Math.random() * (2 ** 20 - 1))) * EPOCH_SIZE;
}
