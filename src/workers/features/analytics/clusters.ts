import type { AnalyticsResult, ClustersTask } from '../../../core/features/analytics.js';
import { FEATURE_LIMITS } from '../../../core/features/limits.js';
import { dbscan, kmeans, ringsToGeoJson } from '../../../native/analytics.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { convertAttributes, feature, joinFeatureTexts, namedFields, writeRowGeometry } from './features.js';
import { convexHull } from './hull.js';
import { type FeatureCentroids, indexColumns, located, readInput } from './input.js';
import { localPlane, type Metric, metric, projectPositions } from './plane.js';
import { StatisticsGroup } from './statistics.js';

/**
 * Returns clusters by the distance of centroids over the ground. Single features have `objectId`, `attributes` and
 * `clusterId` (-1 for the noise of DBSCAN). Hulls have `clusterId`, `featureCount` and the statistics, largest
 * clusters first if there are too many. Features without a location are omitted.
 */
export async function computeClusters(
  task: ClustersTask,
  cancellation?: Cancellation,
): Promise<AnalyticsResult> {
  const { fields, at } = indexColumns(
    task.fields,
    task.statistics.map(({ field }) => field),
  );
  const input = await readInput(task, fields, cancellation);
  const places = located(input.rows, task.source.crs);
  const labels = computeClusterLabels(metric(places.positions), task.algorithm, cancellation);
  if (task.hulls) return { ...hulls(task, places, labels, at), inputTruncated: input.truncated };
  const attributes = namedFields(task.source, task.fields);
  const features = places.rows.map((row, i) =>
    feature(
      writeRowGeometry(row, task.source),
      { objectId: row.id, attributes: convertAttributes(row, attributes, at), clusterId: labels[i] },
      row.id,
    ),
  );
  const returned = features.length;
  return {
    features: joinFeatureTexts(features),
    returned,
    inputTruncated: input.truncated,
    resultTruncated: false,
  };
}

/** The cluster of each point, numbered from 0; -1 is noise. */
export function computeClusterLabels(
  { points, dimensions }: Metric,
  algorithm: ClustersTask['algorithm'],
  cancellation?: Cancellation,
): Int32Array {
  return algorithm.name === 'dbscan'
    ? dbscan(points, dimensions, algorithm.eps, algorithm.minPoints)
    : kmeans(points, dimensions, algorithm.k, () => cancellation?.check());
}

function hulls(
  { statistics }: ClustersTask,
  { rows, positions }: FeatureCentroids,
  labels: Int32Array,
  at: (name: string) => number,
): Omit<AnalyticsResult, 'inputTruncated'> {
  const members = listMembers(labels);
  const order = [...members.keys()].sort((a, b) => members[b]!.length - members[a]!.length || a - b);
  const largest = order.slice(0, FEATURE_LIMITS.clusters).sort((a, b) => a - b);
  const shapes = hullShapes(
    positions,
    largest.map((cluster) => members[cluster]!),
  );
  const features = largest.map((cluster, i) => {
    const group = new StatisticsGroup(statistics);
    for (const member of members[cluster]!) group.add((field) => rows[member]!.values[at(field)]!);
    return feature(shapes[i]!, { clusterId: cluster, featureCount: group.count, ...group.properties() });
  });
  return {
    features: joinFeatureTexts(features),
    returned: features.length,
    resultTruncated: largest.length < members.length,
  };
}

/** The features of each cluster; noise is in none. */
function listMembers(labels: Int32Array): number[][] {
  const members: number[][] = [];
  labels.forEach((label, i) => {
    if (label >= 0) (members[label] ??= []).push(i);
  });
  return members;
}

/** Hulls are convex in the local plane; beyond one, in longitude and latitude around the cluster itself. */
function hullShapes(positions: Float64Array, clusters: readonly number[][]): string[] {
  const plane = localPlane(positions);
  const planar = plane === undefined ? undefined : projectPositions(positions, plane);
  const corners: number[] = [];
  const ends: number[] = [];
  for (const members of clusters) {
    const xy = planar ?? aroundFirst(positions, members[0]!);
    for (const corner of convexHull(xy, members))
      corners.push(positions[2 * corner]!, positions[2 * corner + 1]!);
    ends.push(corners.length / 2);
  }
  return ringsToGeoJson(Float64Array.from(corners), Uint32Array.from(ends));
}

/** Longitudes on the side of the globe that a position is on. */
function aroundFirst(positions: Float64Array, first: number): Float64Array {
  const centre = positions[2 * first]!;
  return positions.map((ordinate, i) =>
    i % 2 === 1 ? ordinate : ordinate - 360 * Math.round((ordinate - centre) / 360),
  );
}
