import { unmasked } from '../../../core/access/field-masks.js';
import type { Field, FieldType, PostgisSource } from '../../../core/sources/vector-source.js';
import type { PgValue, PostgresConnection } from '../../../native/postgres.js';
import type Database from '../../../native/sqlite.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { quote } from '../geopackage/connection.js';
import { FID, GEOMETRY } from '../overviews/file.js';
import type { OverviewChanges, OverviewRows, StoreState } from '../overviews/overview-rows.js';
import { listTileFields } from '../tile-fields.js';
import { withConnection } from './connections/database.js';
import { SqlParams } from './connections/params.js';
import { statementBound } from './connections/session.js';
import { newestCursor } from './edits/outbox.js';
import { writeRowColumns } from './schema/columns.js';
import { column, writeTableSql } from './schema/names.js';

const BATCH = 1000;

/**
 * SQL for the rows written to a table since its statistics started, and for its file, which changes with TRUNCATE and
 * rewrites.
 */
const WRITES = `SELECT pg_relation_filenode(relid)::text || ' ' || (n_tup_ins + n_tup_upd + n_tup_del)::text
  FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid AND c.relkind = 'r'
  WHERE s.schemaname = $1::text AND s.relname = $2::text`;

/** JavaScript's numbers arrive in SQLite as floating point; the column affinity converts them to integers. */
const AFFINITIES: { [T in FieldType]?: string } = { integer: ' INTEGER', boolean: ' INTEGER' };

/** Returns the rows of a PostGIS table, copied next to the overview while it is built. */
export function postgisRows(asked: PostgisSource): OverviewRows {
  // All callers read the same overview.
  const source = unmasked(asked);
  const ask = <T>(work: (connection: PostgresConnection) => Promise<T>) =>
    withConnection(source.database, work);
  return {
    state: () => ask((connection) => state(source, connection)),
    stage: async (db, ids, cancellation) => {
      db.prepare('ATTACH ? AS staging').run(ids ? ':memory:' : `${db.name}.staging`);
      db.exec('PRAGMA staging.journal_mode = OFF; PRAGMA staging.synchronous = OFF');
      const fields = listTileFields(source);
      const columns = [
        `${FID} INTEGER PRIMARY KEY`,
        GEOMETRY,
        ...fields.map(({ name, type }) => `${quote(name)}${AFFINITIES[type] ?? ''}`),
      ];
      db.exec(`CREATE TABLE staging.staged (${columns.join(', ')})`);
      const work = (connection: PostgresConnection) =>
        copy(source, fields, connection, db, ids, cancellation);
      await withConnection(source.database, work, { cancellation, hasBegun: () => true });
    },
    unstage: (db) => {
      db.exec('DROP TABLE staging.staged; DETACH staging');
    },
    changes: (since) => ask((connection) => changes(source, connection, since)),
    fidOf: (id) => (source.idType === 'integer' ? BigInt(id) : computeHash(id)),
  };
}

async function state(source: PostgisSource, connection: PostgresConnection): Promise<StoreState | null> {
  const [row] = (await connection.query(WRITES, [source.schema, source.table])) as [[string] | undefined];
  return row ? { cursor: await newestCursor(connection), writes: row[0] } : null;
}

async function copy(
  source: PostgisSource,
  fields: readonly Field[],
  connection: PostgresConnection,
  db: Database.Database,
  ids: readonly string[] | undefined,
  cancellation: Cancellation | undefined,
): Promise<void> {
  const params = new SqlParams();
  const only = ids ? ` WHERE ${isOneOf(source, ids, params)}` : '';
  const sql = `SELECT ${writeRowColumns(source, fields, 'number', params).join(', ')} FROM ${writeTableSql(source)}${only}`;
  const insert = db.prepare(
    // If two texts have the same hash, which is very rare, only one is used.
    `INSERT OR IGNORE INTO staging.staged VALUES (?, ?${', ?'.repeat(fields.length)})`,
  );
  const insertAll = db.transaction((rows: PgValue[][]) => {
    for (const [key, geometry, ...values] of rows) {
      const fid = typeof key === 'string' ? computeHash(key) : key;
      insert.run(
        fid,
        geometry,
        ...values.map((value) => (typeof value === 'boolean' ? Number(value) : value)),
      );
    }
  });
  await connection.query(`SELECT set_config('statement_timeout', '0', false)`);
  for await (const rows of connection.rows(sql, params.values, BATCH)) {
    insertAll(rows);
    cancellation?.check();
  }
  await connection.query(`SELECT set_config('statement_timeout', $1::text, false)`, [
    String(statementBound()),
  ]);
}

/** The condition that a row has one of the keys; served by the key's index. */
function isOneOf(source: PostgisSource, ids: readonly string[], params: SqlParams): string {
  const types = { integer: 'int8[]', uuid: 'uuid[]', string: 'text[]' };
  return `${column(source.idColumn)} = ANY(${params.add(formatArray(ids), types[source.idType])})`;
}

/** An array as PostgreSQL reads it from text. */
function formatArray(ids: readonly string[]): string {
  return `{${ids.map((id) => `"${id.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

async function changes(
  source: PostgisSource,
  connection: PostgresConnection,
  since: number,
): Promise<OverviewChanges | undefined> {
  const cursor = await newestCursor(connection);
  if (cursor === since) return { ids: [], events: 0, cursor };
  const bounds = await connection.query('SELECT min(cursor) FROM graticule_events.outbox');
  const oldest = bounds[0]?.[0];
  if (oldest === null || oldest === undefined || Number(oldest) > since + 1) return undefined;
  const rows = await connection.query(
    `SELECT feature_id, operation FROM graticule_events.outbox
     WHERE cursor > $1::int8 AND cursor <= $2::int8 AND table_name = $3::text`,
    [String(since), String(cursor), `${source.schema}.${source.table}`],
  );
  // A gap represents changes of rows that are not named.
  if (rows.some(([, operation]) => operation === 'gap')) return undefined;
  return { ids: [...new Set(rows.map(([id]) => String(id)))], events: rows.length, cursor };
}

/** A negative number of 52 bits for a key that is text: tiles carry no negative ids. */
function computeHash(key: string): number {
  let [a, b] = [0x811c9dc5, 0x9e3779b9];
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b) ^ (b >>> 13);
  }
  return -1 - ((a >>> 0) * 0x100000 + ((b >>> 0) & 0xfffff));
}
