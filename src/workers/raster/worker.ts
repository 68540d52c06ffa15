/**
 * The one thread of an engine that runs GDAL. Its calls are asynchronous, so that it takes several tasks at once.
 */

import type { Box } from '../../core/box.js';
import { TaskFailure } from '../../core/failure.js';
import type { TaskInput } from '../../core/tasks.js';
import { Cancellation } from '../cancellation.js';
import { type Answer, answer } from '../failure.js';
import { moved, type ThreadTask } from '../thread.js';
import { compare } from './compare.js';
import { coverage } from './coverage.js';
import { inspectCsv } from './csv/inspect.js';
import { encodeImage } from './encode.js';
import { closeIdleRasters } from './handles.js';
import { histograms } from './histograms.js';
import { image } from './image.js';
import { inspect } from './inspect.js';
import { layers } from './layers.js';
import { inspectLayers } from './ogr.js';
import { position } from './position.js';

/** Pixels of a map as a georeferenced TIFF: GDAL writes it for the map thread, which cannot. */
export interface EncodeTiffTask {
  rgba: Uint8Array;
  width: number;
  height: number;
  bbox: Box;
  crs: string;
}

const TASKS = {
  close: async () => closeIdleRasters(),
  'raster.layers': (input: TaskInput<'raster.layers'>) => layers(input),
  'raster.inspect': (input: TaskInput<'raster.inspect'>) => inspect(input),
  'raster.coverage': (input: TaskInput<'raster.coverage'>, cancellation: Cancellation) =>
    coverage(input, cancellation),
  'raster.position': (input: TaskInput<'raster.position'>, cancellation: Cancellation) =>
    position(input, cancellation),
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

export default async function run({ task, input, flag }: ThreadTask): Promise<Answer> {
  const body = TASKS[task as keyof typeof TASKS] as
    | ((input: unknown, cancellation: Cancellation) => Promise<unknown>)
    | undefined;
  const result = await answer(async () => {
    if (!body) throw new TaskFailure('invalid-input', 'Unknown task.');
    return body(input, new Cancellation(flag));
  });
  return moved(result);
}
