import { type ColumnReport, REFERENCE_FIELDS, type ReferenceField } from '../../core/geocoding/geocoding.js';
import { coordinateColumns } from '../exchange/csv/columns.js';

/** Other names by which columns of gazetteers and address registers are recognised. */
const NAMES: Readonly<Record<string, ReferenceField>> = {
  place: 'name',
  placename: 'name',
  title: 'name',
  longitude: 'x',
  latitude: 'y',
  number: 'houseNumber',
  housenumber: 'houseNumber',
  addnum: 'houseNumber',
  streetname: 'street',
  road: 'street',
  fulladdress: 'address',
  district: 'neighborhood',
  suburb: 'neighborhood',
  town: 'city',
  municipality: 'city',
  locality: 'city',
  county: 'subregion',
  state: 'region',
  province: 'region',
  postcode: 'postal',
  postalcode: 'postal',
  zip: 'postal',
  zipcode: 'postal',
  countryname: 'country',
  iso2: 'countryCode',
  category: 'type',
  kind: 'type',
  lang: 'language',
  population: 'rank',
  importance: 'rank',
  ...Object.fromEntries(REFERENCE_FIELDS.map((field) => [field.toLowerCase(), field])),
};

export const ALTERNATIVE = /^name_([a-z]{2,3}(?:-[a-z0-9]{2,8})?)$/i;

/** Returns a field by its name. Undefined for other names. */
function parseField(name: string): ReferenceField | undefined {
  const language = ALTERNATIVE.exec(name.trim())?.[1];
  if (language) return `name_${language.toLowerCase()}`;
  return REFERENCE_FIELDS.find((field) => field.toLowerCase() === name.trim().toLowerCase());
}

export interface ReferenceColumns {
  /** Fields, by the places of their columns. */
  readonly fields: ReadonlyMap<number, ReferenceField>;
  readonly report: ColumnReport[];
}

/** Returns the column of each field, by the mapping or by name. A string describes an error of the mapping. */
export function matchReferenceColumns(
  columns: readonly string[],
  fieldMap: Readonly<Record<string, string>> | undefined,
): ReferenceColumns | string {
  const byColumn = fieldMap ? buildMap(columns, fieldMap) : buildGuess(columns);
  if (typeof byColumn === 'string') return byColumn;
  const fields = new Map<number, ReferenceField>();
  const report = columns.map((column, i): ColumnReport => {
    const field = byColumn.get(column);
    if (field === undefined)
      return {
        column,
        status: 'ignored',
        detail: fieldMap ? 'It is not in fieldMap.' : 'Its name is not a field of locators.',
      };
    if ([...fields.values()].includes(field))
      return { column, status: 'ignored', detail: `Another column is ${field}.` };
    fields.set(i, field);
    return { column, status: 'supported', detail: field };
  });
  return { fields, report };
}

function buildMap(columns: readonly string[], fieldMap: Readonly<Record<string, string>>) {
  const map = new Map<string, ReferenceField>();
  for (const [column, name] of Object.entries(fieldMap)) {
    if (!columns.includes(column)) return `has the column '${shortened(column)}', which the file has not`;
    const field = parseField(name);
    if (field === undefined)
      return `has '${shortened(name)}', which is not one of ${REFERENCE_FIELDS.join(', ')}, name_xx`;
    if ([...map.values()].includes(field)) return `has two columns for ${field}`;
    map.set(column, field);
  }
  return map;
}

function buildGuess(columns: readonly string[]) {
  const map = new Map<string, ReferenceField>();
  for (const column of columns) {
    const word = column.toLowerCase().replace(/[\s_.-]+/g, '');
    const field = parseField(column) ?? (Object.hasOwn(NAMES, word) ? NAMES[word] : undefined);
    if (field !== undefined) map.set(column, field);
  }
  const taken = new Set(map.values());
  const pair = taken.has('x') && taken.has('y') ? undefined : coordinateColumns(columns);
  if (pair) {
    map.set(pair[0], 'x');
    map.set(pair[1], 'y');
  }
  return map;
}

const shortened = (text: string) => text.replace(/\p{C}/gu, '').slice(0, 60);
