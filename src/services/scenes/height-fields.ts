import type { HeightRule } from '../../core/scenes/scene-tiles.js';
import type { Field } from '../../core/sources/vector-source.js';

/** Names of fields with heights of buildings, the best first, and metres per unit. */
const HEIGHTS: readonly (readonly [name: string, metres: number])[] = [
  ['height', 1],
  ['building_height', 1],
  ['buildingheight', 1],
  ['measuredheight', 1],
  ['measured_height', 1],
  ['building:height', 1],
  ['roof_height', 1],
  ['hoehe', 1],
  ['höhe', 1],
  ['hauteur', 1],
  ['hoogte', 1],
  ['altura', 1],
  ['building:levels', 3],
  ['building_levels', 3],
  ['levels', 3],
  ['floors', 3],
  ['num_floors', 3],
  ['storeys', 3],
  ['stories', 3],
  ['stockwerke', 3],
  ['geschosse', 3],
];

const BASES = ['base_height', 'min_height', 'ground_height', 'base', 'building:min_height'];

/** Names of fields that `chooseHeight` accepts. */
export const HEIGHT_NAMES: readonly string[] = HEIGHTS.map(([name]) => name);

const isNumeric = ({ type }: Field) => type === 'integer' || type === 'number' || type === 'string';

const findField = (fields: readonly Field[], name: string) =>
  fields.find((field) => field.name.toLowerCase() === name && isNumeric(field));

/** Chooses the field with the heights by its name. Undefined if no field has such a name. Levels count 3 m. */
export function chooseHeight(fields: readonly Field[]): HeightRule | undefined {
  for (const [name, metres] of HEIGHTS) {
    const field = findField(fields, name);
    if (field) return metres === 1 ? { field: field.name } : { field: field.name, metres };
  }
  return undefined;
}

/** Chooses the field with the heights of the ground by its name. */
export function chooseBase(fields: readonly Field[]): HeightRule | undefined {
  const field = BASES.map((name) => findField(fields, name)).find((one) => one !== undefined);
  return field && { field: field.name };
}
