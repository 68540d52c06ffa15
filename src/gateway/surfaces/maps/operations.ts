import type { Collection } from '../../../core/collection.js';
import type { Expression } from '../../../core/cql2/index.js';
import { CRS84, type Crs, normaliseBox } from '../../../core/crs.js';
import { ApiError, badParameter, notFound } from '../../../core/errors.js';
import { requireEntitlement } from '../../../core/licensing.js';
import { LIMITS } from '../../../core/limits.js';
import { type AskedLook, lookParams } from '../../../core/look-params.js';
import {
  type Format,
  JPEG_FORMAT,
  JSON_FORMAT,
  PNG_FORMAT,
  TIFF_FORMAT,
  WEBP_FORMAT,
} from '../../../core/media.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../../core/operation.js';
import {
  bboxParam,
  crsParam,
  datetimeParam,
  flag,
  integer,
  list,
  pathInteger,
  type TimeRange,
  text,
} from '../../../core/params.js';
import type { Box } from '../../../core/tasks.js';
import { openApiDocument } from '../../http/openapi.js';
import * as pages from '../../pages/index.js';
import { during } from '../../services/filters.js';
import { rasterLook } from '../../services/looks.js';
import { type Batched, newestBatch } from '../../services/rasters/choose.js';
import {
  derivedFrom,
  sourceItemHeaders,
  sourceItems,
  windowIn84,
} from '../../services/rasters/source-items.js';
import { renderImage } from '../../services/render.js';
import { Symbols } from '../../services/symbols.js';
import {
  findByLayerId,
  type Link,
  notBuilt,
  type SurfaceDeps,
  selectCollections,
  surfaceBasics,
} from '../common.js';
import { extentOf } from '../tilesets.js';
import { symbolOperations } from './symbols.js';
import { mapTilesetOperations } from './tilesets.js';
import { viewerOperation } from './viewer.js';
import { fitMap, type MapWindow } from './window.js';

const MAPS_PATH = '/ogc/maps';
const COMMON = { surface: 'maps', protocol: 'OGC-Maps', permission: 'public', method: 'GET' } as const;

const MAPS_CONFORMANCE = [
  'core',
  'collection-map',
  'dataset-map',
  'collections-selection',
  'crs',
  'png',
  'jpeg',
  'tiff',
  'scaling',
].map((name) => `https://www.opengis.net/spec/ogcapi-maps-1/1.0/conf/${name}`);

const IMAGES = [PNG_FORMAT, JPEG_FORMAT, TIFF_FORMAT, WEBP_FORMAT];
const side = { min: 1, max: LIMITS.mapSide, default: undefined };

const collectionId = pathInteger('collectionId', 'Numeric identifier of a collection.');
const mapQuery = {
  bbox: bboxParam,
  bboxCrs: crsParam('bbox-crs', 'CRS of the numbers in bbox.'),
  crs: crsParam('crs', 'CRS of the map.'),
  width: integer('width', side, { description: 'Width in pixels.' }),
  height: integer('height', side, { description: 'Height in pixels.' }),
  quality: integer(
    'quality',
    { min: 1, max: 100, default: undefined },
    { description: 'Quality of JPEG and WebP.' },
  ),
  datetime: datetimeParam,
  ...lookParams,
  transparent: flag('transparent', true, 'Whether the background is transparent (PNG only).'),
  bgcolor: {
    ...text('bgcolor', { description: 'Background as 0xRRGGBB.' }),
    parse(raw: string | undefined) {
      if (raw === undefined) return undefined;
      const hex = /^(?:0x|#)?([0-9a-f]{6})$/i.exec(raw)?.[1];
      if (!hex) throw badParameter('bgcolor', 'must be 0xRRGGBB');
      return `#${hex.toLowerCase()}`;
    },
  },
};

const RESPONSES = {
  200: { description: 'Map', content: Object.fromEntries(IMAGES.map(({ mediaType }) => [mediaType, null])) },
  400: { description: 'A parameter is wrong' },
  402: { description: 'The licence does not cover maps of a time' },
  404: { description: 'Nothing that can be drawn' },
};

interface MapParams extends AskedLook {
  bbox: Box | undefined;
  bboxCrs: Crs | undefined;
  crs: Crs | undefined;
  width: number | undefined;
  height: number | undefined;
  quality: number | undefined;
  datetime: TimeRange | undefined;
  transparent: boolean;
  bgcolor: string | undefined;
}

/** Rendered maps: OGC API Maps part 1. */
export function mapsOperations(deps: SurfaceDeps): Operation[] {
  const operations: Operation[] = [];
  operations.push(
    ...surfaceBasics({
      ...COMMON,
      path: MAPS_PATH,
      title: 'Maps',
      description: 'Rendered maps of every collection.',
      conformance: MAPS_CONFORMANCE,
      apiPaths: [`${MAPS_PATH}/openapi.json`],
      formats: [JSON_FORMAT],
      links: (x) => mapLinks(x, deps),
      landingPage: pages.landingPage,
      conformancePage: pages.conformancePage,
      api: (x) =>
        openApiDocument(
          { title: 'Graticule Maps', description: 'OGC API Maps', serverUrl: x.baseUrl },
          operations,
        ),
    }),
    defineOperation({
      ...COMMON,
      id: 'maps.getDatasetMap',
      path: `${MAPS_PATH}/map`,
      summary: 'Map of several collections',
      tag: 'Maps',
      params: {
        collections: list('collections', LIMITS.collectionsPerRequest, 'Identifiers; all when absent.'),
        ...mapQuery,
      },
      formats: IMAGES,
      responses: RESPONSES,
      run(x) {
        return drawMap(
          x,
          deps,
          selectCollections(deps.visible(x.principal), x.params.collections, drawable),
          x.params,
        );
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'maps.getCollectionMap',
      path: `${MAPS_PATH}/collections/{collectionId}/map`,
      summary: 'Map of a collection',
      tag: 'Maps',
      params: { collectionId, ...mapQuery },
      formats: IMAGES,
      responses: RESPONSES,
      run(x) {
        const collection = findByLayerId(deps.visible(x.principal), x.params.collectionId);
        if (!drawable(collection)) throw notFound('map of', collection.id);
        return drawMap(x, deps, [collection], x.params);
      },
    }),
    ...mapTilesetOperations(deps),
    viewerOperation(deps),
    ...symbolOperations(new Symbols(deps.pools)),
    FUTURE,
  );
  return operations;
}

const FUTURE = notBuilt({
  ...COMMON,
  path: `${MAPS_PATH}/collections/{collectionId}/styles/{styleId}/map`,
  id: 'maps.getStyledMap',
  summary: 'Styled map of a collection',
});

function drawable(collection: Collection): boolean {
  return collection.kind !== 'archive';
}

function mapLinks(x: Exchange, { visible }: SurfaceDeps): Link[] {
  const rel = 'http://www.opengis.net/def/rel/ogc/1.0/map';
  const link = (path: string, title: string): Link => ({
    href: `${x.baseUrl}${MAPS_PATH}/${path}`,
    rel,
    type: 'image/png',
    title,
  });
  const each = visible(x.principal)
    .collections.filter(drawable)
    .map((c) => link(`collections/${c.layerId}/map`, `Map of ${c.title}`));
  return [link('map', 'Map of all collections'), ...each];
}

async function drawMap(
  x: Exchange,
  deps: SurfaceDeps,
  addressed: readonly Collection[],
  params: MapParams,
): Promise<Reply> {
  if (addressed.length === 0) throw new ApiError('not-found', 'There is no collection that can be drawn.');
  const { collections, batch } = batchOf(deps, addressed, params);
  const window = mapWindow(collections, params);
  const image = await renderImage(x, deps.pools, {
    collections,
    bbox: window.bbox,
    crs: window.crs.proj,
    width: window.width,
    height: window.height,
    background: background(x.format, params),
    format: imageName(x.format),
    quality: params.quality,
    filters: duringFilters(collections, params.datetime),
    batch,
    look: rasterLook(collections, params),
  });
  return {
    status: 200,
    mediaType: image.mediaType,
    body: image.data,
    cacheControl: 'no-cache',
    headers: {
      'content-crs': `<${window.crs.uri}>`,
      'content-bbox': window.bbox.join(','),
      ...(batch ? batchHeaders(x, collections, batch, window) : {}),
    },
  };
}

/** The temporal mosaic rule: with `datetime`, rasters of the newest acquisition batch only. Throws 402 and 404. */
function batchOf({ licensing }: SurfaceDeps, addressed: readonly Collection[], params: MapParams): Batched {
  if (params.datetime && addressed.some(({ kind }) => kind === 'raster'))
    requireEntitlement(licensing, 'raster.temporal-mosaic');
  const batched = newestBatch(addressed, params.datetime);
  if (batched.collections.length > 0) return batched;
  throw new ApiError('not-found', 'No raster was acquired within datetime.');
}

function duringFilters(
  collections: readonly Collection[],
  datetime: TimeRange | undefined,
): Map<string, Expression> {
  const filters = new Map<string, Expression>();
  for (const collection of collections) {
    const filter = collection.kind === 'vector' ? during(collection.source, datetime) : undefined;
    if (filter !== undefined) filters.set(collection.id, filter);
  }
  return filters;
}

function batchHeaders(
  x: Exchange,
  collections: readonly Collection[],
  batch: TimeRange,
  { bbox, crs }: MapWindow,
): Record<string, string> {
  const items = sourceItems(collections, batch, windowIn84(bbox, crs.proj));
  const links = derivedFrom(items, `${x.baseUrl}/stac`);
  return { ...sourceItemHeaders(items, batch), ...(links ? { link: links } : {}) };
}

function mapWindow(collections: readonly Collection[], params: MapParams): MapWindow {
  const bboxCrs = params.bboxCrs ?? CRS84;
  const asked = params.bbox && normaliseBox('bbox', params.bbox, bboxCrs);
  const bbox = asked ?? extentOf(collections);
  if (!bbox) throw new ApiError('not-found', 'The collections are empty: there is nothing to draw.');
  return fitMap({
    bbox,
    bboxCrs: asked ? bboxCrs : CRS84,
    crs: params.crs ?? (asked ? bboxCrs : CRS84),
    width: params.width,
    height: params.height,
  });
}

function background(format: Format, { transparent, bgcolor }: MapParams): string {
  if (bgcolor) return bgcolor;
  return transparent && format !== JPEG_FORMAT ? 'transparent' : '#ffffff';
}

function imageName(format: Format): 'png' | 'jpeg' | 'tiff' | 'webp' {
  if (format === JPEG_FORMAT) return 'jpeg';
  if (format === WEBP_FORMAT) return 'webp';
  return format === TIFF_FORMAT ? 'tiff' : 'png';
}
