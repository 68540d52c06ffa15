/** Tasks and results of the analytics. */

import type { Expression } from '../cql2/ast.js';
import type { EsriGeometryType } from '../geometry/geoservices-geometry.js';
import type { VectorSource } from '../sources/vector-source.js';
import type { ValueField } from './feature-set.js';
import type { FeatureQuery } from './features.js';
import type { StatisticsResult, StatisticsTask } from './field-statistics.js';

export const STATISTIC_TYPES = ['count', 'sum', 'min', 'max', 'avg', 'stddev', 'var'] as const;
export type StatisticType = (typeof STATISTIC_TYPES)[number];

/** Statistic of field values in a group. Nulls are ignored; `stddev` and `var` are of a sample. */
export interface Statistic {
  type: StatisticType;
  field: string;
  /** Name of the property that carries it. */
  name: string;
}

/** Features as GeoJSON in WGS 84, and whether limits cut something off. */
export interface AnalyticsResult {
  /** Features joined by commas. */
  features: Uint8Array;
  returned: number;
  inputTruncated: boolean;
  resultTruncated: boolean;
}

/** Result as a GeoServices feature set. */
export interface FeatureSetResult extends AnalyticsResult {
  fields: readonly ValueField[];
  geometryType?: EsriGeometryType;
}

export interface AnalyticsQuery extends FeatureQuery {
  /** The result is a `FeatureSetResult`. */
  asFeatureSet?: boolean;
}

/** Counts features by the H3 cell of their centroid. */
export interface H3Task extends AnalyticsQuery {
  /** 0 to 15. */
  resolution: number;
  statistics: Statistic[];
}

export type ClusterAlgorithm =
  | { name: 'dbscan' /** Metres. */; eps: number; minPoints: number }
  | { name: 'kmeans'; k: number };

/** Clusters features by their centroids. */
export interface ClustersTask extends AnalyticsQuery {
  algorithm: ClusterAlgorithm;
  /** Attributes of the single features. */
  fields: string[];
  /** True: a hull with its statistics per cluster instead of the single features. */
  hulls: boolean;
  statistics: Statistic[];
}

type JoinPredicate = 'intersects' | 'contains' | 'within' | 'dwithin';

/** Each feature with what it meets in another source. */
export interface SpatialJoinTask extends AnalyticsQuery {
  fields: string[];
  predicate: JoinPredicate;
  /** Metres, for `dwithin`. */
  distance: number;
  right: {
    source: VectorSource;
    filter: Expression | undefined;
    /** Fields of the right features: carried as arrays, and used for statistics. */
    carry: string[];
    statistics: Statistic[];
  };
}

/** Buffers of features, dissolved or one by one. */
export interface BufferAggregateTask extends AnalyticsQuery {
  /** Metres. */
  distance: number;
  dissolve: boolean;
  groupBy: string[];
  statistics: Statistic[];
}

/** Counts features by the cell of a grid that their centroid is in. */
export interface DensityTask extends AnalyticsQuery {
  mode: 'hex' | 'square';
  /** Length of a side in metres. */
  cellSize: number;
  /** A numeric field to sum up. */
  weight?: string;
}

export interface AnalyticsTasks {
  'vector.h3': { input: H3Task; output: AnalyticsResult };
  'vector.clusters': { input: ClustersTask; output: AnalyticsResult };
  'vector.spatialJoin': { input: SpatialJoinTask; output: AnalyticsResult };
  'vector.bufferAggregate': { input: BufferAggregateTask; output: AnalyticsResult };
  'vector.statistics': { input: StatisticsTask; output: StatisticsResult };
  'vector.density': { input: DensityTask; output: AnalyticsResult };
}
