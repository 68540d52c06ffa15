import type { Box } from '../../../core/box.js';
import type { RasterCollection } from '../../../core/collection.js';
import type { Crs } from '../../../core/crs.js';
import { badParameter } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../../core/operation.js';
import { pathString } from '../../../core/params.js';
import { bandName } from '../coverages/documents.js';
import { sourceAt } from '../coverages/instant.js';
import { coverageReply } from './image-export.js';
import { requireImage } from './image-layers.js';
import { layerCrs } from './layer-documents.js';
import type { MapDeps } from './map-layers.js';
import { type Members, textOf } from './members.js';
import { pairsOf, requestOf, requireFormat, xmlFailure, xmlReply } from './ogc-requests.js';
import { member } from './query-members.js';
import {
  axesOf,
  boxOf,
  coverageDescription,
  WCS_FORMAT,
  wcsCapabilities,
  wcsException,
} from './wcs-documents.js';

const MOST_TEXT = 2000;

/** Image services as WCS 2.0.1, each with one coverage. */
export function wcsOperation(deps: MapDeps): Operation {
  return defineOperation({
    ...{ surface: 'geoservices', protocol: 'ImageServer', permission: 'public', method: 'GET' },
    ...{ openQuery: true, takesToken: true, tag: 'ImageServer', id: 'geoservices.wcs' },
    summary: 'An image service as WCS',
    path: '/rest/services/{serviceId}/ImageServer/WCSServer',
    params: {
      serviceId: pathString('serviceId', 'Identifier of a collection of rasters.'),
      // Names have no case, but those that may stand twice are told of by their own.
      SUBSET: { ...member('SUBSET', 'axis(low,high), once for each axis.'), repeatable: true },
      subset: { ...member('subset', 'As SUBSET.'), repeatable: true },
    },
    responses: { 200: { description: 'XML, or values', content: { 'text/xml': null, 'image/tiff': null } } },
    failure: xmlFailure('ImageServer', 'wcsserver', wcsException),
    run(x): Reply | Promise<Reply> {
      const collection = requireImage(deps, x.principal, x.params.serviceId);
      const pairs = pairsOf(x.query, ['SUBSET']);
      const request = requestOf(pairs, ['GetCapabilities', 'DescribeCoverage', 'GetCoverage']);
      if (request === 'GetCapabilities')
        return xmlReply(wcsCapabilities(collection, `${x.baseUrl}${x.path}`));
      if (textOf(pairs, 'VERSION', 20) !== '2.0.1') throw badParameter('VERSION', 'must be 2.0.1');
      if (textOf(pairs, 'COVERAGEID', MOST_TEXT) !== collection.id)
        throw badParameter('COVERAGEID', `must be ${collection.id}`);
      if (request === 'DescribeCoverage') return xmlReply(coverageDescription(collection));
      return coverage(x, deps, collection, pairs);
    },
  });
}

/** Parameters that change the values and that are not there. */
const UNSUPPORTED = ['SCALEAXES', 'SCALEEXTENT', 'INTERPOLATION', 'MEDIATYPE'];

function coverage(x: Exchange, deps: MapDeps, collection: RasterCollection, pairs: Members): Promise<Reply> {
  const name = UNSUPPORTED.find((one) => pairs[one]);
  if (name !== undefined) throw badParameter(name, 'is not supported');
  requireFormat(pairs, 'FORMAT', [WCS_FORMAT]);
  const crs = layerCrs(collection);
  for (const one of ['SUBSETTINGCRS', 'OUTPUTCRS']) requireOwnCrs(pairs, one, crs);
  const bbox = subsetOf(x.query, collection, crs);
  const { source, at } = sourceAt(collection, {}, { bbox, bboxCrs: crs });
  // The raster's own words for its CRS say more than a code may: its pixels are not moved then.
  const text = crs.uri === collection.storageCrs.uri ? collection.raster.crs : crs.proj;
  const bands = bandsOf(collection, pairs);
  const scale = scaleOf(pairs, collection, crs);
  return coverageReply(x, deps, collection, 'SUBSET', {
    ...{
      source,
      ...(at ? { at } : {}),
      bbox,
      bboxCrs: text,
      crs: text,
      ...(bands ? { bands } : {}),
      ...scale,
    },
    ...{ maxSize: LIMITS.coverageSide, maxBytes: LIMITS.coverageBytes, format: 'geotiff' },
  });
}

/** Axes have their names in subsets, so their order in the definition does not matter. Throws 400 naming the parameter. */
function requireOwnCrs(pairs: Members, name: string, { uri, epsg }: Crs): void {
  const text = textOf(pairs, name, MOST_TEXT);
  const names = [uri, `http://www.opengis.net/def/crs/EPSG/0/${epsg}`, `EPSG:${epsg}`];
  if (text !== undefined && !names.includes(text))
    throw badParameter(name, `must be ${uri}, that of the coverage`);
}

const SIDES: Readonly<Record<string, 0 | 1>> = { e: 0, x: 0, long: 0, lon: 0, n: 1, y: 1, lat: 1 };

/** `axis(low,high)` for either axis, all of it where there is none. Throws 400 naming `SUBSET`. */
function subsetOf(query: string, collection: RasterCollection, crs: Crs): Box {
  const box = [...boxOf(collection, crs)] as [number, number, number, number];
  for (const [name, value] of new URLSearchParams(query)) {
    if (name.toUpperCase() !== 'SUBSET') continue;
    const [, axis = '', low, high] = /^(\w{1,10})\(([^,()]{1,40}),([^,()]{1,40})\)$/.exec(value.trim()) ?? [];
    const side = Object.hasOwn(SIDES, axis.toLowerCase()) ? SIDES[axis.toLowerCase()]! : undefined;
    const [least, greatest] = [Number(low), Number(high)];
    if (side === undefined || !(least <= greatest && Number.isFinite(greatest - least)))
      throw badParameter('SUBSET', `must be ${axesOf(crs).join(' or ')} with (low,high)`);
    // A place is the pixel that it is in.
    const reach = least === greatest ? cellOf(collection, crs)[side] * 1e-3 : 0;
    box[side] = least - reach;
    box[side + 2] = greatest + reach;
  }
  return box;
}

/** Throws 400 naming `RANGESUBSET`. */
function bandsOf({ bands }: RasterCollection, pairs: Members): number[] | undefined {
  const names = textOf(pairs, 'RANGESUBSET', MOST_TEXT)?.split(',');
  return names?.map((name) => {
    const one = bands.find(({ band }) => bandName(band) === name.trim());
    if (!one) throw badParameter('RANGESUBSET', `there is no band '${name.slice(0, 40)}'`);
    return one.band;
  });
}

/** Throws 400 naming `SCALESIZE` or `SCALEFACTOR`. */
function scaleOf(
  pairs: Members,
  collection: RasterCollection,
  crs: Crs,
): { size?: [number, number]; resolution?: [number, number] } {
  const [text, factor] = [textOf(pairs, 'SCALESIZE', MOST_TEXT), textOf(pairs, 'SCALEFACTOR', MOST_TEXT)];
  if (text !== undefined && factor !== undefined)
    throw badParameter('SCALEFACTOR', 'does not go with SCALESIZE');
  if (text !== undefined) return { size: sizeOf(text) };
  const isOwn = crs.uri === collection.storageCrs.uri;
  if (factor === undefined && isOwn) return {};
  if (factor !== undefined && !(Number(factor) > 0 && Number(factor) <= 1e6))
    throw badParameter('SCALEFACTOR', 'must be above 0');
  const [dx, dy] = cellOf(collection, crs);
  return { resolution: [dx / Number(factor ?? 1), dy / Number(factor ?? 1)] };
}

/** Width and height of a pixel, as the description has it. */
function cellOf(collection: RasterCollection, crs: Crs): readonly [number, number] {
  const [minx, miny, maxx, maxy] = boxOf(collection, crs);
  const { width, height } = collection.raster;
  return [(maxx - minx) / width, (maxy - miny) / height];
}

/** `axis(pixels),axis(pixels)`; an axis may be named by its URI. */
function sizeOf(text: string): [number, number] {
  const size: [number, number] = [0, 0];
  for (const [, axis, pixels] of text.matchAll(/([\w]+)\((\d{1,6})\)/g)) {
    const side =
      ['i', 'j'].indexOf(axis!) >= 0 ? (['i', 'j'].indexOf(axis!) as 0 | 1) : SIDES[axis!.toLowerCase()];
    if (side !== undefined) size[side] = Number(pixels);
  }
  if (!size.every((side) => side >= 1)) throw badParameter('SCALESIZE', 'must be E(width),N(height)');
  return size;
}
