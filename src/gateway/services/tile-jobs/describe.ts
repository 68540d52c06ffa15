import type {
  ArchiveDescription,
  TileGrid,
  VectorLayerMetadata,
  WrittenContainer,
} from '../../../core/archives.js';
import type { VectorCollection } from '../../../core/collection.js';
import { ApiError } from '../../../core/errors.js';
import { MVT_FORMAT } from '../../../core/media.js';
import type { Box, FieldType } from '../../../core/tasks.js';
import { matrixSize, type TileMatrixSet, tileBox, WEB_MERCATOR_QUAD } from '../../../core/tile-matrix.js';
import { isVector, type TileWork } from './work.js';

const TILE_PIXELS = 256;

/** Throws `invalid-request` for tiles that the container cannot hold. */
export function checkContainer(container: WrittenContainer, { set, format, collections }: TileWork): void {
  const [first] = collections;
  if (container !== 'gpkg') {
    if (set !== WEB_MERCATOR_QUAD)
      throw new ApiError('invalid-request', `A ${container} archive holds tiles of WebMercatorQuad only.`);
    return;
  }
  if (format === MVT_FORMAT)
    throw new ApiError(
      'invalid-request',
      'GeoPackage defines no vector tiles; ask for png, or another container.',
    );
  if (first?.kind === 'archive' && format.name === 'webp') return;
}

/** What the archive of some work says of itself. */
export function archiveDescription(work: TileWork): ArchiveDescription {
  const { collections, area, format, selection } = work;
  const { minZoom, maxZoom } = selection;
  const [first] = collections;
  const description = collections.map((one) => one.description).find((text) => text !== '');
  const attribution = first?.kind === 'archive' ? first.attribution : undefined;
  return {
    name: collections
      .map(({ id }) => id)
      .join('_')
      .slice(0, 60),
    title: collections
      .map(({ title }) => title)
      .join(', ')
      .slice(0, 500),
    ...(description ? { description } : {}),
    ...(attribution ? { attribution } : {}),
    bounds: area[0] <= area[2] ? area : [-180, area[1], 180, area[3]],
    minZoom,
    maxZoom,
    ...(format === MVT_FORMAT ? { vectorLayers: vectorLayers(work) } : {}),
    grid: grid(work.set, minZoom, maxZoom),
  };
}

function vectorLayers({ collections, selection }: TileWork): VectorLayerMetadata[] {
  const zooms = { minzoom: selection.minZoom, maxzoom: selection.maxZoom };
  const [first] = collections;
  if (first?.kind === 'archive') return first.vectorLayers.map((id) => ({ id, fields: {}, ...zooms }));
  return collections.filter(isVector).map((collection) => ({
    id: collection.id,
    description: collection.description || collection.title,
    fields: fieldsOf(collection),
    ...zooms,
  }));
}

const KINDS: Partial<Record<FieldType, string>> = { integer: 'Number', number: 'Number', boolean: 'Boolean' };

function fieldsOf({ source }: VectorCollection): Record<string, string> {
  return Object.fromEntries(source.fields.map(({ name, type }) => [name, KINDS[type] ?? 'String']));
}

function grid(set: TileMatrixSet, minZoom: number, maxZoom: number): TileGrid {
  const zooms = Array.from({ length: maxZoom - minZoom + 1 }, (_, i) => minZoom + i);
  const matrices = zooms.map((zoom) => {
    const { columns, rows } = matrixSize(set, zoom);
    const [minx, , maxx] = tileBox(set, zoom, 0, 0);
    return { zoom, columns, rows, cellSize: (maxx - minx) / TILE_PIXELS };
  });
  return { id: set.id, crs: set.crs.proj, extent: extentOf(set, minZoom), tilePixels: TILE_PIXELS, matrices };
}

function extentOf(set: TileMatrixSet, zoom: number): Box {
  const { columns, rows } = matrixSize(set, zoom);
  const [minx, , , maxy] = tileBox(set, zoom, 0, 0);
  const [, miny, maxx] = tileBox(set, zoom, rows - 1, columns - 1);
  return [minx, miny, maxx, maxy];
}
