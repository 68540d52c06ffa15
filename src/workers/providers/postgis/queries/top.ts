import type { TopResult, TopTask } from '../../../../core/features/feature-groups.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import type { ObjectId } from '../../../../core/values/object-id.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { column, writeTableSql } from '../schema/names.js';
import { buildWhere } from './filter.js';
import { groupValue } from './groups.js';

/** The first features of each group, by one statement. */
export async function top(task: TopTask, cancellation?: Cancellation): Promise<TopResult> {
  const source = task.source as PostgisSource;
  const params = new SqlParams();
  const id = column(source.idColumn);
  const groups = task.groupBy.map((name) => groupValue(source, name).sql);
  const keys = task.sort.map(
    ({ field, descending }) => `${groupValue(source, field).sql}${descending ? ' DESC' : ''}`,
  );
  const ranked = `SELECT ${id} AS id, row_number() OVER (PARTITION BY ${groups.join(', ')} ORDER BY ${[...keys, id].join(', ')}) AS place
    FROM ${writeTableSql(source)} WHERE ${buildWhere(source, task.filter, params)}`;
  const sql = `SELECT id::float8 FROM (${ranked}) r WHERE place <= ${params.add(task.count, 'int8')}
    ORDER BY 1 LIMIT ${params.add(task.limit + 1, 'int8')}`;
  const rows = await withConnection(source.database, (connection) => connection.query(sql, params.values), {
    cancellation,
  });
  const ids = rows.map(([value]) => value as ObjectId);
  return { ids: ids.slice(0, task.limit), more: ids.length > task.limit };
}
