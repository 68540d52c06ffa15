/** Values between points, interpolated on the plane of the Delaunay triangle that contains a pixel. */

import type { RasterProcess } from '../../../core/rasters/raster-processes.js';
import { processCollection } from '../../../native/processing.js';
import type { Dataset } from '../../gdal/gdal.js';
import { getGeoreference } from '../../rasters/georeference.js';
import { FLOAT_BANDS, getRasterShape, writeBlocks } from '../../rasters/pixels/blocks.js';
import type { PixelBox } from '../../rasters/pixels/values.js';
import { readFirstRing } from '../blob.js';
import { type Points, readPoints } from './points.js';
import { computePixelPosition, invertGeoTransform, type PixelTransform } from './zones.js';

/** Share of a triangle by which rounding can move a pixel on its edge outside. */
const EDGE = 1e-9;

/** Column, row and value of the corners of a triangle. */
const NUMBERS = 9;

/** On the pixels of a raster; those outside of all triangles have no value. */
export async function interpolateLinear(
  { dataset, features }: { dataset: Dataset; features: string },
  { field }: Extract<RasterProcess, { kind: 'linear' }>,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<void> {
  const points = readPoints(features, field, dataset);
  const transform = invertGeoTransform(getGeoreference(dataset).geoTransform);
  const triangles = buildTriangles(points, transform);
  const compute = async (box: PixelBox) => {
    const out = new Float64Array(box.width * box.height).fill(Number.NaN);
    for (let at = 0; at < triangles.length; at += NUMBERS)
      fill(out, box, triangles.subarray(at, at + NUMBERS));
    return [out];
  };
  await writeBlocks(getRasterShape(dataset), { count: 1, ...FLOAT_BANDS }, part, compute, onProgress);
}

function buildTriangles({ xs, ys, values, blobs }: Points, transform: PixelTransform): Float64Array {
  const byPlace = new Map<string, number>();
  for (const [i, value] of values.entries()) byPlace.set(`${xs[i]} ${ys[i]}`, value);
  const polygons = processCollection(blobs, { name: 'delaunay', tolerance: 0 }, 0);
  const triangles = new Float64Array(polygons.length * NUMBERS);
  for (const [i, polygon] of polygons.entries()) {
    const ring = readFirstRing(polygon);
    for (let corner = 0; corner < 3; corner++) {
      const [x, y] = [ring[2 * corner]!, ring[2 * corner + 1]!];
      triangles.set(
        [...computePixelPosition(transform, x, y), byPlace.get(`${x} ${y}`)!],
        i * NUMBERS + corner * 3,
      );
    }
  }
  return triangles;
}

/** Sets the pixels of a box whose centres are in a triangle. */
function fill(out: Float64Array, box: PixelBox, triangle: Float64Array): void {
  const [ax, ay, a, bx, by, b, cx, cy, c] = triangle as unknown as [
    ...[number, number, number, number, number, number, number, number, number],
  ];
  const area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
  if (area === 0) return;
  const first = (least: number, from: number) => Math.max(from, Math.ceil(least - 0.5 - EDGE));
  const last = (most: number, to: number) => Math.min(to - 1, Math.floor(most - 0.5 + EDGE));
  const right = last(Math.max(ax, bx, cx), box.column + box.width);
  const bottom = last(Math.max(ay, by, cy), box.row + box.height);
  for (let row = first(Math.min(ay, by, cy), box.row); row <= bottom; row++) {
    for (let column = first(Math.min(ax, bx, cx), box.column); column <= right; column++) {
      const [x, y] = [column + 0.5, row + 0.5];
      const ofB = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area;
      const ofC = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area;
      if (ofB < -EDGE || ofC < -EDGE || ofB + ofC > 1 + EDGE) continue;
      out[(row - box.row) * box.width + column - box.column] = a + ofB * (b - a) + ofC * (c - a);
    }
  }
}
