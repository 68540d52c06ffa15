/** Task `raster.inspect`. */

import type { RasterBand } from 'gdal-async';
import { isDistant } from '../../core/catalog/raster-sources.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type { Box } from '../../core/geometry/box.js';
import { mergeBoxesOnGlobe } from '../../core/geometry/box.js';
import type {
  BandInfo,
  RasterGrid,
  RasterInfo,
  RasterMosaic,
  RasterSource,
} from '../../core/rasters/rasters.js';
import type { TaskInput } from '../../core/tasks/tasks.js';
import { CRS84_NAME, getCrs } from '../gdal/crs.js';
import { type Dataset, plainFile } from '../gdal/gdal.js';
import { requireWholeRaster } from '../gdal/truncated-raster.js';
import { readClasses } from './classes.js';
import { getGeoreference } from './georeference.js';
import { type RasterHandle, withRaster } from './handles.js';
import { outlineIn } from './pixels/continuous.js';
import { findCutRange } from './pixels/range.js';
import { bandStatistics } from './pixels/statistics.js';
import { openSourceGrid } from './sources/gridded/open.js';
import { remoteRevision } from './sources/remote/open.js';

/** Bands whose statistics are sampled; further ones are described without. */
const MAX_SAMPLED_BANDS = 16;

/** Describes a raster file after reading from both of its ends, so that a truncated file is found out here. */
export async function inspectRaster({ source }: TaskInput<'raster.inspect'>): Promise<RasterInfo> {
  // Merged values occur in no member.
  if (source.kind === 'mosaic' && source.grid && !source.merge) return inspectMosaic(source, source.grid);
  // Before GDAL opens the file: its reader of ASCII grids does not return from a truncated one.
  if (source.kind === 'file' && source.table === undefined) await requireWholeFile(source.path);
  return withSeriesRanges(source, await withRaster(source, (handle) => describe(source, handle)));
}

async function requireWholeFile(path: string): Promise<void> {
  await plainFile(path);
  await requireWholeRaster(path);
}

async function describe(source: RasterSource, handle: RasterHandle): Promise<RasterInfo> {
  const { dataset } = handle;
  const { geoTransform, crs, extent } = getGeoreference(dataset);
  await readEnds(dataset);
  const first = dataset.bands.get(1);
  return {
    source,
    ...(await loadAxes(source)),
    driver: handle.driver,
    width: dataset.rasterSize.x,
    height: dataset.rasterSize.y,
    geoTransform,
    crs: crs.text,
    epsg: crs.epsg,
    extent,
    extent84: extent84Of(outlineIn(extent, crs, getCrs(CRS84_NAME)), dataset.rasterSize.x),
    bands: await describeBands(handle),
    overviewCount: first.overviews.count(),
    ...buildCompression(dataset),
    blockSize: [first.blockSize.x, first.blockSize.y],
  };
}

/** Positions of the sampled times in a series, from 0 (first) to 1. The newest time is always sampled. */
const SAMPLED_SHARES = [0, 0.25, 0.5, 0.75];
/** Positions in a remote series. */
const DISTANT_SHARES = [0, 0.5];

/**
 * Extends the value ranges of the bands at the newest time step by the value ranges at other time steps, because all
 * time steps use the same colours.
 */
async function withSeriesRanges(source: RasterSource, info: RasterInfo): Promise<RasterInfo> {
  const count = info.times?.length ?? 0;
  if (count < 2) return info;
  const shares = isDistant(source) ? DISTANT_SHARES : SAMPLED_SHARES;
  const times = new Set(shares.map((share) => Math.floor((count - 1) * share)));
  let { bands } = info;
  for (const time of times)
    bands = await withRaster(
      source,
      (handle) => Promise.all(bands.map((band) => extendRange(handle, band))),
      { time },
    );
  return { ...info, bands };
}

async function extendRange(handle: RasterHandle, band: BandInfo): Promise<BandInfo> {
  if (band.band > MAX_SAMPLED_BANDS) return band;
  const range = await findCutRange(handle, { band: band.band });
  if (!range) return band;
  const [min, max] = band.usualRange ?? [range.min, range.max];
  return { ...band, usualRange: [Math.min(min, range.min), Math.max(max, range.max)] };
}

/** Inspects a mosaic. The bands of the first member represent all members, which are checked when they are read. */
async function inspectMosaic(source: RasterMosaic, grid: RasterGrid): Promise<RasterInfo> {
  const { acquired: _, ...first } = await inspectRaster({ source: source.members[0]!.source });
  const [x0, dx, , y0, , dy] = grid.geoTransform;
  const newest = source.members
    .flatMap(({ acquired }) => acquired ?? [])
    .sort()
    .at(-1);
  return {
    ...first,
    ...grid,
    source,
    driver: 'mosaic',
    epsg: getCrs(grid.crs).epsg,
    extent: [x0, y0 + grid.height * dy, x0 + grid.width * dx, y0],
    extent84: mergeBoxesOnGlobe(source.members.map(({ extent84 }) => extent84)),
    ...(newest !== undefined && { acquired: newest }),
  };
}

function buildCompression(dataset: Dataset): { compression?: string } {
  const { COMPRESSION: compression } = dataset.getMetadata('IMAGE_STRUCTURE') as { COMPRESSION?: string };
  return compression === undefined ? {} : { compression };
}

async function loadAxes(source: RasterSource): Promise<Pick<RasterInfo, 'times' | 'levels' | 'revision'>> {
  if (source.kind === 'remote') return { revision: await remoteRevision(source) };
  if (source.kind !== 'gridded') return {};
  const { times, levels } = (await openSourceGrid(source)).axes;
  return {
    ...(times && { times }),
    ...(levels && { levels }),
  };
}

/**
 * Returns the box of a raster within the longitudes and latitudes of the globe. Beyond 180 degrees it continues at
 * -180 and crosses the antimeridian. It does not if less than a pixel is beyond 180 degrees, such as half pixels
 * around the points of a grid.
 */
function extent84Of(box: Box | null, columns: number): Box {
  if (!box) throw new TaskFailure('source-unreadable', 'The extent of the raster is not on the globe.');
  const [west, south, east, north] = box;
  const [bottom, top] = [south, north].map((value) => Math.min(90, Math.max(-90, value))) as [number, number];
  const pixel = (east - west) / columns;
  if (east - west > 360 - pixel / 2) return [-180, bottom, 180, top];
  const turn = 360 * Math.floor((west + pixel + 180) / 360);
  const [start, end] = [Math.max(-180, west - turn), east - turn];
  return [start, bottom, end < 180 + pixel ? Math.min(180, end) : end - 360, top];
}

/** Reads blocks of the first and last band and of their overviews. GDAL fails if the file is truncated. */
async function readEnds(dataset: Dataset): Promise<void> {
  for (const number of new Set([1, dataset.bands.count()])) {
    const band = dataset.bands.get(number);
    await readCorners(band);
    for (let index = 0; index < band.overviews.count(); index++) await readCorners(band.overviews.get(index));
  }
}

/** Reads all corners and the middle, because formats differ in the part of the image at the end of the file. */
async function readCorners(band: RasterBand): Promise<void> {
  const { x: width, y: height } = band.size;
  const spots: [number, number][] = [
    [0, 0],
    [width - 1, height - 1],
    [width - 1, 0],
    [0, height - 1],
    [width >> 1, height >> 1],
  ];
  for (const [x, y] of spots) await band.pixels.getAsync(x, y);
}

async function describeBands(handle: RasterHandle): Promise<BandInfo[]> {
  const infos: BandInfo[] = [];
  for (let number = 1; number <= handle.dataset.bands.count(); number++) {
    const info = describeBand(handle.dataset.bands.get(number), number);
    const statistics = number <= MAX_SAMPLED_BANDS ? await bandStatistics(handle, number) : null;
    const range = statistics ? await findCutRange(handle, { band: number }) : undefined;
    infos.push({
      ...info,
      ...(statistics && { statistics }),
      ...(range && { usualRange: [range.min, range.max] as [number, number] }),
    });
  }
  const [first] = infos;
  const colors = infos.filter(({ colorInterpretation }) => colorInterpretation !== 'Alpha');
  const classes = colors.length === 1 ? await readClasses(handle.dataset, first!) : undefined;
  return classes ? [{ ...first!, classes }, ...infos.slice(1)] : infos;
}

function describeBand(band: RasterBand, number: number): BandInfo {
  return {
    band: number,
    type: band.dataType ?? 'Unknown',
    noData: band.noDataValue,
    description: band.description ?? '',
    colorInterpretation: band.colorInterpretation ?? 'Undefined',
    unit: band.unitType ?? '',
  };
}
