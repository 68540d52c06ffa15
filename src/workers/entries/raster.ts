/** Only thread of an engine that runs GDAL. Its calls are asynchronous, so it runs several tasks at the same time. */

import { TaskFailure } from '../../core/errors/failure.js';
import type { Box } from '../../core/geometry/box.js';
import { inTaskScope, TaskScope } from '../../core/observability/task-scope.js';
import type { TaskInput } from '../../core/tasks/tasks.js';
import { inspectCsv } from '../exchange/csv/inspect.js';
import { listRasterLayers } from '../exchange/ogr/layers.js';
import { inspectLayers } from '../exchange/ogr/ogr.js';
import { encodeImage } from '../rasters/cog/encode.js';
import { compare } from '../rasters/compare.js';
import { readCoverageWindow } from '../rasters/coverage.js';
import { readElevations } from '../rasters/elevation.js';
import { closeIdleRasters } from '../rasters/handles.js';
import { image } from '../rasters/image.js';
import { inspectRaster } from '../rasters/inspect.js';
import { histograms } from '../rasters/pixels/histograms.js';
import { position } from '../rasters/position.js';
import { Cancellation } from '../threads/cancellation.js';
import { preciseNow, runTaskBody, type TaskResponse, workSince } from '../threads/failure.js';
import { reportThread } from '../threads/look.js';
import { moved, type ThreadTask } from '../threads/thread.js';

/** Pixels of a map as a georeferenced TIFF: GDAL writes it for the map thread, which cannot. */
interface EncodeTiffTask {
  rgba: Uint8Array;
  width: number;
  height: number;
  bbox: Box;
  crs: string;
}

const TASKS = {
  close: async () => closeIdleRasters(),
  'raster.layers': (input: TaskInput<'raster.layers'>) => listRasterLayers(input),
  'raster.inspect': (input: TaskInput<'raster.inspect'>) => inspectRaster(input),
  'raster.coverage': (input: TaskInput<'raster.coverage'>, cancellation: Cancellation) =>
    readCoverageWindow(input, cancellation),
  'raster.position': (input: TaskInput<'raster.position'>, cancellation: Cancellation) =>
    position(input, cancellation),
  'raster.elevation': (input: TaskInput<'raster.elevation'>, cancellation: Cancellation) =>
    readElevations(input, cancellation),
  'raster.histograms': (input: TaskInput<'raster.histograms'>, cancellation: Cancellation) =>
    histograms(input, cancellation),
  'raster.compare': (input: TaskInput<'raster.compare'>) => compare(input),
  'raster.image': (input: TaskInput<'raster.image'>, cancellation: Cancellation) =>
    image(input, cancellation),
  'raster.encode-tiff': ({ rgba, width, height, bbox, crs }: EncodeTiffTask) =>
    encodeImage({ rgba, width, height }, 'tiff', { box: bbox, crs }),
  'ogr.inspect': (input: TaskInput<'ogr.inspect'>) => inspectLayers(input),
  'ogr.inspectCsv': (input: TaskInput<'ogr.inspectCsv'>) => inspectCsv(input),
};

export default async function run({ task, input, flag, request }: ThreadTask): Promise<TaskResponse> {
  const start = preciseNow();
  const body = TASKS[task as keyof typeof TASKS] as
    | ((input: unknown, cancellation: Cancellation) => Promise<unknown>)
    | undefined;
  if (task === 'engine.look') return runTaskBody(async () => reportThread('raster'));
  const result = await runTaskBody(async () => {
    if (!body) throw new TaskFailure('invalid-input', 'Unknown task.');
    return inTaskScope(new TaskScope(task, request), () => body(input, new Cancellation(flag)));
  });
  result.work = workSince(start);
  return moved(result);
}
