import { ApiError } from '../../../core/errors/errors.js';
import type { JobContext } from '../../jobs/kinds.js';
import * as metrics from '../../telemetry/metrics.js';
import type { TileJobInput } from './input.js';
import type { TileTally } from './tally.js';

/** Milliseconds between progress notes of a job. */
const NOTE_MS = 1000;

/**
 * Counts processed addresses for the metrics of this process, after the first `counted` ones. Default: all addresses
 * after the first call.
 */
export function counting(counted?: number): (tally: TileTally) => void {
  return ({ processed }) => {
    metrics.tilesProcessed.cell().inc(processed - (counted ?? processed));
    counted = processed;
  };
}

/** Records the progress of the job at intervals. `share` is the part of the work in the complete job. */
export function noting(
  context: JobContext<TileJobInput>,
  share = 1,
): (tally: TileTally, rate: number) => void {
  let last = performance.now();
  return (tally, rate) => {
    context.progress(share * partDone(tally));
    if (performance.now() - last < NOTE_MS) return;
    last = performance.now();
    const state = { tally: { ...tally }, rate: Math.round(rate) };
    // If another instance has taken the job, the record fails and the signal ends the run.
    context.checkpoint(state).catch(() => {});
  };
}

/** Notes the progress of the last part of the job. Its addresses are already counted. */
export function notingRest(context: JobContext<TileJobInput>, share: number): (tally: TileTally) => void {
  return (tally) => context.progress(1 - share + share * partDone(tally));
}

function partDone({ processed, total }: TileTally): number {
  return total === 0 ? 1 : processed / total;
}

/** Failures stay with the job; without a single tile the job has failed. */
export async function tellFailures(
  context: Pick<JobContext, 'log' | 'warn'>,
  failures: readonly string[],
  tally: TileTally,
): Promise<void> {
  for (const failure of failures) await context.log('warning', failure);
  if (tally.lossy > 0) await context.warn(`${tally.lossy} tiles lack rasters that could not be read.`);
  if (tally.failed === 0) return;
  if (tally.tiles === 0) throw new ApiError('unavailable', failures[0] ?? 'No tile could be generated.');
  await context.warn(`${tally.failed} tiles could not be made.`);
}
