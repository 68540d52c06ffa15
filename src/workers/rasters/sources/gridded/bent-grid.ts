/** Curvilinear grids, resampled when they are read. */

import { TaskFailure } from '../../../../core/errors/failure.js';
import { type Dataset, gdal, scratchPath } from '../../../gdal/gdal.js';
import { checkShape } from '../../../gdal/shape.js';
import type { OpenRaster } from '../opener.js';
import type { GridGeoreference } from './place.js';

/** Files in memory with longitude and latitude of each cell. */
export interface Geolocation {
  longitude: string;
  latitude: string;
  /** Bounding box and size of the regular grid. */
  box: readonly [number, number, number, number];
  width: number;
  height: number;
  release(): void;
}

/** Maximum cells of the arrays in memory. */
const MAX_CELLS = 1 << 26;
/** Maximum ratio of the numbers of cells of the regular and the curvilinear grid. */
const MAX_GROWTH = 4;

/** Reads the arrays of a grid; they are named as GDAL names them. Fails with `source-unreadable`. */
export async function readGeolocation(
  names: { longitude: string; latitude: string },
  driver: string,
): Promise<Geolocation> {
  const longitude = await readArray(names.longitude, driver);
  const latitude = await readArray(names.latitude, driver);
  const { width, height } = longitude;
  if (latitude.width !== width || latitude.height !== height || width < 2 || height < 2)
    throw new TaskFailure('source-unreadable', 'The arrays of longitude and latitude do not make a grid.');
  for (const [i, value] of longitude.values.entries()) {
    const y = latitude.values[i]!;
    const isPlace = Number.isFinite(value) && Math.abs(value) <= 720 && Math.abs(y) <= 90;
    longitude.values[i] = isPlace ? value - 360 * Math.floor((value + 180) / 360) : NO_PLACE;
    if (!isPlace) latitude.values[i] = NO_PLACE;
  }
  const straight = straightGrid(longitude.values, latitude.values, width, height);
  const files = await Promise.all([longitude, latitude].map((array) => writeArray(array)));
  return {
    longitude: files[0]!,
    latitude: files[1]!,
    ...straight,
    release: () => files.forEach((path) => void gdal.vsimem.release(path)),
  };
}

const NO_PLACE = -9999;

interface CellArray {
  values: Float64Array;
  width: number;
  height: number;
}

async function readArray(name: string, driver: string): Promise<CellArray> {
  const dataset = await gdal.openAsync(name, 'r', [driver]);
  try {
    checkShape(dataset, Number.POSITIVE_INFINITY);
    const { x: width, y: height } = dataset.rasterSize;
    if (width * height > MAX_CELLS)
      throw new TaskFailure('source-unreadable', 'The arrays of longitude and latitude are too large.');
    const band = dataset.bands.get(1);
    const values = new Float64Array(width * height);
    await band.pixels.readAsync(0, 0, width, height, values);
    const { noDataValue, scale, offset } = band;
    for (const [i, value] of values.entries())
      values[i] = value === noDataValue ? Number.NaN : value * (scale || 1) + (offset || 0);
    return { values, width, height };
  } finally {
    dataset.close();
  }
}

async function writeArray({ values, width, height }: CellArray): Promise<string> {
  const path = scratchPath('.tif');
  const dataset = await gdal.openAsync(path, 'w', 'GTiff', width, height, 1, gdal.GDT_Float64);
  const band = dataset.bands.get(1);
  band.noDataValue = NO_PLACE;
  await band.pixels.writeAsync(0, 0, width, height, values);
  dataset.close();
  return path;
}

/** Even cells as fine as the bent ones mostly are, around all of their centres. */
function straightGrid(
  longitude: Float64Array,
  latitude: Float64Array,
  width: number,
  height: number,
): Pick<Geolocation, 'box' | 'width' | 'height'> {
  const box: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [i, x] of longitude.entries()) {
    if (x === NO_PLACE) continue;
    const y = latitude[i]!;
    box[0] = Math.min(box[0], x);
    box[1] = Math.min(box[1], y);
    box[2] = Math.max(box[2], x);
    box[3] = Math.max(box[3], y);
  }
  const step = Math.min(
    medianStep(longitude, latitude, { width, height, next: 1 }),
    medianStep(longitude, latitude, { width, height, next: width }),
  );
  if (!(box[0] <= box[2]) || !(step > 0))
    throw new TaskFailure(
      'source-unreadable',
      'The arrays of longitude and latitude do not make a grid of positions.',
    );
  const around = [
    Math.max(-180, box[0] - step / 2),
    Math.max(-90, box[1] - step / 2),
    Math.min(180, box[2] + step / 2),
    Math.min(90, box[3] + step / 2),
  ] as const;
  const area = (around[2] - around[0]) * (around[3] - around[1]);
  const cell = Math.max(step, Math.sqrt(area / (MAX_GROWTH * width * height)));
  const count = (length: number) => Math.max(1, Math.round(length / cell));
  return { box: around, width: count(around[2] - around[0]), height: count(around[3] - around[1]) };
}

/** Median length of the steps from one cell to the next of a row, or of a column; of some of them. */
function medianStep(
  longitude: Float64Array,
  latitude: Float64Array,
  { width, height, next }: { width: number; height: number; next: number },
): number {
  const steps: number[] = [];
  const stride = Math.max(1, Math.floor((width * height) / 10_000));
  for (let i = 0; i + next < width * height; i += stride) {
    const atEnd = next === 1 && (i + 1) % width === 0;
    if (atEnd || longitude[i] === NO_PLACE || longitude[i + next] === NO_PLACE) continue;
    const east = Math.abs(longitude[i + next]! - longitude[i]!);
    const step = Math.hypot(Math.min(east, 360 - east), latitude[i + next]! - latitude[i]!);
    if (step > 0) steps.push(step);
  }
  return steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? Number.NaN;
}

/** Returns the georeference of a grid before its cells are resampled. */
export async function bentPlace(name: string, driver: string): Promise<GridGeoreference> {
  const dataset = await gdal.openAsync(name, 'r', [driver]);
  try {
    checkShape(dataset, Number.POSITIVE_INFINITY);
    const { rasterSize, bands } = dataset;
    const stored = { width: rasterSize.x, height: rasterSize.y };
    return {
      geoTransform: [0, 1, 0, 0, 0, 1],
      srs: '',
      ...stored,
      blockSize: bands.get(1).blockSize,
      stored,
      strips: [{ from: 0, columns: stored.width, to: 0 }],
      southUp: false,
      hasGaps: true,
    };
  } finally {
    dataset.close();
  }
}

/** Returns a regular grid in which each cell contains the value of the curvilinear grid at its position. */
export async function straightened(bent: Dataset, place: Geolocation): Promise<OpenRaster> {
  const path = scratchPath('.vrt');
  const straight = await gdal.warpAsync(
    path,
    null,
    [bent],
    [
      ...['-of', 'VRT', '-geoloc', '-t_srs', 'EPSG:4326', '-te', ...place.box.map(String)],
      ...['-ts', String(place.width), String(place.height), '-r', 'near', '-et', '0', '-ovr', 'NONE'],
    ],
  );
  return {
    dataset: straight,
    close: () => {
      straight.close();
      gdal.vsimem.release(path);
      bent.close();
      place.release();
    },
  };
}
