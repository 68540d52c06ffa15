import { describe, expect, it } from 'vitest';
import {
  Cql2Error,
  check,
  type Expression,
  parseJson,
  parseText,
  print,
  toJson,
} from '../../src/core/cql2/index.js';
import { CRS84 } from '../../src/core/geometry/crs.js';
import type { FieldType } from '../../src/core/sources/vector-source.js';
import { pick, type Random, RandomFilter, seeded } from './random.js';

/** Broken filters are refused with a `Cql2Error`, never with anything else; what passes can be printed. */

const TYPES: Record<string, FieldType> = {
  name: 'string',
  other: 'string',
  pop: 'integer',
  size: 'number',
  flag: 'boolean',
  day: 'date',
  at: 'date-time',
  until: 'date-time',
  tags: 'json',
};
const SCHEMA = {
  fields: Object.entries(TYPES).map(([name, type]) => ({ name, type, nullable: true })),
  idColumn: 'fid',
  geometryColumn: 'geom',
  filterCrs: CRS84,
};

/** How often `read` succeeded; anything but a `Cql2Error` fails the test. */
function passes(read: () => Expression, input: string): boolean {
  let tree: Expression;
  try {
    tree = read();
  } catch (error) {
    if (!(error instanceof Cql2Error)) throw new Error(`${input}: ${(error as Error).stack}`);
    return false;
  }
  expect(reprinted(print(tree)), input).toBe(print(tree));
  try {
    check(tree, SCHEMA);
  } catch (error) {
    if (!(error instanceof Cql2Error)) throw new Error(`${input}: ${(error as Error).stack}`);
  }
  return true;
}

function reprinted(text: string): string {
  try {
    return print(parseText(text));
  } catch (error) {
    return (error as Error).message;
  }
}

const PIECES = [
  "'",
  '"',
  '(',
  ')',
  ',',
  '\\',
  '..',
  '-',
  '+',
  '^',
  '%',
  '<',
  '=',
  ' ',
  '\n',
  '\0',
  '\ud800',
  '\u{1f600}',
  '1e9',
  '0',
  '.5',
  ' AND ',
  ' NOT ',
  ' IN ',
  ' IS ',
  ' NULL',
  ' BETWEEN ',
  ' LIKE ',
  'TRUE',
  'POINT(',
  'POLYGON((',
  'BBOX(',
  'DATE(',
  'INTERVAL(',
  'CASEI(',
  'f(',
  'S_WITHIN(',
  'A_EQUALS(',
  'T_AFTER(',
  '__proto__',
  'constructor',
];

function mutated(text: string, random: Random): string {
  let result = text;
  for (let i = 0; i < 1 + random() * 3; i++) {
    const at = Math.floor(random() * (result.length + 1));
    const cut = random() < 0.5 ? Math.floor(random() * 6) : 0;
    result = result.slice(0, at) + (random() < 0.7 ? pick(random, PIECES) : '') + result.slice(at + cut);
  }
  return result;
}

describe('mutated filters', () => {
  it('as text', () => {
    const random = seeded(3);
    const filters = new RandomFilter(random);
    let passed = 0;
    for (let i = 0; i < 6000; i++) {
      const text = mutated(print(filters.boolean(3)), random);
      if (passes(() => parseText(text), text)) passed++;
    }
    expect(passed).toBeGreaterThan(300);
    expect(passed).toBeLessThan(5700);
  });

  it('as JSON', () => {
    const random = seeded(4);
    const filters = new RandomFilter(random);
    let passed = 0;
    for (let i = 0; i < 6000; i++) {
      const json = toJson(filters.boolean(3));
      if (json === true || json === false) continue;
      for (let n = 0; n < 1 + random() * 2; n++) damage(json, random);
      if (passes(() => parseJson(json), JSON.stringify(json))) passed++;
    }
    expect(passed).toBeGreaterThan(50);
    expect(passed).toBeLessThan(5700);
  });
});

const VALUES = [
  null,
  undefined,
  true,
  0,
  -0,
  Number.NaN,
  1e308,
  '',
  '..',
  '\ud800',
  [],
  {},
  [[]],
  { op: 'not', args: [] },
  { op: '+', args: [1, 2] },
  { property: 'pop' },
  { property: '__proto__' },
  { date: '2020-01-01' },
  { date: '' },
  { timestamp: '2020' },
  { interval: ['..', '..'] },
  { bbox: [0, 0, 1, 1] },
  { type: 'Point', coordinates: [0, 0] },
  { type: 'Polygon', coordinates: [[[0, 0]]] },
  { type: 'GeometryCollection', geometries: [] },
  { op: 'constructor', args: [] },
  { op: 'now', args: [] },
];

/** Replaces one value somewhere in a tree of JSON. */
function damage(json: unknown, random: Random): void {
  let place = json as Record<string, unknown>;
  for (;;) {
    const key = pick(random, Object.keys(place));
    if (key === undefined) return;
    const inner = place[key];
    if (typeof inner === 'object' && inner !== null && random() < 0.7)
      place = inner as Record<string, unknown>;
    else {
      place[key] = structuredClone(pick(random, VALUES));
      return;
    }
  }
}
