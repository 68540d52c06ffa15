import { describe, expect, it } from 'vitest';
import { print } from '../../../src/core/cql2/index.js';
import { CRS84 } from '../../../src/core/geometry/crs.js';
import type { Field } from '../../../src/core/sources/vector-source.js';
import { findEpsgCrs } from '../../../src/native/crs.js';
import { type GeoServicesFilter, geoServicesFilter } from '../../../src/services/geoservices/filter.js';

/** Parameters of GeoServices as the filter of all surfaces. */

const field = (name: string, type: Field['type'], more: Partial<Field> = {}): Field => ({
  ...{ name, type, nullable: true },
  ...more,
});
const FIELDS = [
  field('Name', 'string'),
  field('open', 'boolean'),
  field('a', 'integer'),
  field('A', 'integer'),
  field('seen', 'date-time'),
];

function filterOf(filter: GeoServicesFilter, fields: Field[] = FIELDS) {
  const schema = { fields, idColumn: 'fid', geometryColumn: 'geom', filterCrs: CRS84 };
  return geoServicesFilter(filter, schema, CRS84);
}
const textOf = (...args: Parameters<typeof filterOf>) => print(filterOf(...args)!);

const NOW = Date.UTC(2026, 2, 1, 12, 30);

describe('where', () => {
  it.each([
    ["NAME = 'x'", "Name = 'x'"],
    ['a = 1 AND A = 2', 'a = 1 AND A = 2'],
    ['FID = 3', 'fid = 3'],
    ['OPEN = 1', 'open = TRUE'],
    ['0 = open', 'FALSE = open'],
    ['a = 1', 'a = 1'],
    ["Name = N'it''s N''x'''", "Name = 'it''s N''x'''"],
    ["Name = 'C:\\'", "Name = 'C:\\\\'"],
    ["Name = N'\\' OR Name = ' OR 1 = 1'", "Name IN ('\\\\', ' OR 1 = 1')"],
    ["Name LIKE '10\\%'", "Name LIKE '10\\\\%'"],
    ["Name LIKE '1!_0!!%\\' ESCAPE '!'", "Name LIKE '1\\\\_0\\\\!%\\\\\\\\'"],
    ["Name not like N'it''''s' escape '''' OR a = 1", "Name NOT LIKE 'it\\\\''s' OR a = 1"],
    ["Name = ' LIKE ''a'' ESCAPE ''!'' '", "Name = ' LIKE ''a'' ESCAPE ''!'' '"],
    ["Name = 'CURRENT_DATE'", "Name = 'CURRENT_DATE'"],
    ['seen > CURRENT_TIMESTAMP', "seen > TIMESTAMP('2026-03-01T12:30:00Z')"],
    ['seen > CURRENT_DATE', "seen > DATE('2026-03-01')"],
    ['seen > CURRENT_DATE - 1', "seen > DATE('2026-02-28')"],
    ["seen > current_timestamp - interval '1' DAY", "seen > TIMESTAMP('2026-02-28T12:30:00Z')"],
    ["seen > CURRENT_TIMESTAMP + INTERVAL '90' MINUTE", "seen > TIMESTAMP('2026-03-01T14:00:00Z')"],
    [
      "seen > CURRENT_TIMESTAMP - INTERVAL '1 02:30:00' DAY TO SECOND",
      "seen > TIMESTAMP('2026-02-28T10:00:00Z')",
    ],
    ["seen > TIMESTAMP '2026-01-02 03:04:05'", "seen > TIMESTAMP('2026-01-02T03:04:05Z')"],
    ["seen > DATE '2026-01-02'", "seen > DATE('2026-01-02')"],
  ])('%s', (where, text) => {
    expect(textOf({ where, now: NOW })).toBe(text);
  });

  it.each([
    'NAME2 = 1',
    "Name LIKE 'a!b' ESCAPE '!'",
    "Name LIKE 'a!' ESCAPE '!'",
    "Name LIKE 'a' ESCAPE '!!'",
    "Name = 'a' ESCAPE '!'",
    'open = 2',
    'Aa = 1',
    "seen > CURRENT_TIMESTAMP - INTERVAL '1:2:3:4:5' DAY",
    "seen > CURRENT_TIMESTAMP - INTERVAL '99999999999' DAY",
  ])('not %s', (where) => {
    expect(() => filterOf({ where, now: NOW })).toThrow(/^where: /);
  });

  it('has no time where the condition is kept', () => {
    expect(() => filterOf({ where: 'seen > CURRENT_TIMESTAMP' })).toThrow(/^where: .*CURRENT_TIMESTAMP/);
  });
});

describe('time', () => {
  const [start, end] = ['2026-01-01', '2026-02-01'].map((day) => Date.parse(day));

  it('is that of the first instant', () => {
    expect(textOf({ time: `${start},${end}` })).toBe(
      "T_INTERSECTS(seen, INTERVAL('2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000999Z'))",
    );
  });

  it('is that of the fields that the layer names', () => {
    const bounds = [
      ...FIELDS,
      field('begun', 'date-time', { bound: 'start' }),
      field('ended', 'date', { bound: 'end' }),
    ];
    expect(textOf({ time: `${start},${end}` }, bounds)).toBe(
      "T_INTERSECTS(begun, INTERVAL('..', '2026-02-01T00:00:00.000999Z')) AND (T_INTERSECTS(ended, INTERVAL('2026-01-01', '..')) OR ended IS NULL)",
    );
    expect(textOf({ time: `null,${end}` }, bounds)).toBe(
      "T_INTERSECTS(begun, INTERVAL('..', '2026-02-01T00:00:00.000999Z'))",
    );
  });
});

describe('windows', () => {
  const boxOf = (geometry: string, inSR = 4326) => {
    const { args } = filterOf({ geometry, geometryType: 'esriGeometryEnvelope', inSR }) as never as {
      args: [unknown, { bbox: number[]; crs: string }];
    };
    return args[1];
  };

  it.each([
    ['5,46,11,48', [5, 46, 11, 48]],
    ['170,-10,190,10', [170, -10, -170, 10]],
    ['-190,-10,-170,10', [170, -10, -170, 10]],
    ['170,-10,-170,10', [170, -10, -170, 10]],
    ['190,-10,200,10', [-170, -10, -160, 10]],
    ['-540,-10,540,10', [-180, -10, 180, 10]],
    ['350,-10,540,10', [-10, -10, 180, 10]],
    ['-180,-90,180,90', [-180, -90, 180, 90]],
  ])('%s', (geometry, bbox) => {
    expect(boxOf(geometry).bbox).toEqual(bbox);
  });

  it('of Web Mercator cross the antimeridian, too', () => {
    expect(boxOf('1000,2000,3000,4000', 102_100)).toEqual({
      bbox: [1000, 2000, 3000, 4000],
      crs: 'EPSG:3857',
    });
    const { bbox, crs } = boxOf('19000000,-1000000,21000000,1000000', 102_100);
    expect(crs).toBe(CRS84.proj);
    expect(bbox).toEqual([170.68, -8.946, -171.353, 8.946].map((side) => expect.closeTo(side, 2)));
  });

  it('have their corners in order elsewhere', () => {
    expect(findEpsgCrs(2056)?.geographic).toBe(false);
    expect(() => boxOf('3,1,2,2', 2056)).toThrow(/^geometry: /);
    expect(() => boxOf('1,3,2,2')).toThrow(/^geometry: /);
  });
});
