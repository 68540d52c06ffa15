import { setImmediate } from 'node:timers/promises';
import type { GeometryOperation } from '../../core/geometry/geometry-operations.js';
import type { Planes } from '../../native/processing.js';
import type { SqliteColumns } from '../providers/feature-store.js';
import type { ProcessRun } from './run.js';
import type { FeatureTable } from './table.js';

const BATCH = 1024;
const BEFORE_ALL = -(2n ** 63n);

/** Processes each feature by statements from file to file: neither geometries nor values become objects of JavaScript. */
export async function mapByStatement(
  run: ProcessRun,
  operation: GeometryOperation,
  table: FeatureTable,
  { planes, columns }: { planes: Planes; columns: SqliteColumns },
): Promise<void> {
  const { id, geometry, values } = columns;
  const rows = `source.${columns.table} t`;
  const next = table
    .prepare(
      `SELECT count(*) AS count, max(row) AS last FROM
         (SELECT ${id} AS row FROM ${rows} WHERE ${id} > ? ORDER BY ${id} LIMIT ${BATCH})`,
    )
    .safeIntegers();
  const processed = `gr_process(${geometry}, ?, ?, ?, ?)`;
  // The limit keeps SQLite from taking the inner query apart, which would process each geometry twice.
  const add = table.prepare(
    `SELECT * FROM (SELECT ${[id, `${processed} AS result`, ...values].join(', ')} FROM ${rows}
       WHERE ${id} > ? AND ${id} <= ? ORDER BY ${id} LIMIT -1) WHERE result IS NOT NULL`,
    { adds: true },
  );
  const { crs, target, srsId } = planes;
  const constants = [JSON.stringify(operation), crs, target, srsId];
  for (let last = BEFORE_ALL; ; ) {
    run.cancellation?.check();
    const batch = next.get(last) as { count: bigint; last: bigint | null };
    if (batch.last === null) return;
    const { changes } = add.run(...constants, last, batch.last);
    for (const { id: feature, reason } of table.accept(changes, last)) run.take(reason, feature);
    last = batch.last;
    run.countRead(Number(batch.count));
    await setImmediate();
  }
}
