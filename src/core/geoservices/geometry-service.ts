/** Tasks of a GeometryServer for a worker. Geometries are GeoJSON in x,y order; `each` keeps heights if stated. */
import type { Geometry, Point } from 'geojson';
import type { Box } from '../geometry/box.js';
import type { Notation } from '../geometry/coordinate-notations.js';
import type { GeometryOperation } from '../geometry/geometry-operations.js';

interface Common {
  geometries: Geometry[];
  /** CRS of the input, of the computation, and of the output, as strings for PROJ. */
  from: string;
  plane: string;
  target: string;
}

export type GeometryServiceTask = Common &
  (
    | { verb: 'each'; operations: GeometryOperation[]; union?: boolean; heights?: boolean }
    | { verb: 'hull' }
    | { verb: 'union' }
    | { verb: 'clip' | 'subtract'; by: Geometry }
    | { verb: 'measure'; ground: boolean }
    | { verb: 'distance'; by: Geometry; ground: boolean }
    | { verb: 'relate'; others: Geometry[]; relation: RelationName; pattern?: string }
    | { verb: 'cut'; by: Geometry }
    | { verb: 'reshape'; by: Geometry }
    | { verb: 'trim-extend'; by: Geometry; extension: Extension }
    | { verb: 'complete'; others: Geometry[] }
    | { verb: 'find-paths'; area?: Box; areaCrs: string }
    | { verb: 'transform'; steps: StepChoice[] }
    | { verb: 'write'; geometries: Point[]; notation: Notation }
    | { verb: 'read'; strings: string[]; notation: Notation }
  );

/** A transformation between datums that a client names; in either direction where it says none. */
export interface StepChoice {
  code: number;
  isForward?: boolean;
}

/** A step of a way from one datum to another. */
export interface DatumStep {
  code: number;
  name: string;
  isForward: boolean;
}

/** Spatial relations of GeoServices. */
export const RELATIONS = [
  ...(['Cross', 'Disjoint', 'In', 'InteriorIntersection', 'Intersection', 'LineCoincidence'] as const),
  ...(['LineTouch', 'Overlap', 'PointTouch', 'Touch', 'Within', 'Relation'] as const),
] as const;
export type RelationName = (typeof RELATIONS)[number];

/** Extension of lines that do not reach the guide. */
export interface Extension {
  /** True: the end of the line is moved. False: a new position is added after the end. */
  moves: boolean;
  atStart: boolean;
  atEnd: boolean;
}

export interface GeometryServiceResult {
  /** Null for an empty geometry. */
  geometries: (Geometry | null)[];
  /**
   * Area, perimeter and length of each geometry, in units of the plane or metres. For a distance, only the number.
   */
  measures: { area: number; perimeter: number; length: number }[];
  distance?: number;
  /** Index of the source geometry of each result. */
  cutIndexes?: number[];
  /** Datum transformations between two spatial references, most accurate first. */
  paths?: DatumStep[][];
  /** Coordinate strings of the points. */
  strings?: string[];
  /** Pairs of geometries that satisfy the relation, each as the indices of both geometries. */
  relations?: [left: number, right: number][];
}
