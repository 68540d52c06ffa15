import { describe, expect, it } from 'vitest';
import { type CheckOptions, check, parseText, toJson } from '../../src/core/cql2/index.js';
import { CRS84, type Crs } from '../../src/core/geometry/crs.js';
import type { Field, FieldType } from '../../src/core/sources/vector-source.js';

/** A filter is checked against the properties of the collection before any store sees it. */

const field = (name: string, type: FieldType): Field => ({ name, type, nullable: true });
const OPTIONS: CheckOptions = {
  fields: [
    field('name', 'string'),
    field('pop', 'integer'),
    field('size', 'number'),
    field('flag', 'boolean'),
    field('day', 'date'),
    field('at', 'date-time'),
    field('tags', 'array'),
    field('doc', 'json'),
    field('photo', 'binary'),
  ],
  idColumn: 'fid',
  geometryColumn: 'geom',
  filterCrs: CRS84,
};
const WGS84: Crs = { ...CRS84, proj: 'EPSG:4326', northFirst: true };
const UTM: Crs = { ...CRS84, proj: 'EPSG:32633', epsg: 32633, geographic: false };

const checked = (text: string, more: Partial<CheckOptions> = {}) =>
  check(parseText(text), { ...OPTIONS, ...more });

describe('fitting filters pass', () => {
  it.each([
    "name = 'x' AND pop > 1 OR flag AND NOT flag = FALSE",
    'pop BETWEEN size AND fid + 1',
    "'x' < name",
    "name LIKE 'a%' AND CASEI(name) LIKE CASEI('B%')",
    "day IN (DATE('2020-02-29')) AND day < at",
    'flag > TRUE',
    'geom IS NULL AND geometry IS NOT NULL AND doc IS NULL AND photo IS NULL AND tags IS NULL',
    "T_AFTER(day, INTERVAL('2020-01-01', '..')) AND T_MEETS(INTERVAL(day, at), INTERVAL(at, '..'))",
    "A_CONTAINS(tags, ('a', 1, TRUE, pop)) AND A_OVERLAPS(doc, tags)",
    'GEODISTANCE(geom, POINT(1 2)) < 1000 AND S_DWITHIN(geom, POINT(1 2), 5)',
    "STARTSWITH(UPPER(name), 'A') AND LENGTH(CONCAT(name, name, 'x')) = 3",
    'SUBSTRING(name, 1) = SUBSTRING(name, 1, 2)',
    'T_BEFORE(at, NOW()) AND YEAR(at) = 2020 AND (pop > 1) = TRUE',
  ])('%s', (text) => {
    expect(toJson(checked(text))).toBeDefined();
  });
});

describe('filters that do not fit are refused', () => {
  it.each([
    ["nam = 'x'", "there is no property 'nam'. Did you mean 'name'?"],
    ["zzzzzzzz = 'x'", "there is no property 'zzzzzzzz'"],
    ["NAME = 'x'", "there is no property 'NAME'. Did you mean 'name'?"],
    ["pop = 'x'", "'=' cannot compare 'pop' (number) with the string 'x'"],
    ["day = 'yesterday'", "'=' cannot compare 'day' (date) with the string 'yesterday'"],
    ['name < 1', "'<' cannot compare 'name' (string) with a number"],
    ["pop IN (1, 'x')", "'IN' cannot compare 'pop' (number) with the string 'x'"],
    ["pop BETWEEN 1 AND 'x'", "'BETWEEN' cannot compare 'pop' (number) with the string 'x'"],
    ['geom = geom', "'=' takes a string or number or boolean or date or timestamp, found 'geom' (geometry)"],
    ['photo = photo', "'=' takes a string or number or boolean or date or timestamp, found 'photo' (binary)"],
    ['name', "'=' cannot compare 'name' (string) with a boolean"],
    ['name AND flag', "AND takes a boolean, found 'name' (string)"],
    ['pop + 1', 'a filter must be a predicate'],
    ["pop + 'x' = 1", "'+' takes a number, found the string 'x'"],
    ["pop LIKE 'x'", "LIKE takes a string, found 'pop' (number)"],
    ['name LIKE name', 'the pattern of LIKE must be a string in quotes, or CASEI or ACCENTI of one'],
    ["CASEI(pop) = 'x'", "CASEI takes a string, found 'pop' (number)"],
    ['S_WITHIN(name, geom)', "'s_within' takes a geometry, found 'name' (string)"],
    [
      "S_DWITHIN(geom, POINT(1 2), 'x')",
      "'s_dwithin' takes a distance in metres: a number that is not negative",
    ],
    [
      'S_DWITHIN(geom, POINT(1 2), -1)',
      "'s_dwithin' takes a distance in metres: a number that is not negative",
    ],
    [
      "T_AFTER(name, DATE('2020-01-01'))",
      "'t_after' takes a date or timestamp or interval, found 'name' (string)",
    ],
    ["T_DURING(at, INTERVAL('2020-01-01', '..'))", "'t_during' takes an interval, found 'at' (timestamp)"],
    [
      "T_AFTER(day, INTERVAL(name, '..'))",
      "the end of an interval takes a date or timestamp, found 'name' (string)",
    ],
    ["day = DATE('2021-02-29')", "'2021-02-29' is not a date"],
    ["at = TIMESTAMP('2020-01-01T25:00:00Z')", "'2020-01-01T25:00:00Z' is not a timestamp"],
    ["at = TIMESTAMP('-000000-01-01T00:00:00Z')", "'-000000-01-01T00:00:00Z' is not a timestamp"],
    ["T_AFTER(day, INTERVAL('2020-01-01', 'x'))", "'x' is neither a date, a timestamp nor '..'"],
    [
      "T_AFTER(day, INTERVAL('2021-01-01', '2020-01-01'))",
      'the interval from 2021-01-01 to 2020-01-01 ends before it starts',
    ],
    ['A_EQUALS(name, tags)', "'a_equals' takes an array or json, found 'name' (string)"],
    [
      'A_EQUALS(tags, ((1, 2), 3))',
      "an array of 'a_equals' takes a string or number or boolean or date or timestamp, found an array",
    ],
    ['foo(1) = 1', "there is no function 'foo'"],
    ['toString(1) = 1', "there is no function 'toString'"],
    ['ABS(name) = 1', "the function 'abs' takes a number, found 'name' (string)"],
    ['ABS() = 1', "the function 'abs' takes 1 argument"],
    ['CONCAT(name) = name', "the function 'concat' takes at least 2 arguments"],
    ['SUBSTRING(name, pop) = name', "the start of the function 'substring' must be an integer of at least 0"],
    ['HOUR(day) = 1', "the function 'hour' takes a timestamp, found 'day' (date)"],
    ['S_WITHIN(geom, POLYGON((0 0,1 0,1 1)))', 'the ring of a polygon needs at least four positions'],
    [
      'S_WITHIN(geom, POLYGON((0 0,1 0,1 1,0 1)))',
      'the ring of a polygon is not closed: its last position must be its first',
    ],
    ['S_WITHIN(geom, LINESTRING(0 0))', 'a line string needs at least two positions'],
    ['S_WITHIN(geom, LINESTRING(0 0,1 1 1))', 'the positions of a geometry must all have a height, or none'],
    [
      'S_INTERSECTS(geom, POINT(90 180))',
      `the latitude 180 is outside -90 to 90 (axis order of ${CRS84.uri})`,
    ],
    ['S_INTERSECTS(geom, BBOX(0,10,1,5))', 'a BBOX has its lower corner above its upper corner'],
  ])('%s', (text, message) => {
    expect(() => checked(text)).toThrow(message);
  });

  it('refuses a box across the antimeridian where there is none', () => {
    expect(() => checked('S_INTERSECTS(geom, BBOX(10,0,1,5))', { filterCrs: UTM })).toThrow(
      'left edge right',
    );
  });
});

describe('what it changes', () => {
  it('puts coordinates in x,y order and names their CRS', () => {
    expect(checked('S_WITHIN(geometry, POINT Z(60 10 5))', { filterCrs: WGS84 })).toEqual({
      op: 's_within',
      args: [{ property: 'geom' }, { type: 'Point', coordinates: [10, 60, 5], crs: 'EPSG:4326' }],
    });
    expect(checked('S_WITHIN(geom, BBOX(59,10,1,60,11,2))', { filterCrs: WGS84 })).toEqual({
      op: 's_within',
      args: [{ property: 'geom' }, { bbox: [10, 59, 1, 11, 60, 2], crs: 'EPSG:4326' }],
    });
  });

  it('is done once: a checked tree stays as it is', () => {
    const once = checked("S_WITHIN(geometry, POINT(60 10)) AND at = '2020-01-01T00:00:00+01:00'", {
      filterCrs: WGS84,
    });
    expect(check(once, { ...OPTIONS, filterCrs: WGS84 })).toEqual(once);
  });

  it('reads strings beside instants, and writes timestamps in UTC', () => {
    expect(checked("at IN ('2020-01-01T00:30:00.1234567+01:00', '2020-01-02')")).toEqual({
      op: 'in',
      args: [{ property: 'at' }, [{ timestamp: '2019-12-31T23:30:00.123456Z' }, { date: '2020-01-02' }]],
    });
  });

  it('calls functions by their own names', () => {
    expect(checked('CEILING(pop) = 1')).toMatchObject({ args: [{ op: 'ceil' }, 1] });
  });

  it('takes a field named geometry for itself', () => {
    const fields = [...OPTIONS.fields, field('geometry', 'string')];
    expect(checked("geometry = 'x'", { fields })).toMatchObject({ args: [{ property: 'geometry' }, 'x'] });
  });

  it('knows ids by their type', () => {
    expect(() => checked("fid = 'x'")).toThrow('cannot compare');
    expect(checked("fid = 'x'", { idType: 'uuid' })).toBeDefined();
  });
});
