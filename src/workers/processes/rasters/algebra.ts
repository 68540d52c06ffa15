/** Band math over several rasters. */

import type { RasterBand } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import { listBands } from '../../../core/rasters/band-math/index.js';
import type { RasterProcess } from '../../../core/rasters/raster-processes.js';
import type { Dataset } from '../../gdal/gdal.js';
import { BLOCK, compile } from '../../rasters/pixels/band-math.js';
import { FLOAT_BANDS, getRasterShape, writeBlocks } from '../../rasters/pixels/blocks.js';
import { needsDoubles, readWindowValues } from '../../rasters/pixels/values.js';
import { withViews } from './views.js';

/** A band for each expression, on the pixels of the first raster. A pixel of it has a value where all bands of the expression have one. */
export async function computeAlgebra(
  { datasets, band }: { datasets: readonly Dataset[]; band: number },
  { expressions, oneBand, resampling }: Extract<RasterProcess, { kind: 'algebra' }>,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<void> {
  const shape = getRasterShape(datasets[0]!);
  await withViews(datasets, shape, resampling, async (views) => {
    const bands = views.flatMap((view) => bandsOfView(view, oneBand ? band : undefined));
    const numbers = listBands(expressions);
    const missing = numbers.find((number) => number > bands.length);
    if (missing !== undefined)
      throw new TaskFailure(
        'invalid-input',
        `There is no band b${missing}: the rasters have ${bands.length} band${bands.length === 1 ? '' : 's'}.`,
      );
    const programs = expressions.map((expression) => ({
      evaluate: compile(expression),
      own: listBands([expression]),
    }));
    const type = numbers.some((number) => needsDoubles(bands[number - 1]!)) ? 'Float64' : FLOAT_BANDS.type;
    await writeBlocks(
      shape,
      { count: expressions.length, ...FLOAT_BANDS, type },
      part,
      async (box) => {
        const values = new Map<number, Float64Array>();
        for (const number of numbers) values.set(number, await readWindowValues(bands[number - 1]!, box));
        return programs.map((program) => results(program, values, box.width * box.height));
      },
      onProgress,
    );
  });
}

function bandsOfView({ bands }: Dataset, one: number | undefined): RasterBand[] {
  if (one !== undefined && one > bands.count())
    throw new TaskFailure('invalid-input', `A raster has no band ${one}.`);
  return one === undefined ? [...bands] : [bands.get(one)];
}

function results(
  { evaluate, own }: { evaluate: ReturnType<typeof compile>; own: readonly number[] },
  values: ReadonlyMap<number, Float64Array>,
  count: number,
): Float64Array {
  const out = new Float64Array(count);
  for (let from = 0; from < count; from += BLOCK) {
    const size = Math.min(BLOCK, count - from);
    out.set(evaluate(values, from, size).subarray(0, size), from);
  }
  for (let i = 0; i < count; i++) if (!Number.isFinite(out[i]!)) out[i] = Number.NaN;
  for (const number of own) {
    const band = values.get(number)!;
    for (let i = 0; i < count; i++) if (Number.isNaN(band[i]!)) out[i] = Number.NaN;
  }
  return out;
}
