/** Rasters of integers that doubles round. */

import type { RasterBand } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { RasterProcess } from '../../../core/rasters/raster-processes.js';
import { type Dataset, gdal } from '../../gdal/gdal.js';
import { rasterCopyPath, splitPath } from '../../gdal/parts.js';
import { isBeyondDoubles, WIDE_NODATA, type WideType } from '../../rasters/pixels/wide-integers.js';
import { joinHalves, splitHalves } from './halves.js';

type OnProgress = (fraction: number) => void;

/** Share of the work after which only the halves have to be joined. */
const MOVED = 0.6;

/** Processes that take the grid of a raster and none of its values. */
const GRID_ONLY: ReadonlySet<RasterProcess['kind']> = new Set(['rasterize', 'idw', 'linear']);
/** Processes of all bands of all rasters. */
const ALL_BANDS: ReadonlySet<RasterProcess['kind']> = new Set([
  ...(['algebra', 'mosaic', 'warp', 'clip', 'statistics', 'sample'] as const),
]);

/** Whether a process reads integers that a double rounds. */
export async function readsBeyondDoubles(
  process: RasterProcess,
  { datasets, band }: { datasets: readonly Dataset[]; band: number },
): Promise<boolean> {
  for (const one of bandsRead(process, datasets, band)) if (await isBeyondDoubles(one)) return true;
  return false;
}

function bandsRead(
  process: RasterProcess,
  datasets: readonly Dataset[],
  band: number,
): readonly RasterBand[] {
  if (GRID_ONLY.has(process.kind)) return [];
  const isOne = !ALL_BANDS.has(process.kind) || (process.kind === 'algebra' && process.oneBand);
  return datasets.flatMap(({ bands }) =>
    isOne ? (band <= bands.count() ? [bands.get(band)] : []) : [...bands],
  );
}

/** The failure of a process that would round values. */
export const cannotRound = () =>
  new TaskFailure(
    'invalid-input',
    'raster: a band of 64-bit integers has values beyond 2^53, which this process would round. Use raster.clip or raster.sample, or resampling nearest in raster.reproject and raster.resample; they keep all digits.',
  );

/** Moves pixels of 64-bit integers without rounding: `move` writes a GeoTIFF of doubles by the name that it gets. */
export async function moveExactly(
  dataset: Dataset,
  part: string,
  onProgress: OnProgress,
  move: (halves: Dataset, output: string) => Promise<void>,
): Promise<void> {
  const [first, ...others] = [...dataset.bands];
  const { dataType, noDataValue } = first!;
  if (others.some((band) => band.dataType !== dataType || band.noDataValue !== noDataValue))
    throw cannotRound();
  const [split, moved] = [splitPath(part), rasterCopyPath(part)];
  const type = dataType as WideType;
  await splitHalves(dataset, split);
  const halves = await gdal.openAsync(split, 'r', ['GTiff']);
  try {
    await move(halves, moved);
  } finally {
    halves.close();
  }
  onProgress(MOVED);
  const bands = {
    type,
    nodata: Number.isSafeInteger(noDataValue) ? noDataValue! : WIDE_NODATA[type],
    overviews: 'NEAREST',
  } as const;
  await joinHalves(moved, part, bands, (fraction) => onProgress(MOVED + fraction * (1 - MOVED)));
}
