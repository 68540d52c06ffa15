/** Curvilinear grids: two-dimensional arrays contain the position of each value (CF, section 5.2). */

import type { Dimension, MDArray } from 'gdal-async';
import type { NamedArray } from './layout.js';

/** Names of the arrays of a bent grid. */
export interface CoordinateArrays {
  longitude: string;
  latitude: string;
}

/** Returns the coordinate arrays of a variable, if there are two arrays of the shape of its rows and columns. */
export function findCoordinateArrays(
  { array, name }: NamedArray,
  all: readonly NamedArray[],
): CoordinateArrays | undefined {
  const shape = formatShape([...array.dimensions].slice(-2));
  const alike = all.filter(
    (other) => formatShape([...other.array.dimensions]) === shape && other.name !== name,
  );
  const words = formatText(array, 'coordinates').split(/\s+/);
  // Arrays that the variable names precede other arrays of its shape.
  const inOrder = [...alike.filter((other) => words.includes(lastName(other.name))), ...alike];
  const longitude = inOrder.find((other) => findQuantity(other) === 'longitude');
  const latitude = inOrder.find((other) => findQuantity(other) === 'latitude');
  if (!longitude || !latitude) return undefined;
  return { longitude: longitude.name, latitude: latitude.name };
}

/** Whether the variable itself names such arrays, and does not name a projection with a regular grid. */
export function namesCoordinateArrays(array: NamedArray, all: readonly NamedArray[]): boolean {
  const arrays = findCoordinateArrays(array, all);
  if (!arrays || formatText(array.array, 'grid_mapping') !== '') return false;
  const words = formatText(array.array, 'coordinates').split(/\s+/);
  return words.includes(lastName(arrays.longitude)) && words.includes(lastName(arrays.latitude));
}

/** Names of arrays that describe other arrays: coordinates, cell bounds, areas, mappings. */
export function listHelperArrays(all: readonly NamedArray[]): Set<string> {
  const names = new Set<string>();
  for (const { array } of all) {
    for (const attribute of ['coordinates', 'bounds', 'climatology', 'grid_mapping', 'cell_measures'])
      for (const word of formatText(array, attribute).split(/[\s:]+/)) names.add(word);
  }
  return new Set(
    all
      .filter(
        (array) => names.has(lastName(array.name)) || findQuantity(array) !== undefined || isBounds(array),
      )
      .map(({ name }) => name),
  );
}

/** Whether an array is one of two coordinate arrays, and therefore not data. */
export function isCoordinateArray(array: NamedArray, all: readonly NamedArray[]): boolean {
  const quantity = findQuantity(array);
  const dimensions = [...array.array.dimensions];
  if (quantity === undefined || dimensions.length !== 2) return false;
  const other = quantity === 'longitude' ? 'latitude' : 'longitude';
  return all.some(
    (one) =>
      findQuantity(one) === other && formatShape([...one.array.dimensions]) === formatShape(dimensions),
  );
}

const isBounds = ({ name }: NamedArray) => /_(bnds|bounds|vertices)$/i.test(name);

/** Quantity of an array, from its CF attributes or otherwise its unit. */
function findQuantity({ array, name }: NamedArray): keyof CoordinateArrays | undefined {
  const standard = formatText(array, 'standard_name');
  if (standard === 'longitude' || standard === 'latitude') return standard;
  if (standard !== '') return undefined;
  const unit = array.unitType ?? '';
  if (/^degrees?_?(east|E)$/.test(unit)) return 'longitude';
  if (/^degrees?_?(north|N)$/.test(unit)) return 'latitude';
  if (/^(x?lon(g|gitude)?|nav_lon)$/i.test(lastName(name))) return 'longitude';
  return /^(x?lat(itude)?|nav_lat)$/i.test(lastName(name)) ? 'latitude' : undefined;
}

const lastName = (name: string) => name.split('/').at(-1)!;

const formatShape = (dimensions: readonly Dimension[]) =>
  dimensions.map(({ description, size }) => `${description} ${size}`).join('\0');

function formatText({ attributes }: MDArray, name: string): string {
  return attributes.names.includes(name) ? String(attributes.get(name).value) : '';
}
