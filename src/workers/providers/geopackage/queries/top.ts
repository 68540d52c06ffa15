import type { TopResult, TopTask } from '../../../../core/features/feature-groups.js';
import type { GeoPackageSource } from '../../../../core/sources/vector-source.js';
import type { ObjectId } from '../../../../core/values/object-id.js';
import { joinFragments, sql } from '../../fragment.js';
import { quote, statement } from '../connection.js';
import { plainInteger } from '../schema/integers.js';
import { groupValue, writePassingCondition } from './groups.js';
import { quoteIdColumn } from './window.js';

/** The first features of each group, by one statement. */
export function top(task: TopTask): TopResult {
  const source = task.source as GeoPackageSource;
  const value = (name: string) => groupValue(source, name);
  const id = quoteIdColumn(source);
  const groups = joinFragments(task.groupBy.map(value), ', ');
  const keys = task.sort.map(
    ({ field, descending }) => sql`${value(field)}${descending ? ' DESC NULLS FIRST' : ' NULLS LAST'}, `,
  );
  const ranked = sql`SELECT ${id} AS id, row_number() OVER (PARTITION BY ${groups} ORDER BY ${joinFragments(keys, '')}${id}) AS place
    FROM ${quote(source.table)} t WHERE ${writePassingCondition(source, task)}`;
  const { sql: text, values } =
    sql`SELECT id FROM (${ranked}) WHERE place <= ${{ sql: '?', values: [task.count] }}
    ORDER BY id LIMIT ${{ sql: '?', values: [task.limit + 1] }}`;
  const ids = statement(source.path, text)
    .pluck()
    .safeIntegers()
    .all(...values)
    .map(plainInteger) as ObjectId[];
  return { ids: ids.slice(0, task.limit), more: ids.length > task.limit };
}
