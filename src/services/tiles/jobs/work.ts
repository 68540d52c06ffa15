import { hasFeatures, hasStoredTiles } from '../../../core/catalog/abilities.js';
import { type CatalogSnapshot, type Collection, isUnmeasured } from '../../../core/catalog/collection.js';
import { unreadNamed } from '../../../core/catalog/unread.js';
import { ApiError } from '../../../core/errors/errors.js';
import type { Box } from '../../../core/geometry/box.js';
import {
  type Format,
  isVectorFormat,
  JPEG_FORMAT,
  PNG_FORMAT,
  VECTOR_FORMATS,
  WEBP_FORMAT,
} from '../../../core/http/media.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { type TileMatrixSet, WEB_MERCATOR_QUAD } from '../../../core/tiles/tile-matrix.js';
import { MADE_FORMATS, tileFormats } from '../formats.js';
import { computeTileRanges, countRangeTiles, intersection, type TileRange, union } from './area.js';
import type { TileJobRequest } from './tally.js';

/** A selection with its resolved collections, set and format. */
export interface TileWork {
  readonly selection: TileJobRequest;
  readonly set: TileMatrixSet;
  readonly format: Format;
  readonly collections: readonly Collection[];
  /** CRS84. */
  readonly area: Box;
  /** Ranges of tiles by zoom. */
  readonly ranges: ReadonlyMap<number, readonly TileRange[]>;
  /** Addresses in all ranges. */
  readonly total: number;
}

const WORLD: Box = [-180, -90, 180, 90];
const FORMATS: readonly Format[] = [...VECTOR_FORMATS, ...[PNG_FORMAT, WEBP_FORMAT, JPEG_FORMAT]];

/** The default tile format of these collections. */
export function usualFormat(collections: readonly Collection[]): string {
  const [first] = collections;
  if (hasStoredTiles(first)) return first.format;
  return collections.some(hasFeatures) ? 'mvt' : 'png';
}

/** Resolves a selection. Throws `invalid-request` for unknown or incompatible parameters. */
export function tileWork(selection: TileJobRequest, catalog: CatalogSnapshot): TileWork {
  const collections = selection.collections.map((id) => {
    const collection = catalog.byId(id);
    if (collection) return collection;
    throw unreadNamed(catalog, id) ?? refused(`There is no collection '${id.slice(0, 100)}'.`);
  });
  if (collections.length === 0) refused('There is no collection with tiles.');
  if (collections.length > LIMITS.collectionsPerRequest)
    refused(`A tile can have at most ${LIMITS.collectionsPerRequest} collections.`);
  const set = catalog.matrixSets.byId(selection.tileMatrixSetId);
  if (!set) return refused(`There is no tile matrix set '${selection.tileMatrixSetId.slice(0, 100)}'.`);
  const { minZoom, maxZoom } = selection;
  const last = set.matrices.length - 1;
  if (minZoom > maxZoom || maxZoom > last)
    refused(`The zooms of ${set.id} must be from 0 to ${last}, the first not above the last.`);
  const format = buildFormat(selection.format || usualFormat(collections), collections, set);
  // If the extent of the rows that a rule leaves is unknown, tiles can be anywhere.
  const findExtent = (one: Collection) => (isUnmeasured(one) ? WORLD : one.extent84);
  const extent = collections.reduce<Box | undefined>((sum, one) => union(sum, findExtent(one)), undefined);
  if (!extent) return refused('The collections are empty.');
  const area = selection.bbox ? intersection(extent, selection.bbox) : extent;
  const zooms = Array.from({ length: area ? maxZoom - minZoom + 1 : 0 }, (_, i) => minZoom + i);
  const ranges = new Map(zooms.map((zoom) => [zoom, computeTileRanges(set, zoom, area!)]));
  const total = [...ranges.values()].reduce((sum, part) => sum + countRangeTiles(part), 0);
  return { selection, set, format, collections, area: area ?? extent, ranges, total };
}

function buildFormat(name: string, collections: readonly Collection[], set: TileMatrixSet): Format {
  const format = FORMATS.find((one) => one.name === name);
  const [first] = collections;
  if (collections.some(hasStoredTiles)) {
    if (collections.length > 1) refused('A tile archive cannot be combined with other collections.');
    if (format && !tileFormats(collections).includes(format))
      refused(
        `The format must be that of the tiles of '${first!.id}': ${formatNames(tileFormats(collections))}.`,
      );
    if (set !== WEB_MERCATOR_QUAD) refused('The tile matrix set must be WebMercatorQuad for a tile archive.');
  } else if (!MADE_FORMATS.some((one) => one === format)) {
    refused(`The format must be one of ${formatNames(MADE_FORMATS)}.`);
  } else if (format && isVectorFormat(format) && !collections.some(hasFeatures)) {
    refused('A raster collection has no vector tiles. Use png or webp.');
  }
  return format ?? refused(`'${name.slice(0, 40)}' is not a format of tiles.`);
}

const formatNames = (formats: readonly Format[]) => formats.map(({ name }) => name).join(', ');

function refused(message: string): never {
  throw new ApiError('invalid-request', message);
}
