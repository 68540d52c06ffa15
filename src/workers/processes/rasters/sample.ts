/** Values of all bands at points. */

import type { RasterProcess, RasterProcessOutcome } from '../../../core/rasters/raster-processes.js';
import type { GeoPackageSource } from '../../../core/sources/vector-source.js';
import type { Dataset } from '../../gdal/gdal.js';
import { connect } from '../../providers/geopackage/connection.js';
import { inspectGeoPackage } from '../../providers/geopackage/schema/inspect.js';
import { getGeoreference } from '../../rasters/georeference.js';
import { hasScaledValues, type PixelBox, readWindowValues } from '../../rasters/pixels/values.js';
import { isWide, readIntegers } from '../../rasters/pixels/wide-integers.js';
import { writeNumbers } from './numbers.js';
import {
  computePixelPosition,
  groupZones,
  invertGeoTransform,
  listLongitudeShifts,
  type PixelsOf,
  zonesOver,
} from './zones.js';

type SampleProcess = Extract<RasterProcess, { kind: 'sample' }>;

/** Share of the work after which only the features have to be written. */
const COMPUTED = 0.8;

/** Writes the points of a GeoPackage, whose CRS is the raster's CRS, with a value of each band. */
export async function samplePoints(
  { dataset, features }: { dataset: Dataset; features: string },
  { bilinear, prefix }: SampleProcess,
  part: string,
  onProgress: (fraction: number) => void,
  /** Values of 64-bit bands are integers with all digits. */
  keepsDigits = false,
): Promise<RasterProcessOutcome> {
  const source = inspectGeoPackage(features)[0]!.source as GeoPackageSource;
  const width = dataset.bands.count();
  const db = connect(features, true);
  try {
    const { zones, count } = zonesOver(db, source, pixelsNear(dataset, bilinear));
    const numbers = new Float64Array(count * width).fill(Number.NaN);
    const integers = keepsDigits ? integerColumns(dataset, count) : undefined;
    const transform = invertGeoTransform(getGeoreference(dataset).geoTransform);
    let done = 0;
    for (const { zones: group, parts } of groupZones(zones)) {
      // A point is on the raster once.
      const { box, shift } = parts[0]!;
      for (let band = 0; band < width; band++) {
        const column = integers?.get(band);
        if (column) {
          const values = await readIntegers(dataset.bands.get(band + 1), box);
          for (const { index, parts: own } of group)
            column[index] = values[placeIn(box, own[0]!.box.column, own[0]!.box.row)]!;
          continue;
        }
        const values = await readWindowValues(dataset.bands.get(band + 1), box);
        for (const {
          middle: [x, y],
          index,
          parts: own,
        } of group) {
          const pixels = own[0]!.box;
          numbers[index * width + band] = bilinear
            ? between(values, box, pixels, computePixelPosition(transform, x + shift, y))
            : values[placeIn(box, pixels.column, pixels.row)]!;
        }
      }
      done += group.length;
      onProgress((done / zones.length) * COMPUTED);
    }
    const places = Array.from({ length: width }, (_, i) => i);
    const names = places.map((i) => `${prefix}${i + 1}`);
    return { features: writeNumbers(db, source, { names, places, width, numbers, integers }, part) };
  } finally {
    db.close();
  }
}

/** By the places of their bands, columns for the values of 64-bit integers without a scale. */
function integerColumns({ bands }: Dataset, count: number): Map<number, (bigint | null)[]> {
  const wide = [...bands].flatMap((band, i) => (isWide(band) && !hasScaledValues(band) ? [i] : []));
  return new Map(wide.map((i) => [i, Array.from({ length: count }, () => null)]));
}

/** Returns the pixel that contains a point, or the four pixels whose centres are around it. */
function pixelsNear(dataset: Dataset, bilinear: boolean): PixelsOf {
  const transform = invertGeoTransform(getGeoreference(dataset).geoTransform);
  const { x: columns, y: rows } = dataset.rasterSize;
  const shifts = listLongitudeShifts(dataset);
  const findPixels = (x: number, y: number): PixelBox | undefined => {
    const [column, row] = computePixelPosition(transform, x, y);
    if (!(column >= 0 && row >= 0 && column < columns && row < rows)) return undefined;
    if (!bilinear) return { column: Math.floor(column), row: Math.floor(row), width: 1, height: 1 };
    const [left, top] = [Math.max(0, Math.floor(column - 0.5)), Math.max(0, Math.floor(row - 0.5))];
    const [right, bottom] = [
      Math.min(columns, Math.floor(column + 1.5)),
      Math.min(rows, Math.floor(row + 1.5)),
    ];
    return { column: left, row: top, width: right - left, height: bottom - top };
  };
  return ([x, y]) => {
    for (const shift of shifts) {
      const box = findPixels(x + shift, y);
      if (box) return [{ shift, box }];
    }
    return [];
  };
}

const placeIn = (box: PixelBox, column: number, row: number) =>
  (row - box.row) * box.width + column - box.column;

/** Interpolates the existing values by the distances from the centres of the pixels. */
function between(
  values: Float64Array,
  box: PixelBox,
  { column, row, width, height }: PixelBox,
  [x, y]: readonly [number, number],
): number {
  let [sum, weights] = [0, 0];
  for (let j = row; j < row + height; j++) {
    for (let i = column; i < column + width; i++) {
      const value = values[placeIn(box, i, j)]!;
      const weight = (1 - Math.abs(x - 0.5 - i)) * (1 - Math.abs(y - 0.5 - j));
      if (Number.isNaN(value) || weight <= 0) continue;
      sum += value * weight;
      weights += weight;
    }
  }
  return weights > 0 ? sum / weights : Number.NaN;
}
