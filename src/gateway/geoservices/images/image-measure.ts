import type { Geometry, Point } from 'geojson';
import type { RasterCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { type Box, createBoxRing } from '../../../core/geometry/box.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import type { Exchange } from '../../../core/http/operation.js';
import { runTask } from '../../../services/kit/run-task.js';
import type { SurfaceDeps } from '../../surface/common.js';
import { member } from '../features/query-members.js';
import { createEsriShape, createPlaneOptions } from '../geometry/geometry-answers.js';
import { readAreaUnit, readLengthUnit } from '../geometry/geometry-requests.js';
import { layerCrs } from '../layer-documents.js';
import { type Members, naming, readChoiceMember } from '../members.js';
import { ruled } from './image-layers.js';
import { type PlaceGeometry, type PlacePosition, placeGeometry, transformToDegrees } from './pixels.js';

/**
 * Measures ground distances and areas in an image. Pixels have no heights, so operations that need heights are
 * refused.
 */

type Deps = Pick<SurfaceDeps, 'pools'>;

export const MEASURE_PARAMS = {
  fromGeometry: member(
    'fromGeometry',
    'Position, start of a distance, or area to measure: x,y, or a geometry as JSON.',
  ),
  toGeometry: member('toGeometry', 'End of a distance: x,y, or a point as JSON.'),
  geometryType: member('geometryType', 'esriGeometryPoint, esriGeometryPolygon or esriGeometryEnvelope.'),
  measureOperation: member('measureOperation', 'Default: esriMensurationPoint.'),
  linearUnit: member('linearUnit', 'Default: esriMeters.'),
  angularUnit: member('angularUnit', 'Default: esriDUDecimalDegrees.'),
  areaUnit: member('areaUnit', 'Default: esriSquareMeters.'),
  mosaicRule: member('mosaicRule', 'Selection of rasters: esriMosaicNone or esriMosaicLockRaster, as JSON.'),
};

const OPERATIONS = {
  esriMensurationPoint: 'point',
  esriMensurationCentroid: 'centroid',
  esriMensurationDistanceAndAngle: 'distance',
  esriMensurationAreaAndPerimeter: 'area',
} as const;
const NAMES = Object.keys(OPERATIONS) as (keyof typeof OPERATIONS)[];
const DEGREES = 'esriDUDecimalDegrees';
const ANGULAR_UNITS = [DEGREES, 'esriDURadians'] as const;

export async function measureImage(x: Exchange, deps: Deps, collection: RasterCollection, members: Members) {
  ruled(collection, members);
  const operation = readChoiceMember(members, 'measureOperation', { values: NAMES, fallback: NAMES[0]! });
  const from = readPlace(collection, members, 'fromGeometry');
  const answer = { name: collection.title, sensorName: '' };
  switch (OPERATIONS[operation]) {
    case 'distance':
      return { ...answer, ...(await distance(x, deps, { collection, from, members })) };
    case 'area':
      return { ...answer, ...(await area(x, deps, from, members)) };
    default:
      return { ...answer, point: await middle(x, deps, from) };
  }
}

function readPlace(collection: RasterCollection, members: Members, name: string): PlaceGeometry {
  const geometry = members[name];
  return naming(name, () => placeGeometry({ ...members, geometry }, layerCrs(collection)));
}

function buildGeometry({ literal }: PlaceGeometry): Geometry {
  if ('type' in literal) return literal;
  return { type: 'Polygon', coordinates: [createBoxRing(literal.bbox as unknown as Box)] };
}

async function middle(x: Exchange, { pools }: Deps, place: PlaceGeometry) {
  const result = await runTask(x, pools, 'process.geometry', {
    verb: 'each',
    operations: [{ name: 'centroid' }],
    geometries: [buildGeometry(place)],
    ...createPlaneOptions(place.crs),
  });
  const [point] = result.geometries;
  if (point?.type !== 'Point') throw badParameter('fromGeometry', 'must have a centroid');
  const displayValue = point.coordinates.join(', ');
  return { value: createEsriShape(point, place.crs), displayValue, uncertainty: null };
}

/** The shortest path over the ellipsoid and its initial direction. The plane around the start preserves both. */
async function distance(
  x: Exchange,
  { pools }: Deps,
  { collection, from, members }: { collection: RasterCollection; from: PlaceGeometry; members: Members },
) {
  const to = readPlace(collection, members, 'toGeometry');
  for (const [name, place] of [
    ['fromGeometry', from],
    ['toGeometry', to],
  ] as const)
    if (buildGeometry(place).type !== 'Point') throw badParameter(name, 'must be a point');
  const [lon, lat] = transformed(from);
  const target = `+proj=aeqd +lat_0=${lat} +lon_0=${lon} +datum=WGS84 +units=m +type=crs`;
  const result = await runTask(x, pools, 'process.geometry', {
    verb: 'each',
    operations: [{ name: 'none' }],
    geometries: [buildGeometry(to)],
    from: to.crs.proj,
    plane: to.crs.proj,
    target,
  });
  const point = result.geometries[0] as Point | null | undefined;
  if (!point) throw badParameter('toGeometry', 'has no position on Earth');
  const [east, north] = point.coordinates as [number, number];
  const degrees = ((Math.atan2(east, north) * 180) / Math.PI + 360) % 360;
  const unit = readChoiceMember(members, 'angularUnit', { values: ANGULAR_UNITS, fallback: DEGREES });
  return {
    distance: readLength(members, Math.hypot(east, north)),
    azimuthAngle: value(unit === DEGREES ? degrees : (degrees * Math.PI) / 180, unit),
  };
}

/** Longitude and latitude. */
function transformed({ middle, crs }: PlaceGeometry): PlacePosition {
  const place = transformToDegrees(middle, crs);
  if (!place) throw badParameter('fromGeometry', 'has no position on Earth');
  return place;
}

async function area(x: Exchange, { pools }: Deps, from: PlaceGeometry, members: Members) {
  const geometry = buildGeometry(from);
  if (!geometry.type.endsWith('Polygon'))
    throw badParameter('fromGeometry', 'must be a polygon or an envelope');
  const { measures } = await runTask(x, pools, 'process.geometry', {
    verb: 'measure',
    ground: true,
    geometries: [geometry],
    from: from.crs.proj,
    plane: CRS84.proj,
    target: CRS84.proj,
  });
  const [{ area: squareMetres, perimeter }] = measures as [(typeof measures)[number]];
  const unit = readAreaUnit(members, 'areaUnit');
  const name = unit === undefined ? 'esriSquareMeters' : String(members['areaUnit']);
  return { area: value(squareMetres / (unit ?? 1), name), perimeter: readLength(members, perimeter) };
}

function readLength(members: Members, metres: number) {
  const unit = readLengthUnit(members, 'linearUnit');
  return value(metres / (unit ?? 1), unit === undefined ? 'esriMeters' : String(members['linearUnit']));
}

/** The uncertainty is unknown: it depends on the image. */
const value = (number: number, unit: string) => ({
  value: number,
  displayValue: `${number.toFixed(2)} ${unit.replace(/^esri(DU)?/, '')}`,
  uncertainty: null,
  unit,
});
