import type { Box } from '../../../core/geometry/box.js';
import { tileBox, tileLimits, WEB_MERCATOR_QUAD } from '../../../core/tiles/tile-matrix.js';
import { extentInSet } from '../extent.js';
import type { TileRequest } from '../request.js';

/**
 * Tags by which a content delivery network (CDN) finds the tiles that an edit touches. Every tile has the tag of all
 * tiles, the tags of its collections, and one for each collection and cell.
 * A cell is a tile of WebMercatorQuad up to `CELL_ZOOM`. A cell at `CELL_ZOOM` also represents all tiles within it. Tiles of other sets
 * share one tag for each collection.
 */

/** Every tile has it. */
export const ALL_TILES = 'tiles';

/** Largest zoom of cells. Their sides are 150 km at the equator. */
const CELL_ZOOM = 8;
/** Part of a tile by which the symbols of a feature may reach over its edge. */
const REACH = 1 / 4;
/** Maximum number of cells of an edit. An edit of more cells counts as an edit of the complete collection. */
const MAX_CELLS = 500;

/** Tag of all tiles of a collection. */
export function collectionTag(layerId: number): string {
  return `c${layerId}`;
}

function cellTag(layerId: number, zoom: number, row: number, column: number): string {
  return `c${layerId}-${zoom}-${row}-${column}`;
}

/** Tag of the tiles of a collection in sets other than WebMercatorQuad. */
function otherSetsTag(layerId: number): string {
  return `c${layerId}-other`;
}

/** Tags of a tile. */
export function tileTags({ collections, at }: Pick<TileRequest, 'collections' | 'at'>): readonly string[] {
  const depth = Math.max(0, at.zoom - CELL_ZOOM);
  const [zoom, row, column] = [at.zoom - depth, at.row >> depth, at.column >> depth];
  return [
    ALL_TILES,
    ...collections.flatMap(({ layerId }) => [
      collectionTag(layerId),
      at.set === WEB_MERCATOR_QUAD ? cellTag(layerId, zoom, row, column) : otherSetsTag(layerId),
    ]),
  ];
}

/** The tags of the tiles that an edit can touch. Areas are in CRS84. Default: anywhere. */
export function editTags(layerId: number, areas: readonly Box[] | undefined): readonly string[] {
  const tags = new Set([otherSetsTag(layerId)]);
  for (const area of areas ?? []) {
    for (const tag of cellTags(layerId, area)) if (tags.size <= MAX_CELLS) tags.add(tag);
  }
  return areas && tags.size <= MAX_CELLS ? [...tags] : [collectionTag(layerId)];
}

function* cellTags(layerId: number, area: Box): Generator<string> {
  const extent = extentInSet(WEB_MERCATOR_QUAD, area);
  if (!extent) return;
  for (let zoom = 0; zoom <= CELL_ZOOM; zoom++) {
    const [minx, , maxx] = tileBox(WEB_MERCATOR_QUAD, zoom, 0, 0);
    const reach = (maxx - minx) * REACH;
    const window = tileLimits(WEB_MERCATOR_QUAD, zoom, [
      extent[0] - reach,
      extent[1] - reach,
      extent[2] + reach,
      extent[3] + reach,
    ]);
    if (!window) continue;
    for (let row = window.minTileRow; row <= window.maxTileRow; row++)
      for (let column = window.minTileCol; column <= window.maxTileCol; column++)
        yield cellTag(layerId, zoom, row, column);
  }
}

/**
 * Tags in the syntax of the header: separated by spaces in Surrogate-Key and xkey, by commas in Cache-Tag and
 * Edge-Cache-Tag.
 */
export function joinTags(header: string, tags: readonly string[]): string {
  return tags.join(/cache-tag$/i.test(header) ? ',' : ' ');
}
