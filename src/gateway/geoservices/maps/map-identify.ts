import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { RasterCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import type { Crs } from '../../../core/geometry/crs.js';
import type { Exchange, Operation } from '../../../core/http/operation.js';
import { pathString, type TimeRange } from '../../../core/http/params.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { stringifyExactly } from '../../../core/values/json.js';
import { timeRange } from '../../../services/geoservices/time.js';
import { common, documentFormat, readingOperation } from '../features/feature-server.js';
import { member } from '../features/query-members.js';
import { placeGeometry, readPixel } from '../images/pixels.js';
import { type Members, readFlagMember, readIntegerMember, readTextMember } from '../members.js';
import { type MapChoice, mapChoice } from './map-choice.js';
import { createMapResultsReply, MAX_RESULTS, type MapLayerResults, mapResults } from './map-features.js';
import { listMapLayers, type MapDeps, numberedLayers } from './map-layers.js';
import { MAP_CRS, parseMapBox } from './map-window.js';

const params = {
  geometry: member('geometry', 'Position or area: x,y, or a geometry as JSON.'),
  geometryType: member('geometryType', 'Type of geometry. Default: esriGeometryPoint.'),
  sr: member('sr', 'Spatial reference of geometry, mapExtent and the response. Default: Web Mercator.'),
  layers: member('layers', 'top, visible or all, optionally followed by a colon and layer numbers.'),
  layerDefs: member('layerDefs', 'SQL conditions by layer number, such as {"0":"a > 1"}.'),
  time: member('time', 'Milliseconds since 1970, or start,end.'),
  tolerance: member('tolerance', 'Distance in pixels around a point within which features are found.'),
  mapExtent: member('mapExtent', 'xmin,ymin,xmax,ymax of the displayed map.'),
  imageDisplay: member('imageDisplay', 'width,height,dpi of the displayed map.'),
  returnGeometry: member('returnGeometry', 'Default: true.'),
};

/** Identify features at a position. */
export function identifyOperations(deps: MapDeps): Operation[] {
  return readingOperation({
    about: common('MapServer', 'identify', 'MapServer'),
    name: 'mapIdentify',
    params,
    path: '/rest/services/{serviceId}/MapServer/identify',
    pathParams: { serviceId: pathString('serviceId', 'Name of a service.') },
    summary: 'Identify features at a position',
    async run(x, { serviceId }, members) {
      const all = numberedLayers(listMapLayers(deps, x.principal, serviceId!));
      const pretty = documentFormat(members) === 'pjson';
      const choice = mapChoice(all, members, deps.visible(x.principal));
      return createMapResultsReply(await identified(x, deps, choice, members, pretty), pretty);
    },
  });
}

/** Features and pixels at the requested place, top layer first. */
export async function identified(
  x: Exchange,
  deps: MapDeps,
  { layers, filters }: MapChoice,
  members: Members,
  pretty = false,
): Promise<MapLayerResults[]> {
  const place = readPlace(members);
  const query = {
    geometry: place.geometry,
    geometryType: place.type,
    inSR: place.sr,
    outSR: place.sr,
    returnGeometry: readFlagMember(members, 'returnGeometry', true),
  };
  const isTop = /^\s*top/i.test(readTextMember(members, 'layers', 8000) ?? 'top');
  const results: MapLayerResults[] = [];
  let count = 0;
  for (const layer of layers) {
    const limit = MAX_RESULTS - count;
    if (limit <= 0 || (isTop && count > 0)) break;
    const found = hasFeatures(layer)
      ? await mapResults(x, deps.pools, layer, { query, filter: filters.get(layer.id), limit, pretty })
      : await pixelResults(x, deps.pools, layer, place, pretty);
    results.push(found);
    count += found.count;
  }
  return results;
}

interface Place {
  /** A point with a tolerance is an envelope. */
  readonly geometry: unknown;
  readonly type: string | undefined;
  readonly sr: unknown;
  /** Centre of the geometry; x,y ordered. */
  readonly middle: readonly [number, number];
  readonly crs: Crs;
  /** Time of the rasters. */
  readonly datetime: TimeRange | undefined;
}

function readPlace(members: Members): Place {
  const { literal, middle, crs } = placeGeometry(members, MAP_CRS);
  const place = {
    middle,
    crs,
    sr: members['sr'] || { wkid: crs.epsg },
    datetime: timeRange(readTextMember(members, 'time', 200)),
  };
  if (!('type' in literal) || literal.type !== 'Point')
    return { ...place, geometry: members['geometry'], type: readTextMember(members, 'geometryType', 100) };
  const reach = (readIntegerMember(members, 'tolerance') ?? 0) * pixelSize(members);
  const [x, y] = middle;
  const box = { xmin: x - reach, ymin: y - reach, xmax: x + reach, ymax: y + reach };
  return { ...place, geometry: { ...box, spatialReference: { wkid: crs.epsg } }, type: undefined };
}

/** Size of a pixel of the displayed map, in map units. */
function pixelSize(members: Members): number {
  const extent = parseMapBox('mapExtent', members['mapExtent']);
  const display = (readTextMember(members, 'imageDisplay', 100) ?? '400,400,96').split(',').map(Number);
  const [width = Number.NaN, height = Number.NaN] = display;
  if (!(width >= 1 && height >= 1)) throw badParameter('imageDisplay', 'must be width,height,dpi');
  if (!extent) {
    if (readIntegerMember(members, 'tolerance'))
      throw badParameter('mapExtent', 'is required, because a tolerance is in pixels');
    return 0;
  }
  const [minx, miny, maxx, maxy] = extent.bbox;
  return Math.max((maxx - minx) / width, (maxy - miny) / height);
}

/** The pixel of a raster at a place, of its newest time. */
async function pixelResults(
  x: Exchange,
  pools: Pools,
  layer: RasterCollection,
  { middle, crs, datetime }: Place,
  pretty: boolean,
): Promise<MapLayerResults> {
  const value = await readPixel(x, pools, layer, { at: middle, crs, datetime });
  if (value === undefined) return { text: '', count: 0 };
  const result = {
    layerId: layer.layerId,
    layerName: layer.title,
    displayFieldName: '',
    value,
    attributes: { 'Pixel Value': value },
    geometryType: 'esriGeometryPoint',
    geometry: { x: middle[0], y: middle[1], spatialReference: { wkid: crs.epsg } },
  };
  return { text: stringifyExactly(result, pretty ? '  ' : ''), count: 1 };
}
