/** Features on the pixels of a raster. */

import { copyFile } from 'node:fs/promises';
import { TaskFailure } from '../../../core/errors/failure.js';
import { RESULT_TABLE } from '../../../core/processes/feature-processes.js';
import type { RasterProcess } from '../../../core/rasters/raster-processes.js';
import { type Dataset, gdal } from '../../gdal/gdal.js';
import { copyPath, rasterCopyPath } from '../../gdal/parts.js';
import { connect, quote } from '../../providers/geopackage/connection.js';
import {
  createFile,
  FLOAT_BANDS,
  getRasterShape,
  layOut,
  type RasterShape,
} from '../../rasters/pixels/blocks.js';
import { FLOAT_NODATA } from '../../rasters/pixels/nodata.js';
import { WIDE_NODATA } from '../../rasters/pixels/wide-integers.js';
import { joinHalves } from './halves.js';
import { placeFeatures } from './shifted-features.js';

type OnProgress = (fraction: number) => void;

/** Share of the work after which the file has only to be laid out. */
const BURNED = 0.7;

/** Halves of 64-bit integers, as columns of doubles. */
const HALVES = ['gr_high', 'gr_low'] as const;

/**
 * Draws features on the pixels of a raster. Later features cover earlier ones. Features without a value of the field
 * are skipped.
 */
export async function rasterize(
  { dataset, features }: { dataset: Dataset; features: string },
  { field, value, allTouched }: Extract<RasterProcess, { kind: 'rasterize' }>,
  part: string,
  onProgress: OnProgress,
): Promise<void> {
  const type = field === undefined ? floatType(value) : typeOfField(features, field);
  const path = rasterCopyPath(part);
  const shape = getRasterShape(dataset);
  const touched = allTouched ? ['-at'] : [];
  const report = (fraction: number) => onProgress(fraction * BURNED);
  if (type === 'Int64') {
    const halves = await writeHalves(features, field!, copyPath(part));
    const burns = HALVES.map((name) => [...listBurnArguments(name), ...touched]);
    await burn({ dataset, features: halves, shape, path }, 'Float64', burns, report);
    const bands = { type, nodata: WIDE_NODATA.Int64, overviews: 'NEAREST' } as const;
    await joinHalves(path, part, bands, (fraction) => onProgress(BURNED + fraction * (1 - BURNED)));
    return;
  }
  const burns = [
    [...(field === undefined ? ['-burn', String(value)] : listBurnArguments(field)), ...touched],
  ];
  await burn({ dataset, features, shape, path }, type, burns, report);
  await layOut(path, part, 'NEAREST', (fraction) => onProgress(BURNED + fraction * (1 - BURNED)));
}

const listBurnArguments = (field: string) => ['-a', field, '-where', `${quote(field)} IS NOT NULL`];

const floatType = (value: number) => (Math.fround(value) === value ? 'Float32' : 'Float64');

/** Returns the smallest type for all values of a field. Fails with `invalid-input` if there is none. */
function typeOfField(features: string, field: string): 'Float32' | 'Float64' | 'Int64' {
  const db = connect(features, true);
  try {
    const rows = db
      .prepare(
        `SELECT DISTINCT ${quote(field)} FROM ${quote(RESULT_TABLE)} WHERE ${quote(field)} IS NOT NULL`,
      )
      .pluck()
      .safeIntegers()
      .iterate() as IterableIterator<unknown>;
    let [isFloat32, isFloat64, isInteger] = [true, true, true];
    for (const value of rows) {
      const number = typeof value === 'bigint' ? Number(value) : value;
      if (typeof number !== 'number') throw cannotBurn(field, value);
      isFloat32 &&= isExact(value, Math.fround(number));
      isFloat64 &&= isExact(value, number);
      isInteger &&= typeof value === 'bigint' && number !== WIDE_NODATA.Int64;
      if (!isFloat64 && !isInteger) throw cannotBurn(field, value);
    }
    return isFloat32 ? 'Float32' : isFloat64 ? 'Float64' : 'Int64';
  } finally {
    db.close();
  }
}

const isExact = (value: unknown, double: number) =>
  typeof value === 'bigint' ? BigInt(double) === value : double === value;

const cannotBurn = (field: string, value: unknown) =>
  new TaskFailure(
    'invalid-input',
    `field: no band type has all values of '${field.slice(0, 60)}', such as ${String(value).slice(0, 60)}. Use numbers of double precision, or 64-bit integers above -2^63.`,
  );

interface BurnInput {
  dataset: Dataset;
  features: string;
  shape: RasterShape;
  path: string;
}

/** Writes a file with a band for each list of arguments. */
async function burn(
  { dataset, features, shape, path }: BurnInput,
  type: string,
  bands: readonly string[][],
  onProgress: OnProgress,
): Promise<void> {
  const target = await createFile(path, shape, { ...FLOAT_BANDS, count: bands.length, type });
  const placed = placeFeatures(dataset, features);
  const source = await gdal.openAsync(placed.path, 'r', ['GPKG']);
  try {
    for (const [i, args] of bands.entries()) {
      target.bands.get(i + 1).fill(FLOAT_NODATA);
      await gdal.rasterizeAsync(target, source, ['-l', RESULT_TABLE, '-b', String(i + 1), ...args], {
        progress_cb: (fraction: number) => onProgress((i + fraction) / bands.length),
      });
    }
    await target.flushAsync();
  } finally {
    source.close();
    placed.remove();
    target.close();
  }
}

/** A copy of the features with the halves of a field of integers, because GDAL burns doubles. */
async function writeHalves(features: string, field: string, copy: string): Promise<string> {
  await copyFile(features, copy);
  const db = connect(copy, false);
  try {
    const [high, low] = HALVES;
    const table = quote(RESULT_TABLE);
    for (const name of HALVES) db.exec(`ALTER TABLE ${table} ADD COLUMN ${name} REAL`);
    const value = quote(field);
    db.exec(`UPDATE ${table} SET ${high} = ${value} >> 32, ${low} = ${value} & 4294967295`);
  } finally {
    db.close();
  }
  return copy;
}
