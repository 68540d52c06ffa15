import { randomUUID } from 'node:crypto';
import type { EditOrigin } from '../../../../core/edits/edits.js';
import type Database from '../../../../native/sqlite.js';
import { GAP } from '../../../edits/events.js';
import { eventsKept } from '../../../edits/retention.js';
import type { NewEvent } from '../../../edits/session.js';
import { reader } from '../connection.js';
import type { Writer } from './writer.js';

/**
 * The outbox is in the file that it describes, so that one commit makes a row and its event durable. A file has one
 * writer at a time, so cursors are committed in their order.
 */
const OUTBOX = `CREATE TABLE IF NOT EXISTS graticule_outbox (
  cursor INTEGER PRIMARY KEY AUTOINCREMENT, event_id TEXT NOT NULL UNIQUE, time TEXT NOT NULL,
  collection TEXT NOT NULL, layer_id INTEGER NOT NULL, table_name TEXT NOT NULL, feature_id TEXT NOT NULL,
  operation TEXT NOT NULL, protocol TEXT NOT NULL, request_id TEXT NOT NULL, actor TEXT NOT NULL,
  envelope_before TEXT, envelope_after TEXT, geometry TEXT, attributes TEXT, changed_attributes TEXT NOT NULL,
  geometry_changed INTEGER NOT NULL, geometry_before TEXT, attributes_before TEXT)`;

/**
 * Table with the identity of the file, independent of its path and its rows. A copy has the same identity, and
 * another file that replaces it does not.
 */
const IDENTITY = 'CREATE TABLE IF NOT EXISTS graticule_store (id TEXT NOT NULL)';
const NAME = 'INSERT INTO graticule_store (id) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM graticule_store)';

export function createOutbox(db: Database.Database): void {
  db.exec(OUTBOX);
  db.exec(IDENTITY);
  db.prepare(NAME).run(randomUUID());
}

/** Task `vector.storeId`: null for a file that was never edited by this server. */
export function readStoreId({ path }: { path: string }): string | null {
  const db = reader(path);
  const has = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'graticule_store'").get();
  if (!has) return null;
  return (db.prepare('SELECT id FROM graticule_store').pluck().get() as string | undefined) ?? null;
}

const INSERT = `INSERT INTO graticule_outbox (event_id, time, collection, layer_id, table_name, feature_id, operation,
  protocol, request_id, actor, envelope_before, envelope_after, geometry, attributes, changed_attributes,
  geometry_changed, geometry_before, attributes_before)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/**
 * Deletes events beyond the maximum count, and events that are too old. Old events come first, so only they are read.
 */
const TRIM = `DELETE FROM graticule_outbox WHERE cursor <= ? OR
  cursor < (SELECT cursor FROM graticule_outbox WHERE time >= ? ORDER BY cursor LIMIT 1)`;

/** Writes events in the open transaction and forgets the oldest ones; returns the cursor of the last. */
export function recordEvents(
  writer: Writer,
  table: string,
  origin: EditOrigin,
  events: readonly NewEvent[],
): number {
  writer.keepOutbox();
  const insert = writer.statement(INSERT);
  let cursor = 0;
  for (const event of events)
    cursor = Number(insert.run(...listColumns(table, origin, event)).lastInsertRowid);
  const { count, ageMs } = eventsKept();
  writer.statement(TRIM).run(cursor - count, new Date(Date.now() - ageMs).toISOString());
  return cursor;
}

/** Records that features changed without an event for each; returns the cursor of the gap. */
export function recordGap(writer: Writer, table: string, origin: EditOrigin): number {
  return recordEvents(writer, table, origin, [GAP]);
}

function listColumns(table: string, origin: EditOrigin, event: NewEvent) {
  return [
    randomUUID(),
    new Date().toISOString(),
    origin.collection,
    origin.layerId,
    table,
    event.featureId,
    event.operation,
    origin.protocol,
    origin.requestId,
    origin.actor,
    json(event.envelopeBefore),
    json(event.envelopeAfter),
    event.geometry ?? null,
    event.attributes ?? null,
    JSON.stringify(event.changedAttributes),
    event.geometryChanged ? 1 : 0,
    event.geometryBefore ?? null,
    event.attributesBefore ?? null,
  ];
}

/** Cursor of the newest event of a file; 0 without one. Survives the trimming of all events. */
export function newestCursor(db: Database.Database): number {
  const has = db
    .prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'graticule_outbox'")
    .get();
  if (!has) return 0;
  const sql = "SELECT seq FROM sqlite_sequence WHERE name = 'graticule_outbox'";
  return (db.prepare(sql).pluck().get() as number | undefined) ?? 0;
}

function json(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
