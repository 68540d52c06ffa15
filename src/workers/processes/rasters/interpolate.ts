/** Values between points, weighted by the inverse of their distance. */

import { TaskFailure } from '../../../core/errors/failure.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import type { RasterProcess } from '../../../core/rasters/raster-processes.js';
import type { Dataset } from '../../gdal/gdal.js';
import { getGeoreference } from '../../rasters/georeference.js';
import { FLOAT_BANDS, getRasterShape, writeBlocks } from '../../rasters/pixels/blocks.js';
import type { PixelBox } from '../../rasters/pixels/values.js';
import { type Points, readPoints } from './points.js';
import { countPixels, type PixelsOf, pixelsAround } from './zones.js';

type IdwProcess = Extract<RasterProcess, { kind: 'idw' }>;

/** Distance below which a pixel receives the value of the point. */
const SAME = 1e-13;

/** On the pixels of a raster; those with no point within the radius have no value. */
export async function interpolateRaster(
  { dataset, features }: { dataset: Dataset; features: string },
  { field, power, radius }: IdwProcess,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<void> {
  const shape = getRasterShape(dataset);
  const points = readPoints(features, field, dataset);
  const near = radius === undefined ? undefined : new Buckets(points, radius);
  const pairs = near?.pairs(pixelsAround(dataset)) ?? points.values.length * shape.width * shape.height;
  if (pairs > PROCESS_LIMITS.interpolationPairs)
    throw new TaskFailure(
      'too-large',
      `There are too many points for so many pixels. Use a ${near ? 'smaller ' : ''}radius.`,
    );
  const [x0, a, b, y0, c, d] = getGeoreference(dataset).geoTransform;
  const all = points.values.map((_, i) => i);
  const weigh = weigher(points, power, radius);
  const compute = async ({ column, row, width, height }: PixelBox) => {
    const out = new Float64Array(width * height);
    for (let i = 0; i < out.length; i++) {
      const [u, v] = [column + (i % width) + 0.5, row + Math.floor(i / width) + 0.5];
      const [x, y] = [x0 + u * a + v * b, y0 + u * c + v * d];
      out[i] = weigh(x, y, near ? near.around(x, y) : [all]);
    }
    return [out];
  };
  await writeBlocks(shape, { count: 1, ...FLOAT_BANDS }, part, compute, onProgress);
}

/** Groups of points by squares whose sides are the radius. */
class Buckets {
  readonly #groups = new Map<string, number[]>();

  constructor(
    private readonly points: Points,
    private readonly side: number,
  ) {
    for (const [i, x] of points.xs.entries()) {
      const key = this.#key(...this.#square(x, points.ys[i]!));
      const group = this.#groups.get(key);
      if (group) group.push(i);
      else this.#groups.set(key, [i]);
    }
  }

  /** All groups that may have a point within the radius. */
  around(x: number, y: number): number[][] {
    const [column, row] = this.#square(x, y);
    const groups: number[][] = [];
    for (let i = column - 1; i <= column + 1; i++) {
      for (let j = row - 1; j <= row + 1; j++) {
        const group = this.#groups.get(this.#key(i, j));
        if (group) groups.push(group);
      }
    }
    return groups;
  }

  /** Pairs of points and pixels that are near each other. */
  pairs(pixelsOf: PixelsOf): number {
    const { side } = this;
    let pairs = 0;
    for (const group of this.#groups.values()) {
      const [column, row] = this.#square(this.points.xs[group[0]!]!, this.points.ys[group[0]!]!);
      const square = [(column - 1) * side, (row - 1) * side, (column + 2) * side, (row + 2) * side] as const;
      const box = pixelsOf(square).find(({ shift }) => shift === 0)?.box;
      if (box) pairs += group.length * countPixels(box);
    }
    return pairs;
  }

  #square(x: number, y: number): [column: number, row: number] {
    return [Math.floor(x / this.side), Math.floor(y / this.side)];
  }

  #key(column: number, row: number): string {
    return `${column},${row}`;
  }
}

function weigher({ xs, ys, values }: Points, power: number, radius = Infinity) {
  const half = power / 2;
  const most = radius ** 2;
  return (x: number, y: number, groups: readonly ArrayLike<number>[]): number => {
    let [sum, weights] = [0, 0];
    for (const group of groups) {
      for (let k = 0; k < group.length; k++) {
        const i = group[k]!;
        const squared = (xs[i]! - x) ** 2 + (ys[i]! - y) ** 2;
        if (squared > most) continue;
        if (squared < SAME) return values[i]!;
        const weight = half === 1 ? 1 / squared : squared ** -half;
        sum += weight * values[i]!;
        weights += weight;
      }
    }
    return weights > 0 ? sum / weights : Number.NaN;
  };
}
