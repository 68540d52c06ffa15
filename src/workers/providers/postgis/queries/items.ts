import { hash } from 'node:crypto';
import { unmasked } from '../../../../core/access/field-masks.js';
import type {
  CountTask,
  FeatureOutput,
  ItemResult,
  ItemsResult,
  ItemsTask,
  ItemTask,
} from '../../../../core/features/features.js';
import { type Field, fieldsNamed, type PostgisSource } from '../../../../core/sources/vector-source.js';
import type { PageOutput } from '../../../../native/postgres.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { readsGeometry, writerOptions } from '../../writer.js';
import { withConnection } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { writeRowColumns } from '../schema/columns.js';
import { writeTableSql } from '../schema/names.js';
import { buildWhere } from './filter.js';
import { idIs, Order } from './order.js';

/** Columns before the values of a row: id and geometry. */
const FIRST_VALUE = 2;

/** A page of features, written where the rows arrive: one statement, no row becomes a JavaScript value. */
export async function items(task: ItemsTask, cancellation?: Cancellation): Promise<ItemsResult> {
  const source = task.source as PostgisSource;
  const fields = fieldsNamed(source, task.fields);
  const backwards = task.before !== undefined;
  const order = new Order(source, task.sort ?? [], backwards);
  const params = new SqlParams();
  const conditions = [buildWhere(source, task.filter, params)];
  const key = task.before ?? task.after;
  if (key) conditions.push(order.after(key, params));
  const columns = [
    ...writeRowColumns(source, fields, 'exact', params, readsGeometry(task)),
    ...order.keyColumns,
  ];
  const sql = `SELECT ${columns.join(', ')} FROM ${writeTableSql(source)} WHERE ${and(conditions)}
    ORDER BY ${order.orderBy} LIMIT ${params.add(task.limit + 1, 'int8')} OFFSET ${params.add(task.offset, 'int8')}`;
  const values = FIRST_VALUE + fields.length;
  const options = {
    outputs: [buildPageOutput(source, task, fields, fields)],
    keys: order.keyColumns.map((_, i) => values + i),
    limit: task.limit,
    maxBytes: task.maxBytes,
    reverse: backwards,
  };
  const page = await withConnection(source.database, (c) => c.page(sql, params.values, options), {
    cancellation,
  });
  const { outputs, returned, more, first, last } = page;
  return { features: outputs[0]!, returned, more, first, last };
}

/** Decimal places that distinguish any two stored positions. */
const EXACT = 15;

/** Returns one feature by id, or null. Text that cannot be an id of the source matches no feature. */
export async function item(task: ItemTask, cancellation?: Cancellation): Promise<ItemResult | null> {
  const source = task.source as PostgisSource;
  const params = new SqlParams();
  const ofId = idIs(source, task.id, params);
  if (!ofId) return null;
  const conditions = [ofId, buildWhere(source, task.filter, params)];
  const stored = unmasked(source).fields;
  const all = [...stored, ...source.fields.filter(({ mask }) => mask)];
  const sql = `SELECT ${writeRowColumns(source, all, 'exact', params).join(', ')} FROM ${writeTableSql(source)}
    WHERE ${and(conditions)} LIMIT 1`;
  const options = {
    outputs: [
      buildPageOutput(source, task, fieldsNamed(source, task.fields), all),
      buildPageOutput(source, storedOutput(source), stored, all),
      // A caller who cannot read all fields gets an ETag that does not depend on the other fields.
      ...(task.fields
        ? [buildPageOutput(source, storedOutput(source), fieldsNamed(source, task.fields), all)]
        : []),
    ],
    keys: [],
    limit: 1,
  };
  const { outputs, returned } = await withConnection(
    source.database,
    (connection) => connection.page(sql, params.values, options),
    { cancellation },
  );
  if (returned === 0) return null;
  const row = rowName(outputs[1]!);
  return { data: outputs[0]!, row, shown: outputs[2] ? rowName(outputs[2]) : row };
}

/** Output of a feature as stored: in the source's CRS, with every digit. */
export function storedOutput(source: PostgisSource): FeatureOutput {
  return { format: 'geojson', crs: source.crs, swapAxes: false, precision: EXACT, loss: true };
}

/** The name of a stored row, from the feature that `storedOutput` writes of all fields. */
export function rowName(stored: Uint8Array): string {
  return hash('sha1', stored).slice(0, 16);
}

/** Features that the filter lets through. */
export async function count(task: CountTask, cancellation?: Cancellation): Promise<number> {
  const source = task.source as PostgisSource;
  const params = new SqlParams();
  const rows = `FROM ${writeTableSql(source)} WHERE ${buildWhere(source, task.filter, params)}`;
  const sql =
    task.atMost === undefined
      ? `SELECT count(*) ${rows}`
      : `SELECT count(*) FROM (SELECT 1 ${rows} LIMIT ${params.add(Math.floor(task.atMost), 'int8')}) found`;
  const [row] = await withConnection(source.database, (connection) => connection.query(sql, params.values), {
    cancellation,
  });
  return Number(row![0]);
}

function and(conditions: readonly string[]): string {
  return conditions.map((condition) => `(${condition})`).join(' AND ');
}

/** Output of `fields` from rows that contain `selected` after id and geometry. */
export function buildPageOutput(
  source: PostgisSource,
  output: FeatureOutput,
  fields: readonly Field[],
  selected: readonly Field[],
): PageOutput {
  return {
    format: output.format,
    options: writerOptions(source, output, fields),
    columns: fields.map((field) => FIRST_VALUE + selected.indexOf(field)),
    geometry: readsGeometry(output),
  };
}
