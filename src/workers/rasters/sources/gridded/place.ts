/** Georeferences of grids. */

import { TaskFailure } from '../../../../core/errors/failure.js';
import { gdal } from '../../../gdal/gdal.js';
import { checkShape } from '../../../gdal/shape.js';
import type { GeoTransform } from '../../georeference.js';

/** Columns of the stored grid, and where they go. */
export interface Strip {
  from: number;
  columns: number;
  to: number;
}

export interface GridGeoreference {
  geoTransform: GeoTransform;
  /** WKT, or a name. */
  srs: string;
  width: number;
  height: number;
  blockSize: { x: number; y: number };
  /** Size of the stored grid. */
  stored: { width: number; height: number };
  strips: Strip[];
  /** Rows run from south to north. */
  southUp: boolean;
  /** Whether there are positions inside the grid that no stored cell covers. */
  hasGaps?: boolean;
}

/** Reads it from one slice of a variable. Fails with `source-unreadable` for grids that are not regular. */
export async function readGridPlace(name: string, driver: string): Promise<GridGeoreference> {
  const dataset = await gdal.openAsync(name, 'r', [driver]);
  try {
    checkShape(dataset, Number.POSITIVE_INFINITY);
    const geoTransform = dataset.geoTransform as GeoTransform | null;
    if (!geoTransform || geoTransform.some((value) => !Number.isFinite(value)) || geoTransform[1] <= 0)
      throw new TaskFailure('source-unreadable', 'The grid is not regular, or has no coordinates.');
    if (geoTransform[2] !== 0 || geoTransform[4] !== 0 || geoTransform[5] === 0)
      throw new TaskFailure('source-unreadable', 'The grid is rotated.');
    const { srs, rasterSize, bands } = dataset;
    const stored = { width: rasterSize.x, height: rasterSize.y };
    if (!srs) requireDegrees(geoTransform, stored);
    const around = srs && !srs.isGeographic() ? undefined : wrapped(geoTransform, stored.width);
    const [x0, width, strips] = around ?? [
      geoTransform[0],
      stored.width,
      [{ from: 0, columns: stored.width, to: 0 }],
    ];
    return {
      geoTransform: [x0, ...geoTransform.slice(1)] as GeoTransform,
      // Grids without a name for their coordinates are longitude and latitude by convention (CF).
      srs: srs?.toWKT() ?? 'EPSG:4326',
      width,
      height: stored.height,
      blockSize: bands.get(1).blockSize,
      stored,
      strips,
      southUp: geoTransform[5] > 0,
    };
  } finally {
    dataset.close();
  }
}

/** Grids without a name for their coordinates are longitude and latitude, unless that cannot be. */
function requireDegrees(
  [x0, dx, , y0, , dy]: GeoTransform,
  { width, height }: GridGeoreference['stored'],
): void {
  const [x1, y1] = [x0 + width * dx, y0 + height * dy];
  const isOnEarth = x0 >= -540 && x1 <= 720 && Math.max(Math.abs(y0), Math.abs(y1)) <= 90 + Math.abs(dy);
  if (!isOnEarth)
    throw new TaskFailure(
      'source-unreadable',
      'The grid names no coordinate reference system (grid_mapping), and its coordinates cannot be degrees.',
    );
}

/** Share of a column within which a sum of columns counts as the complete circle. */
const CIRCLE_TOLERANCE = 0.01;

/**
 * Longitudes beyond 180 degrees are moved to the west. A grid across the antimeridian becomes a grid around the
 * globe, in which uncovered cells have no data.
 */
function wrapped([x0, dx]: GeoTransform, columns: number): [number, number, Strip[]] | undefined {
  const end = x0 + columns * dx;
  if (end <= 180 + dx / 2) return undefined;
  if (x0 >= 180 - dx / 2) return [x0 - 360, columns, [{ from: 0, columns, to: 0 }]];
  const around = Math.round(360 / dx);
  if (Math.abs(around * dx - 360) > dx * CIRCLE_TOLERANCE || columns > around) return undefined;
  // The column whose centre is the antimeridian is the first.
  const east = Math.ceil((180 - x0) / dx - 0.5 - 1e-6);
  const west = x0 + east * dx - 360;
  return [
    west,
    around,
    [
      { from: east, columns: columns - east, to: 0 },
      { from: 0, columns: east, to: around - east },
    ],
  ];
}
