/** Ranges of values that are shown from the darkest to the brightest colour. */

import { LRUCache } from 'lru-cache';
import { type BandExpression, listBands } from '../../../core/rasters/band-math/index.js';
import type { RasterHandle } from '../handles.js';
import { BLOCK, compile } from './band-math.js';
import { readBandSamples } from './statistics.js';
import type { Stretch } from './stretch.js';

/** Share of the values that is clipped on each side, so that a few clouds do not darken the rest. */
const CUT = 0.02;
/** Number of expressions that are cached per raster. */
const KEPT = 64;

/** Ranges by expression: a handle is of one state of one raster. */
const byHandle = new WeakMap<RasterHandle, LRUCache<string, Promise<Stretch | undefined>>>();

/** Range of a raster without values. */
const ANY_RANGE: Stretch = { min: 0, max: 1 };

/** Returns the range of an expression over the complete raster, without the outermost 2 % of each side. */
export async function cutRange(handle: RasterHandle, expression: BandExpression): Promise<Stretch> {
  return (await findCutRange(handle, expression)) ?? ANY_RANGE;
}

/** The same; undefined for a raster without values. */
export function findCutRange(handle: RasterHandle, expression: BandExpression): Promise<Stretch | undefined> {
  const ranges = byHandle.get(handle) ?? new LRUCache<string, Promise<Stretch | undefined>>({ max: KEPT });
  byHandle.set(handle, ranges);
  const key = JSON.stringify(expression);
  let range = ranges.get(key);
  if (!range) {
    range = sampledRange(handle, expression);
    ranges.set(key, range);
  }
  return range;
}

async function sampledRange(handle: RasterHandle, expression: BandExpression): Promise<Stretch | undefined> {
  const values = (await sample(handle, expression)).sort();
  if (values.length === 0) return undefined;
  const at = (part: number) => values[Math.round((values.length - 1) * part)]!;
  const [min, max] = [at(CUT), at(1 - CUT)];
  return max > min ? { min, max } : { min: min - 0.5, max: max + 0.5 };
}

/** Finite values of an expression, from a sample of its bands. */
async function sample({ dataset }: RasterHandle, expression: BandExpression): Promise<Float64Array> {
  const numbers = listBands([expression]);
  const read: Float32Array[][] = [];
  for (const number of numbers) {
    const band = dataset.bands.get(number);
    const { noDataValue } = band;
    read.push((await readBandSamples(band)).map((values) => withoutNodata(values, noDataValue)));
  }
  const evaluate = compile(expression);
  const finite: number[] = [];
  for (const [part, values] of read[0]!.entries()) {
    const bands = new Map(numbers.map((number, i) => [number, read[i]![part]!]));
    for (let from = 0; from < values.length; from += BLOCK) {
      const count = Math.min(BLOCK, values.length - from);
      for (const value of evaluate(bands, from, count).subarray(0, count))
        if (Number.isFinite(value)) finite.push(value);
    }
  }
  return Float64Array.from(finite);
}

function withoutNodata(values: Float64Array, noData: number | null): Float32Array {
  const sample = Float32Array.from(values);
  if (noData === null) return sample;
  for (let i = 0; i < sample.length; i++) if (values[i] === noData) sample[i] = Number.NaN;
  return sample;
}
