import { TaskFailure, type TaskFailureCode } from '../../core/errors/failure.js';
import type { FeatureRow } from '../../core/features/features.js';
import type {
  FeatureProcess,
  FeatureProcessOrder,
  FeatureProcessResult,
  ProcessFeatures,
} from '../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../core/processes/limits.js';
import { processGeometries } from '../../native/processing.js';
import { getFeatureStore } from '../providers/store.js';
import type { Cancellation } from '../threads/cancellation.js';
import { mapFeatures } from './map.js';
import { listGeometries, listProcessAttributes, ProcessRun, tooManyPairs } from './run.js';
import { mostGroups, tooManyGroups } from './steps/groups.js';
import { countAttributes } from './steps/join.js';
import { NEAREST_ATTRIBUTES } from './steps/nearest.js';
import { summaryAttributes } from './steps/summarize.js';
import { type Attribute, distinct, FeatureTable } from './table.js';

/** Failures after which the server computes the result itself, because the database can reject a single geometry. */
const COMPUTED_HERE: ReadonlySet<TaskFailureCode> = new Set([
  ...(['invalid-input', 'source-missing', 'internal'] as const),
  // Not enough space for a sort, or a timeout: reading row by row does not need either. An unavailable database fails
  // again.
  ...(['store-unavailable', 'deadline-exceeded'] as const),
]);

/** Has the store compute a process; or why it cannot. */
export async function pushDown(
  task: FeatureProcessOrder,
  cancellation?: Cancellation,
): Promise<FeatureProcessResult | string> {
  const run = new StatementRun(task, cancellation);
  try {
    return run.result(await write(run));
  } catch (error) {
    if (error instanceof TaskFailure && COMPUTED_HERE.has(error.code)) return error.message;
    throw error;
  }
}

/** A run whose input are the rows of the result. */
class StatementRun extends ProcessRun {
  protected override batches({ source }: ProcessFeatures): AsyncIterable<FeatureRow[]> {
    const { process } = getFeatureStore(source);
    if (!process) throw new TaskFailure('invalid-input', 'The store does not support processes.');
    return process(this.task, this.cancellation);
  }

  protected override attributesIn(features: ProcessFeatures): readonly Attribute[] {
    return this.task.process.kind === 'map' ? super.attributesIn(features) : resultAttributes(this);
  }
}

function write(run: StatementRun): Promise<number> {
  const { process } = run.task;
  // Only the geometries remain to be written.
  if (process.kind === 'map') return mapFeatures(run, { kind: 'map', operation: { name: 'none' } });
  return writeRows(run, resultAttributes(run));
}

function resultAttributes({ task: { process, input, overlay } }: ProcessRun): Attribute[] {
  switch (process.kind) {
    case 'summarize':
      return summaryAttributes(input.source, process);
    case 'join':
      return [
        ...listProcessAttributes(input),
        ...(process.mode === 'count' ? countAttributes(process, overlay!) : listProcessAttributes(overlay!)),
      ];
    case 'nearest':
      return [...listProcessAttributes(input), ...listProcessAttributes(overlay!), ...NEAREST_ATTRIBUTES];
    default:
      throw new TaskFailure('invalid-input', `The process '${process.kind}' has no statement.`);
  }
}

async function writeRows(run: StatementRun, attributes: readonly Attribute[]): Promise<number> {
  const { input, output } = run.task;
  const { crs } = input.source;
  const table = FeatureTable.create(output, crs, distinct(attributes));
  const planes = { crs, target: crs, srsId: table.srsId };
  const { process } = run.task;
  const most = mostRows(process);
  const isPairs = process.kind === 'join' && process.mode === 'each';
  let written = 0;
  /** Rows of which the one before was of the same feature. */
  let repeated = 0;
  let last: FeatureRow['id'] | undefined;
  try {
    for await (const rows of run.rows(input)) {
      const results = processGeometries(listGeometries(rows), { name: 'none' }, planes);
      for (const [i, { id, values }] of rows.entries()) {
        if (isPairs && id === last && ++repeated > PROCESS_LIMITS.processPairs) throw tooManyPairs();
        last = id;
        const geometry = run.take(results[i]!, id);
        if (geometry === undefined) continue;
        if (++written > most) throw tooManyGroups(most);
        table.add(geometry, values);
      }
    }
    return table.finish();
  } finally {
    table.abandon();
  }
}

/** Maximum number of groups, the same as for a computation in the server. */
function mostRows(process: FeatureProcess): number {
  if (process.kind !== 'summarize') return Number.POSITIVE_INFINITY;
  return mostGroups(PROCESS_LIMITS.processGroups, process.statistics.length + process.percentiles.length);
}
