/** Feature processes in process threads. */

import type { Operand } from '../cql2/index.js';
import type { ClusterAlgorithm, Statistic } from '../features/analytics.js';
import type { FeatureQuery } from '../features/features.js';
import type { Box } from '../geometry/box.js';
import type { CollectionOperation, GeometryOperation } from '../geometry/geometry-operations.js';
import type { GeometryServiceResult, GeometryServiceTask } from '../geoservices/geometry-service.js';
import type { FieldType } from '../sources/vector-source.js';
import { findFreeName, namesInUse } from '../values/column-names.js';
import type { MapPageTask } from './map-pages.js';

/** Features of a source that a process reads, with these fields. */
export interface ProcessFeatures extends FeatureQuery {
  fields: string[];
}

/**
 * `clip`, `subtract`: the parts of features inside of, or outside of, all features of the overlay. `intersect`: a feature
 * for each pair that shares something, with the attributes of both. `symmetric-difference`: what only one of both has, with
 * the attributes that it has. `union`: what both share and what only one has.
 */
export type OverlayKind = 'clip' | 'subtract' | 'intersect' | 'symmetric-difference' | 'union';

/** Measurement method and output unit of distances and sizes. */
export interface Measure {
  /** Metres over the ground (WGS 84); else units of the plane. */
  ground: boolean;
  /** So many of these are one unit of length. */
  perUnit: number;
}

export type CellShape = 'square' | 'hexagon';

/** A value that a share of the values of a field in a group does not exceed; between two of them where it falls there. */
export interface Percentile {
  /** 0 to 1. */
  share: number;
  field: string;
  /** Name of the new attribute. */
  name: string;
}

/** A largest distance: metres over the ground, or units of the plane. */
export interface Reach {
  distance: number;
  ground: boolean;
}

export type FeatureProcess =
  /** Converts each feature separately and omits empty results. `parts`: a feature for each part. */
  | { kind: 'map'; operation: GeometryOperation; parts?: boolean; crs?: string }
  /** Each feature with its area, or the length of its lines and rings, as an attribute of that name. */
  | { kind: 'measure'; of: 'area' | 'length'; measure: Measure }
  /** Each feature with the value of an expression, which was checked against the input. */
  | { kind: 'calculate'; name: string; type: FieldType; expression: Operand }
  /** A feature without geometry for each group of equal values, with `featureCount`. */
  | { kind: 'summarize'; by: string[]; statistics: Statistic[]; percentiles: Percentile[] }
  /** The first of features that have the same vertices, the same values, or both. */
  | { kind: 'deduplicate'; by: string[]; geometry: boolean }
  /** A feature for each fault, where it is; and for all features, and the nulls of each field. `extent`: where they should be. */
  | { kind: 'quality'; extent?: Box }
  /** The cells of a grid over the box around all features; `side` in units of the CRS. */
  | { kind: 'grid'; shape: CellShape; side: number }
  /** Creates a feature for each H3 cell, with the number of features whose centroids are in it. */
  | { kind: 'h3'; resolution: number; statistics: Statistic[] }
  /** Each feature with the cluster of its centroid. Distances are metres over the ground, or units of the plane. */
  | { kind: 'clusters'; algorithm: ClusterAlgorithm; ground: boolean }
  /** A feature for each cell near centroids; `side` and `radius` as in `measure`, `weight` is a field. */
  | { kind: 'density'; shape: CellShape; side: number; radius: number; measure: Measure; weight?: string }
  /** Each feature with Gi* of a field; `radius` is metres over the ground, or units of the plane. */
  | { kind: 'hot-spots'; field: string; radius: number; ground: boolean }
  /** One feature for each group of equal values, with the statistics and `featureCount`. `operation`: done to each geometry before. */
  | {
      kind: 'dissolve';
      by: string[];
      statistics: Statistic[];
      parts?: boolean;
      operation?: GeometryOperation;
    }
  /** All geometries together; the features have no attributes. */
  | { kind: 'together'; operation: CollectionOperation }
  /** Overlays of features. `measure`: pieces of `intersect` have their size and their share of both features. */
  | { kind: OverlayKind; measure?: Measure }
  /**
   * Joins features with matching features: attributes of the first match, a feature for each match, or the number of
   * matches with statistics. `innerOnly` omits features without a match.
   */
  | {
      kind: 'join';
      /** `dwithin` takes those within `reach`, nearest first. */
      predicate: 'intersects' | 'contains' | 'within' | 'dwithin';
      reach?: Reach;
      mode: 'first' | 'each' | 'count';
      /** Name of the attribute with the number. */
      countName: string;
      statistics: Statistic[];
      innerOnly: boolean;
    }
  /** Moves vertices to vertices of the overlay within a tolerance in units of the CRS. */
  | { kind: 'snap'; tolerance: number }
  /** Creates a feature for each of the nearest features, with attributes of both, distance and rank. */
  | { kind: 'nearest'; count: number; measure: Measure; reach?: number; innerOnly: boolean }
  /** A feature without geometry for each pair, with both ids and the distance. */
  | { kind: 'distances'; measure: Measure };

export interface FeatureProcessTask {
  process: FeatureProcess;
  input: ProcessFeatures;
  overlay?: ProcessFeatures;
  /** GeoPackage with one table to create. An existing file is from an interrupted run and is replaced. */
  output: string;
  /** The store of the features computes, as one statement, where it is able to. */
  pushDown?: boolean;
}

/** A task as the thread that does it has it. */
export interface FeatureProcessOrder extends FeatureProcessTask {
  /** Features that were read so far. */
  count: SharedArrayBuffer;
}

/** A feature that could not be processed, and why. */
export interface FeatureFault {
  /** Absent in overlays, which read copies. */
  id?: string;
  reason: string;
}

export interface FeatureProcessResult {
  /** Features that were written. */
  features: number;
  /** Features of the input; rows of the statement where the work was pushed down. */
  read: number;
  /** Why the store did not compute what was pushed down. */
  pushDownFault?: string;
  /** Number of features that could not be processed, and the first of them. They are omitted. */
  faults: number;
  faultList: FeatureFault[];
  /** Attributes of which a decimal has more digits than a double. */
  rounded: string[];
}

export interface StagedFeatures {
  features: number;
  /** Sentences on numbers that the table has in another form. */
  notes: string[];
}

/** A GeoJSON FeatureCollection, as text, becomes a GeoPackage. */
export interface StageFeaturesTask {
  /** File with the text. */
  path: string;
  output: string;
}

export interface FeatureProcessTasks {
  /** Operations of a GeometryServer, short, for a waiting client. */
  'process.geometry': { input: GeometryServiceTask; output: GeometryServiceResult };
  'process.stage': { input: StageFeaturesTask; output: StagedFeatures };
  'process.map-page': { input: MapPageTask; output: undefined };
  'process.features': { input: FeatureProcessTask; output: FeatureProcessResult };
}

/** The table of results. */
export const RESULT_TABLE = 'features';

/** Names of the id and geometry columns, which differ from those of the attributes. */
export function resultColumns(attributes: readonly { readonly name: string }[]) {
  const taken = namesInUse(attributes);
  return { idColumn: findFreeName('fid', taken), geometryColumn: findFreeName('geom', taken) };
}
