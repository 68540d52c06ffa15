/** Geometry operations of the native part. */

export type GeometryOperationName =
  | 'boundary'
  | 'bounding-circle'
  | 'buffer'
  | 'centroid'
  | 'concave-hull'
  | 'convex-hull'
  | 'densify'
  | 'envelope'
  | 'line-merge'
  | 'make-valid'
  | 'none'
  | 'normalize'
  | 'offset-curve'
  | 'oriented-box'
  | 'point-on-surface'
  | 'simplify'
  | 'simplify-topology'
  | 'smooth'
  | 'snap-to-grid';

/** An operation on one geometry; lengths are in units of its CRS, unless they are on the ground. */
export interface GeometryOperation {
  name: GeometryOperationName;
  /**
   * Distance of a buffer, or of an offset curve (left for positive distances); tolerance of a simplification; maximum
   * segment length; size of a grid cell.
   */
  distance?: number;
  /** The distance of a buffer, or the longest segment, is metres over the ground, whatever the CRS is. Buffers have round caps and joins, 8 segments. */
  ground?: boolean;
  /** Maximum edge length of a concave hull, from the shortest (0) to the longest (1) edge of the triangulation. */
  ratio?: number;
  /** Whether a concave hull may have holes. */
  holes?: boolean;
  /** Segments per quarter circle. Default: 8. */
  segments?: number;
  /** Iterations of smoothing. Default: 1. */
  iterations?: number;
  /** 1 round, 2 flat, 3 square. */
  cap?: number;
  /** 1 round, 2 mitre, 3 bevel. */
  join?: number;
  mitreLimit?: number;
  /** Whether the buffer is only on one side of lines: left for positive distances. */
  singleSided?: boolean;
  /** Repairing keeps parts of polygons that collapse, as lines and points. */
  keepCollapsed?: boolean;
  /** An invalid geometry fails with its reason; else it is repaired where the operation needs a valid one. */
  strict?: boolean;
}

/** An operation on all geometries of a collection together. */
export interface CollectionOperation {
  name: 'concave-hull' | 'convex-hull' | 'delaunay' | 'line-merge' | 'polygonize' | 'voronoi';
  /** Points that are nearer to each other are taken for one. */
  tolerance?: number;
  ratio?: number;
  holes?: boolean;
}

export type OverlayMode = 'clip' | 'subtract';
