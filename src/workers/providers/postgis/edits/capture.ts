import { rowImage } from '../../../../core/features/row-image.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import type { CaptureResult, CaptureTask } from '../../../../core/tasks/vector-tasks.js';
import type { PostgresConnection } from '../../../../native/postgres.js';
import { isPgError } from '../../../../native/postgres.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';
import { quote } from '../schema/names.js';
import { buildCaptureFunction, buildCaptureTriggers, shared, TRIGGER } from './capture-sql.js';
import { ensureOutbox, lockOutbox } from './outbox.js';

/** Oid and name of each captured table, with the function that captures it. */
const CAPTURED = `SELECT n.nspname, c.relname, min(p.proname), count(*)::int4
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_proc p ON p.oid = t.tgfoid
  WHERE t.tgname LIKE '${TRIGGER}\\_%' GROUP BY 1, 2`;
const TRIGGERS = 4;
const POSTGIS = `SELECT nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'postgis'`;

interface CaptureSetup {
  schema: string;
  table: string;
  function: string;
  triggers: number;
}

/**
 * Creates the triggers that capture foreign edits of these tables, and removes the triggers of all other tables.
 * Problems are returned by table: the triggers need the privilege TRIGGER, and they do not work for views and foreign
 * tables.
 */
export function capture(
  { database, tables }: CaptureTask,
  cancellation?: Cancellation,
): Promise<CaptureResult> {
  return withConnection(
    database,
    async (connection) => {
      const problems: CaptureResult['problems'] = [];
      const attempt = async (source: Pick<PostgisSource, 'schema' | 'table'>, work: () => Promise<void>) => {
        await inTransaction(connection, work).catch((error: unknown) => {
          if (!isPgError(error) || !error.alive) throw error;
          problems.push({ table: `${source.schema}.${source.table}`, reason: error.message });
        });
      };
      const captured = await capturedTables(connection);
      const sources = groupByTable(tables as PostgisSource[]);
      for (const old of captured.values())
        if (!sources.has(quotedTable(old))) await attempt(old, () => remove(connection, old));
      if (sources.size === 0) return { captured: 0, problems };
      await ensureOutbox(connection);
      const [[postgis]] = (await connection.query(POSTGIS)) as [[string]];
      for (const [key, images] of sources) {
        const [source] = images as [PostgisSource];
        const { name, sql } = buildCaptureFunction(images, postgis);
        const old = captured.get(key);
        if (old?.function === name && old.triggers === TRIGGERS) continue;
        await attempt(source, async () => {
          for (const statement of shared()) await connection.query(statement);
          if (old) await remove(connection, old);
          for (const statement of [sql, ...buildCaptureTriggers(source, name)])
            await connection.query(statement);
        });
      }
      return { captured: sources.size - problems.length, problems };
    },
    { cancellation },
  );
}

/** By table, one source for each image of its rows, in an order that all servers find. */
function groupByTable(sources: readonly PostgisSource[]): Map<string, PostgisSource[]> {
  const tables = new Map<string, Map<string, PostgisSource>>();
  for (const source of sources) {
    const images = tables.get(quotedTable(source)) ?? new Map<string, PostgisSource>();
    tables.set(quotedTable(source), images.set(rowImage(source), source));
  }
  const inOrder = (images: Map<string, PostgisSource>) =>
    [...images.keys()].sort().map((image) => images.get(image)!);
  return new Map([...tables].map(([table, images]) => [table, inOrder(images)]));
}

const quotedTable = ({ schema, table }: { schema: string; table: string }) =>
  `${quote(schema)}.${quote(table)}`;

async function capturedTables(connection: PostgresConnection): Promise<Map<string, CaptureSetup>> {
  const rows = (await connection.query(CAPTURED)) as [string, string, string, number][];
  const tables = rows.map(([schema, table, name, triggers]) => ({ schema, table, function: name, triggers }));
  return new Map(tables.map((table) => [quotedTable(table), table]));
}

async function remove(
  connection: PostgresConnection,
  { schema, table, ...old }: CaptureSetup,
): Promise<void> {
  for (const suffix of ['insert', 'update', 'delete', 'truncate'])
    await connection.query(`DROP TRIGGER IF EXISTS ${TRIGGER}_${suffix} ON ${quote(schema)}.${quote(table)}`);
  await connection.query(`DROP FUNCTION IF EXISTS graticule_events.${quote(old.function)}()`);
}

/** Several servers can do this at the same time: each waits for the other. */
async function inTransaction(connection: PostgresConnection, work: () => Promise<void>): Promise<void> {
  await connection.query('BEGIN');
  try {
    await lockOutbox(connection);
    // Another transaction that has locked the table must not block all edits, because this one has the lock on
    // cursors.
    await connection.query(`SET LOCAL lock_timeout = '2s'`);
    await work();
    await connection.query('COMMIT');
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
