import {
  type PlaceFilter,
  type PlaceText,
  type PlaceWindow,
  placeType,
} from '../../core/geocoding/geocoding.js';
import type { Db } from './index-file.js';

/** A condition on places `p` with its values. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** Functions that conditions call. */
export function addConditionFunctions(db: Db): void {
  // SQLite's `lower` converts only ASCII letters.
  db.function('lower_case', { deterministic: true }, (text) => String(text).toLowerCase());
  db.function('place_type', { deterministic: true }, (houseNumber, street, name, city, postal) =>
    placeType({ houseNumber, street, name, city, postal } as PlaceText).toLowerCase(),
  );
}

/** Places that a filter lets through, each before a time. */
export function buildPlaceCondition({ window, countries, types }: PlaceFilter, deadline: number): Condition {
  const before = { sql: 'gr_before(?)', values: [deadline] };
  const parts = [before, windowCondition(window), countryCondition(countries), typeCondition(types)].filter(
    (part) => part !== undefined,
  );
  return {
    sql: parts.map(({ sql }) => ` AND ${sql}`).join(''),
    values: parts.flatMap(({ values }) => values),
  };
}

function windowCondition(window: PlaceWindow | undefined): Condition | undefined {
  if (!window) return undefined;
  const { west, south, east, north } = window;
  const meridians = west <= east ? 'p.x BETWEEN ? AND ?' : '(p.x >= ? OR p.x <= ?)';
  return { sql: `p.y BETWEEN ? AND ? AND ${meridians}`, values: [south, north, west, east] };
}

function countryCondition(countries: readonly string[] | undefined): Condition | undefined {
  return combineWithOr(['lower_case(p.countryCode)', 'lower_case(p.country)'], countries);
}

/** Types come from the data, or otherwise from the fields of a place. */
function typeCondition(types: readonly string[] | undefined): Condition | undefined {
  return combineWithOr(
    ['lower_case(p.type)', 'place_type(p.houseNumber, p.street, p.name, p.city, p.postal)'],
    types,
  );
}

/** One of the operands has one of the values. */
function combineWithOr(
  operands: readonly string[],
  values: readonly string[] | undefined,
): Condition | undefined {
  if (!values || values.length === 0) return undefined;
  const list = values.map(() => '?').join(', ');
  return {
    sql: `(${operands.map((operand) => `${operand} IN (${list})`).join(' OR ')})`,
    values: operands.flatMap(() => values),
  };
}

/** Whether a place that is not in an index matches the types and countries of a condition. */
export function passes(place: PlaceText, { types, countries }: PlaceFilter): boolean {
  const hasOne = (values: readonly string[] | undefined, ...own: readonly string[]) =>
    !values || values.length === 0 || own.some((value) => values.includes(value.toLowerCase()));
  return hasOne(types, place.type, placeType(place)) && hasOne(countries, place.countryCode, place.country);
}
