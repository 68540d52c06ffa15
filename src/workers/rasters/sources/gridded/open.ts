/** One slice of the variables of a grid as a raster: its bands are the variables. */

import { TaskFailure } from '../../../../core/errors/failure.js';
import type { GriddedRaster, RasterPosition } from '../../../../core/rasters/rasters.js';
import { type Dataset, gdal, scratchPath, unreadable } from '../../../gdal/gdal.js';
import type { OpenRaster, RasterOpener } from '../opener.js';
import { bentPlace, readGeolocation, straightened } from './bent-grid.js';
import type { CoordinateArrays } from './coordinate-arrays.js';
import { detectGridFormat, type GridFormat } from './format.js';
import { type Layout, readGridLayout, type Variable, type VariableGrid } from './layout.js';
import { type GridGeoreference, readGridPlace } from './place.js';
import { type SlicedVariable, sliceVrt } from './vrt.js';

/** Layouts and places of sources, by path. */
const KEPT = 32;

interface LayoutEntry {
  stamp: string;
  layout: Promise<Layout>;
  places: Map<VariableGrid, Promise<GridGeoreference>>;
}
const layouts = new Map<string, LayoutEntry>();

/**
 * Returns the grid that contains the source's variables. Fails with `source-unreadable` if no grid contains all of
 * these variables, for example after a change of the file.
 */
export async function openSourceGrid(source: GriddedRaster): Promise<VariableGrid> {
  return (await located(source)).grid;
}

/** Returns the complete contents of a file or store. */
export async function gridLayout(path: string): Promise<Layout> {
  const { format, stamp } = await detectGridFormat(path);
  return buildEntry(path, format, stamp).layout;
}

export async function griddedOpening(source: GriddedRaster, at: RasterPosition = {}): Promise<RasterOpener> {
  const { grid, stamp, format, known: layout } = await located(source);
  const slice = buildSlice(grid, at);
  return {
    key: [source.path, ...source.variables, ...slice].join('\0'),
    origin: source.path,
    stamp,
    open: () => openSlice(source, grid, { slice, format, shape: layout }),
  };
}

async function located(source: GriddedRaster) {
  const { format, stamp } = await detectGridFormat(source.path);
  const layout = buildEntry(source.path, format, stamp);
  const { grids } = await layout.layout;
  const grid = grids.find(({ variables }) =>
    source.variables.every((name) => variables.some((variable) => variable.name === name)),
  );
  if (!grid)
    throw new TaskFailure('source-unreadable', 'The source does not have these variables on one grid.');
  return { grid, stamp, format, known: layout };
}

function buildEntry(path: string, format: GridFormat, stamp: string): LayoutEntry {
  const before = layouts.get(path);
  if (before?.stamp === stamp) return before;
  const layout = readGridLayout(path, format);
  const now: LayoutEntry = { stamp, layout, places: new Map() };
  layouts.delete(path);
  layouts.set(path, now);
  // The next caller retries after a failure.
  layout.catch(() => layouts.get(path) === now && layouts.delete(path));
  if (layouts.size > KEPT) layouts.delete(layouts.keys().next().value as string);
  return now;
}

/** Indices into the stored axes. Default: the newest time and the first level. */
function buildSlice({ axes }: VariableGrid, at: RasterPosition): number[] {
  return axes.stored.map(({ kind, size }) => {
    const index = (kind === 'time' ? at.time : at.level) ?? (kind === 'time' ? size - 1 : 0);
    if (!Number.isInteger(index) || index < 0 || index >= size)
      throw new TaskFailure('invalid-input', `The source has no ${kind} of index ${index}.`);
    return kind === 'time' ? axes.timeOrder![index]! : index;
  });
}

interface Slice {
  slice: number[];
  format: GridFormat;
  shape: LayoutEntry;
}

async function openSlice(
  source: GriddedRaster,
  grid: VariableGrid,
  { slice, format, shape: known }: Slice,
): Promise<OpenRaster> {
  const variables = source.variables.map((name) => grid.variables.find((one) => one.name === name)!);
  const sizes = grid.axes.stored.map(({ size }) => size);
  const { driver } = format;
  const formatName = ({ name }: Variable) => format.sliceName(source.path, name, slice);
  try {
    const readPlace = grid.lies ? bentPlace : readGridPlace;
    const place = known.places.get(grid) ?? readPlace(formatName(variables[0]!), format.driver);
    known.places.set(grid, place);
    place.catch(() => known.places.delete(grid));
    const band = format.sliceBand(slice, sizes);
    const sliced = variables.map((variable) => ({ variable, file: formatName(variable), band }));
    if (grid.lies) return { ...(await openBent(source, grid.lies, format, await place, sliced)), driver };
    const xml = sliceVrt(await place, sliced);
    const dataset = await gdal.openAsync(xml, 'r', ['VRT']);
    const opened = (await place).southUp
      ? await turned(dataset)
      : { dataset, name: xml, close: () => dataset.close() };
    return { ...opened, driver };
  } catch (error) {
    throw unreadable('The grid could not be read.', error);
  }
}

async function openBent(
  { path }: GriddedRaster,
  arrays: CoordinateArrays,
  format: GridFormat,
  place: GridGeoreference,
  slices: readonly SlicedVariable[],
): Promise<OpenRaster> {
  const names = {
    longitude: format.sliceName(path, arrays.longitude, []),
    latitude: format.sliceName(path, arrays.latitude, []),
  };
  const geolocation = await readGeolocation(names, format.driver);
  try {
    const bent = await gdal.openAsync(sliceVrt(place, slices, geolocation), 'r', ['VRT']);
    return await straightened(bent, geolocation);
  } catch (error) {
    geolocation.release();
    throw error;
  }
}

/** Returns a grid whose rows run from south to north, flipped when it is read. */
async function turned(dataset: Dataset): Promise<OpenRaster> {
  const { x: width, y: height } = dataset.rasterSize;
  const [x0, dx, , y0, , dy] = dataset.geoTransform as number[];
  const box = [x0!, y0!, x0! + width * dx!, y0! + height * dy!];
  const path = scratchPath('.vrt');
  const upright = await gdal.warpAsync(
    path,
    null,
    [dataset],
    [
      ...['-of', 'VRT', '-te', ...box.map(String), '-ts', String(width), String(height)],
      ...['-r', 'near', '-et', '0', '-ovr', 'NONE'],
    ],
  );
  return {
    dataset: upright,
    close: () => {
      upright.close();
      gdal.vsimem.release(path);
      dataset.close();
    },
  };
}
