import { PLACE_FIELDS, type ReferenceField } from '../../core/geocoding/geocoding.js';
import { LIMITS } from '../../core/kit/limits.js';
import { ALTERNATIVE } from './columns.js';
import { type PlaceRow, parsePlaceNames } from './index-file.js';
import { splitWords } from './words.js';

export type NewPlace = Omit<PlaceRow, 'id'>;

/** Returns a record of reference data as a place. A string is the reason why it is not a place. */
export function parsePlaceRow(
  record: readonly string[],
  fields: ReadonlyMap<number, ReferenceField>,
): NewPlace | string {
  const values: Partial<Record<ReferenceField, string>> = {};
  for (const [i, field] of fields) {
    const value = (record[i] ?? '').trim();
    if (value.length > LIMITS.geocodeValue)
      return `${field} is longer than ${LIMITS.geocodeValue} characters`;
    if (value !== '') values[field] = value;
  }
  const [x, y] = [findDegrees(values.x, 180), findDegrees(values.y, 90)];
  if (x === undefined || y === undefined) {
    const [field, value, most] = x === undefined ? ['x', values.x, 180] : ['y', values.y, 90];
    return value === undefined ? `${field} is empty` : `${field} is not a number from -${most} to ${most}`;
  }
  const rank = values.rank === undefined ? 0 : Number(values.rank);
  if (!Number.isFinite(rank)) return 'rank is no number';
  const text = Object.fromEntries(PLACE_FIELDS.map((field) => [field, values[field] ?? '']));
  const names = collectAlternatives(values);
  const row = {
    ...text,
    address: values.address ?? '',
    language: values.language?.toLowerCase() ?? '',
    names: JSON.stringify(names),
    x,
    y,
    rank,
  } as NewPlace;
  const { own, area } = buildSearchText(row);
  return own === '' && area === '' ? 'it has neither a name nor an address' : row;
}

const DEGREES = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function findDegrees(text: string | undefined, most: number): number | undefined {
  if (text === undefined || !DEGREES.test(text)) return undefined;
  const value = Number(text);
  return Math.abs(value) <= most ? value : undefined;
}

function collectAlternatives(
  values: Readonly<Partial<Record<ReferenceField, string>>>,
): Record<string, string> {
  const names: Record<string, string> = {};
  for (const [field, value] of Object.entries(values)) {
    const language = ALTERNATIVE.exec(field)?.[1];
    if (language) names[language] = value!;
  }
  return names;
}

/** Returns the words of a place: the words of the name and address, and the words of the area. */
export function buildSearchText(row: NewPlace): { own: string; area: string } {
  const { name, houseNumber, street, address } = row;
  const { neighborhood, city, subregion, region, postal, country, countryCode } = row;
  const own = distinct([name, ...parsePlaceNames(row), houseNumber, street]);
  // Other parts of a one-line address describe the area.
  const area = distinct([address, neighborhood, city, subregion, region, postal, country, countryCode]);
  return { own: own.join(' '), area: area.filter((word) => !own.includes(word)).join(' ') };
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap(splitWords))];
}
