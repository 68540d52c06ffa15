import type { Geometry } from 'geojson';
import type { Crs } from '../../../core/geometry/crs.js';
import { createEsriGeometry, esriGeometryType } from '../../../core/geometry/geoservices-geometry.js';
import type {
  GeometryServiceResult,
  GeometryServiceTask,
} from '../../../core/geoservices/geometry-service.js';
import { createSpatialReference } from '../layer-documents.js';
import type { Members } from '../members.js';

/** Definitions that operations of a GeometryServer share. */

export type Compute = (task: GeometryServiceTask) => Promise<GeometryServiceResult>;
/** Computes the document of a response. */
export type GeometryComputation = (compute: Compute, members: Members) => Promise<unknown>;
/** An operation: its name, summary and parameters, and the function that computes its response. */
export type GeometryServerOperation = readonly [
  name: string,
  summary: string,
  params: Record<string, string>,
  answer: GeometryComputation,
];

export const parameterDescriptions = {
  sr: 'Spatial reference of the geometries.',
  geometries: 'Geometries as JSON, or points as x,y,x,y.',
  geometry: 'A geometry as JSON.',
  calculationType: 'planar or geodesic.',
  geodesic: 'Measure over the ground instead of in the plane. Default: false.',
  lengthUnit: 'Unit of lengths. Default: that of the spatial reference.',
};

/** Geometries without a position, by type. */
export const EMPTY = {
  esriGeometryPoint: { x: 'NaN', y: 'NaN' },
  esriGeometryMultipoint: { points: [] },
  esriGeometryPolyline: { paths: [] },
  esriGeometryPolygon: { rings: [] },
};

export const createPlaneOptions = (crs: Crs) => ({ from: crs.proj, plane: crs.proj, target: crs.proj });

export function createEsriShape(geometry: Geometry, crs: Crs): object {
  return {
    ...createEsriGeometry(geometry, crs.epsg),
    // A spatial reference given as text is returned as the same text.
    spatialReference: crs.epsg === 0 ? { wkt: crs.proj } : createSpatialReference(crs),
  };
}

/** If no geometry is left, the type is that of the first geometry in the request. */
export function listAnswer(shapes: readonly (Geometry | null)[], crs: Crs, sent: readonly Geometry[]) {
  const first = shapes.find((one) => one !== null) ?? sent[0]!;
  const geometryType = esriGeometryType(first.type) ?? 'esriGeometryPolygon';
  const geometries = shapes.map((one) => (one ? createEsriShape(one, crs) : EMPTY[geometryType]));
  return { geometryType, geometries };
}
