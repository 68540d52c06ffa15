import { describe, expect, it } from 'vitest';
import { type CheckOptions, check, parseText, print } from '../../src/core/cql2/index.js';
import { CRS84 } from '../../src/core/geometry/crs.js';
import type { Field, FieldType } from '../../src/core/sources/vector-source.js';

/** Comparisons of one property with many values become a list, which a store looks up. */

const field = (name: string, type: FieldType): Field => ({ name, type, nullable: true });
const OPTIONS: CheckOptions = {
  fields: [
    ...[field('name', 'string'), field('other', 'string'), field('pop', 'integer')],
    ...[field('flag', 'boolean'), field('day', 'date')],
  ],
  idColumn: 'fid',
  geometryColumn: 'geom',
  filterCrs: CRS84,
};
const merged = (text: string) => print(check(parseText(text), OPTIONS));

describe('comparisons become lists', () => {
  it.each([
    ['pop = 1 OR pop = 2', 'pop IN (1, 2)'],
    ['pop = 1 OR 2 = pop OR pop = 1', 'pop IN (1, 2)'],
    ["name = 'a' OR (name = 'b' OR name IN ('c', 'd'))", "name IN ('a', 'b', 'c', 'd')"],
    ["pop = 1 OR name = 'a' OR pop = 2", "pop IN (1, 2) OR name = 'a'"],
    ['pop <> 1 AND pop <> 2', 'NOT pop IN (1, 2)'],
    ['pop <> 1 AND NOT pop IN (2, 3) AND flag = TRUE', 'NOT pop IN (1, 2, 3) AND flag = TRUE'],
    ['NOT (pop = 1 OR pop = 2)', 'NOT pop IN (1, 2)'],
    ["CASEI(name) = CASEI('a') OR CASEI(name) = CASEI('b')", "CASEI(name) IN (CASEI('a'), CASEI('b'))"],
    ["UPPER(name) = 'A' OR UPPER(name) = 'B'", "upper(name) IN ('A', 'B')"],
    ['fid = 1 OR fid = 7', 'fid IN (1, 7)'],
  ])('%s', (text, expected) => {
    expect(merged(text)).toBe(print(parseText(expected)));
  });
});

describe('what is no list stays', () => {
  it.each([
    'pop = 1 AND pop = 2',
    'pop <> 1 OR pop <> 2',
    "name = 'a' OR other = 'b'",
    'pop = 1 OR pop > 2',
    'pop = fid OR pop = 2',
    'flag = TRUE OR flag = FALSE',
    "day = DATE('2020-01-01') OR day = DATE('2020-01-02')",
    "name = 'a' OR name IN ('b', other)",
    "name = 'a' OR name = CASEI('b')",
  ])('%s', (text) => {
    expect(merged(text)).toBe(print(check(parseText(text), OPTIONS)));
    expect(merged(text)).toBe(print(parseText(text)));
  });
});
