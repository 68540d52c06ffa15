/** Task `raster.elevation`: the heights along a line. */

import { TaskFailure } from '../../core/errors/failure.js';
import {
  ELEVATION_LIMITS,
  type ElevationResult,
  type ElevationSample,
  type ElevationTask,
  type SampleRule,
} from '../../core/rasters/elevations.js';
import { measureGeometries } from '../../native/proximity.js';
import { getCrs, pointTransform } from '../gdal/crs.js';
import type { Dataset } from '../gdal/gdal.js';
import type { Cancellation } from '../threads/cancellation.js';
import { getGeoreference } from './georeference.js';
import { withRaster } from './handles.js';
import { findCrsPeriod } from './pixels/continuous.js';
import { readWindowValues } from './pixels/values.js';

type Position = [number, number];

/** Side of the windows in which pixels are read. */
const WINDOW_SIDE = 256;
/** Pieces into which the segments of a line are divided to measure it. */
const PIECES = 2000;

/** Returns the heights along a line; no samples if the interval is too short for their limit. */
export async function readElevations(
  { source, at, line, crs, sampling }: ElevationTask,
  cancellation: Cancellation,
): Promise<ElevationResult> {
  const { positions, distances, length } = placeSamples(line, crs, sampling);
  return withRaster(
    source,
    async ({ dataset, loss }) => {
      const pixels = findPixels(dataset, positions, crs);
      const heights = await readPixels(dataset, pixels, cancellation);
      const samples = distances.map(
        (distance, i): ElevationSample => ({
          distance,
          height: heights[i]!,
          isOutside: pixels[i] === undefined,
        }),
      );
      return { samples, length, ...getVerticalCrs(dataset), ...loss };
    },
    at,
  );
}

interface PlacedSamples {
  positions: Position[];
  distances: number[];
  length: number;
}

/** Places samples on a line. Its segments are straight in its CRS; distances are over the ground. */
function placeSamples(line: Position[], crs: string, sampling: SampleRule | undefined): PlacedSamples {
  if (line.length === 1) return { positions: line, distances: [0], length: 0 };
  const vertices = divideSegments(line);
  const ends = [0];
  const pieces = vertices.slice(1).map((vertex, i) => writeSegment(vertices[i]!, vertex));
  for (const measures of measureGeometries(pieces, crs, true)) {
    const length = measures?.length;
    if (length === undefined || !Number.isFinite(length))
      throw new TaskFailure('invalid-input', 'line: a vertex is outside the domain of the CRS.');
    ends.push(ends.at(-1)! + length);
  }
  const length = ends.at(-1)!;
  const distances = listDistances(length, sampling);
  let piece = 1;
  const positions = distances.map((distance): Position => {
    while (piece < ends.length - 1 && ends[piece]! < distance) piece++;
    const [from, to] = [vertices[piece - 1]!, vertices[piece]!];
    const span = ends[piece]! - ends[piece - 1]!;
    const share = span > 0 ? Math.min(1, (distance - ends[piece - 1]!) / span) : 0;
    return share === 1 ? to : [from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])];
  });
  return { positions, distances, length };
}

/** Divides the segments, because metres a degree change along them. */
function divideSegments(line: Position[]): Position[] {
  const parts = Math.max(1, Math.floor(PIECES / (line.length - 1)));
  return line.flatMap((vertex, i) => {
    const next = line[i + 1];
    if (!next) return [vertex];
    return Array.from({ length: parts }, (_, part): Position => {
      const share = part / parts;
      return [vertex[0] + share * (next[0] - vertex[0]), vertex[1] + share * (next[1] - vertex[1])];
    });
  });
}

function writeSegment(from: Position, to: Position): Uint8Array {
  const view = new DataView(new ArrayBuffer(41));
  view.setUint8(0, 1);
  view.setUint32(1, 2, true);
  view.setUint32(5, 2, true);
  for (const [i, value] of [...from, ...to].entries()) view.setFloat64(9 + i * 8, value, true);
  return new Uint8Array(view.buffer);
}

function listDistances(length: number, sampling: SampleRule | undefined): number[] {
  if (!sampling) throw new TaskFailure('invalid-input', 'A line needs a number of samples or an interval.');
  if ('count' in sampling) {
    const last = sampling.count - 1;
    return Array.from({ length: sampling.count }, (_, i) => (i === last ? length : (i * length) / last));
  }
  const steps = Math.floor(length / sampling.interval);
  const { profileSamples } = ELEVATION_LIMITS;
  if (steps + 2 > profileSamples) return [];
  const distances = Array.from({ length: steps + 1 }, (_, i) => i * sampling.interval);
  return distances.at(-1)! < length ? [...distances, length] : distances;
}

/** Column and row of each position; undefined outside the raster. */
function findPixels(dataset: Dataset, positions: Position[], from: string): (Position | undefined)[] {
  const { crs, geoTransform } = getGeoreference(dataset);
  const { x: width, y: height } = dataset.rasterSize;
  const [x0, a, b, y0, c, d] = geoTransform;
  const transform = pointTransform(getCrs(from), crs);
  const period = findCrsPeriod(crs);
  const shifts = period === null ? [0] : [0, period, -period];
  return positions.map(([x, y]) => {
    const point = transform(x, y);
    if (!point) return undefined;
    for (const shift of shifts) {
      const [dx, dy] = [point[0] + shift - x0, point[1] - y0];
      const column = Math.floor((dx * d - dy * b) / (a * d - b * c));
      const row = Math.floor((dy * a - dx * c) / (a * d - b * c));
      if (column >= 0 && column < width && row >= 0 && row < height) return [column, row];
    }
    return undefined;
  });
}

/** Reads each window once that contains pixels of the list. */
async function readPixels(
  dataset: Dataset,
  pixels: readonly (Position | undefined)[],
  cancellation: Cancellation,
): Promise<(number | null)[]> {
  const heights = pixels.map((): number | null => null);
  const windows = new Map<string, number[]>();
  for (const [i, pixel] of pixels.entries()) {
    if (!pixel) continue;
    const key = pixel.map((at) => Math.floor(at / WINDOW_SIDE)).join();
    const list = windows.get(key);
    if (list) list.push(i);
    else windows.set(key, [i]);
  }
  const band = dataset.bands.get(1);
  for (const list of windows.values()) {
    cancellation.check();
    const columns = list.map((i) => pixels[i]![0]);
    const rows = list.map((i) => pixels[i]![1]);
    const [column, row] = [Math.min(...columns), Math.min(...rows)];
    const width = Math.max(...columns) - column + 1;
    const height = Math.max(...rows) - row + 1;
    const values = await readWindowValues(band, { column, row, width, height });
    for (const i of list) {
      const value = values[(pixels[i]![1] - row) * width + pixels[i]![0] - column]!;
      heights[i] = Number.isFinite(value) ? value : null;
    }
  }
  return heights;
}

type VerticalCrs = Pick<ElevationResult, 'verticalDatum' | 'verticalUnit'>;

const verticalCrs = new WeakMap<Dataset, VerticalCrs>();

/** Returns the vertical CRS. It is cached, because each access to a dataset acquires GDAL's lock. */
function getVerticalCrs(dataset: Dataset): VerticalCrs {
  let found = verticalCrs.get(dataset);
  if (!found) verticalCrs.set(dataset, (found = readVerticalCrs(dataset)));
  return found;
}

function readVerticalCrs({ srs }: Dataset): VerticalCrs {
  const read = (name: string) => {
    try {
      return srs?.getAttrValue(name, 0) || undefined;
    } catch {
      return undefined;
    }
  };
  const [datum, unit] = [read('VERT_CS'), read('VERT_CS|UNIT')];
  return { ...(datum && { verticalDatum: datum }), ...(unit && { verticalUnit: unit }) };
}
