import { findAttribution, hasFeatures, hasStoredTiles } from '../../../core/catalog/abilities.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import { ApiError } from '../../../core/errors/errors.js';
import { uncrossed, withinMercator } from '../../../core/geometry/box.js';
import { isVectorFormat } from '../../../core/http/media.js';
import type { FieldType } from '../../../core/sources/vector-source.js';
import type {
  ArchiveDescription,
  TileGrid,
  VectorLayerMetadata,
  WrittenContainer,
} from '../../../core/tiles/archives.js';
import { matrixBox, type TileMatrixSet, WEB_MERCATOR_QUAD } from '../../../core/tiles/tile-matrix.js';
import { listTileProperties } from '../layer.js';
import type { TileWork } from './work.js';

/** Throws `invalid-request` for tiles that the container cannot store. */
export function checkContainer(container: WrittenContainer, { set, format, selection }: TileWork): void {
  if (container !== 'gpkg') {
    if (set !== WEB_MERCATOR_QUAD)
      throw new ApiError('invalid-request', `A ${container} archive can only have tiles of WebMercatorQuad.`);
    return;
  }
  if (isVectorFormat(format))
    throw new ApiError(
      'invalid-request',
      'The server does not write vector tiles to GeoPackage. Use png or webp, or another container.',
    );
  if (!isOneGrid(set, selection.minZoom, selection.maxZoom))
    throw new ApiError('invalid-request', `GeoPackage cannot store the grid of ${set.id} at these zooms.`);
}

/** Metadata of the archive of a tile job. */
export function archiveDescription(work: TileWork): ArchiveDescription {
  const { collections, area, format, selection } = work;
  const { minZoom, maxZoom } = selection;
  const [first] = collections;
  const description = collections.map((one) => one.description).find((text) => text !== '');
  const attribution = findAttribution(first);
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
    bounds: work.set === WEB_MERCATOR_QUAD ? withinMercator(uncrossed(area)) : uncrossed(area),
    minZoom,
    maxZoom,
    ...(isVectorFormat(format) ? { vectorLayers: vectorLayers(work) } : {}),
    grid: tileGrid(work.set, minZoom, maxZoom),
  };
}

function vectorLayers({ collections, selection }: TileWork): VectorLayerMetadata[] {
  const zooms = { minzoom: selection.minZoom, maxzoom: selection.maxZoom };
  const [first] = collections;
  if (hasStoredTiles(first)) return first.vectorLayers.map((layer) => ({ ...layer, ...zooms }));
  return collections.filter(hasFeatures).map((collection) => ({
    id: collection.id,
    description: collection.description || collection.title,
    fields: collectFields(collection),
    ...zooms,
  }));
}

const KINDS: Partial<Record<FieldType, string>> = { integer: 'Number', number: 'Number', boolean: 'Boolean' };

function collectFields(collection: VectorCollection): Record<string, string> {
  const carried = listTileProperties(collection);
  const fields = collection.source.fields.filter(({ name }) => carried?.includes(name) ?? true);
  return Object.fromEntries(fields.map(({ name, type }) => [name, KINDS[type] ?? 'String']));
}

/** The matrices of some zooms. */
export function tileGrid(set: TileMatrixSet, minZoom: number, maxZoom: number): TileGrid {
  const matrices = listZooms(minZoom, maxZoom).map((zoom) => {
    const { matrixWidth, matrixHeight, tileWidth, tileHeight, cellSize } = set.matrices[zoom]!;
    return { zoom, columns: matrixWidth, rows: matrixHeight, tileWidth, tileHeight, cellSize };
  });
  return { id: set.id, crs: set.crs.proj, extent: matrixBox(set, minZoom), matrices };
}

function listZooms(minZoom: number, maxZoom: number): number[] {
  return Array.from({ length: maxZoom - minZoom + 1 }, (_, i) => minZoom + i);
}

/** Part of a matrix's width by which its sides may differ from those of another. */
const SAME = 1e-9;

/** Whether all matrices cover the same extent in the same way, rows from the top: the only grids of GeoPackage. */
function isOneGrid(set: TileMatrixSet, minZoom: number, maxZoom: number): boolean {
  const extent = matrixBox(set, minZoom);
  const tolerance = (extent[2] - extent[0]) * SAME;
  return listZooms(minZoom, maxZoom).every((zoom) => {
    const { cornerOfOrigin, variableWidths } = set.matrices[zoom]!;
    const box = matrixBox(set, zoom);
    const same = box.every((side, i) => Math.abs(side - extent[i]!) <= tolerance);
    return same && cornerOfOrigin === 'topLeft' && variableWidths.length === 0;
  });
}
