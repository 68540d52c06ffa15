import { TaskFailure } from '../../../../core/errors/failure.js';
import type { FeatureRow } from '../../../../core/features/features.js';
import type { FeatureProcessTask } from '../../../../core/processes/feature-processes.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { batches } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { joinSql } from './join.js';
import { mapSql } from './map.js';
import { nearestSql } from './nearest.js';
import { summarySql } from './summary.js';

/** Rows in a batch: the rows of one native call, because geometries can be large. */
const BATCH = 1024;

/**
 * Returns the result of a process on tables of one database, computed there by one statement. The connection is in
 * use until the consumer stops.
 */
export async function* process(
  task: FeatureProcessTask,
  cancellation?: Cancellation,
): AsyncGenerator<FeatureRow[]> {
  const { database } = task.input.source as PostgisSource;
  const params = new SqlParams();
  const sql = readStatement(task, params);
  for await (const rows of batches(database, sql, params.values, BATCH, cancellation))
    yield rows.map(([id, geometry, ...values]) => ({
      id: id as FeatureRow['id'],
      geometry: geometry as Uint8Array | null,
      values: values as FeatureRow['values'],
    }));
}

/** Returns id, geometry and values of the result. Throws `invalid-input` for a process without a statement. */
function readStatement(
  { process: { ...process }, input, overlay }: FeatureProcessTask,
  params: SqlParams,
): string {
  if (process.kind === 'map') return mapSql(process, input, params);
  if (process.kind === 'summarize') return summarySql(process, input, params);
  if (process.kind === 'join') return joinSql(process, input, overlay!, params);
  if (process.kind === 'nearest') return nearestSql(process, input, overlay!, params);
  throw new TaskFailure('invalid-input', `The process '${process.kind}' has no statement.`);
}
