import Type from 'typebox';
import { hasCoverage } from '../../core/catalog/abilities.js';
import { findNumbered } from '../../core/catalog/find.js';
import { contentTag } from '../../core/http/content-tag.js';
import { JSON_FORMAT, PNG_FORMAT, SVG_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../core/http/operation.js';
import { defineIntegerParam, pathString } from '../../core/http/params.js';
import { LEGEND_ZOOM, legendEntries } from '../../core/maps/legend/entries.js';
import { drawnBy } from '../../core/maps/legend/entry-symbols.js';
import { describeRaster } from '../../core/maps/legend/raster-entries.js';
import { legendIcons, legendSvg } from '../../core/maps/legend/svg.js';
import { type AskedLook, lookParams } from '../../core/rasters/look-params.js';
import type { RasterLook } from '../../core/rasters/raster-look.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { runTask } from '../../services/kit/run-task.js';
import { inStyle } from '../../services/maps/draw.js';
import { findDates, type LegendCollection, legendPng, listLegendLines } from '../../services/maps/legend.js';
import { rasterLook } from '../../services/rasters/looks.js';
import { DEFAULT_STYLE } from '../../services/styles/style-choice.js';
import type { SurfaceDeps } from '../surface/common.js';
import { MAP_OPERATION, MAPS_PATH, mapCollectionParam } from './params.js';

const OF_MAPS = {
  ...MAP_OPERATION,
  tag: 'Legends',
} as const;

const FORMATS = [PNG_FORMAT, JSON_FORMAT, SVG_FORMAT];

const legendQuery = {
  zoom: defineIntegerParam(
    'zoom',
    { min: 0, max: 24, default: LEGEND_ZOOM },
    { description: 'Zoom of the symbols.' },
  ),
  ...lookParams,
  scale: defineIntegerParam(
    'scale',
    { min: 1, max: 4, default: 1 },
    { description: 'Pixels per pixel of PNG.' },
  ),
};

const RESPONSES = {
  200: {
    description: 'Legend',
    content: { 'image/png': null, 'image/svg+xml': null, 'application/json': Type.Object({}) },
  },
  400: { description: 'A parameter is wrong' },
  404: { description: 'Not found' },
};

/** Legends of layers: an extension of OGC API Maps. */
export function legendOperations(deps: SurfaceDeps): Operation[] {
  return [
    defineOperation({
      ...OF_MAPS,
      id: 'maps.getLegend',
      path: `${MAPS_PATH}/collections/{collectionId}/legend`,
      summary: 'Legend of a collection',
      params: {
        collectionId: mapCollectionParam,
        ...legendQuery,
      },
      formats: FORMATS,
      responses: RESPONSES,
      run(x) {
        const collection = findNumbered(deps.visible(x.principal), x.params.collectionId);
        return legendReply(x, deps, inStyle(collection, DEFAULT_STYLE), x.params);
      },
    }),
    defineOperation({
      ...OF_MAPS,
      id: 'maps.getStyledLegend',
      path: `${MAPS_PATH}/collections/{collectionId}/styles/{styleId}/legend`,
      summary: 'Legend of a collection in one of its styles',
      params: {
        collectionId: mapCollectionParam,
        styleId: pathString('styleId', 'Identifier of a style of the collection.'),
        ...legendQuery,
      },
      formats: FORMATS,
      responses: RESPONSES,
      run(x) {
        const collection = findNumbered(deps.visible(x.principal), x.params.collectionId);
        return legendReply(x, deps, inStyle(collection, x.params.styleId), x.params);
      },
    }),
  ];
}

async function legendReply(
  x: Exchange,
  { pools }: SurfaceDeps,
  collection: LegendCollection,
  params: LegendParams,
): Promise<Reply> {
  const look = rasterLook([collection], params);
  const body = await legendBody(x, pools, collection, { ...params, look });
  return {
    status: 200,
    mediaType: x.format.mediaType,
    body,
    cacheControl: 'no-cache',
    etag: contentTag(body),
  };
}

interface LegendParams extends AskedLook {
  readonly zoom: number;
  readonly scale: number;
}

async function legendBody(
  x: Exchange,
  pools: Pools,
  collection: LegendCollection,
  options: { zoom: number; scale: number; look: RasterLook | undefined },
): Promise<string | Uint8Array> {
  const { zoom } = options;
  if (x.format === JSON_FORMAT) return JSON.stringify(legendDocument(collection, options));
  const lines = listLegendLines(collection, options);
  if (x.format === PNG_FORMAT) return legendPng(x, pools, lines, options);
  const names = legendIcons(lines, zoom);
  const icons = names.length === 0 ? {} : await runTask(x, pools, 'symbols.icons', { names });
  return legendSvg(lines, zoom, icons);
}

/** Lines with what their symbols are made of: colours as CSS, lengths in pixels. */
function legendDocument(
  collection: LegendCollection,
  options: { zoom: number; look: RasterLook | undefined },
) {
  const { id, layerId, title } = collection;
  const { zoom, look } = options;
  const { name, unit, range } = hasCoverage(collection) ? describeRaster(collection, zoom, look) : {};
  const dates = findDates(collection);
  return {
    collection: id,
    layerId,
    title,
    zoom,
    ...(name !== undefined && { name }),
    ...(unit !== undefined && { unit }),
    ...(range && { range }),
    ...(dates && { dates }),
    entries: legendEntries(collection, options).map((entry) =>
      entry.kind === 'color'
        ? { label: entry.label, color: cssColor(entry.color) }
        : {
            label: entry.label,
            shape: entry.shape,
            ...entryValues(entry.properties),
            symbols: drawnBy(entry, zoom),
          },
    ),
  };
}

function entryValues(properties: Readonly<Record<string, string | number>>) {
  const [first] = Object.entries(properties);
  return first ? { attribute: first[0], value: first[1] } : {};
}

function cssColor([r, g, b, a]: readonly [number, number, number, number]): string {
  return `rgba(${r},${g},${b},${Number((a / 255).toFixed(3))})`;
}
