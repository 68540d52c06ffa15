/** Task `raster.inspect`. */

import type { RasterBand } from 'gdal-async';
import type { Box } from '../../core/box.js';
import { around } from '../../core/box.js';
import { TaskFailure } from '../../core/failure.js';
import type { BandInfo, RasterGrid, RasterInfo, RasterMosaic, RasterSource } from '../../core/rasters.js';
import type { TaskInput } from '../../core/tasks.js';
import { CRS84, crsOf, transformBox } from './crs.js';
import type { Dataset } from './gdal.js';
import { georeferenceOf } from './georeference.js';
import { type RasterHandle, withRaster } from './handles.js';
import { gridOf } from './sources/gridded/open.js';
import { remoteRevision } from './sources/remote/open.js';
import { bandStatistics } from './statistics.js';

/** Bands whose statistics are sampled; further ones are described without. */
const MAX_SAMPLED_BANDS = 16;

/** Describes a raster file after reading from both of its ends, so that a truncated file is found out here. */
export function inspect({ source }: TaskInput<'raster.inspect'>): Promise<RasterInfo> {
  // What is merged has values that no member has.
  if (source.kind === 'mosaic' && source.grid && !source.merge) return inspectMosaic(source, source.grid);
  return withRaster(source, async (handle) => {
    const { dataset } = handle;
    const { geoTransform, crs, extent } = georeferenceOf(dataset);
    await readEnds(dataset);
    const first = dataset.bands.get(1);
    return {
      source,
      ...(await axesOf(source)),
      driver: handle.driver,
      width: dataset.rasterSize.x,
      height: dataset.rasterSize.y,
      geoTransform,
      crs: crs.text,
      epsg: crs.epsg,
      extent,
      extent84: extent84Of(transformBox(extent, crs, crsOf(CRS84))),
      bands: await describeBands(handle),
      overviewCount: first.overviews.count(),
      ...compressionOf(dataset),
      blockSize: [first.blockSize.x, first.blockSize.y],
    };
  });
}

/** The bands are taken to be those of the first member; the others are looked at when they are read. */
async function inspectMosaic(source: RasterMosaic, grid: RasterGrid): Promise<RasterInfo> {
  const { acquired: _, ...first } = await inspect({ source: source.members[0]!.source });
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
    epsg: crsOf(grid.crs).epsg,
    extent: [x0, y0 + grid.height * dy, x0 + grid.width * dx, y0],
    extent84: source.members.map(({ extent84 }) => extent84).reduce(around),
    ...(newest !== undefined && { acquired: newest }),
  };
}

function compressionOf(dataset: Dataset): { compression?: string } {
  const { COMPRESSION: compression } = dataset.getMetadata('IMAGE_STRUCTURE') as { COMPRESSION?: string };
  return compression === undefined ? {} : { compression };
}

async function axesOf(source: RasterSource): Promise<Pick<RasterInfo, 'times' | 'levels' | 'revision'>> {
  if (source.kind === 'remote') return { revision: await remoteRevision(source) };
  if (source.kind !== 'gridded') return {};
  const { times, levels } = (await gridOf(source)).axes;
  return {
    ...(times && { times }),
    ...(levels && { levels }),
  };
}

function extent84Of(box: Box | null): Box {
  if (!box) throw new TaskFailure('source-unreadable', 'The extent of the raster has no place on the globe.');
  const clamp = (value: number, limit: number) => Math.min(limit, Math.max(-limit, value));
  return [clamp(box[0], 180), clamp(box[1], 90), clamp(box[2], 180), clamp(box[3], 90)];
}

/** Reads blocks of the first and last band, and of their overviews; GDAL fails when one is cut off. */
async function readEnds(dataset: Dataset): Promise<void> {
  for (const number of new Set([1, dataset.bands.count()])) {
    const band = dataset.bands.get(number);
    await readCorners(band);
    for (let index = 0; index < band.overviews.count(); index++) await readCorners(band.overviews.get(index));
  }
}

/** Formats differ in which end of the image lies at the end of the file, so all corners and the middle are read. */
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
    infos.push(statistics ? { ...info, statistics } : info);
  }
  return infos;
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
