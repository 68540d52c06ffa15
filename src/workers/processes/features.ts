import { dirname } from 'node:path';
import { makeFolderSync } from '../../core/files/own-folder.js';
import type { FeatureProcessOrder, FeatureProcessResult } from '../../core/processes/feature-processes.js';
import type { Cancellation } from '../threads/cancellation.js';
import { mapFeatures } from './map.js';
import { pushDown } from './push-down.js';
import { ProcessRun } from './run.js';
import { calculateField } from './steps/calculate.js';
import { clusterFeatures } from './steps/clusters.js';
import { deduplicateFeatures } from './steps/deduplicate.js';
import { computeDensity } from './steps/density.js';
import { dissolveFeatures } from './steps/dissolve.js';
import { computeDistances } from './steps/distances.js';
import { createGridCells } from './steps/grid.js';
import { h3Aggregate } from './steps/h3.js';
import { hotSpots } from './steps/hot-spots.js';
import { joinFeatures } from './steps/join.js';
import { measureFeatures } from './steps/measure.js';
import { nearestFeatures } from './steps/nearest.js';
import { overlayFeatures } from './steps/overlay.js';
import { reportQuality } from './steps/quality.js';
import { snapFeatures } from './steps/snap.js';
import { summarizeFeatures } from './steps/summarize.js';
import { processTogether } from './steps/together.js';

/** Task `process.features`. */
export async function processFeatures(
  task: FeatureProcessOrder,
  cancellation?: Cancellation,
): Promise<FeatureProcessResult> {
  makeFolderSync(dirname(task.output));
  const pushed = task.pushDown ? await pushDown(task, cancellation) : undefined;
  if (typeof pushed === 'object') return pushed;
  const run = new ProcessRun(task, cancellation);
  const result = run.result(await write(run));
  return pushed === undefined ? result : { ...result, pushDownFault: pushed };
}

function write(run: ProcessRun): Promise<number> {
  const { process } = run.task;
  switch (process.kind) {
    case 'map':
      return mapFeatures(run, process);
    case 'measure':
      return measureFeatures(run, process);
    case 'calculate':
      return calculateField(run, process);
    case 'summarize':
      return summarizeFeatures(run, process);
    case 'deduplicate':
      return deduplicateFeatures(run, process);
    case 'quality':
      return reportQuality(run, process);
    case 'grid':
      return createGridCells(run, process);
    case 'h3':
      return h3Aggregate(run, process);
    case 'clusters':
      return clusterFeatures(run, process);
    case 'density':
      return computeDensity(run, process);
    case 'hot-spots':
      return hotSpots(run, process);
    case 'dissolve':
      return dissolveFeatures(run, process);
    case 'together':
      return processTogether(run, process);
    case 'join':
      return joinFeatures(run, process);
    case 'snap':
      return snapFeatures(run, process);
    case 'nearest':
      return nearestFeatures(run, process);
    case 'distances':
      return computeDistances(run, process);
    default:
      return overlayFeatures(run, process);
  }
}
