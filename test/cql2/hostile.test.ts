import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Cql2Error, check, type Expression, parseJson, parseText } from '../../src/core/cql2/index.js';
import { TaskFailure } from '../../src/core/errors/failure.js';
import { CRS84, type Crs } from '../../src/core/geometry/crs.js';
import { wkb } from '../native/support.js';
import { isFullRun } from '../support/soak.js';
import { type Cell, type Column, findInGeoPackage, type Stores, startStores } from './stores.js';

/** Filters written to harm: they find what they say, or are refused; neither store fails or takes them for SQL. */

/** A brief run has no filters that stores evaluate for seconds. */
const IS_FULL = isFullRun(import.meta.url);
const ODD = 'we"ird\'; ?$1 --';
const COLUMNS: Column[] = [
  { name: 'name', type: 'string' },
  { name: ODD, type: 'string' },
  { name: 'pop', type: 'integer' },
  { name: 'at', type: 'date-time' },
  { name: 'tags', type: 'json' },
];
const INJECTIONS = [
  "'; DROP TABLE rows; --",
  "' OR '1'='1",
  '"; DROP TABLE rows; --',
  '\\',
  "\\'; DROP TABLE rows; --",
  '$1',
  '?1',
  '%s',
  "x' UNION SELECT fid FROM rows --",
  '$$; DROP TABLE rows; $$',
  "E'\\''",
  '\u{1f600}\u0301',
  '*[^a]?',
];

let stores: Stores;
beforeAll(async () => {
  const rows = INJECTIONS.map((text, i): Cell[] => [
    wkb({ type: 'Point', coordinates: [i, i] }),
    text,
    text,
    i,
    '2020-01-01T00:00:00Z',
    JSON.stringify([text]),
  ]);
  stores = await startStores(COLUMNS, rows);
});
afterAll(() => stores?.stop());

const checked = (filter: Expression, filterCrs: Crs = CRS84) =>
  check(filter, { ...stores.geopackage, filterCrs });

async function finds(json: unknown): Promise<number[]> {
  const { geopackage, postgis } = await stores.find(checked(parseJson(json)));
  expect(postgis).toEqual(geopackage);
  return geopackage;
}

describe.each(INJECTIONS.map((text, i) => [text, i + 1] as const))('the string %s', (text, id) => {
  it('is a value wherever it stands', async () => {
    const name = { property: 'name' };
    const pattern = text.replace(/[\\%_]/g, '\\$&');
    expect(await finds({ op: '=', args: [name, text] })).toEqual([id]);
    expect(await finds({ op: '=', args: [{ property: ODD }, text] })).toEqual([id]);
    expect(await finds({ op: 'in', args: [name, [text, 'x']] })).toEqual([id]);
    expect(await finds({ op: 'like', args: [name, pattern] })).toEqual([id]);
    expect(
      await finds({
        op: '=',
        args: [
          { op: 'casei', args: [name] },
          { op: 'casei', args: [text] },
        ],
      }),
    ).toEqual([id]);
    expect(
      await finds({
        op: '=',
        args: [
          { op: 'concat', args: [name, text] },
          { op: 'concat', args: [text, text] },
        ],
      }),
    ).toEqual([id]);
    expect(await finds({ op: 'a_contains', args: [{ property: 'tags' }, [text]] })).toEqual([id]);
    expect(await finds({ op: 'a_equals', args: [{ property: 'tags' }, [name]] })).toHaveLength(
      INJECTIONS.length,
    );
  });

  it('is refused as a name or an instant', () => {
    const place = [{ property: text }, { op: text, args: [] }, { date: text }, { timestamp: text }];
    for (const operand of place)
      expect(() => checked(parseJson({ op: '=', args: [operand, { property: 'at' }] }))).toThrow(Cql2Error);
    expect(() =>
      checked(parseJson({ op: 't_after', args: [{ property: 'at' }, { interval: [text, '..'] }] })),
    ).toThrow(Cql2Error);
  });
});

describe('the largest filters', () => {
  const all = INJECTIONS.length;
  it.each<[what: string, text: string, count: number]>([
    ['many members', `pop IN (${Array.from({ length: 9000 }, (_, i) => i + 5).join(',')})`, all - 5],
    ['many texts', `name NOT IN (${Array.from({ length: 9000 }, (_, i) => `'${i}'`).join(',')})`, all],
    ['many conditions', Array.from({ length: 2000 }, (_, i) => `pop <> ${-i - 1}`).join(' AND '), all],
    ['many alternatives', Array.from({ length: 2000 }, (_, i) => `pop = ${i + 5}`).join(' OR '), all - 5],
    ['deep sums', `pop = ${'pop - '.repeat(96)}pop`, -1],
    ['deep remainders', `pop = ${'('.repeat(90)}pop${' % 1000)'.repeat(90)}`, all],
    ['deep powers', `pop = ${'('.repeat(90)}pop${' ^ 1)'.repeat(90)}`, all],
    ['deep functions', `pop = ${'ROUND('.repeat(90)}pop${')'.repeat(90)}`, all],
    ['deep texts', `name <> ${'CASEI('.repeat(90)}name${')'.repeat(90)}`, -1],
    ['deep logic', `${'NOT ('.repeat(45)}pop = 1${')'.repeat(45)}`, all - 1],
    ['deep comparisons', `${'('.repeat(90)}pop = 1${') = TRUE'.repeat(90)}`, 1],
    ['many wildcards', `name LIKE '${'%a'.repeat(3000)}%'`, 0],
  ])('%s', (_, text, count) => expectFound(text, count));

  it.runIf(IS_FULL).each<[what: string, text: string, count: number]>([
    [
      'many folds',
      Array.from({ length: 1000 }, () => 'CASEI(ACCENTI(name)) = ACCENTI(name)').join(' OR '),
      -1,
    ],
    [
      'many boxes',
      Array.from({ length: 1400 }, (_, i) => `S_INTERSECTS(geom, BBOX(${i % 170},0,180,90))`).join(' OR '),
      all,
    ],
  ])('%s', (_, text, count) => expectFound(text, count));

  /** Both stores find as many; the count is -1 where nobody knows it. */
  async function expectFound(text: string, count: number): Promise<void> {
    const { geopackage, postgis } = await stores.find(checked(parseText(text)));
    expect(postgis).toEqual(geopackage);
    if (count >= 0) expect(geopackage).toHaveLength(count);
  }

  it('end when their time is over', () => {
    const filter = checked(parseText("NOT CASEI(name) = CASEI('x')"));
    expect(findInGeoPackage(stores.geopackage, filter)).toHaveLength(all);
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
    try {
      expect(() => findInGeoPackage(stores.geopackage, filter)).toThrow(
        expect.objectContaining({ code: 'SQLITE_INTERRUPT', message: 'gr_before: out of time' }),
      );
    } finally {
      clock.mockRestore();
    }
  });

  it('are refused when the stores could not take them', () => {
    const box = { op: 's_intersects', args: [{ property: 'geom' }, { bbox: [170, 0, -170, 90] }] };
    const boxes = { op: 'and', args: Array.from({ length: 3300 }, () => box) };
    return expect(stores.find(checked(parseJson(boxes)))).rejects.toThrow(
      new TaskFailure('invalid-input', 'The filter is too large.'),
    );
  });

  it('have patterns of bounded length', () => {
    expect(() => checked(parseText(`name LIKE '${'x'.repeat(20_000)}'`))).toThrow(
      'the pattern of LIKE is longer than',
    );
  });
});

describe('numbers at the edge', () => {
  it.each<[text: string, count: number]>([
    ['pop < 1e308', INJECTIONS.length],
    ['pop = 9007199254740993', 0],
    ['pop > -1e300 AND pop < 99999999999999999999', INJECTIONS.length],
    ['pop = 5e-324', 0],
    ["SUBSTRING(name, 9007199254740991, 9007199254740991) = ''", INJECTIONS.length],
  ])('%s', async (text, count) => {
    const { geopackage, postgis } = await stores.find(checked(parseText(text)));
    expect(postgis).toEqual(geopackage);
    expect(geopackage).toHaveLength(count);
  });
});

describe('geometries that cannot be put into the CRS of the data', () => {
  const LAEA: Crs = { ...CRS84, proj: 'EPSG:3035', epsg: 3035, geographic: false };

  it('are the fault of the filter', async () => {
    const filter = checked(parseText('S_WITHIN(geom, POINT(1e9 1e9))'), LAEA);
    await expect(stores.find(filter)).rejects.toMatchObject({ code: 'invalid-input' });
  });
});
