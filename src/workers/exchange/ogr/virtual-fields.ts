import type { FieldDefn } from 'gdal-async';
import { xmlEscaped } from '../../../core/values/xml-text.js';

/** Names of types in virtual datasets, by their names in gdal-async. */
const TYPES: Readonly<Record<string, string>> = {
  integer: 'Integer',
  integer64: 'Integer64',
  real: 'Real',
  date: 'Date',
  time: 'Time',
  datetime: 'DateTime',
  binary: 'Binary',
};

/** Fields of a virtual dataset that have the types of their source. `shown` gives them other names. */
export function vrtFields(
  fields: readonly Pick<FieldDefn, 'name' | 'type'>[],
  shown: (name: string) => string = (name) => name,
): string {
  return fields
    .map(
      ({ name, type }) =>
        `<Field name="${xmlEscaped(shown(name))}" src="${xmlEscaped(name)}" type="${TYPES[type.toLowerCase()] ?? 'String'}"/>`,
    )
    .join('');
}
