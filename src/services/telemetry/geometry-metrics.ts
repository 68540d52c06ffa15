import { Counter, Histogram } from './instruments.js';

/** Instruments of work on geometries. */

const MILLISECONDS = [2.5, 10, 50, 250, 1000, 10_000];
const OPERATION = ['operation'] as const;

/** Metrics of an operation: its count and its duration. */
function pair(name: string, labels: readonly string[], what: string) {
  return {
    total: new Counter({ name: `${name}_total`, help: what, labels }),
    duration: new Histogram({
      name: `${name}_duration_ms`,
      help: `Duration including reads and queueing: ${what}`,
      labels,
      bounds: MILLISECONDS,
    }),
  };
}

export const transforms = pair(
  'svc_coordinate_transform',
  OPERATION,
  'Tasks that transform coordinates to another CRS',
);
export const geometryOperations = pair(
  'svc_geometry_operation',
  OPERATION,
  'Geometry computations: buffers, joins, clusters, cells',
);
export const geometryTransformations = pair(
  'svc_geometry_transformation',
  OPERATION,
  'Tasks that clip, simplify and round geometries: vector tiles, also for map images',
);
export const spatialQueries = pair(
  'svc_spatial_query',
  ['query_type'],
  'Spatial queries of tiles and analytics',
);
export const spatialFilters = pair(
  'svc_spatial_filter',
  ['predicate'],
  'Queries with a spatial predicate, by the first predicate',
);
export const geometryComplexity = new Histogram({
  name: 'svc_geometry_complexity_coordinates',
  help: 'Positions in edited geometries',
  bounds: [1, 10, 100, 1000, 10_000, 100_000],
});

export const GEOMETRY_INSTRUMENTS = [
  ...[transforms, geometryOperations, geometryTransformations, spatialQueries, spatialFilters].flatMap(
    ({ total, duration }) => [total, duration],
  ),
  geometryComplexity,
];
