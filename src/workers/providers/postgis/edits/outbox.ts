import { randomUUID } from 'node:crypto';
import type { EditOrigin } from '../../../../core/edits/edits.js';
import { CHANNEL } from '../../../../core/streams/events.js';
import type { PostgresConnection } from '../../../../native/postgres.js';
import { isPgError } from '../../../../native/postgres.js';
import { GAP } from '../../../edits/events.js';
import { eventsKept } from '../../../edits/retention.js';
import { EditRefusal, type NewEvent } from '../../../edits/session.js';
import { SqlParams } from '../connections/params.js';
import { EVENTS_SCHEMA } from '../schema/names.js';

/** Names the lock under which cursors are drawn, in every database: the bytes of `grtcl`. */
export const LOCK = 0x6772746363n;

const OUTBOX = `CREATE TABLE IF NOT EXISTS graticule_events.outbox (
  cursor bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event_id uuid NOT NULL UNIQUE, time timestamptz NOT NULL,
  collection text NOT NULL, layer_id integer NOT NULL, table_name text NOT NULL, feature_id text NOT NULL,
  operation text NOT NULL, protocol text NOT NULL, request_id text NOT NULL, actor text NOT NULL,
  envelope_before json, envelope_after json, geometry json, attributes json, changed_attributes json NOT NULL,
  geometry_changed boolean NOT NULL, geometry_before json, attributes_before json)`;

/** Results of merges, by token. A row without a result belongs to an open transaction. */
const RECEIPTS = `CREATE TABLE IF NOT EXISTS graticule_events.merges (
  token text PRIMARY KEY, answer json, time timestamptz NOT NULL DEFAULT now())`;

const INSUFFICIENT_PRIVILEGE = '42501';

/** Makes the outbox of a database where there is none. Throws an `EditRefusal` when the user may not. */
export function ensureOutbox(connection: PostgresConnection): Promise<void> {
  return ensureTable(connection, `${EVENTS_SCHEMA}.outbox`, [OUTBOX]);
}

/** Same as `ensureOutbox`, for the table of merge receipts. */
export function ensureReceipts(connection: PostgresConnection): Promise<void> {
  return ensureTable(connection, `${EVENTS_SCHEMA}.merges`, [RECEIPTS]);
}

/** Makes a table of the server's by some statements where there is none. Throws an `EditRefusal` when the user may not. */
export async function ensureTable(
  connection: PostgresConnection,
  name: string,
  statements: readonly string[],
): Promise<void> {
  const [[missing]] = (await connection.query('SELECT to_regclass($1) IS NULL', [name])) as [[boolean]];
  if (!missing) return;
  await connection.query('BEGIN');
  try {
    // If two servers find no table, one waits here until the other has created it.
    await lockOutbox(connection);
    const [[noSchema, stillMissing]] = (await connection.query(
      `SELECT to_regnamespace('${EVENTS_SCHEMA}') IS NULL, to_regclass($1) IS NULL`,
      [name],
    )) as [[boolean, boolean]];
    if (noSchema) await connection.query(`CREATE SCHEMA ${EVENTS_SCHEMA}`);
    if (stillMissing) for (const statement of statements) await connection.query(statement);
    await connection.query('COMMIT');
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => {});
    if (!isPgError(error) || error.code !== INSUFFICIENT_PRIVILEGE) throw error;
    throw new EditRefusal(
      'forbidden',
      'The database user may not create tables in the schema graticule_events, which stores the events of edits. The database owner can run CREATE SCHEMA graticule_events AUTHORIZATION <user>.',
    );
  }
}

/**
 * The lock is kept until the commit: an edit gets its cursors when all edits with smaller cursors are visible.
 * Otherwise a reader could miss an event whose transaction commits late.
 */
export async function lockOutbox(connection: PostgresConnection): Promise<void> {
  await connection.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
}

/** Writes events in the open transaction and forgets the oldest ones; returns the cursor of the last. */
export async function recordEvents(
  connection: PostgresConnection,
  table: string,
  origin: EditOrigin,
  events: readonly NewEvent[],
): Promise<number> {
  await lockOutbox(connection);
  await connection.query(`SELECT pg_notify('${CHANNEL}', '')`);
  const params = new SqlParams();
  const list = params.add(JSON.stringify(events.map((event) => buildRow(table, origin, event))), 'json');
  const rows = (await connection.query(
    `INSERT INTO graticule_events.outbox (event_id, time, collection, layer_id, table_name, feature_id, operation, protocol,
       request_id, actor, envelope_before, envelope_after, geometry, attributes, changed_attributes, geometry_changed,
       geometry_before, attributes_before)
     SELECT event_id, clock_timestamp(), collection, layer_id, table_name, feature_id, operation, protocol, request_id,
       actor, envelope_before, envelope_after, geometry::json, attributes::json, changed_attributes, geometry_changed,
       geometry_before::json, attributes_before::json
     FROM json_to_recordset(${list}) AS e(event_id uuid, collection text, layer_id integer, table_name text,
       feature_id text, operation text, protocol text, request_id text, actor text, envelope_before json,
       envelope_after json, geometry text, attributes text, changed_attributes json, geometry_changed boolean,
       geometry_before text, attributes_before text)
     RETURNING cursor`,
    params.values,
  )) as [number | bigint][];
  const cursor = Number(rows.at(-1)![0]);
  const trim = new SqlParams();
  const { count, ageMs } = eventsKept();
  const first = trim.add(cursor - count, 'int8');
  // Old events come first, so only they are read.
  const young = trim.add(new Date(Date.now() - ageMs).toISOString(), 'timestamptz');
  await connection.query(
    `DELETE FROM graticule_events.outbox WHERE cursor <= ${first} OR
       cursor < (SELECT cursor FROM graticule_events.outbox WHERE time >= ${young} ORDER BY cursor LIMIT 1)`,
    trim.values,
  );
  return cursor;
}

/** Records that features changed without an event for each; returns the cursor of the gap. */
export function recordGap(
  connection: PostgresConnection,
  table: string,
  origin: EditOrigin,
): Promise<number> {
  return recordEvents(connection, table, origin, [GAP]);
}

function buildRow(table: string, origin: EditOrigin, event: NewEvent) {
  return {
    event_id: randomUUID(),
    collection: origin.collection,
    layer_id: origin.layerId,
    table_name: table,
    feature_id: event.featureId,
    operation: event.operation,
    protocol: origin.protocol,
    request_id: origin.requestId,
    actor: origin.actor,
    envelope_before: event.envelopeBefore,
    envelope_after: event.envelopeAfter,
    geometry: event.geometry,
    attributes: event.attributes,
    changed_attributes: event.changedAttributes,
    geometry_changed: event.geometryChanged,
    geometry_before: event.geometryBefore,
    attributes_before: event.attributesBefore,
  };
}

/** Cursor of the newest event; 0 without one, or when the user may not read them. */
export async function newestCursor(connection: PostgresConnection): Promise<number> {
  const [[readable]] = (await connection.query(
    // Looks in the system catalog first: a query of the table fails if the user has no USAGE on its schema.
    `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = '${EVENTS_SCHEMA}' AND c.relname = 'outbox'
         AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'))`,
  )) as [[boolean]];
  if (!readable) return 0;
  const [[newest]] = (await connection.query(
    'SELECT coalesce(max(cursor), 0) FROM graticule_events.outbox',
  )) as [[number]];
  return Number(newest);
}
