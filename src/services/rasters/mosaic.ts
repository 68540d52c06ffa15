import { listMosaicMembers } from '../../core/catalog/raster-sources.js';
import type { Box } from '../../core/geometry/box.js';
import { around, mergeBoxesOnGlobe } from '../../core/geometry/box.js';
import type { BandInfo, MosaicMember, RasterGrid, RasterInfo } from '../../core/rasters/rasters.js';
import { transformBox } from '../../native/index.js';

/** A raster that becomes a member of a mosaic. */
export interface MosaicPart {
  /** Names it within the collection. */
  id: string;
  raster: RasterInfo;
  /** RFC 3339. */
  acquired?: string;
}

/** Why rasters do not go together in one layer; undefined when they do. */
export function mismatch(first: RasterInfo, other: RasterInfo): string | undefined {
  const [expected, actual] = [first.bands.length, other.bands.length];
  if (expected === actual)
    return hasPlaceIn(first.crs, other) ? undefined : 'It is outside the area of the CRS of its layer.';
  return `The layer's rasters have ${expected} band${expected === 1 ? '' : 's'}, this one has ${actual}.`;
}

/**
 * Metadata of several rasters as one: on the grid of the finest, in the CRS of the first, around all of them. The
 * newest is drawn last. Rasters without a time are drawn first, in the given order.
 */
export function buildMosaicInfo(parts: readonly MosaicPart[]): RasterInfo {
  const sorted = parts.toSorted((a, b) => compare(a.acquired ?? '', b.acquired ?? ''));
  const first = parts[0]!.raster;
  const placed = parts.map(({ raster }) => placedIn(first.crs, raster));
  const extent = placed.map((one) => one.extent).reduce(around);
  const [dx, dy] = [Math.min(...placed.map((p) => p.pixel[0])), Math.min(...placed.map((p) => p.pixel[1]))];
  const last = sorted.at(-1)!.acquired;
  const grid: RasterGrid = {
    crs: first.crs,
    geoTransform: [extent[0], dx, 0, extent[3], 0, -dy],
    width: Math.max(1, Math.round((extent[2] - extent[0]) / dx)),
    height: Math.max(1, Math.round((extent[3] - extent[1]) / dy)),
  };
  return {
    source: { kind: 'mosaic', members: sorted.flatMap(listParts), grid },
    driver: 'mosaic',
    ...grid,
    epsg: first.epsg,
    extent,
    extent84: mergeBoxesOnGlobe(parts.map(({ raster }) => raster.extent84)),
    bands: first.bands.map((_, i) => together(parts.map(({ raster }) => raster.bands[i]!))),
    overviewCount: Math.min(...parts.map(({ raster }) => raster.overviewCount)),
    blockSize: first.blockSize,
    ...(last === undefined ? {} : { acquired: last }),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function listParts({ id, raster, acquired }: MosaicPart): MosaicMember[] {
  const { source, extent84 } = raster;
  const members = listMosaicMembers(source);
  if (members) return [...members];
  return [
    {
      id,
      source: source as MosaicMember['source'],
      extent84,
      ...(acquired === undefined ? {} : { acquired }),
    },
  ];
}

function hasPlaceIn(crs: string, raster: RasterInfo): boolean {
  try {
    return placedIn(crs, raster).extent.every(Number.isFinite);
  } catch {
    return false;
  }
}

/** Extent and size of a pixel in another CRS. */
function placedIn(crs: string, { extent, geoTransform, width, height, ...raster }: RasterInfo) {
  const [, a, b, , c, d] = geoTransform;
  if (raster.crs === crs) return { extent, pixel: [Math.hypot(a, c), Math.hypot(b, d)] as const };
  const box: Box = transformBox(extent, raster.crs, crs);
  return { extent: box, pixel: [(box[2] - box[0]) / width, (box[3] - box[1]) / height] as const };
}

/** One band of all rasters. */
function together(bands: readonly BandInfo[]): BandInfo {
  const { statistics: _, ...first } = bands[0]!;
  const statisticsOf = bands.flatMap(({ statistics }) => statistics ?? []);
  if (statisticsOf.length === 0) return first;
  const mean = statisticsOf.reduce((sum, one) => sum + one.mean, 0) / statisticsOf.length;
  const stdDev = statisticsOf.reduce((sum, one) => sum + one.stdDev, 0) / statisticsOf.length;
  const min = Math.min(...statisticsOf.map((one) => one.min));
  return {
    ...first,
    statistics: { min, max: Math.max(...statisticsOf.map((one) => one.max)), mean, stdDev },
  };
}
