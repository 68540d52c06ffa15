import { type PlaceFilter, type PlaceWindow, placeType } from '../../core/geocoding.js';
import type { PlaceRow } from './index-file.js';

/** A condition on places `p` with its values. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** What SQL can tell of a filter; `passes` tells the rest. */
export function conditionOf({ window, countries }: PlaceFilter): Condition {
  const parts = [windowCondition(window), countryCondition(countries)].filter((part) => part !== undefined);
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
  if (!countries || countries.length === 0) return undefined;
  const list = countries.map(() => '?').join(', ');
  return {
    sql: `(lower(p.countryCode) IN (${list}) OR lower(p.country) IN (${list}))`,
    values: [...countries, ...countries],
  };
}

/** Types are those of the data, or what the fields of a place make it. */
export function passes(row: PlaceRow, { types }: PlaceFilter): boolean {
  if (!types || types.length === 0) return true;
  return types.includes(row.type.toLowerCase()) || types.includes(placeType(row).toLowerCase());
}
