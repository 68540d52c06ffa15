import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { computeClusterLabels } from '../../features/analytics/clusters.js';
import { mapFeatures } from '../map.js';
import { Centroids, replacePlaces } from '../places.js';
import type { ProcessRun } from '../run.js';

type Clusters = Extract<FeatureProcess, { kind: 'clusters' }>;

/** Each feature with the number of its cluster: -1 for noise, null where it has no place. */
export async function clusterFeatures(run: ProcessRun, { algorithm, ground }: Clusters): Promise<number> {
  const places = new Centroids(run.task.input.source.crs, ground);
  const features = await mapFeatures(
    run,
    { kind: 'map', operation: { name: 'none' } },
    {
      attributes: [{ name: 'clusterId', type: 'integer' }],
      valuesOf: (rows) => places.add(rows, () => 0).map((place) => [place]),
    },
  );
  if (features === 0) return features;
  const labels = computeClusterLabels(places.metric(), algorithm, run.cancellation);
  replacePlaces(run, [(place) => labels[place]!]);
  return features;
}
