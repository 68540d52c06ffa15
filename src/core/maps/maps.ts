/** Tasks that draw maps. */

import type { Box } from '../geometry/box.js';
import type { TileSize } from '../rasters/rasters.js';

export type MapLayer =
  | {
      kind: 'vector';
      /** An uncompressed vector tile of one layer, whose grid covers the map's bbox. */
      tile: Uint8Array;
      /** Layers of a MapLibre style, as JSON. */
      style: string;
    }
  | {
      kind: 'raster';
      /** RGBA pixels of exactly the map's size. */
      rgba: Uint8Array;
    };

export interface MapTask {
  width: number;
  height: number;
  /** CSS colour, or `transparent`. */
  background: string;
  /** Bottom layer first. */
  layers: MapLayer[];
  /** Grid units of the vector tiles along either side of the map. */
  tileExtent: number;
  /** Zoom level as MapLibre expressions use it. */
  zoom: number;
  /** 1 for 96 dpi, 2 for @2x. */
  scale: number;
  format: 'png' | 'jpeg' | 'webp' | 'tiff';
  quality?: number;
  cut?: TileSize;
  /** Needed by georeferenced formats. */
  bbox: Box;
  crs: string;
}
