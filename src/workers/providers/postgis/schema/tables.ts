import { withoutPassword } from '../../../../core/sources/database-url.js';
import type {
  ColumnInfo,
  DatabaseTables,
  TableInfo,
  TableName,
  TableTasks,
} from '../../../../core/tasks/table-tasks.js';
import type { PgValue, PostgresConnection } from '../../../../native/postgres.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';
import { groupRows } from '../queries/group-rows.js';

type Input<N extends keyof TableTasks> = TableTasks[N]['input'];

/** Tables and views of users of which something may be read. */
const VISIBLE = `c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition
    AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'topology', 'tiger', 'tiger_data', 'graticule_state', 'graticule_events')
    AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    AND NOT EXISTS (SELECT FROM pg_depend d
      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`;

const TABLES = `
  SELECT c.oid::text, n.nspname, c.relname, c.relkind::text, c.reltuples::float8, obj_description(c.oid, 'pg_class')
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE ${VISIBLE} ORDER BY n.nspname, c.relname`;

const COLUMNS = `
  SELECT a.attrelid::text, a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
    EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY (i.indkey)),
    CASE WHEN y.typname IN ('varchar', 'bpchar') AND a.atttypmod > 4 THEN a.atttypmod - 4 END
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_type y ON y.oid = a.atttypid
  WHERE ${VISIBLE} AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(c.oid, a.attnum, 'SELECT')
  ORDER BY a.attrelid, a.attnum`;

/** Its functions exist only if the extension is installed. */
const GEOMETRIES = `
  SELECT a.attrelid::text, a.attname,
    CASE WHEN y.typname = 'geography' AND a.atttypmod = -1 THEN 'Geometry' ELSE postgis_typmod_type(a.atttypmod) END,
    CASE WHEN y.typname = 'geography' AND a.atttypmod = -1 THEN 4326 ELSE postgis_typmod_srid(a.atttypmod) END::int4,
    EXISTS (SELECT FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
      WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL AND i.indkey[0] = a.attnum
        AND m.amname IN ('gist', 'spgist', 'brin'))
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_type y ON y.oid = a.atttypid
    JOIN pg_extension e ON e.extname = 'postgis' AND e.extnamespace = y.typnamespace
  WHERE ${VISIBLE} AND y.typname IN ('geometry', 'geography') AND a.attnum > 0 AND NOT a.attisdropped
    AND has_column_privilege(c.oid, a.attnum, 'SELECT')
  ORDER BY a.attrelid, a.attnum`;

/** Returns everything that the user can read, by four statements for any number of tables. */
export function databaseTables(
  { database }: Input<'vector.tables'>,
  cancellation?: Cancellation,
): Promise<DatabaseTables> {
  return withConnection(database, loadTables, { cancellation });
}

async function loadTables(connection: PostgresConnection): Promise<DatabaseTables> {
  const postgis = await postgisVersion(connection);
  const columns = groupRows(await connection.query(COLUMNS), column);
  const geometries =
    postgis === null
      ? new Map<string, Geometry[]>()
      : groupRows(await connection.query(GEOMETRIES), geometryColumn);
  const rows = (await connection.query(TABLES)) as TableRow[];
  const tables = rows.map((row) => tableInfo(row, columns.get(row[0]) ?? [], geometries.get(row[0]) ?? []));
  return { postgis, tables };
}

/** Version of PostGIS; null where it is not installed. */
export async function postgisVersion(connection: PostgresConnection): Promise<string | null> {
  const [row] = await connection.query(`SELECT extversion FROM pg_extension WHERE extname = 'postgis'`);
  return row ? (row[0] as string) : null;
}

type TableRow = [string, string, string, string, number, string | null];

interface Geometry {
  name: string;
  type: string;
  srid: number;
  isIndexed: boolean;
}

const KINDS: Readonly<Record<string, TableInfo['kind']>> = {
  r: 'table',
  v: 'view',
  m: 'materialized view',
  p: 'partitioned table',
  f: 'foreign table',
};

function tableInfo(
  [, schema, table, kind, rows, comment]: TableRow,
  columns: ColumnInfo[],
  geometries: readonly Geometry[],
): TableInfo {
  const [first] = geometries;
  return {
    schema,
    table,
    kind: KINDS[kind]!,
    geometryColumn: first?.name ?? null,
    geometryType: first?.type ?? null,
    srid: first ? first.srid || null : null,
    geometryColumns: geometries.map(({ name }) => name),
    hasSpatialIndex: first?.isIndexed ?? false,
    // Null for views, and for tables that were never analysed.
    estimatedRows: rows < 0 || kind === 'v' || kind === 'f' ? null : Math.round(rows),
    comment,
    columns,
  };
}

function column([name, dataType, isNullable, isPrimaryKey, maxLength]: PgValue[]): ColumnInfo {
  return { name, dataType, isNullable, isPrimaryKey, maxLength } as ColumnInfo;
}

function geometryColumn([name, type, srid, isIndexed]: PgValue[]): Geometry {
  return { name, type, srid, isIndexed } as Geometry;
}

const FINGERPRINTS = `
  SELECT w.n::int4, md5(string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull
    || ' ' || has_column_privilege(c.oid, a.attnum, 'SELECT') || ' ' || has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE'),
    ',' ORDER BY a.attnum) || c.oid)
  FROM jsonb_to_recordset($1::jsonb) AS w(n int, s text, t text)
    JOIN pg_namespace n ON n.nspname = w.s JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.t
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  GROUP BY w.n, c.oid`;

/** One statement for all tables. */
export function fingerprints(
  { database, tables }: Input<'vector.fingerprints'>,
  cancellation?: Cancellation,
): Promise<(string | null)[]> {
  return withConnection(database, (connection) => textOfEach(connection, FINGERPRINTS, tables), {
    cancellation,
  });
}

/**
 * SQL that identifies the database cluster. Replicas share their system identifier. If the user cannot read it, the
 * start time of the server is used.
 */
const SYSTEM = "SELECT 'system ' || system_identifier FROM pg_control_system()";
const START = "SELECT 'start ' || extract(epoch FROM pg_postmaster_start_time())";

const OIDS = `
  SELECT w.n::int4, d.oid || ' ' || c.oid FROM jsonb_to_recordset($1::jsonb) AS w(n int, s text, t text)
    JOIN pg_namespace n ON n.nspname = w.s JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.t
    JOIN pg_database d ON d.datname = current_database()`;

async function readClusters(connection: PostgresConnection): Promise<string[]> {
  const [[mayAsk]] = (await connection.query(
    "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')",
  )) as [[boolean]];
  const clusters: string[] = [];
  for (const statement of mayAsk ? [SYSTEM, START] : [START]) {
    const [[cluster]] = (await connection.query(statement)) as [[string]];
    clusters.push(cluster);
  }
  return clusters;
}

/**
 * Returns a function that builds the identities of tables (`VectorLayerInfo.identity`) from their numbers. The
 * database URL identifies a cluster whose number the user cannot read, because its start time changes.
 */
export async function readIdentifier(
  connection: PostgresConnection,
  database: string,
): Promise<(oid: string) => string> {
  const [system] = await readClusters(connection);
  const cluster = system!.startsWith('system ') ? system : withoutPassword(database);
  const [[number]] = (await connection.query(
    'SELECT oid::text FROM pg_database WHERE datname = current_database()',
  )) as [[string]];
  return (oid) => `${cluster} ${number} ${oid}`;
}

/** The cluster, the database and the table by the numbers that PostgreSQL has given them. */
export function tableIdentities(
  { database, tables }: Input<'vector.table-identities'>,
  cancellation?: Cancellation,
): Promise<string[][]> {
  return withConnection(
    database,
    async (connection) => {
      const clusters = await readClusters(connection);
      const oids = await textOfEach(connection, OIDS, tables);
      return oids.map((oid) => (oid === null ? [] : clusters.map((cluster) => `${cluster} ${oid}`)));
    },
    { cancellation },
  );
}

/** Returns the text that a statement selects for each table, by its position in the list. */
async function textOfEach(
  connection: PostgresConnection,
  statement: string,
  tables: readonly TableName[],
): Promise<(string | null)[]> {
  const names = tables.map(({ schema: s, table: t }, n) => ({ n, s, t }));
  const rows = (await connection.query(statement, [JSON.stringify(names)])) as [number, string][];
  const texts = new Map(rows);
  return tables.map((_, n) => texts.get(n) ?? null);
}
