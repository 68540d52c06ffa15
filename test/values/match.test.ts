import { expect, it } from 'vitest';
import { check, parseText } from '../../src/core/cql2/index.js';
import { CRS84 } from '../../src/core/geometry/crs.js';
import type { Field } from '../../src/core/sources/vector-source.js';
import { encodeStoredJson } from '../../src/core/values/json.js';
import { sortableDigits } from '../../src/core/values/sortable-digits.js';
import { match } from '../../src/workers/features/match.js';

/** Filters of streams, webhooks and replicas over events compare numbers digit by digit. */

const FIELDS: Field[] = [
  { name: 'sid', type: 'integer', nullable: true },
  { name: 'nu', type: 'number', nullable: true, sqlType: 'numeric' },
  { name: 'other', type: 'number', nullable: true, sqlType: 'numeric(40,20)' },
  { name: 'size', type: 'number', nullable: true, sqlType: 'double precision' },
  { name: 'at', type: 'date-time', nullable: true },
  { name: 'tags', type: 'json', nullable: true },
];
const SCHEMA = { idColumn: 'id', geometryColumn: 'geom', fields: FIELDS };
const DECIMALS = ['-12345678901234567890.12', '12345678901234567890.11', '12345678901234567890.12', '0.5'];
const IMAGES = DECIMALS.map((nu, i) => ({
  id: String(2n ** 60n + BigInt(i)),
  geometry: null,
  attributes: `{"sid":${2n ** 60n + BigInt(i)},"nu":${nu},"other":12345678901234567890.12,"size":${nu},"at":"2020-01-01T23:59:59.99999${i}Z","tags":[${2n ** 60n + BigInt(i)}]}`,
}));

function passing(text: string): number[] {
  const filter = check(parseText(text), { ...SCHEMA, filterCrs: CRS84 });
  const { passed, problems } = match({ schema: SCHEMA, filters: [encodeStoredJson(filter)], images: IMAGES });
  expect(problems).toEqual([null]);
  return [...passed].flatMap((one, i) => (one === 1 ? [i] : []));
}

it.each<[string, number[]]>([
  ['sid = 1152921504606846978', [2]],
  ['id = 1152921504606846978', [2]],
  ['sid > 1152921504606846977', [2, 3]],
  ['nu = 12345678901234567890.12', [2]],
  ['nu <> 12345678901234567890.12', [0, 1, 3]],
  ['nu < 12345678901234567890.12', [0, 1, 3]],
  ['nu >= 12345678901234567890.110', [1, 2]],
  ['nu BETWEEN -12345678901234567890.13 AND -12345678901234567890.11', [0]],
  ['nu IN (12345678901234567890.11, 0.50)', [1, 3]],
  ['nu = other', [2]],
  ['other > nu', [0, 1, 3]],
  ['nu > 0.4 AND nu < 1', [3]],
  ['nu * 2 = 1', [3]],
  ['size > 1', [1, 2]],
  ["at = TIMESTAMP('2020-01-01T23:59:59.999992Z')", [2]],
  ['A_CONTAINS(tags, (1152921504606846978))', [2]],
])('%s', (filter, found) => {
  expect(passing(filter)).toEqual(found);
});

it('digits sort as numbers do', () => {
  const ordered = [
    ...['-1e300', '-100.5', '-100', '-12.34', '-12.3', '-9', '-0.5', '-0.05', '-1e-300'],
    ...[
      '0',
      '1e-300',
      '0.005',
      '0.05',
      '0.5',
      '0.51',
      '9',
      '10',
      '12.3',
      '12.34',
      '99',
      '100',
      '100.5',
      '1e300',
    ],
  ];
  const keys = ordered.map((text) => sortableDigits(text)!);
  expect([...keys].sort()).toEqual(keys);
  expect(new Set(keys).size).toBe(ordered.length);
  expect(sortableDigits('1.50')).toBe(sortableDigits(1.5));
  expect(sortableDigits('many')).toBeUndefined();
});
