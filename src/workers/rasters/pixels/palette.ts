/** How the bands of a raster become colours. */

import type { ColorTable, RasterBand } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { RasterImageTask } from '../../../core/rasters/rasters.js';
import type { RasterHandle } from '../handles.js';
import { hasByteValues } from './byte-values.js';
import type { PixelColors } from './look.js';
import { cutRange } from './range.js';
import { bandStatistics } from './statistics.js';
import type { Stretch } from './stretch.js';

export type PixelRendering =
  /** One band of indices; `colors` holds RGBA per index. */
  | { kind: 'palette'; bands: [number]; colors: Uint8Array }
  /** Bytes shown as they are: gray or red, green, blue; a following alpha band is used as such. */
  | { kind: 'bytes'; bands: number[]; samples: 1 | 3 }
  /** Values stretched to bytes by each band's statistics; a following alpha band says where there are some. */
  | { kind: 'stretch'; bands: number[]; samples: 1 | 3; stretches: Stretch[] }
  /** Coloured as a request wants it. `bands` are those of the drawing, and an alpha band after them. */
  | { kind: 'drawing'; bands: number[]; drawing: PixelColors };

/** Chooses how to show a raster. `selection` holds 1-based bands; absent: all. */
export async function chooseRendering(
  handle: RasterHandle,
  selection?: readonly number[],
  ranges?: RasterImageTask['ranges'],
): Promise<PixelRendering> {
  const { dataset } = handle;
  const numbers = selection ?? Array.from({ length: dataset.bands.count() }, (_, index) => index + 1);
  const roles = numbers.map((number) => ({ number, band: dataset.bands.get(number) }));
  const table = roles[0]!.band.colorTable;
  if (table && roles[0]!.band.dataType === 'Byte' && colorBands(roles).length === 1) {
    return { kind: 'palette', bands: [roles[0]!.number], colors: lookupTable(table) };
  }
  const colors = selection ? colorBands(roles) : inColorOrder(colorBands(roles));
  const samples = colors.length >= 3 ? 3 : 1;
  const entries = colors.slice(0, samples);
  if (entries.length === 0)
    throw new TaskFailure('invalid-input', 'The selection has no band that can be shown.');
  const bands = [...entries.map(({ number }) => number), ...findAlphaBand(handle)];
  const isBytes = entries.every(({ band }) => band.dataType === 'Byte' && countBits(band) === 8);
  if (isBytes) return { kind: 'bytes', bands, samples };
  const stretches = await Promise.all(
    entries.map(({ number, band }) => {
      if (hasByteValues(band)) return { min: 0, max: 2 ** countBits(band) - 1 };
      const range = ranges?.[number - 1];
      if (range) return { min: range[0], max: range[1] };
      return samples === 3 ? cutRange(handle, { band: number }) : loadStretch(handle, number);
    }),
  );
  return { kind: 'stretch', bands, samples, stretches };
}

/** Bits of the values of a band of bytes: images of 1, 2 or 4 bits are white at their greatest value. */
function countBits(band: Pick<RasterBand, 'getMetadata'>): number {
  const { NBITS: bits } = band.getMetadata('IMAGE_STRUCTURE') as { NBITS?: string };
  return bits === undefined ? 8 : Number(bits);
}

/** The band that hides pixels, chosen or not. Warping takes a last band of this kind for what is there and what is not. */
export function findAlphaBand({ dataset: { bands } }: RasterHandle): number[] {
  for (let number = bands.count(); number > 0; number--)
    if (bands.get(number).colorInterpretation === 'Alpha') return [number];
  return [];
}

type Role = {
  number: number;
  band: Pick<RasterBand, 'colorInterpretation' | 'dataType' | 'getMetadata'>;
};

function colorBands<T extends Role>(roles: T[]): T[] {
  return roles.filter(({ band }) => band.colorInterpretation !== 'Alpha');
}

/** Bands that say they are red, green and blue come first; without all three the file's order stands. */
function inColorOrder<T extends Role>(roles: T[]): T[] {
  const named = ['Red', 'Green', 'Blue'].map((color) =>
    roles.find(({ band }) => band.colorInterpretation === color),
  );
  return named.every((role) => role !== undefined) ? (named as T[]) : roles;
}

function lookupTable(table: ColorTable): Uint8Array {
  const colors = new Uint8Array(256 * 4);
  for (let index = 0; index < Math.min(256, table.count()); index++) {
    const { c1, c2, c3, c4 } = table.get(index);
    colors.set([c1, c2, c3, c4], index * 4);
  }
  return colors;
}

async function loadStretch(handle: RasterHandle, number: number): Promise<Stretch> {
  const statistics = await bandStatistics(handle, number);
  if (!statistics) return { min: 0, max: 1 };
  const { min, max } = statistics;
  return max > min ? { min, max } : { min: min - 0.5, max: max + 0.5 };
}
