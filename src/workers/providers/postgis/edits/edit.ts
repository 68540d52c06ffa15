import { randomUUID } from 'node:crypto';
import { useGeneratedIds } from '../../../../core/catalog/generated-ids.js';
import type { Expression, Operand } from '../../../../core/cql2/ast.js';
import { and } from '../../../../core/cql2/index.js';
import { concerns } from '../../../../core/cql2/map.js';
import type { Calculation, EditResult, EditTask } from '../../../../core/edits/edits.js';
import { TaskFailure } from '../../../../core/errors/failure.js';
import { rowImage } from '../../../../core/features/row-image.js';
import type { Field, GeneratedIds, PostgisSource } from '../../../../core/sources/vector-source.js';
import { elementsIn } from '../../../../core/values/json-text.js';
import { isPgError, type PgValue, type PostgresConnection } from '../../../../native/postgres.js';
import { calculatedValues } from '../../../edits/calculation.js';
import { runEdits } from '../../../edits/run.js';
import {
  type CalculatedFeature,
  EditRefusal,
  type EditSession,
  type GeometryForm,
  type NewEvent,
  type RowChange,
  rowNotDeleted,
  rowNotInserted,
  type StoredFeature,
  storedFeature,
} from '../../../edits/session.js';
import { withConnection } from '../connections/database.js';
import { describePgError } from '../connections/failure.js';
import { SqlParams } from '../connections/params.js';
import { buildWhere } from '../queries/filter.js';
import { PostgisFilterWriter } from '../queries/filter-sql.js';
import { buildPageOutput, rowName, storedOutput } from '../queries/items.js';
import { idIs } from '../queries/order.js';
import { writeValueSql, writtenGeometry } from '../queries/values.js';
import { writeRowColumns } from '../schema/columns.js';
import { column, quote, writeTableSql } from '../schema/names.js';
import { type Relation, readRelation } from '../schema/relation.js';
import { beginTold, writeStagedDelete } from './capture-sql.js';
import { guarded, guardedWrite } from './edit-errors.js';
import { requireFit } from './fit.js';
import { numberKeys } from './key-looks.js';
import { numberNewKeys } from './key-numbers.js';
import { ensureOutbox, recordEvents } from './outbox.js';

/**
 * Edits rows of a table and writes the events, in one transaction that is never tried twice. Only a connection that turns
 * out to be broken before that, as all are after a failover, is replaced.
 */
export async function edit(task: EditTask): Promise<EditResult> {
  const { database } = task.source as PostgisSource;
  if (byNumbers(task)) await numberKeys(useGeneratedIds(task.source));
  let hasBegun = false;
  const work = (connection: PostgresConnection) =>
    runEdits(task, async () => {
      const session = await PostgisSession.begin(connection, task);
      hasBegun = true;
      return session;
    });
  return withConnection(database, work, { hasBegun: () => hasBegun });
}

/** Whether an edit depends on the numbers of keys, which must then exist. */
function byNumbers({ source: { generatedIds }, filter, calculation }: EditTask): boolean {
  return generatedIds !== undefined && isAnyBy(generatedIds, [filter, ...listOperands(calculation)]);
}

const listOperands = (calculation: Calculation | undefined): (Operand | undefined)[] =>
  calculation ? [calculation.filter, ...Object.values(calculation.expressions)] : [];

const isAnyBy = ({ column: number }: GeneratedIds, operands: readonly (Operand | undefined)[]) =>
  operands.some((one) => one !== undefined && concerns(one, number));

const OUTPUT_84 = { format: 'geojson', crs: 'OGC:CRS84', swapAxes: false, precision: 7 } as const;

/** Members of a task that a transaction needs. */
type SessionTask = Pick<EditTask, 'source' | 'filter' | 'origin'>;

export class PostgisSession implements EditSession {
  readonly #source: PostgisSource;
  readonly #fields: ReadonlyMap<string, Field>;
  #relation: Relation | undefined;
  #takesBack = false;

  private constructor(
    private readonly connection: PostgresConnection,
    private readonly task: SessionTask,
  ) {
    this.#source = task.source as PostgisSource;
    this.#fields = new Map(this.#source.fields.map((field) => [field.name, field]));
  }

  /** `capturesOwn`: rows that triggers change in the edited table itself are reported too, where edits are captured. */
  static async begin(
    connection: PostgresConnection,
    task: SessionTask,
    capturesOwn = true,
  ): Promise<PostgisSession> {
    await ensureOutbox(connection);
    const session = new PostgisSession(connection, task);
    await session.#query('BEGIN');
    const source = session.#source;
    const [[, takesBack]] = (await session.#query(
      beginTold(source, capturesOwn ? rowImage(source) : ''),
    )) as [[string, boolean]];
    session.#takesBack = capturesOwn && takesBack;
    return session;
  }

  async savepoint(): Promise<void> {
    await this.#query('SAVEPOINT edit');
  }

  async undo(): Promise<void> {
    await this.#query('ROLLBACK TO SAVEPOINT edit');
    await this.#query('RELEASE SAVEPOINT edit');
  }

  async keep(): Promise<void> {
    await this.#query('RELEASE SAVEPOINT edit');
  }

  async exists(id: string): Promise<boolean> {
    const params = new SqlParams();
    const ofId = idIs(this.#source, id, params);
    if (!ofId) throw EditRefusal.member('/id', `cannot be an id: ${KEYS[this.#source.idType]}`);
    const rows = await this.#query(`SELECT 1 FROM ${writeTableSql(this.#source)} WHERE ${ofId}`, params);
    return rows.length > 0;
  }

  async read(id: string, form?: GeometryForm): Promise<StoredFeature | null> {
    const source = this.#source;
    const params = new SqlParams();
    const ofId = idIs(source, id, params);
    if (!ofId) return null;
    const { fields } = source;
    const { lock } = await this.#facts();
    const sql = `SELECT ${writeRowColumns(source, fields, 'exact', params).join(', ')} FROM ${writeTableSql(source)}
      WHERE ${ofId} AND (${buildWhere(source, this.task.filter, params)}) LIMIT 1 ${lock}`;
    const outputs = [
      ...[storedOutput(source), OUTPUT_84].map((output) => buildPageOutput(source, output, fields, fields)),
      ...(form ? [buildPageOutput(source, { format: 'geojson', ...form }, [], fields)] : []),
    ];
    const page = await guarded(this.connection.page(sql, params.values, { outputs, keys: [], limit: 1 }));
    if (page.returned === 0) return null;
    return storedFeature(rowName, page.outputs);
  }

  async calculate(calculation: Calculation): Promise<CalculatedFeature[]> {
    const source = this.#source;
    const params = new SqlParams();
    const writer = new PostgisFilterWriter(source, params);
    const values = Object.values(calculation.expressions).map((operand) => writer.operand(operand).sql);
    const id = column(source.idColumn);
    const where = buildWhere(source, and(this.task.filter, findRows(source, calculation)), params);
    const { lock } = await this.#facts();
    const rows = await this.#query(
      `SELECT ${id}::text, jsonb_build_array(${values.join(', ')})::text FROM ${writeTableSql(source)}
       WHERE ${where} ORDER BY ${id} LIMIT ${calculation.maxFeatures + 1} ${lock}`,
      params,
    );
    return rows.map(([key, texts]) => {
      const computed = elementsIn(texts as string)!;
      return { id: key as string, values: calculatedValues(source, calculation, computed) };
    });
  }

  async insert(requestedId: string | undefined, change: RowChange): Promise<string> {
    const source = this.#source;
    const params = new SqlParams();
    await requireFit(this.connection, change.values, this.#fields);
    const columns = this.#assignments(change, params);
    const id = await this.#newId(requestedId);
    if (id !== undefined) columns.unshift([quote(source.idColumn), params.add(id, KEY_TYPES[source.idType])]);
    const what =
      columns.length === 0
        ? 'DEFAULT VALUES'
        : `(${columns.map(([name]) => name).join(', ')}) VALUES (${columns.map(([, value]) => value).join(', ')})`;
    const returning = `RETURNING ${column(source.idColumn)}::text`;
    const rows = await this.#write(
      `INSERT INTO ${writeTableSql(source).replace(/ t$/, ' AS t')} ${what} ${returning}`,
      params,
    );
    const key = await this.#storedKey(rows, id);
    await this.#requireOneRow(key);
    return key;
  }

  /**
   * Returns the key of a new row. If a trigger writes the row elsewhere, such as to a child table, the row is
   * searched.
   */
  async #storedKey([row]: PgValue[][], requestedId: string | undefined): Promise<string> {
    if (row) return String(row[0]);
    if (requestedId === undefined || !(await this.exists(requestedId))) throw rowNotInserted();
    return requestedId;
  }

  /** Returns the key that an insert names: the client's key, unless the table (of a view) numbers its rows itself. */
  async #newId(id: string | undefined): Promise<string | undefined> {
    const { idType } = this.#source;
    const { usesGeneratedIds } = await this.#facts();
    if (usesGeneratedIds && (idType === 'integer' || id === undefined)) return undefined;
    if (id !== undefined) return id;
    if (idType === 'uuid') return randomUUID();
    throw EditRefusal.member('/id', 'is required, because this collection does not generate ids');
  }

  async #facts(): Promise<Relation> {
    this.#relation ??= await readRelation(this.connection, this.#source);
    return this.#relation;
  }

  async update(id: string, change: RowChange): Promise<boolean> {
    const params = new SqlParams();
    const sets = [
      ...this.#assignments(change, params).map(([name, value]) => `${name} = ${value}`),
      ...change.reset.map((name) => `${quote(name)} = DEFAULT`),
    ];
    if (sets.length === 0) return true;
    await requireFit(this.connection, change.values, this.#fields);
    await this.#requireOneRow(id);
    const ofId = idIs(this.#source, id, params);
    const sql = `UPDATE ${writeTableSql(this.#source)} SET ${sets.join(', ')} WHERE ${ofId}`;
    return (await this.#changeRow(id, sql, params)) === 1;
  }

  async holds(id: string, change: RowChange): Promise<boolean> {
    const params = new SqlParams();
    const ofId = idIs(this.#source, id, params);
    const conditions = this.#assignments(change, params).map(
      ([name, value]) => `t.${name}::text IS NOT DISTINCT FROM (${value})::text`,
    );
    const sql = `SELECT 1 FROM ${writeTableSql(this.#source)} WHERE ${[ofId, ...conditions].join(' AND ')} LIMIT 1`;
    return (await this.#query(sql, params)).length > 0;
  }

  async delete(id: string): Promise<void> {
    await this.#requireOneRow(id);
    const params = new SqlParams();
    const ofId = idIs(this.#source, id, params);
    const count = await this.#changeRow(
      id,
      `DELETE FROM ${writeTableSql(this.#source)} WHERE ${ofId}`,
      params,
    );
    const { isView } = await this.#facts();
    // Triggers of views report rows that they keep as deleted; other triggers hide rows that are not.
    if ((count !== 1 || isView) && (await this.read(id)) !== null) throw rowNotDeleted(id);
  }

  /** Runs a statement for the row of a key. Returns how many rows it changed; undefined if rules of the table hide that. */
  async #changeRow(id: string, sql: string, params: SqlParams): Promise<number | undefined> {
    const { hasRules } = await this.#facts();
    const rows = await this.#write(hasRules ? sql : `${sql} RETURNING 1`, params);
    if (rows.length > 1) throw severalRows(this.#source, id);
    return hasRules ? undefined : rows.length;
  }

  /** Refuses a key that several rows have, hidden ones included, where no unique index prevents that. */
  async #requireOneRow(id: string): Promise<void> {
    const { isUnique } = await this.#facts();
    if (isUnique) return;
    const params = new SqlParams();
    const rows = await this.#query(
      `SELECT 1 FROM ${writeTableSql(this.#source)} WHERE ${idIs(this.#source, id, params)} LIMIT 2`,
      params,
    );
    if (rows.length > 1) throw severalRows(this.#source, id);
  }

  async record(events: readonly NewEvent[]): Promise<number> {
    const { schema, table } = this.#source;
    const keys = events.filter(({ operation }) => operation === 'insert').map(({ featureId }) => featureId);
    await guarded(numberNewKeys(this.connection, this.#source, keys));
    if (this.#takesBack) {
      const params = new SqlParams();
      const ids = params.add(JSON.stringify(events.map(({ featureId }) => featureId)), 'json');
      await this.#query(writeStagedDelete(this.#source, ids), params);
    }
    return guarded(recordEvents(this.connection, `${schema}.${table}`, this.task.origin, events));
  }

  async commit(): Promise<undefined> {
    await this.#write('COMMIT').catch(asUnknown);
  }

  async rollback(): Promise<void> {
    await this.#query('ROLLBACK');
  }

  #assignments({ geometry, values }: RowChange, params: SqlParams): [name: string, value: string][] {
    const source = this.#source;
    const columns: [string, string][] = [...values].map(([name, value]) => [
      quote(name),
      writeValueSql(value, this.#fields.get(name)!, params),
    ]);
    if (geometry !== undefined)
      columns.push([quote(source.geometryColumn), writtenGeometry(geometry, source, params)]);
    return columns;
  }

  #query(sql: string, params?: SqlParams): Promise<PgValue[][]> {
    return guarded(this.connection.query(sql, params?.values));
  }

  #write(sql: string, params?: SqlParams): Promise<PgValue[][]> {
    return guardedWrite(this.connection.query(sql, params?.values));
  }
}

function severalRows({ idColumn }: PostgisSource, id: string): EditRefusal {
  return new EditRefusal(
    'conflict',
    `Several rows of the table have the key ${idColumn} = '${id.slice(0, 100)}', so the edit was not made. Make the keys unique in the database.`,
  );
}

/** Rows of a calculation. With key numbers, only rows whose key has a number, because queries return only those. */
function findRows({ generatedIds }: PostgisSource, calculation: Calculation): Expression | undefined {
  const { filter } = calculation;
  if (!generatedIds || !isAnyBy(generatedIds, listOperands(calculation))) return filter;
  return and(filter, { op: 'not', args: [{ op: 'isNull', args: [{ property: generatedIds.column }] }] });
}

/** SQLSTATE of a session that was ended because its transaction was idle for too long. */
const IDLE_IN_TRANSACTION = '25P03';

/** Converts the error of a connection that breaks during a commit, because the result of the commit is unknown. */
function asUnknown(error: unknown): never {
  if (!isPgError(error) || error.alive || error.code === IDLE_IN_TRANSACTION) throw error;
  throw new TaskFailure(
    'outcome-unknown',
    'The connection to the database failed during the commit. The edit may have been stored.',
    describePgError(error),
  );
}

const KEY_TYPES: Record<PostgisSource['idType'], string> = { integer: 'int8', string: 'text', uuid: 'uuid' };
const KEYS: Record<PostgisSource['idType'], string> = {
  integer: 'whole numbers are',
  string: 'texts are',
  uuid: 'UUIDs are',
};
