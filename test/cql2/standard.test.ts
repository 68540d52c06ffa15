import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { check, parseText } from '../../src/core/cql2/index.js';
import { CRS84 } from '../../src/core/geometry/crs.js';
import { wkb } from '../native/support.js';
import { type Cell, type Column, type Stores, startStores } from './stores.js';

/**
 * Predicates of the abstract test suite (OGC 21-065r2, annex A) with the counts it expects. The rows are made for them:
 * of its populated places, those that the predicates tell apart.
 */

const COLUMNS: Column[] = [
  { name: 'name', type: 'string' },
  { name: 'nameascii', type: 'string' },
  { name: 'pop_other', type: 'integer' },
  { name: 'date', type: 'date' },
  { name: 'start', type: 'date-time' },
  { name: 'end', type: 'date-time' },
  { name: 'boolean', type: 'boolean' },
];

const place = (x: number, y: number, name: string, ascii: string, pop: number, ...more: Cell[]): Cell[] => [
  wkb({ type: 'Point', coordinates: [x, y] }),
  name,
  ascii,
  pop,
  ...(more.length > 0 ? more : [null, null, null, null]),
];

const ROWS: Cell[][] = [
  place(
    30.5,
    50.4,
    'Kiev',
    'Kiev',
    1611692,
    '2021-04-16',
    '2021-04-16T10:15:59Z',
    '2022-04-16T10:16:06Z',
    true,
  ),
  place(
    12.6,
    55.7,
    'København',
    'Kobenhavn',
    1038288,
    '2022-04-16',
    '2022-04-16T10:13:19Z',
    '2023-04-16T10:16:06Z',
    false,
  ),
  place(
    13.4,
    52.5,
    'Berlin',
    'Berlin',
    3013258,
    '2023-04-16',
    '2022-04-16T10:15:10Z',
    '2022-04-16T10:16:06Z',
    true,
  ),
  place(23.7, 38, 'Athens', 'Athens', 112572),
  place(7.5, 46.9, 'Bern', 'Bern', 0),
  place(-59.6, 13.1, 'Bärum', 'Baerum', 191152),
  place(32.5, 37.9, 'Konya', 'Konya', 1000000),
  place(6.13, 49.61, 'Luxembourg', 'Luxembourg', 3000000),
];

let stores: Stores;
beforeAll(async () => {
  stores = await startStores(COLUMNS, ROWS);
});
afterAll(() => stores?.stop());

const find = (text: string) =>
  stores.find(check(parseText(text), { ...stores.geopackage, filterCrs: CRS84 }));

const PLACES = ROWS.length;
const PREDICATES: Record<string, [predicate: string, count: number][]> = {
  'basic-cql2': [
    ["name='København'", 1],
    ["name>='København'", 2],
    ["name>'København'", 1],
    ["name<='København'", 7],
    ["name<'København'", 6],
    ["name<>'København'", PLACES - 1],
    ['pop_other=1038288', 1],
    ['pop_other<>1038288', PLACES - 1],
    ['"date" IS NOT NULL', 3],
    ['"date" IS NULL', PLACES - 3],
    ['"date"=DATE(\'2022-04-16\')', 1],
    ['"date">=DATE(\'2022-04-16\')', 2],
    ['"date"<>DATE(\'2022-04-16\')', 2],
    ["start=TIMESTAMP('2022-04-16T10:13:19Z')", 1],
    ["start<=TIMESTAMP('2022-04-16T10:13:19Z')", 2],
    ["start<>TIMESTAMP('2022-04-16T10:13:19Z')", 2],
    ['boolean=true', 2],
    ['boolean=false', 1],
    ['boolean > true', 0],
    ['true', PLACES],
    ['false', 0],
    [
      "(NOT (start IS NULL) AND pop_other=1038288) OR (start<>TIMESTAMP('2022-04-16T10:13:19Z') and boolean IS NOT NULL)",
      3,
    ],
  ],
  'advanced-comparison-operators': [
    ["name LIKE 'B_r%'", 3],
    ["name NOT LIKE 'B_r%'", PLACES - 3],
    ["name LIKE ''", 0],
    ["name LIKE '_%'", PLACES],
    ["name LIKE '%%'", PLACES],
    ["name LIKE '\\%\\_'", 0],
    ["name LIKE 'b%'", 0],
    ['pop_other between 1000000 and 3000000', 4],
    ['pop_other between 100.0 and 1.0', 0],
    ["name IN ('Kiev','kobenhavn','Berlin','athens','foo')", 2],
    ["name NOT IN ('Kiev','kobenhavn','Berlin','athens','foo')", PLACES - 2],
    ['pop_other in (1038288,1611692,3013258,3013257,3013259)', 3],
    ["\"date\" in (DATE('2021-04-16'),DATE('2022-04-16'),DATE('2022-04-18'))", 2],
    ["\"date\" not in (DATE('2021-04-16'),DATE('2022-04-16'),DATE('2022-04-18'))", 1],
    ["start in ('2022-04-16T10:13:19Z', '2022-04-14T15:52:56Z')", 1],
    ["\"date\" in ('2022-04-16', '2022-04-15')", 1],
    ['boolean in (true)', 2],
    ['boolean not in (false)', 2],
  ],
  'case-insensitive-comparison': [
    ["CASEI(name)=casei('KIEV')", 1],
    ["CASEI(name)=casei('københavn')", 1],
    ["CASEI(name)=casei('KØBENHAVN')", 1],
    ["CASEI(name) LIKE casei('b_R%')", 3],
    ["CASEI(name) IN (casei('Kiev'), casei('kobenhavn'), casei('Berlin'), casei('athens'), casei('foo'))", 3],
  ],
  'accent-insensitive-comparison': [
    ["ACCENTI(name)=accenti('København')", 1],
    ["ACCENTI(name)=accenti('Kobenhavn')", 1],
    ["ACCENTI(CASEI(name))=accenti(casei('KØBENHAVN'))", 1],
    ["ACCENTI(name) LIKE accenti('Ko%')", 2],
    ["ACCENTI(CASEI(name)) LIKE accenti(casei('kØ%'))", 2],
    [
      "ACCENTI(CASEI(name)) IN (accenti(casei('Kiev')), accenti(casei('kobenhavn')), accenti(casei('Berlin')), accenti(casei('athens')), accenti(casei('foo')))",
      4,
    ],
  ],
  'spatial-operators': [
    ['S_INTERSECTS(geom,BBOX(-180,-90,180,90))', PLACES],
    ['S_INTERSECTS(geom,BBOX(0,40,10,50))', 2],
    ['S_INTERSECTS(geom,BBOX(30,-90,10,90))', 5],
    ['S_INTERSECTS(POLYGON((0 40,10 40,10 50,0 50,0 40)),geom)', 2],
    ['S_DISJOINT(geom,BBOX(0,40,10,50))', PLACES - 2],
    ['S_EQUALS(geom,POINT(6.13 49.61))', 1],
    ['S_TOUCHES(geom,POLYGON((6.13 49.61,7 49,7 50,6.13 49.61)))', 1],
    ['S_WITHIN(geom,BBOX(-180,-90,0,90))', 1],
    ['S_CONTAINS(BBOX(-180,-90,0,90),geom)', 1],
    ['S_CONTAINS(geom,POINT(6.13 49.61))', 1],
    ['S_WITHIN(geom,MULTIPOINT(6.13 49.61,10 51))', 1],
    ['S_CROSSES(geom,LINESTRING(7 50,10 51))', 0],
    ['S_OVERLAPS(geom,MULTIPOINT(7 50,10 51))', 0],
    ['S_DWITHIN(geom,POINT(6 49.5),100000)', 1],
    ['S_BEYOND(geom,POINT(6 49.5),100000)', PLACES - 1],
  ],
  'temporal-operators': [
    ['t_after("date",date(\'2022-04-16\'))', 1],
    ['t_disjoint("date",date(\'2022-04-16\'))', 2],
    ["t_after(\"date\",interval('2022-01-01','2022-12-31'))", 1],
    ["t_before(\"date\",interval('2022-01-01','2022-12-31'))", 1],
    ["t_equals(\"date\",interval('2022-01-01','2022-12-31'))", 0],
    ["t_equals(\"date\",interval('2022-04-16','2022-04-16'))", 1],
    ["t_intersects(\"date\",interval('2022-01-01','2022-12-31'))", 1],
    ["t_after(start,timestamp('2022-04-16T10:13:19Z'))", 1],
    ["t_equals(start,timestamp('2022-04-16T10:13:19Z'))", 1],
    ["t_after(start,interval('2022-01-01T00:00:00Z','2022-12-31T23:59:59Z'))", 0],
    ["t_before(start,interval('2022-01-01T00:00:00Z','2022-12-31T23:59:59Z'))", 1],
    ["t_intersects(start,interval('2022-01-01T00:00:00Z','2022-12-31T23:59:59Z'))", 2],
    ["t_after(interval(start,end),interval('..','2022-04-16T10:13:19Z'))", 1],
    ["t_before(interval(start,end),interval('2023-01-01T00:00:00Z','..'))", 2],
    ["t_disjoint(interval(start,end),interval('2022-04-16T10:13:19Z','2022-04-16T10:15:09Z'))", 1],
    ["t_equals(interval(start,end),interval('2021-04-16T10:15:59Z','2022-04-16T10:16:06Z'))", 1],
    ["t_intersects(interval(start,end),interval('2022-04-16T10:13:19Z','2022-04-16T10:15:09Z'))", 2],
    ["T_CONTAINS(interval(start,end),interval('2022-04-16T10:13:19Z','2022-04-16T10:15:10Z'))", 1],
    ["T_DURING(interval(start,end),interval('2022-01-01T00:00:00Z','2022-12-31T23:59:59Z'))", 1],
    ["T_FINISHES(interval(start,end),interval('2022-04-16T10:13:19Z','2022-04-16T10:16:06Z'))", 1],
    ["T_FINISHEDBY(interval(start,end),interval('2022-04-16T10:13:19Z','2022-04-16T10:16:06Z'))", 1],
    ["T_MEETS(interval(start,end),interval('2022-04-16T10:13:19Z','2022-04-16T10:15:10Z'))", 0],
    ["T_METBY(interval(start,end),interval('2022-04-16T10:13:19Z','2022-04-16T10:15:10Z'))", 1],
    ["T_OVERLAPPEDBY(interval(start,end),interval('2020-04-16T10:13:19Z','2022-04-16T10:15:10Z'))", 2],
    ["T_OVERLAPS(interval(start,end),interval('2022-04-16T10:13:19Z','2023-04-16T10:15:10Z'))", 1],
    ["T_STARTEDBY(interval(start,end),interval('2022-04-16T10:13:19Z','2022-04-16T10:15:10Z'))", 1],
    ["T_STARTS(interval(start,end),interval('2022-04-16T10:13:19Z','2022-04-16T10:15:10Z'))", 0],
  ],
  'property-property': [
    ["'København'=name", 1],
    ["'København'<name", 1],
    ['name=nameascii', PLACES - 2],
    ['name>nameascii', 2],
    ['name<nameascii', 0],
    ['start<end', 3],
    ['start>=end', 0],
    ["'København' LIKE 'K_benhavn'", PLACES],
    ["'foo' = 'foo'", PLACES],
    ["DATE('2022-04-14') <> DATE('2022-04-14')", 0],
    ['true = true', PLACES],
    ["t_after(interval('2022-01-01','2022-12-31'),\"date\")", 1],
    ["T_CONTAINS(interval('2021-04-16T10:13:19Z','2023-04-16T10:15:10Z'),interval(start,end))", 2],
    ["T_DURING(interval('2022-07-01T00:00:00Z','2022-12-31T23:59:59Z'),interval(start,end))", 1],
    ["T_MEETS(interval('2022-04-16T10:13:19Z','2022-04-16T10:15:10Z'),interval(start,end))", 1],
    ["T_STARTS(interval('2022-04-16T10:13:19Z','2022-04-16T10:15:10Z'),interval(start,end))", 1],
  ],
  arithmetic: [
    ['pop_other=1038280+8', 1],
    ['pop_other>=1038290-2*2^0', 4],
    ['pop_other>1038290-20/10', 3],
    ['pop_other>1038290-21 div 10', 3],
    ['pop_other>1038290-5%2', 3],
    ['pop_other<1038280+2^3', 4],
    ['pop_other between 4000000/4 and (3*(900000+100000))', 4],
    ['pop_other in (1000000+38288,1000000+600000+11692,3*1000000+13258,30*100000+13259)', 3],
    ['pop_other / 0 IS NULL', PLACES],
    ['-7 % 3 = -1 AND 7 % -3 = 1 AND -7 DIV 2 = -3 AND 7 / 2 = 3.5', PLACES],
    ['0 ^ -1 IS NULL AND (-8) ^ 0.5 IS NULL AND 10 ^ 999 IS NULL AND 0 ^ 0 = 1', PLACES],
  ],
};

describe.each(Object.entries(PREDICATES))('conformance class %s', (_, predicates) => {
  it.each(predicates)('%s finds %i', async (text, count) => {
    const { geopackage, postgis } = await find(text);
    expect(geopackage).toHaveLength(count);
    expect(postgis).toEqual(geopackage);
  });
});

describe('functions', () => {
  it.each<[text: string, names: string[]]>([
    ["UPPER(name) = 'KØBENHAVN'", ['København']],
    ["LOWER(name) = 'bärum'", ['Bärum']],
    ['LENGTH(name) = 4', ['Kiev', 'Bern']],
    ["SUBSTRING(name, 2, 2) = 'øb'", ['København']],
    ["STARTSWITH(name, 'Be')", ['Berlin', 'Bern']],
    ["ENDSWITH(name, 'urg') OR CONTAINS(name, 'iev')", ['Kiev', 'Luxembourg']],
    ["CONCAT(name, '-', nameascii) = 'Konya-Konya'", ['Konya']],
    ["TRIM(CONCAT('  ', name)) = 'Athens'", ['Athens']],
    ['ROUND(pop_other / 1000000) = 2 AND ROUND(-0.5) = -1 AND ROUND(2.5) = 3', ['Kiev']],
    ['SQRT(pop_other) = 1000 AND MOD(pop_other, 7) = 1 AND POWER(10, 6) = pop_other', ['Konya']],
    ['ABS(-pop_other) = 112572 AND FLOOR(-1.5) = -2 AND CEILING(-1.5) = -1', ['Athens']],
    ['YEAR("date") = 2022 AND MONTH(start) = 4 AND DAY(start) = 16', ['København']],
    ['HOUR(start) = 10 AND MINUTE(start) = 15 AND SECOND(start) = 59', ['Kiev']],
    ["start < NOW() AND NOW() < TIMESTAMP('2999-01-01T00:00:00Z') AND boolean = FALSE", ['København']],
    ['GEODISTANCE(geom, POINT(7.5 46.9)) BETWEEN 1 AND 400000', ['Luxembourg']],
  ])('%s', async (text, names) => {
    const { geopackage, postgis } = await find(text);
    expect(geopackage.map((id) => ROWS[id - 1]![1])).toEqual(names);
    expect(postgis).toEqual(geopackage);
  });
});
