import { createHash } from 'node:crypto';
import type { Field, GeneratedIds, PostgisSource } from '../../../../core/sources/vector-source.js';
import type { PostgresConnection } from '../../../../native/postgres.js';
import { SqlParams } from '../connections/params.js';
import { EVENTS_SCHEMA, getKeySqlType, quoteNumbersTable } from '../schema/names.js';

/**
 * Numbers of keys that are not integers. A table of the database assigns the next number to each new key and never
 * removes it.
 */

/** Whether the database can be written to, and the user may make the table of numbers, or write to it. */
const MAY_NUMBER = `SELECT NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off' AND CASE
    WHEN n.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE')
    WHEN NOT has_schema_privilege(n.oid, 'USAGE') THEN false
    WHEN c.oid IS NULL THEN has_schema_privilege(n.oid, 'CREATE')
    ELSE has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') END
  FROM (SELECT) one LEFT JOIN pg_namespace n ON n.nspname = '${EVENTS_SCHEMA}'
    LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = $1::text`;

/**
 * Returns the numbering of a table's keys. Undefined if the keys are numbers or cannot be numbered. `names` are the
 * names of all columns.
 */
export async function keyNumbers(
  connection: PostgresConnection,
  source: Pick<PostgisSource, 'schema' | 'table' | 'idType'>,
  key: Field,
  names: readonly string[],
): Promise<GeneratedIds | undefined> {
  const { schema, table, idType } = source;
  if (idType === 'integer') return undefined;
  const digest = createHash('sha256')
    .update(JSON.stringify([schema, table, key.name, idType]))
    .digest('hex');
  const numbers = { table: `object_ids_${digest.slice(0, 16)}`, column: freeColumn(names), key };
  const [[may]] = (await connection.query(MAY_NUMBER, [numbers.table])) as [[boolean]];
  return may ? numbers : undefined;
}

function freeColumn(names: readonly string[]): string {
  const taken = new Set(names.map((name) => name.toLowerCase()));
  let name = 'OBJECTID';
  for (let i = 1; taken.has(name.toLowerCase()); i++) name = `OBJECTID_${i}`;
  return name;
}

/**
 * Numbers the keys of new rows in the transaction that writes them, so the rows and their numbers become visible
 * together.
 */
export async function numberNewKeys(
  connection: PostgresConnection,
  { generatedIds }: PostgisSource,
  keys: readonly string[],
): Promise<void> {
  if (!generatedIds || keys.length === 0) return;
  const name = quoteNumbersTable(generatedIds);
  const [[missing]] = (await connection.query('SELECT to_regclass($1) IS NULL', [name])) as [[boolean]];
  if (missing) return;
  const params = new SqlParams();
  const list = params.add(JSON.stringify(keys), 'json');
  await connection.query(
    `INSERT INTO ${name} (key) SELECT value::${getKeySqlType(generatedIds.key)} FROM json_array_elements_text(${list}) AS k(value)
     ORDER BY 1 ON CONFLICT DO NOTHING`,
    params.values,
  );
}
