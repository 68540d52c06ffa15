import { CRS84, type Crs } from './crs.js';
import { LIMITS } from './limits.js';
import type { Box } from './tasks.js';

/** Tile matrix sets (OGC 17-083r4, two-dimensional): regular quadtrees with the origin top left. */
export interface TileMatrixSet {
  readonly id: string;
  readonly title: string;
  readonly uri: string;
  readonly wellKnownScaleSet?: string;
  readonly crs: Crs;
  /** Top left corner in x,y order. */
  readonly origin: readonly [number, number];
  /** Side of a tile of matrix 0, in CRS units. */
  readonly span: number;
  /** Tiles of matrix 0: columns and rows. */
  readonly width: number;
  readonly height: number;
  readonly maxZoom: number;
  readonly metresPerUnit: number;
}

const WEB_MERCATOR_HALF = 20037508.342789244;
/** Metres per degree on the WGS 84 equator, as the standard fixes it. */
const METRES_PER_DEGREE = (6378137 * Math.PI) / 180;
/** The standard's pixel: 0.28 mm. */
const PIXEL_METRES = 0.00028;
const TILE_PIXELS = 256;

export const WEB_MERCATOR: Crs = {
  uri: 'http://www.opengis.net/def/crs/EPSG/0/3857',
  proj: 'EPSG:3857',
  epsg: 3857,
  northFirst: false,
  geographic: false,
};

export const WEB_MERCATOR_QUAD: TileMatrixSet = {
  id: 'WebMercatorQuad',
  title: 'Google Maps Compatible for the World',
  uri: 'http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad',
  wellKnownScaleSet: 'http://www.opengis.net/def/wkss/OGC/1.0/GoogleMapsCompatible',
  crs: WEB_MERCATOR,
  origin: [-WEB_MERCATOR_HALF, WEB_MERCATOR_HALF],
  span: WEB_MERCATOR_HALF * 2,
  width: 1,
  height: 1,
  maxZoom: LIMITS.tileZoom,
  metresPerUnit: 1,
};

export const WORLD_CRS84_QUAD: TileMatrixSet = {
  id: 'WorldCRS84Quad',
  title: 'CRS84 for the World',
  uri: 'http://www.opengis.net/def/tilematrixset/OGC/1.0/WorldCRS84Quad',
  wellKnownScaleSet: 'http://www.opengis.net/def/wkss/OGC/1.0/GoogleCRS84Quad',
  crs: CRS84,
  origin: [-180, 90],
  span: 180,
  width: 2,
  height: 1,
  maxZoom: LIMITS.tileZoom,
  metresPerUnit: METRES_PER_DEGREE,
};

export const TILE_MATRIX_SETS: readonly TileMatrixSet[] = [WEB_MERCATOR_QUAD, WORLD_CRS84_QUAD];

export function tileMatrixSet(id: string): TileMatrixSet | undefined {
  return TILE_MATRIX_SETS.find((set) => set.id === id);
}

/** Zoom of a tileMatrix identifier, or undefined when the set has no such matrix. */
export function zoomOf(set: TileMatrixSet, tileMatrix: string): number | undefined {
  if (!/^(0|[1-9]\d?)$/.test(tileMatrix)) return undefined;
  const zoom = Number(tileMatrix);
  return zoom <= set.maxZoom ? zoom : undefined;
}

export function matrixSize(set: TileMatrixSet, zoom: number): { columns: number; rows: number } {
  const factor = 2 ** zoom;
  return { columns: set.width * factor, rows: set.height * factor };
}

/** Extent of a tile in the set's CRS, x,y ordered. Row 0 is at the top. */
export function tileBox(set: TileMatrixSet, zoom: number, row: number, column: number): Box {
  const side = set.span / 2 ** zoom;
  const minx = set.origin[0] + column * side;
  const maxy = set.origin[1] - row * side;
  return [minx, maxy - side, minx + side, maxy];
}

export interface TileLimits {
  tileMatrix: string;
  minTileRow: number;
  maxTileRow: number;
  minTileCol: number;
  maxTileCol: number;
}

/** Range of tiles that an extent (in the set's CRS) touches at a zoom. */
export function tileLimits(set: TileMatrixSet, zoom: number, extent: Box): TileLimits {
  const side = set.span / 2 ** zoom;
  const { columns, rows } = matrixSize(set, zoom);
  const clamp = (value: number, count: number) => Math.min(Math.max(Math.floor(value), 0), count - 1);
  return {
    tileMatrix: String(zoom),
    minTileRow: clamp((set.origin[1] - extent[3]) / side, rows),
    maxTileRow: clamp((set.origin[1] - extent[1]) / side, rows),
    minTileCol: clamp((extent[0] - set.origin[0]) / side, columns),
    maxTileCol: clamp((extent[2] - set.origin[0]) / side, columns),
  };
}

/** Extent in CRS84 -> extent in the set's CRS; latitudes beyond the Mercator limit are cut. */
export function extentInSet(set: TileMatrixSet, extent84: Box): Box {
  if (set.crs.geographic) return extent84;
  const limit = 85.0511287798;
  const x = (lon: number) => (lon * WEB_MERCATOR_HALF) / 180;
  const y = (lat: number) => {
    const bounded = Math.min(Math.max(lat, -limit), limit);
    return (Math.log(Math.tan(((90 + bounded) * Math.PI) / 360)) * WEB_MERCATOR_HALF) / Math.PI;
  };
  return [x(extent84[0]), y(extent84[1]), x(extent84[2]), y(extent84[3])];
}

/** The JSON definition of one matrix, members as the standard names them. */
export function tileMatrixDocument(set: TileMatrixSet, zoom: number) {
  const cellSize = set.span / TILE_PIXELS / 2 ** zoom;
  const { columns, rows } = matrixSize(set, zoom);
  return {
    id: String(zoom),
    scaleDenominator: (cellSize * set.metresPerUnit) / PIXEL_METRES,
    cellSize,
    cornerOfOrigin: 'topLeft',
    pointOfOrigin: set.origin,
    tileWidth: TILE_PIXELS,
    tileHeight: TILE_PIXELS,
    matrixWidth: columns,
    matrixHeight: rows,
  };
}
