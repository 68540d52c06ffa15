/** Conversion of raster bands to colours. */

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
  /** One band of indices. `colors` contains RGBA per index. */
  | { kind: 'palette'; bands: [number]; colors: Uint8Array }
  /** Bytes shown without a stretch: gray, or red, green and blue. A following alpha band is applied. */
  | { kind: 'bytes'; bands: number[]; samples: 1 | 3 }
  /** Values stretched to bytes by each band's statistics. A following alpha band marks the existing values. */
  | { kind: 'stretch'; bands: number[]; samples: 1 | 3; stretches: Stretch[] }
  /** Colours chosen by a request. `bands` are the bands of the drawing, followed by an alpha band if there is one. */
  | { kind: 'drawing'; bands: number[]; drawing: PixelColors };

/** Selects the rendering of a raster. `selection` contains 1-based bands. Default: all bands. */
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

/** Returns the bits per value of a byte band. Images of 1, 2 or 4 bits are white at their maximum. */
function countBits(band: Pick<RasterBand, 'getMetadata'>): number {
  const { NBITS: bits } = band.getMetadata('IMAGE_STRUCTURE') as { NBITS?: string };
  return bits === undefined ? 8 : Number(bits);
}

/**
 * Returns the band that hides pixels, selected or not. The warper uses a last band of this kind as the mask of valid
 * pixels.
 */
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

/** Bands that declare red, green and blue come first. Without all three, the file's order applies. */
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
