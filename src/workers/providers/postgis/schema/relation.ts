import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import { isPgError, type PostgresConnection } from '../../../../native/postgres.js';
import { SqlParams } from '../connections/params.js';
import { guarded } from '../edits/edit-errors.js';
import { quote, writeTableSql } from './names.js';

/** Properties of a table or view that determine how its rows are written. */
export interface Relation {
  /** Whether the table numbers its rows. */
  readonly usesGeneratedIds: boolean;
  /** Whether a unique index covers the keys of all its rows. */
  readonly isUnique: boolean;
  /** Whether rules rewrite its statements: these return no rows. */
  readonly hasRules: boolean;
  readonly isView: boolean;
  /** The clause that locks rows that are read; empty for views whose query does not allow locks. */
  readonly lock: 'FOR UPDATE' | '';
}

/**
 * The unique index of a parent table does not cover the rows of its child tables. The index of a partitioned table
 * does.
 */
const FACTS = `SELECT a.atthasdef OR a.attidentity <> '' OR c.relkind = 'v',
    NOT (c.relhassubclass AND c.relkind <> 'p') AND EXISTS (SELECT FROM pg_index i
      WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
        AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
    EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_type <> '1' AND r.ev_enabled <> 'D'),
    c.relkind = 'v', c.relkind = 'v' AND pg_relation_is_updatable(c.oid, false) & 4 = 0
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid`;

/** Returns the facts about its table that an edit needs, in the transaction of the edit. */
export async function readRelation(connection: PostgresConnection, source: PostgisSource): Promise<Relation> {
  const { schema, table, idColumn } = source;
  const params = new SqlParams();
  const name = params.add(`${quote(schema)}.${quote(table)}`, 'regclass');
  const sql = `${FACTS} WHERE a.attrelid = ${name} AND a.attname = ${params.add(idColumn, 'text')}`;
  const [row] = await guarded(connection.query(sql, params.values));
  const [usesGeneratedIds, isUnique, hasRules, isView, hasOwnQuery] = row as [
    ...[boolean, boolean, boolean, boolean, boolean],
  ];
  const isLockable = !hasOwnQuery || (await canLock(connection, source));
  return { usesGeneratedIds, isUnique, hasRules, isView, lock: isLockable ? 'FOR UPDATE' : '' };
}

/** SQLSTATE of clauses that the query of a view does not allow, such as FOR UPDATE with DISTINCT or outer joins. */
const NOT_SUPPORTED = '0A000';

async function canLock(connection: PostgresConnection, source: PostgisSource): Promise<boolean> {
  await connection.query('SAVEPOINT look');
  try {
    await connection.query(`SELECT 1 FROM ${writeTableSql(source)} LIMIT 0 FOR UPDATE`);
    await connection.query('RELEASE SAVEPOINT look');
    return true;
  } catch (error) {
    if (!isPgError(error) || error.code !== NOT_SUPPORTED) throw error;
    await connection.query('ROLLBACK TO SAVEPOINT look');
    await connection.query('RELEASE SAVEPOINT look');
    return false;
  }
}
