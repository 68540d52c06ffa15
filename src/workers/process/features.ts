import { dirname } from 'node:path';
import type { FeatureProcessOrder, FeatureProcessResult } from '../../core/feature-processes.js';
import { makeFolderSync } from '../../core/own-folder.js';
import type { Cancellation } from '../cancellation.js';
import { calculateField } from './calculate.js';
import { clusterFeatures } from './clusters.js';
import { deduplicateFeatures } from './deduplicate.js';
import { densityOf } from './density.js';
import { dissolveFeatures } from './dissolve.js';
import { distancesOf } from './distances.js';
import { gridOver } from './grid.js';
import { h3Aggregate } from './h3.js';
import { hotSpots } from './hot-spots.js';
import { joinFeatures } from './join.js';
import { mapFeatures } from './map.js';
import { measureFeatures } from './measure.js';
import { nearestFeatures } from './nearest.js';
import { overlayFeatures } from './overlay.js';
import { pushDown } from './push-down.js';
import { reportQuality } from './quality.js';
import { Run } from './run.js';
import { snapFeatures } from './snap.js';
import { summarizeFeatures } from './summarize.js';
import { processTogether } from './together.js';

/** Body of task `process.features`. */
export async function processFeatures(
  task: FeatureProcessOrder,
  cancellation?: Cancellation,
): Promise<FeatureProcessResult> {
  makeFolderSync(dirname(task.output));
  const pushed = task.pushDown ? await pushDown(task, cancellation) : undefined;
  if (typeof pushed === 'object') return pushed;
  const run = new Run(task, cancellation);
  const result = run.result(await write(run));
  return pushed === undefined ? result : { ...result, pushDownFault: pushed };
}

function write(run: Run): Promise<number> {
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
      return gridOver(run, process);
    case 'h3':
      return h3Aggregate(run, process);
    case 'clusters':
      return clusterFeatures(run, process);
    case 'density':
      return densityOf(run, process);
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
      return distancesOf(run, process);
    default:
      return overlayFeatures(run, process);
  }
}
