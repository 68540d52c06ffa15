import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, VectorCollection } from '../../core/catalog/collection.js';
import { unreadLayer } from '../../core/catalog/unread.js';
import { and, Cql2Error, check, type Expression, parseJson, parseText } from '../../core/cql2/index.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import type { Box } from '../../core/geometry/box.js';
import { computeEnvelope } from '../../core/geometry/box.js';
import { CRS84 } from '../../core/geometry/crs.js';
import { datetimeParam } from '../../core/http/params.js';
import { SERVICE_ID } from '../../core/kit/service.js';
import { JsonBoundsError, parseJsonText } from '../../core/values/json-bounds.js';
import type { SubscriberInterest } from '../../services/streams/scope.js';

/** Unchecked members of a subscription, from a control frame or a query. */
export interface AskedInterest {
  serviceId?: unknown;
  layers?: unknown;
  bbox?: unknown;
  bboxCrs?: unknown;
  /** GeoJSON; in control frames only. */
  polygon?: unknown;
  filter?: unknown;
  filterLang?: unknown;
  datetime?: unknown;
}

const MAX_LAYERS = 256;
/** Coordinates of frames, and so of boxes: longitude first. */
const BOX_CRS: readonly unknown[] = [
  undefined,
  4326,
  'EPSG:4326',
  'CRS84',
  'OGC:CRS84',
  CRS84.uri,
  'http://www.opengis.net/def/crs/EPSG/0/4326',
];

/**
 * Checks a subscription against what the caller may read. Throws 400 with the name of the member, and 401 if a caller
 * who is not an administrator (`mayAll` is false) subscribes to everything.
 */
export function readInterest(
  params: AskedInterest,
  visible: CatalogSnapshot,
  mayAll: boolean,
): SubscriberInterest {
  const { serviceId } = params;
  if (serviceId !== undefined && serviceId !== SERVICE_ID)
    throw badParameter('serviceId', `must be '${SERVICE_ID}'`);
  const layers = readLayers(params.layers, visible);
  if (!layers && serviceId === undefined && !mayAll)
    throw new ApiError(
      'unauthenticated',
      'layers or serviceId is required. Only administrators may subscribe to all layers.',
    );
  if (params.bbox !== undefined && params.polygon !== undefined)
    throw badParameter('polygon', 'cannot be combined with bbox');
  const only = [params.bbox, params.polygon, params.filter, params.datetime].some(
    (value) => value !== undefined,
  )
    ? onlyLayer(layers, visible)
    : undefined;
  const area = only && parseArea(params.polygon, only);
  return {
    layers,
    ...(serviceId === undefined ? {} : { service: SERVICE_ID }),
    bbox: area?.bbox ?? readBox(params.bbox, params.bboxCrs),
    filter: only && and(area?.filter, findFilter(params, only)),
    datetime:
      params.datetime === undefined
        ? undefined
        : datetimeParam.parse(formatText('datetime', params.datetime)),
  };
}

function readLayers(value: unknown, visible: CatalogSnapshot): number[] | undefined {
  if (value === undefined) return undefined;
  const list = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.length > MAX_LAYERS)
    throw badParameter('layers', `must name 1 to ${MAX_LAYERS} layers`);
  for (const id of list) {
    if (!Number.isSafeInteger(id)) throw badParameter('layers', 'must be numeric layer ids');
    if (!hasFeatures(visible.byLayerId(id as number)))
      throw unreadLayer(visible, id as number) ?? badParameter('layers', `there is no feature layer ${id}`);
  }
  return [...new Set(list as number[])];
}

/** Boxes, times and filters are about the attributes of one layer. */
function onlyLayer(layers: number[] | undefined, visible: CatalogSnapshot): VectorCollection {
  if (layers?.length !== 1)
    throw badParameter('layers', 'must name exactly one layer with bbox, polygon, filter and datetime');
  return visible.byLayerId(layers[0]!) as VectorCollection;
}

function readBox(value: unknown, crs: unknown): Box | undefined {
  if (!BOX_CRS.includes(crs)) throw badParameter('bboxCrs', 'must be EPSG:4326');
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length !== 4 || !value.every(Number.isFinite))
    throw badParameter('bbox', 'must be four numbers: west, south, east, north');
  const [west, south, east, north] = value as [number, number, number, number];
  if (south > north) throw badParameter('bbox', 'must have its south below its north');
  if (Math.abs(west) > 180 || Math.abs(east) > 180 || Math.abs(south) > 90 || Math.abs(north) > 90)
    throw badParameter('bbox', 'must have longitudes from -180 to 180 and latitudes from -90 to 90');
  return [west, south, east, north];
}

/** Features that touch the polygon; its box finds them. */
function parseArea(polygon: unknown, layer: VectorCollection): { bbox: Box; filter: Expression } | undefined {
  if (polygon === undefined) return undefined;
  const { type, coordinates } = (polygon ?? {}) as { type?: unknown; coordinates?: unknown };
  if (type !== 'Polygon' && type !== 'MultiPolygon')
    throw badParameter('polygon', 'must be a GeoJSON Polygon or MultiPolygon');
  const touches = {
    op: 's_intersects',
    args: [{ property: layer.source.geometryColumn }, { type, coordinates }],
  };
  try {
    const filter = check(parseJson(touches), { ...layer.source, filterCrs: CRS84 });
    // A checked geometry has positions.
    return { filter, bbox: computeEnvelope(coordinates)! };
  } catch (error) {
    if (!(error instanceof Cql2Error)) throw error;
    throw badParameter('polygon', error.message);
  }
}

function findFilter(
  { filter, filterLang = 'cql2-text' }: AskedInterest,
  layer: VectorCollection,
): Expression | undefined {
  if (filter === undefined) return undefined;
  if (filterLang !== 'cql2-text' && filterLang !== 'cql2-json')
    throw badParameter('filterLang', 'must be cql2-text or cql2-json');
  try {
    const json = filterLang === 'cql2-json';
    const tree = json
      ? parseJson(typeof filter === 'string' ? parseJsonText(filter, 'all') : filter)
      : parseText(formatText('filter', filter));
    return check(tree, { ...layer.source, filterCrs: CRS84 });
  } catch (error) {
    if (!(error instanceof Cql2Error || error instanceof SyntaxError || error instanceof JsonBoundsError))
      throw error;
    throw badParameter('filter', error.message);
  }
}

function formatText(name: string, value: unknown): string {
  if (typeof value !== 'string') throw badParameter(name, 'must be a string');
  return value;
}
