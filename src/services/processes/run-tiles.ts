import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '../../core/files/exists.js';
import { ARCHIVE_MEDIA_TYPES, type WrittenContainer } from '../../core/tiles/archives.js';
import type { JobContext } from '../jobs/kinds.js';
import * as metrics from '../telemetry/metrics.js';
import { exportTiles } from '../tiles/jobs/export.js';
import { tileConcurrency, yielding } from '../tiles/jobs/make.js';
import { counting, tellFailures } from '../tiles/jobs/tally-notes.js';
import { makeTile } from '../tiles/make.js';
import type { InputValues, ProcessDefinition, ProcessWork } from './definition.js';
import type { ExecutionInput, ResultFile, RunDeps } from './execution.js';
import { PROCESSED } from './run-features.js';

export type TilesWork = Extract<ProcessWork, { kind: 'tiles' }>;

/** Renders collections into a tile archive. A run after an interruption resumes. */
export async function runTiles(
  context: JobContext<ExecutionInput>,
  { title }: ProcessDefinition,
  work: TilesWork,
  folder: string,
  deps: RunDeps,
): Promise<ResultFile> {
  const { container } = work.select(context.input.values);
  const path = archivePath(folder, work, context.input.values);
  // Completed by a run that died before it could say so.
  if (!(await exists(path)))
    await context.step('process', title, () => writeTiles(context, work, path, deps));
  return { path, mediaType: ARCHIVE_MEDIA_TYPES[container], bytes: (await stat(path)).size };
}

/** Path of the archive of a job, during and after writing. */
export function archivePath(folder: string, { output, select }: TilesWork, values: InputValues): string {
  return join(folder, `${output}.${select(values).container satisfies WrittenContainer}`);
}

async function writeTiles(
  context: JobContext<ExecutionInput>,
  { select }: TilesWork,
  output: string,
  { pools, sources }: RunDeps,
): Promise<void> {
  const { input, signal } = context;
  const selection = select(input.values);
  await sources.measure(selection.collections, input.principal);
  const tiles = sources.tiles(selection, input.principal);
  const count = counting();
  const { tally, archive, failures } = await exportTiles(tiles, {
    pools,
    signal,
    output,
    container: selection.container,
    concurrency: tileConcurrency(pools),
    room: yielding(pools, signal),
    make: (request) => makeTile({ signal, timing: () => {} }, pools, request),
    progress: (tally) => {
      count(tally);
      context.progress((PROCESSED * tally.processed) / Math.max(1, tally.total));
    },
  });
  await tellFailures(context, failures, tally);
  await context.log('info', `${tally.tiles} tiles were written, of ${tally.total} addresses.`);
  metrics.tileArchives.cell().inc();
  metrics.tileArchiveSize.cell().observe(archive.bytes);
}
