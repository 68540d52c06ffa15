import { findAttribution, hasCoverage, hasStoredTiles } from '../../core/catalog/abilities.js';
import {
  type Collection,
  jointExtent,
  tileLevels,
  type VectorCollection,
} from '../../core/catalog/collection.js';
import { uncrossed, withinMercator } from '../../core/geometry/box.js';
import { type Format, isVectorFormat } from '../../core/http/media.js';
import type { Exchange } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { FieldType } from '../../core/sources/vector-source.js';
import { WEB_MERCATOR_QUAD } from '../../core/tiles/tile-matrix.js';
import { listTileProperties } from '../../services/tiles/layer.js';
import {
  computeCentre,
  computeExtentLevel,
  listTileFormats,
  type TilesetSubject,
  tileTemplate,
} from '../surface/tilesets.js';

/**
 * TileJSON 3.0.0 of the WebMercatorQuad tile set: its vector tiles, or its images if there are none. `template` is
 * the URL of the tiles, by default that of the tile set. `format` is their format, by default the first available
 * one.
 */
export function tileJson(
  x: Exchange,
  subject: TilesetSubject,
  {
    template,
    format = listTileFormats(subject)[0]!,
  }: { template?: string; format?: Format | undefined } = {},
) {
  const { collection, collections } = subject;
  const { minzoom, maxzoom } = buildZooms(collections);
  const whole = jointExtent(collections);
  const extent = whole && withinMercator(whole);
  const [longitude, latitude] = extent ? computeCentre(extent) : [0, 0];
  const zoom = Math.min(Math.max(extent ? computeExtentLevel(extent) : 0, minzoom), maxzoom);
  return {
    tilejson: '3.0.0',
    name: collection?.title ?? 'All collections',
    description: collection?.description || undefined,
    attribution: findAttribution(collection),
    version: '1.0.0',
    scheme: 'xyz',
    tiles: [template ?? tileTemplate(x, WEB_MERCATOR_QUAD, subject, { place: '{z}/{y}/{x}', format })],
    minzoom,
    maxzoom,
    // Readers of TileJSON do not support a box across the antimeridian.
    bounds: extent && uncrossed(extent),
    center: extent && [longitude, latitude, zoom],
    ...(isVectorFormat(format)
      ? { encoding: format.name, vector_layers: collections.flatMap(listLayers) }
      : {}),
  };
}

function buildZooms(collections: readonly Collection[]): { minzoom: number; maxzoom: number } {
  const ranges = collections.map(tileLevels);
  const minzoom = Math.min(LIMITS.tileZoom, ...ranges.map(({ first }) => first));
  const maxzoom = Math.max(0, ...ranges.map(({ last }) => last));
  return { minzoom: Math.max(0, minzoom), maxzoom: Math.min(LIMITS.tileZoom, maxzoom) };
}

function listLayers(collection: Collection) {
  if (hasCoverage(collection)) return [];
  const { minzoom, maxzoom } = buildZooms([collection]);
  if (hasStoredTiles(collection))
    return collection.vectorLayers.map((layer) => ({ minzoom, maxzoom, ...layer }));
  const { id, title, description } = collection;
  return [{ id, description: description || title, fields: collectFields(collection), minzoom, maxzoom }];
}

const TYPES: Partial<Record<FieldType, string>> = { integer: 'Number', number: 'Number', boolean: 'Boolean' };

function collectFields(collection: VectorCollection): Record<string, string> {
  const carried = listTileProperties(collection);
  const fields = collection.source.fields.filter(({ name }) => carried?.includes(name) ?? true);
  return Object.fromEntries(fields.map(({ name, type }) => [name, TYPES[type] ?? 'String']));
}
