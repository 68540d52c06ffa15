/** Integers of 64 bits as pairs of doubles, because GDAL moves and burns doubles. */

import { TaskFailure } from '../../../core/errors/failure.js';
import { type Dataset, gdal } from '../../gdal/gdal.js';
import type { OverviewResampling } from '../../rasters/cog/cog-process.js';
import {
  createFile,
  FLOAT_BANDS,
  getRasterShape,
  type RasterShape,
  splitIntoBlocks,
  writeBlocks,
} from '../../rasters/pixels/blocks.js';
import { FLOAT_NODATA } from '../../rasters/pixels/nodata.js';
import type { PixelBox } from '../../rasters/pixels/values.js';
import { readWide, validIn, type WideType, type WideValues } from '../../rasters/pixels/wide-integers.js';

/** Writes two bands of doubles for each band: the upper and the lower 32 bits. */
export async function splitHalves(dataset: Dataset, path: string): Promise<void> {
  const shape = getRasterShape(dataset);
  const target = await createFile(path, shape, {
    ...FLOAT_BANDS,
    count: 2 * dataset.bands.count(),
    type: 'Float64',
  });
  try {
    for (const [i, band] of [...dataset.bands].entries())
      for (const box of splitIntoBlocks(shape)) {
        const values = await readWide(band, box);
        const isValid = await validIn(band, box, values);
        const half = (part: (value: bigint) => bigint) =>
          Float64Array.from({ length: values.length }, (_, at) =>
            isValid(at) ? Number(part(values[at]!)) : FLOAT_NODATA,
          );
        const { column, row, width, height } = box;
        for (const [at, pixels] of [
          half((value) => value >> 32n),
          half((value) => value & 0xffffffffn),
        ].entries())
          await target.bands.get(2 * i + at + 1).pixels.writeAsync(column, row, width, height, pixels);
      }
    await target.flushAsync();
  } finally {
    target.close();
  }
}

/** Writes the integers whose halves are the bands of a file. */
export async function joinHalves(
  path: string,
  part: string,
  { type, nodata, overviews }: { type: WideType; nodata: number; overviews: OverviewResampling },
  onProgress: (fraction: number) => void,
): Promise<void> {
  const halves = await gdal.openAsync(path, 'r', ['GTiff']);
  const filler = BigInt(nodata);
  const join = async (band: number, { column, row, width, height }: PixelBox): Promise<WideValues> => {
    const read = (number: number) => halves.bands.get(number).pixels.readAsync(column, row, width, height);
    const [high, low] = [await read(band), await read(band + 1)];
    const values = Array.from({ length: high.length }, (_, i) =>
      high[i] === FLOAT_NODATA ? filler : (BigInt(high[i]!) << 32n) | BigInt(low[i]!),
    );
    if (values.some((value, i) => value === filler && high[i] !== FLOAT_NODATA))
      throw new TaskFailure(
        'invalid-input',
        `The raster has the value ${filler}, which would mean no data in the result.`,
      );
    return type === 'Int64' ? BigInt64Array.from(values) : BigUint64Array.from(values);
  };
  try {
    const count = halves.bands.count() / 2;
    await writeBlocks(
      getRasterShape(halves) satisfies RasterShape,
      { count, type, nodata, overviews },
      part,
      async (box) => {
        const bands: WideValues[] = [];
        for (let band = 0; band < count; band++) bands.push(await join(2 * band + 1, box));
        return bands;
      },
      onProgress,
    );
  } finally {
    halves.close();
  }
}
