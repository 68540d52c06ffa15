import type { Collection } from '../../../src/core/catalog/collection.js';
import { type Format, MVT_FORMAT } from '../../../src/core/http/media.js';
import type { MapStyle } from '../../../src/core/styles/model.js';
import { type TileMatrixSet, WEB_MERCATOR_QUAD } from '../../../src/core/tiles/tile-matrix.js';
import { tileKey } from '../../../src/services/tiles/request.js';
import type { KeyedTileRequest, Tile } from '../../../src/services/tiles/tile.js';

export interface Place {
  set?: TileMatrixSet;
  zoom: number;
  row: number;
  column: number;
  format?: Format;
  layers?: readonly number[];
}

/** A tile somewhere; of collection 1 as a vector tile, unless the place says otherwise. */
export function wanted({
  set = WEB_MERCATOR_QUAD,
  zoom,
  row,
  column,
  format = MVT_FORMAT,
  layers = [1],
}: Place) {
  const source = { kind: 'geopackage' };
  const style: MapStyle = { version: 0, layers: [] };
  const collections = layers.map(
    (layerId) =>
      ({
        kind: 'vector',
        source,
        style,
        id: `c${layerId}`,
        layerId,
        cursor: 0,
        version: 'v',
      }) as unknown as Collection,
  );
  const request = { format, collections, at: { set, zoom, row, column } };
  return { ...request, key: tileKey(request) } satisfies KeyedTileRequest;
}

/** A tile of this many bytes; those of the same content have the same tag. */
export function tileOf(bytes: number, etag?: string): Tile {
  return { body: undefined, tag: etag, bytes };
}
