/** Tasks of workers for alerts. */

export interface ZoneTask {
  /** Longitude or easting first. */
  readonly wkt: string;
  readonly srid: number;
}

export interface ZoneArea {
  /** MULTIPOLYGON in the CRS of the request. */
  readonly wkt: string;
  /** GeoJSON MultiPolygon in CRS84, whose parts do not cross the antimeridian. */
  readonly area: string;
}

/** Spatial relation of a feature to a zone. */
export type ZoneRelation = 'intersects' | 'within';

/** A test of geometries against the area of a zone. Rules with the same test share it. */
export interface ZoneTest {
  /** GeoJSON MultiPolygon in CRS84. */
  readonly area: string;
  readonly relation: ZoneRelation;
  /** Metres that features may be away from the area. 0: none. */
  readonly metres: number;
}

export interface ZoneMatchTask {
  /** Names the tests, which a worker keeps. Other tests have another name. */
  readonly key: string;
  /** Absent if the worker should have them. */
  readonly tests?: readonly ZoneTest[];
  /** GeoJSON geometries in CRS84; null without one. */
  readonly geometries: readonly (string | null)[];
}

export interface ZoneMatchResult {
  /** The worker does not have the tests. */
  readonly isUnknown: boolean;
  /** Geometry and test that match, by turns; in the order of the geometries. */
  readonly pairs: Uint32Array<ArrayBuffer>;
}

export interface AlertTasks {
  /** Checks a zone, and computes its area. Fails with `invalid-input`. */
  'vector.zoneArea': { input: ZoneTask; output: ZoneArea };
  /** Finds the zones of geometries. */
  'vector.zoneMatch': { input: ZoneMatchTask; output: ZoneMatchResult };
}
