/** Contents of a multidimensional file or store: the variables that share a grid, and the axes of that grid. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Dimension, Group, MDArray } from 'gdal-async';
import { TaskFailure } from '../../../../core/errors/failure.js';
import { gdal, unreadable } from '../../../gdal/gdal.js';
import { requireOwnFiles, requireOwnSidecars } from '../../../gdal/sidecars.js';
import { isTimeUnit, parseTimeAxis } from './cf-time.js';
import { checkClassicHeader } from './classic-header.js';
import {
  type CoordinateArrays,
  findCoordinateArrays,
  isCoordinateArray,
  listHelperArrays,
  namesCoordinateArrays,
} from './coordinate-arrays.js';
import type { GridFormat } from './format.js';
import { requireOneFile } from './hdf5/other-files.js';

export interface Variable {
  /** Name without a leading slash, with groups: `surface/temperature`. */
  name: string;
  /** GDAL type name of the stored values. */
  type: string;
  noData: number | null;
  /** Factor of stored values. `offset` is added after the multiplication. */
  scale: number;
  offset: number;
  unit: string;
  /** Its own name in words, when it has one. */
  title: string;
}

interface GridAxes {
  /** Oldest first. */
  times?: string[];
  /** Index in the file of each of `times`. */
  timeOrder?: number[];
  levels?: { name: string; unit: string; values: number[] };
  /** Axes before y and x with their lengths, in stored order. */
  stored: { kind: 'time' | 'level'; size: number }[];
}

export interface VariableGrid {
  variables: Variable[];
  axes: GridAxes;
  width: number;
  height: number;
  /** Coordinate arrays of the cells. Default: rows and columns are straight. */
  lies?: CoordinateArrays;
}

export interface Layout {
  grids: VariableGrid[];
  /** Variables on a grid that cannot be read, and why. */
  problems: { variable: string; reason: string }[];
}

const MAX_ARRAYS = 2000;
const MAX_DEPTH = 4;
/** Longest axis of times or levels. */
const MAX_STEPS = 100_000;
const TYPES = new Set([
  'Byte',
  'UInt16',
  'Int16',
  'UInt32',
  'Int32',
  'Int64',
  'UInt64',
  'Float32',
  'Float64',
]);

/**
 * GDAL's multidimensional objects keep a file open until they are collected. HDF5 gives every reader the cached
 * content of an open file, even after changes. A separate process is not possible: a fork while another thread is in
 * PROJ hangs the child in PROJ's own handler.
 */
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Reads names, axes and attributes; no pixel. Fails with `source-unreadable`. */
export async function readGridLayout(path: string, format: GridFormat): Promise<Layout> {
  try {
    return await openLayout(path, format);
  } finally {
    // Each object references its parent: an attribute its array, an array its group, a group the dataset.
    for (let round = 0; round < 6; round++) {
      collectGarbage();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

async function openLayout(path: string, format: GridFormat): Promise<Layout> {
  if (format.driver === 'netCDF') {
    await checkClassicHeader(path);
    await requireOneFile(path);
    await requireOwnSidecars(path);
  } else await requireOwnFiles(path);
  let dataset: Awaited<ReturnType<typeof gdal.openAsync>>;
  try {
    dataset = await gdal.openAsync(format.rootName(path), 'mr');
  } catch (error) {
    throw unreadable(`The source is not a ${format.title}, or is damaged.`, error);
  }
  try {
    if (dataset.driver.description !== format.driver)
      throw new TaskFailure('source-unreadable', `The source is not a ${format.title}.`);
    return await readLayout(dataset.root);
  } catch (error) {
    throw unreadable('The axes of the source could not be read.', error);
  } finally {
    dataset.close();
  }
}

export interface NamedArray {
  array: MDArray;
  name: string;
  group: Group;
}

async function readLayout(root: Group): Promise<Layout> {
  const layout: Layout = { grids: [], problems: [] };
  const grids = new Map<string, VariableGrid>();
  const all = listArrays(root);
  const helpers = listHelperArrays(all);
  for (const array of all) {
    const dimensions = [...array.array.dimensions];
    // A list is not a grid, and arrays that describe other arrays are not data.
    if (dimensions.length < 2 || isCoordinateArray(array, all)) continue;
    if (helpers.has(array.name) && !isGridded(dimensions, array.group, root)) continue;
    try {
      const lies = bentBy(array, all, root);
      const axes = dimensions.map(({ description, size }) => `${description} ${size}`);
      const key = [...axes, lies?.longitude, lies?.latitude].join('\0');
      const grid = grids.get(key) ?? { ...(await loadGrid(dimensions, array, root)), ...(lies && { lies }) };
      grid.variables.push(parseVariable(array));
      grids.set(key, grid);
    } catch (error) {
      layout.problems.push({
        variable: array.name,
        reason: unreadable('It could not be read.', error).message,
      });
    }
  }
  layout.grids.push(...grids.values());
  return layout;
}

/**
 * Returns the coordinate arrays of a variable with a curvilinear grid. Fails for a variable without any georeference.
 */
function bentBy(array: NamedArray, all: readonly NamedArray[], root: Group): CoordinateArrays | undefined {
  const isStraight = isGridded([...array.array.dimensions], array.group, root);
  if (isStraight && !namesCoordinateArrays(array, all)) return undefined;
  const arrays = findCoordinateArrays(array, all);
  if (arrays) return arrays;
  throw new TaskFailure(
    'source-unreadable',
    'It has no georeference: neither coordinates of its last two axes (y, x) nor arrays of longitude and latitude of their shape (CF conventions).',
  );
}

function listArrays(root: Group): NamedArray[] {
  const arrays: NamedArray[] = [];
  const walk = (group: Group, prefix: string, depth: number) => {
    for (const name of group.arrays.names) {
      if (arrays.length >= MAX_ARRAYS) return;
      arrays.push({ array: group.arrays.get(name), name: prefix + name, group });
    }
    if (depth === MAX_DEPTH) return;
    for (const name of group.groups.names) walk(group.groups.get(name), `${prefix}${name}/`, depth + 1);
  };
  walk(root, '', 0);
  return arrays;
}

/** Whether the last two of its dimensions are y and x. */
function isGridded(dimensions: readonly Dimension[], group: Group, root: Group): boolean {
  const [y, x] = dimensions.slice(-2);
  if (x === undefined || y === undefined) return false;
  return findRole(y, group, root) === 'y' && findRole(x, group, root) === 'x';
}

/** Role of a dimension from its type, its coordinates (CF, sections 4.1, 4.2 and 5.6), or otherwise its name. */
function findRole(dimension: Dimension, group: Group, root: Group): 'x' | 'y' | undefined {
  if (dimension.type === 'HORIZONTAL_X') return 'x';
  if (dimension.type === 'HORIZONTAL_Y') return 'y';
  const coordinates = findCoordinates(dimension, group, root);
  if (!coordinates) return undefined;
  const words = ['axis', 'standard_name'].map((name) => attribute(coordinates, name));
  const text = [...words, coordinates.unitType ?? '', formatName(dimension)].join(' ');
  if (/(^|\s)(X|longitude|lon|projection_x_coordinate|degrees?_?(east|E))(\s|$)/i.test(text)) return 'x';
  if (/(^|\s)(Y|latitude|lat|projection_y_coordinate|degrees?_?(north|N))(\s|$)/i.test(text)) return 'y';
  return undefined;
}

const formatName = ({ description }: Dimension) => description.split('/').at(-1)!;

function findCoordinates(dimension: Dimension, group: Group, root: Group): MDArray | undefined {
  const name = formatName(dimension);
  return [group, root].find(({ arrays }) => arrays.names.includes(name))?.arrays.get(name);
}

function parseVariable({ array, name }: NamedArray): Variable {
  if (!/^[\w.+@ -]+(\/[\w.+@ -]+)*$/.test(name))
    throw new TaskFailure('source-unreadable', 'Its name cannot be used.');
  if (!TYPES.has(array.dataType))
    throw new TaskFailure('source-unreadable', 'Its values are not plain numbers.');
  return {
    name,
    type: array.dataType,
    noData: array.noDataValue ?? null,
    scale: array.scale ?? 1,
    offset: array.offset ?? 0,
    unit: array.unitType ?? '',
    title: attribute(array, 'long_name') || attribute(array, 'standard_name'),
  };
}

async function loadGrid(dimensions: Dimension[], array: NamedArray, root: Group): Promise<VariableGrid> {
  const axes: GridAxes = { stored: [] };
  for (const dimension of dimensions.slice(0, -2)) await addAxis(axes, dimension, array.group, root);
  const [y, x] = dimensions.slice(-2);
  return { variables: [], axes, width: x!.size, height: y!.size };
}

async function addAxis(axes: GridAxes, dimension: Dimension, group: Group, root: Group): Promise<void> {
  const { size } = dimension;
  if (size < 1 || size > MAX_STEPS)
    throw new TaskFailure('source-unreadable', `An axis of ${size} steps cannot be published.`);
  const name = formatName(dimension);
  const coordinates = findCoordinates(dimension, group, root);
  const values = coordinates
    ? await listValues(coordinates, size)
    : Array.from({ length: size }, (_, i) => i);
  const unit = coordinates?.unitType ?? '';
  const kind = isTimeUnit(unit) ? 'time' : 'level';
  if (axes.stored.some((other) => other.kind === kind))
    throw new TaskFailure('source-unreadable', 'It has more axes than time and one level.');
  axes.stored.push({ kind, size });
  if (kind === 'level') {
    axes.levels = { name, unit, values };
    return;
  }
  const instants = parseTimeAxis(values, unit, attribute(coordinates!, 'calendar'));
  const order = instants.map((_, index) => index);
  order.sort((a, b) => Date.parse(instants[a]!) - Date.parse(instants[b]!));
  axes.timeOrder = order;
  axes.times = order.map((index) => instants[index]!);
}

async function listValues(array: MDArray, size: number): Promise<number[]> {
  const dimensions = [...array.dimensions];
  if (dimensions.length !== 1 || dimensions[0]!.size !== size)
    throw new TaskFailure('source-unreadable', 'The coordinates of an axis are not a list of numbers.');
  const values = await array.readAsync<Float64Array>({ origin: [0], span: [size], data_type: 'Float64' });
  const unpacked = Array.from(values, (value) => value * (array.scale ?? 1) + (array.offset ?? 0));
  if (unpacked.some((value) => !Number.isFinite(value)))
    throw new TaskFailure('source-unreadable', 'The coordinates of an axis have gaps.');
  return unpacked;
}

function attribute({ attributes }: MDArray, name: string): string {
  return attributes.names.includes(name) ? String(attributes.get(name).value) : '';
}
