import type { TableTasks } from '../../../../core/tasks/table-tasks.js';
import type { PostgresConnection } from '../../../../native/postgres.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from './database.js';

/** PostgreSQL's counters of writes to tables. TRUNCATE changes the number of remaining rows. */

type Task = TableTasks['vector.activity'];

const ACTIVITY = `
  SELECT w.i::int4, pg_stat_get_tuples_inserted(c.oid), pg_stat_get_tuples_updated(c.oid),
    pg_stat_get_tuples_deleted(c.oid), pg_stat_get_live_tuples(c.oid)
  FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS w(name, i)
    JOIN pg_namespace n ON starts_with(w.name, n.nspname || '.')
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = substr(w.name, length(n.nspname) + 2)::name`;

/**
 * Returns the counters of each table in the order of the names, with one statement for all tables. Null for a dropped
 * table.
 */
export function tableActivity(
  { database, tables }: Task['input'],
  cancellation?: Cancellation,
): Promise<Task['output']> {
  return withConnection(database, (connection) => readActivity(connection, tables), { cancellation });
}

export async function readActivity(
  connection: PostgresConnection,
  tables: readonly string[],
): Promise<Task['output']> {
  const found: Task['output'] = tables.map(() => null);
  for (const [i, ...counters] of await connection.query(ACTIVITY, [JSON.stringify(tables)]))
    found[Number(i) - 1] = counters.map(Number);
  return found;
}
