import { setTimeout as pause } from 'node:timers/promises';
import type { Exchange } from '../../../core/http/operation.js';
import { buildCaller } from '../../../services/access/identity/submitter.js';
import type { ImportedRaster } from '../../../services/catalog/rasters/import.js';
import type { TileJobState, TileJobs } from '../../../services/tiles/jobs/service.js';
import type { Services } from '../../admin/deps.js';

/** Maximum number of tiles that are rendered during an import. For more, a tile operation is needed. */
const MOST = 256;
/** Maximum time to wait for the reload of this process. */
const RELOAD_MS = 10_000;

const LATER = 'Not all tiles could be made ahead; they are made when they are asked for.';

/** Makes the tiles of some levels of an imported raster, the widest first. Never fails: they can be made later. */
export async function makeTilesAhead(
  { signal, principal, operation, correlationId }: Exchange,
  { tileJobs, jobs }: Services<'jobs' | 'tileJobs'>,
  { layerId, grids }: ImportedRaster,
  zooms: readonly number[],
): Promise<{ count: number; warnings: string[] }> {
  const collection = await shownHere(tileJobs, layerId, signal);
  if (!collection)
    return { count: 0, warnings: ['The layer is not published: see the quarantined sources.'] };
  const options = { ...buildCaller(principal, operation), correlationId };
  let [count, total] = [0, 0];
  try {
    for (const [minZoom, maxZoom] of listRuns(zooms)) {
      const collections = [collection.id];
      const selection = { collections, tileMatrixSetId: 'WebMercatorQuad', minZoom, maxZoom };
      const bounds = { bbox: grids[0]!.extent84, maxTiles: Math.max(1, MOST - count) };
      const input = {
        operation: 'seed',
        container: 'pmtiles',
        format: 'png',
        ...selection,
        ...bounds,
      } as const;
      const { id } = await tileJobs.submit(input, principal, options);
      const job = await jobs.finishedForRequest(id, signal);
      if (job.state !== 'Succeeded') return { count, warnings: [LATER] };
      const { tally } = JSON.parse(job.result_json!) as TileJobState;
      count += tally?.tiles ?? 0;
      total += tally?.total ?? 0;
    }
  } catch {
    return { count, warnings: [LATER] };
  }
  const few = total > MOST && count >= MOST;
  return {
    count,
    warnings: few ? [`Only ${count} tiles were made ahead: use a tile operation for more.`] : [],
  };
}

/** Waits until this process shows the layer: another process may have executed the import and announced it. */
async function shownHere(tileJobs: TileJobs, layerId: number, signal: AbortSignal) {
  for (const end = Date.now() + RELOAD_MS; Date.now() < end && !signal.aborted; await pause(100)) {
    const collection = tileJobs.catalog.byLayerId(layerId);
    if (collection) return collection;
  }
  return undefined;
}

/** Zooms that follow each other, as first and last. */
function listRuns(zooms: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const zoom of zooms) {
    const run = runs.at(-1);
    if (run && zoom === run[1] + 1) run[1] = zoom;
    else runs.push([zoom, zoom]);
  }
  return runs;
}
