import Type from 'typebox';
import { findNumbered } from '../../core/catalog/find.js';
import { contentTag } from '../../core/http/content-tag.js';
import { JSON_FORMAT, PNG_FORMAT, SVG_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../core/http/operation.js';
import { defineIntegerParam, pathString } from '../../core/http/params.js';
import { LEGEND_ZOOM, type LegendEntry, legendEntries } from '../../core/maps/legend/entries.js';
import { drawnBy } from '../../core/maps/legend/entry-symbols.js';
import { legendIcons, legendSvg } from '../../core/maps/legend/svg.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { runTask } from '../../services/kit/run-task.js';
import { inStyle } from '../../services/maps/draw.js';
import { type LegendCollection, legendPng } from '../../services/maps/legend.js';
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
  { zoom, scale }: { zoom: number; scale: number },
): Promise<Reply> {
  const entries = legendEntries(collection, zoom);
  const body = await legendBody(x, pools, collection, entries, { zoom, scale });
  return {
    status: 200,
    mediaType: x.format.mediaType,
    body,
    cacheControl: 'no-cache',
    etag: contentTag(body),
  };
}

async function legendBody(
  x: Exchange,
  pools: Pools,
  collection: LegendCollection,
  entries: readonly LegendEntry[],
  { zoom, scale }: { zoom: number; scale: number },
): Promise<string | Uint8Array> {
  if (x.format === PNG_FORMAT) return legendPng(x, pools, entries, { zoom, scale });
  if (x.format === JSON_FORMAT) return JSON.stringify(legendDocument(collection, entries, zoom));
  const names = legendIcons(entries, zoom);
  const icons = names.length === 0 ? {} : await runTask(x, pools, 'symbols.icons', { names });
  return legendSvg(entries, zoom, icons);
}

/** Lines with what their symbols are made of: colours as CSS, lengths in pixels. */
function legendDocument(
  { id, layerId, title }: LegendCollection,
  entries: readonly LegendEntry[],
  zoom: number,
) {
  return {
    collection: id,
    layerId,
    title,
    zoom,
    entries: entries.map((entry) =>
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
