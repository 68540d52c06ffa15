import type { TableStatistics, TableTasks } from '../../../../core/tasks/table-tasks.js';
import type { PgValue } from '../../../../native/postgres.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';

type Task = TableTasks['vector.table-statistics'];

/** Counters of PostgreSQL for tables. Partitioned and foreign tables have no counters. */
const STATISTICS = `
  SELECT w.n::int4, c.relkind = 'r',
    EXISTS (SELECT FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = w.g
      WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL AND i.indkey[0] = a.attnum
        AND m.amname IN ('gist', 'spgist', 'brin')),
    c.reltuples::float8, s.n_live_tup::float8, s.n_mod_since_analyze::float8, s.seq_scan::float8,
    s.seq_tup_read::float8, (s.n_tup_ins + s.n_tup_upd + s.n_tup_del)::float8, pg_table_size(c.oid)::float8,
    (extract(epoch FROM greatest(s.last_analyze, s.last_autoanalyze)) * 1000)::float8
  FROM jsonb_to_recordset($1::jsonb) AS w(n int, s text, t text, g text)
    JOIN pg_namespace ns ON ns.nspname = w.s JOIN pg_class c ON c.relnamespace = ns.oid AND c.relname = w.t
    JOIN pg_stat_user_tables s ON s.relid = c.oid`;

type Row = [
  number,
  boolean,
  boolean,
  number,
  number,
  number | null,
  number | null,
  number | null,
  number | null,
  number,
  number | null,
];

/** One statement for all tables. */
export function tableStatistics(
  { database, tables }: Task['input'],
  cancellation?: Cancellation,
): Promise<Task['output']> {
  return withConnection(
    database,
    async (connection) => {
      const names = tables.map(({ schema: s, table: t, geometryColumn: g }, n) => ({ n, s, t, g }));
      const rows: PgValue[][] = await connection.query(STATISTICS, [JSON.stringify(names)]);
      const found = new Map(rows.map((row) => [row[0] as number, describe(row as Row)]));
      return tables.map((_, n) => found.get(n) ?? null);
    },
    { cancellation },
  );
}

function describe(row: Row): TableStatistics {
  const [, isTable, hasSpatialIndex, analysedRows, rows, changes, scans, read, writes, bytes, analysedAt] =
    row;
  return {
    ...{ isTable, hasSpatialIndex, rows, bytes, analysedAt },
    analysedRows: analysedRows < 0 ? null : analysedRows,
    changesSinceAnalysis: changes ?? 0,
    sequentialScans: scans ?? 0,
    rowsReadBySequentialScans: read ?? 0,
    writes: writes ?? 0,
  };
}
