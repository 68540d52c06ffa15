import { expect, it } from 'vitest';
import { parseText, print } from '../../../src/core/cql2/index.js';
import { readConditions } from '../../../src/core/features/conditions.js';

/** Filters of addresses as the conditions of a form. */

it.each([
  ["name = 'O''Brien'", ["name = O'Brien"]],
  ['size > 5 AND size <= 1e300', ['size > 5', 'size <= 1e300']],
  [
    "name LIKE '%a\\%b%' OR name LIKE 'a%' OR name LIKE '_x%'",
    ['name contains a%b', 'name starts a', 'name like _x%'],
  ],
  ["CASEI(name) = CASEI('x')", ['name = x (any case)']],
  [
    "kind IN ('a', 'b') AND NOT (kind IS NULL) AND size IS NULL",
    ['kind in a,b', 'kind isNotNull ', 'size isNull '],
  ],
  ["day BETWEEN DATE('2024-01-01') AND DATE('2024-02-01')", ['day between 2024-01-01,2024-02-01']],
  ["at >= TIMESTAMP('2024-01-01T10:00:00Z')", ['at >= 2024-01-01T10:00:00Z']],
  ['open = true', ['open = true']],
  ['S_INTERSECTS(geom, BBOX(5, 45, 6, 46))', ['geom box 5,45,6,46']],
])('%s is conditions', (text, expected) => {
  const { clauses, combination } = readConditions(parseText(text))!;
  expect(
    clauses.map(({ field, op, values, casei }) => `${field} ${op} ${values}${casei ? ' (any case)' : ''}`),
  ).toEqual(expected);
  expect(combination).toBe(text.includes(' OR ') ? 'or' : 'and');
});

it.each([
  'size + 1 = 5',
  "a = 'x' AND (b = 'y' OR c = 'z')",
  "NOT (name = 'x')",
  'S_INTERSECTS(geom, POINT(1 2))',
  'a = b',
  "T_AFTER(at, DATE('2024-01-01'))",
])('%s is not', (text) => {
  expect(readConditions(parseText(text)), print(parseText(text))).toBeUndefined();
});
