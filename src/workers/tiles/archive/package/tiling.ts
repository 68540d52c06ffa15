import { TaskFailure } from '../../../../core/errors/failure.js';
import type { Box } from '../../../../core/geometry/box.js';
import { normalizeEpsg } from '../../../../core/geometry/crs.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import { tileRangeBounds, validBounds } from '../../../providers/archive/archive-tile.js';

/** Mapping of a package's levels to zooms of WebMercatorQuad, in which archives are stored. */

/** Metres from the middle of the world to its side, in Web Mercator. */
const HALF = 20_037_508.342789244;
const MERCATOR = 3857;
const GEOGRAPHIC = new Set([4326]);
/** Maximum difference between levels, as a fraction of a tile: packages round their resolutions. */
const SAME = 1e-4;

/** Tiling of a package, in any format. */
export interface Tiling {
  readonly wkid: number | undefined;
  readonly origin: { readonly x: number; readonly y: number };
  /** Pixels on a side. */
  readonly size: number;
  /** Metres of a pixel, by level. */
  readonly resolutions: ReadonlyMap<number, number>;
}

/** The zoom of each level. Fails with `source-unreadable` for tiles of another grid. */
export function computeLevelZooms({ wkid, origin, size, resolutions }: Tiling): Map<number, number> {
  if (wkid === undefined || normalizeEpsg(wkid) !== MERCATOR)
    throw other(`its tiles are in ${wkid === undefined ? 'a CRS without a code' : `EPSG:${wkid}`}`);
  if (Math.abs(origin.x + HALF) > 1 || Math.abs(origin.y - HALF) > 1)
    throw other('its tiles begin elsewhere');
  const zooms = new Map<number, number>();
  for (const [level, resolution] of resolutions) {
    const zoom = Math.log2((2 * HALF) / (resolution * size));
    const whole = Math.round(zoom);
    if (!(Math.abs(zoom - whole) < SAME) || whole < 0 || whole > LIMITS.tileZoom)
      throw other(`its level ${level} has ${resolution} m to a pixel`);
    zooms.set(level, whole);
  }
  return zooms;
}

function other(why: string): TaskFailure {
  return new TaskFailure(
    'source-unreadable',
    `The tiles of the package are not those of WebMercatorQuad: ${why}.`,
  );
}

/** Returns a declared extent in CRS84. Undefined if it is not an extent, or is in another CRS. */
export function declaredExtent(extent: unknown, wkid: number | undefined): Box | undefined {
  const { xmin, ymin, xmax, ymax } = (extent ?? {}) as Record<string, unknown>;
  const sides = [xmin, ymin, xmax, ymax].map(Number);
  if (wkid === undefined) return undefined;
  if (GEOGRAPHIC.has(wkid)) return validBounds(sides);
  if (normalizeEpsg(wkid) !== MERCATOR) return undefined;
  const [west, south, east, north] = sides as [number, number, number, number];
  return validBounds([longitude(west), latitude(south), longitude(east), latitude(north)]);
}

const longitude = (x: number) => (x / HALF) * 180;
const latitude = (y: number) => (Math.atan(Math.sinh((y / HALF) * Math.PI)) * 180) / Math.PI;

/** Area of the tiles of a zoom, in CRS84. */
export class Coverage {
  #minRow = Number.POSITIVE_INFINITY;
  #minColumn = Number.POSITIVE_INFINITY;
  #maxRow = 0;
  #maxColumn = 0;

  constructor(private readonly zoom: number) {}

  add({ row, column }: { row: number; column: number }): void {
    this.#minRow = Math.min(this.#minRow, row);
    this.#maxRow = Math.max(this.#maxRow, row);
    this.#minColumn = Math.min(this.#minColumn, column);
    this.#maxColumn = Math.max(this.#maxColumn, column);
  }

  get box(): Box {
    const rows = { minRow: this.#minRow, maxRow: this.#maxRow };
    return tileRangeBounds(this.zoom, { ...rows, minColumn: this.#minColumn, maxColumn: this.#maxColumn });
  }
}
