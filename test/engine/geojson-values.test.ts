import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, describe, expect, it } from 'vitest';
import type { TranslateResult, TranslateTask } from '../../src/core/exchange/ogr.js';
import { PropertyScanner } from '../../src/workers/exchange/geojson/scanner.js';
import { carryTime } from '../../src/workers/exchange/ogr/staged-times.js';
import { translate } from '../../src/workers/exchange/ogr/translate.js';
import { stageFeatures } from '../../src/workers/processes/stage.js';

/** Values of GeoJSON in a staging GeoPackage: none is another one. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-values-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

const collection = (...properties: string[]) =>
  `{"type":"FeatureCollection","features":[${properties
    .map(
      (text, i) =>
        `{"type":"Feature","geometry":{"type":"Point","coordinates":[${i},1]},"properties":${text}}`,
    )
    .join(',')}]}`;

interface StagedTable extends TranslateResult {
  types: Record<string, string>;
  /** Values as text, by column. */
  rows: Record<string, string | null>[];
}

async function stage(text: string, options: Partial<TranslateTask> = {}): Promise<StagedTable> {
  const path = join(folder, `f${++count}.json`);
  writeFileSync(path, text);
  const output = `${path}.gpkg`;
  const result = await translate({ path, output, table: 't', ...options }, `${output}.part`, () => {});
  const db = new Database(output);
  try {
    const columns = db.prepare("SELECT name, type FROM pragma_table_info('t')").all() as {
      name: string;
      type: string;
    }[];
    const fields = columns.slice(2);
    const list = fields.map(({ name }) => `CAST("${name}" AS TEXT) AS "${name}"`).join(', ');
    const rows = db.prepare(`SELECT ${list} FROM t ORDER BY fid`).all() as StagedTable['rows'];
    return { ...result, types: Object.fromEntries(fields.map(({ name, type }) => [name, type])), rows };
  } finally {
    db.close();
  }
}

describe('values of GeoJSON', () => {
  it('are text where no column of numbers holds them', async () => {
    const { rows, types, notes } = await stage(
      collection(
        '{"huge":10000000000000000000000000001,"over":9223372036854775808,"mixed":9007199254740993,"most":9223372036854775807,"far":1e400}',
        '{"huge":2,"over":null,"mixed":1.5,"most":-9223372036854775808,"far":2.5}',
      ),
    );
    expect(rows).toEqual([
      {
        huge: '10000000000000000000000000001',
        over: '9223372036854775808',
        mixed: '9007199254740993',
        most: '9223372036854775807',
        far: '1e400',
      },
      { huge: '2', over: null, mixed: '1.5', most: '-9223372036854775808', far: '2.5' },
    ]);
    expect(types).toMatchObject({ huge: 'TEXT', over: 'TEXT', mixed: 'TEXT', most: 'INTEGER', far: 'TEXT' });
    expect(notes).toEqual([
      'Numbers that a column of numbers cannot hold: the values of these properties are text: huge, over, mixed, far.',
    ]);
  });

  it('are rounded with a note', async () => {
    const text = collection(
      '{"a":0.12345678901234567890,"b":0.10000000000000001,"c":1e20}',
      '{"a":1,"b":2,"c":3}',
    );
    const rounded = await stage(text);
    expect(rounded.types).toEqual({ a: 'REAL', b: 'REAL', c: 'REAL' });
    expect(rounded.notes).toEqual([
      'Numbers are rounded to 64-bit floating point, about 17 digits, in these properties: a.',
    ]);
  });

  it('keep their digits within objects and lists', async () => {
    const { rows, notes } = await stage(
      collection(
        '{"o":{"y":0.1234567890123456781, "z":[1.10, 18446744073709551616]},"l":[9223372036854775808,1],"s":{"a":1}}',
        '{"o":"text","l":[2],"s":null}',
      ),
    );
    expect(rows[0]).toMatchObject({
      o: '{"y":0.1234567890123456781,"z":[1.10,18446744073709551616]}',
      l: '[9223372036854775808,1]',
    });
    expect(rows[1]).toMatchObject({ o: 'text', l: '[2]' });
    expect(notes).toBeUndefined();
  });

  it('are JSON where they are lists', async () => {
    const lists = collection('{"texts":["a","b,c"],"ints":[1,2],"none":[],"mixed":[1,"x",null]}');
    expect((await stage(lists)).rows).toEqual([
      { texts: '["a","b,c"]', ints: '[1,2]', none: '[]', mixed: '[1,"x",null]' },
    ]);
    const topology =
      '{"type":"Topology","arcs":[],"objects":{"places":{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2],"properties":{"l":["a","b"]}}]}}}';
    expect((await stage(topology, { mayLackCrs: true })).rows[0]).toMatchObject({ l: '["a","b"]' });
  });

  it('keep microseconds of times', async () => {
    const { rows, types } = await stage(
      collection(
        '{"t":"2020-01-01T23:59:59.999999Z","u":"2020-01-01T23:59:59.9996+02:00","plain":"2020-01-01T00:00:00.5Z","mixed":"2020-01-01T23:59:59.999999Z"}',
        '{"t":"2020-01-02T00:00Z","u":"2020/01/02 03:04:05.123456","plain":null,"mixed":"soon"}',
        '{"t":null,"u":"2020-01-01T00:00:00.5+0130","plain":null,"mixed":null}',
      ),
    );
    expect(types).toEqual({ t: 'DATETIME', u: 'DATETIME', plain: 'DATETIME', mixed: 'TEXT' });
    expect(rows.map(({ t, u, mixed }) => [t, u, mixed])).toEqual([
      ['2020-01-01T23:59:59.999999Z', '2020-01-01T23:59:59.9996+02:00', '2020-01-01T23:59:59.999999Z'],
      ['2020-01-02T00:00:00Z', '2020-01-02T03:04:05.123456Z', 'soon'],
      [null, '2020-01-01T00:00:00.5+01:30', null],
    ]);
  });

  it('stay text where GDAL would write them in another way', async () => {
    const texts = {
      ...{ both: '2020-01-01', clock: '12:30', early: '-000043-03-15', far: '+012020-01-01T00:00:00Z' },
      ...{ short: '99-01-02', none: '2020-02-30', spaced: ' 2020-01-01', phone: '555-1234' },
      ...{ escaped: '2020/01/02 ' },
    };
    const first = JSON.stringify(texts).replace('2020/01/02 ', '2020\\/01\\/02\\u0020');
    const { rows, types } = await stage(collection(first, '{"both":"2020-01-01T10:00:00Z"}'));
    expect(rows[0]).toEqual(texts);
    expect(rows[1]).toMatchObject({ both: '2020-01-01T10:00:00Z', clock: null });
    expect(new Set(Object.values(types))).toEqual(new Set(['TEXT']));
  });

  it('keep offsets that are no quarters of an hour', async () => {
    const { rows, types } = await stage(
      collection(
        '{"odd":"2020-01-01T10:00:00+01:07","far":"2020-01-01T10:00:00+15:00","quarter":"2020-01-01T10:00:00+05:45"}',
      ),
    );
    expect(types).toEqual({ odd: 'DATETIME', far: 'DATETIME', quarter: 'DATETIME' });
    expect(rows[0]).toEqual({
      ...{ odd: '2020-01-01T10:00:00+01:07', far: '2020-01-01T10:00:00+15:00' },
      quarter: '2020-01-01T10:00:00.000+05:45',
    });
  });

  it('keep names that GeoPackage uses', async () => {
    const { rows, notes } = await stage(collection('{"fid":"a","geom":"b","Name":"c","name":"d"}'));
    expect(rows).toEqual([{ fid: 'a', geom: 'b', Name: 'c', name2: 'd' }]);
    expect(notes).toEqual(['Names of fields that differ in their case alone are changed: name (now name2).']);
  });

  it('of one kind are read by GDAL alone', async () => {
    const { rows, types } = await stage(
      collection('{"a":1,"b":1.5,"c":"x","d":true,"e":"2020-01-01","t":"2020-01-01T00:00:59.9996Z"}').replace(
        '59.9996',
        '59.999',
      ),
    );
    expect(types).toEqual({ a: 'MEDIUMINT', b: 'REAL', c: 'TEXT', d: 'BOOLEAN', e: 'DATE', t: 'DATETIME' });
    expect(rows[0]!['t']).toBe('2020-01-01T00:00:59.999Z');
  });

  it('of sequences and TopoJSON are read alike', async () => {
    const feature = '{"type":"Feature","geometry":null,"properties":{"n":9223372036854775808}}';
    expect((await stage(`${feature}\n${feature}\n`)).rows).toEqual([
      { n: '9223372036854775808' },
      { n: '9223372036854775808' },
    ]);
    const topology =
      '{"type":"Topology","arcs":[],"objects":{"places":{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2],"properties":{"n":9223372036854775808}}]}}}';
    const { rows } = await stage(topology, { mayLackCrs: true });
    expect(rows[0]).toMatchObject({ n: '9223372036854775808' });
  });
});

it('names objects of TopoJSON whose geometries GDAL reads as empty, or drops', async () => {
  const geometries = [
    '{"type":"Point","coordinates":[1,2],"properties":{"n":1}}',
    '{"type":"Point","coordinates":["x",2],"properties":{"n":2}}',
    '{"type":"LineString","arcs":[-1],"properties":{"n":3}}',
    '{"type":"LineString","arcs":[7],"properties":{"n":4}}',
    '{"type":"MultiPoint","coordinates":[[1,2],["a",3]],"properties":{"n":5}}',
    '{"type":null,"properties":{"n":6}}',
    '{"type":"Polygon","arcs":[],"properties":{"n":7}}',
  ].join(',');
  const topology = `{"type":"Topology","arcs":[[[0,0],[1,1],[2,2]]],"objects":{"places":{"type":"GeometryCollection","geometries":[${geometries}]}}}`;
  const { notes } = await stage(topology, { mayLackCrs: true });
  expect(notes).toEqual([
    'Geometries of the file that cannot be read, or only in part: 3. The first ones: places[1], places[3], places[4].',
    'Objects of the file without a geometry, or of an unknown type, are omitted: 1.',
  ]);
});

describe('values of Esri JSON', () => {
  const set = (more: string, ...features: string[]) =>
    `{"objectIdFieldName":"OBJECTID","geometryType":"esriGeometryPoint","spatialReference":{"wkid":102100,"latestWkid":3857}${more},"features":[${features.join(',')}]}`;
  const fields = (types: Record<string, string>) =>
    `,"fields":${JSON.stringify(
      Object.entries(types).map(([name, type]) => ({ name, type: `esriFieldType${type}` })),
    )}`;

  it('have the types of their fields and all digits', async () => {
    const { rows, types, notes } = await stage(
      set(
        fields({
          ...{ OBJECTID: 'OID', big: 'BigInteger', int: 'Integer', when: 'Date', day: 'DateOnly' },
          ...{ offset: 'TimestampOffset', text: 'String', real: 'Double', huge: 'BigInteger' },
        }),
        '{"attributes":{"OBJECTID":7,"big":"9007199254740995","int":9007199254740993,"when":1577836800123,"day":"2020-01-02","offset":"2020-01-01T00:00:00.123456+02:00","text":"2020-01-01","real":3,"huge":9223372036854775808},"geometry":{"x":1,"y":2}}',
        '{"attributes":{"OBJECTID":9,"big":9007199254740993,"int":-1,"when":null,"day":null,"offset":null,"text":null,"real":"NaN","huge":1},"geometry":{"x":"NaN"}}',
      ),
    );
    expect(types).toEqual({
      ...{ OBJECTID: 'INTEGER', big: 'INTEGER', int: 'INTEGER', when: 'DATETIME', day: 'DATE' },
      ...{ offset: 'DATETIME', text: 'TEXT', real: 'REAL', huge: 'TEXT' },
    });
    expect(rows).toEqual([
      {
        ...{ OBJECTID: '7', big: '9007199254740995', int: '9007199254740993' },
        ...{ when: '2020-01-01T00:00:00.123Z', day: '2020-01-02', text: '2020-01-01', real: '3.0' },
        ...{ offset: '2020-01-01T00:00:00.123456+02:00', huge: '9223372036854775808' },
      },
      {
        ...{ OBJECTID: '9', big: '9007199254740993', int: '-1', when: null, day: null, offset: null },
        ...{ text: null, real: null, huge: '1' },
      },
    ]);
    expect(notes).toHaveLength(1);
  });

  it('have all digits of instants, and text where no date is so far', async () => {
    const { rows, types, notes } = await stage(
      set(
        fields({ fine: 'Date', early: 'Date', far: 'Date', farther: 'Date' }),
        '{"attributes":{"fine":1577836800123.456,"early":-0.25,"far":253402300800000,"farther":8640000000000001},"geometry":{"x":1,"y":2}}',
      ),
    );
    expect(rows).toEqual([
      {
        ...{ fine: '2020-01-01T00:00:00.123456Z', early: '1969-12-31T23:59:59.99975Z' },
        ...{ far: '+010000-01-01T00:00:00.000Z', farther: '8640000000000001' },
      },
    ]);
    expect(types).toEqual({ fine: 'DATETIME', early: 'DATETIME', far: 'TEXT', farther: 'TEXT' });
    expect(notes).toEqual([
      'Times that the format does not have: the values of these properties are text: far, farther.',
    ]);
  });

  it('keep their CRS and geometries, and may have no list of fields', async () => {
    const output = join(folder, 'esri.gpkg');
    const path = join(folder, 'esri.json');
    writeFileSync(
      path,
      set('', '{"attributes":{"a":9007199254740993},"geometry":{"x":1000,"y":2000}}').replace(
        'esriGeometryPoint"',
        'esriGeometryPoint","hasZ":false',
      ),
    );
    await translate({ path, output, table: 't' }, `${output}.part`, () => {});
    const db = new Database(output);
    expect(db.prepare('SELECT srs_id FROM gpkg_geometry_columns').pluck().get()).toBe(3857);
    expect(db.prepare('SELECT min_x, min_y FROM gpkg_contents').raw().get()).toEqual([1000, 2000]);
    expect(db.prepare('SELECT CAST(a AS TEXT) FROM t').pluck().get()).toBe('9007199254740993');
    db.close();
  });

  it('with curves are refused', async () => {
    const curve = '{"attributes":{},"geometry":{"curvePaths":[[[0,0],{"c":[[2,0],[1,1]]}]]}}';
    await expect(stage(set('', curve))).rejects.toThrow('a geometry has curves');
  });
});

describe('times of other formats', () => {
  const text = collection('{"t":"2020-01-01T23:59:59.999999Z"}', '{"t":"2020-01-01T00:00:00.5Z"}');

  async function translated(path: string): Promise<{ times: unknown[]; type: unknown; notes: string[] }> {
    const output = `${path}.out.gpkg`;
    const { notes = [] } = await translate({ path, output, table: 't' }, `${output}.part`, () => {});
    const db = new Database(output);
    const type = db.prepare("SELECT type FROM pragma_table_info('t') WHERE name = 't'").pluck().get();
    const times = db.prepare('SELECT t FROM t ORDER BY fid').pluck().all();
    db.close();
    return { times, type, notes };
  }

  it('are rounded to milliseconds with a note, and never have 60 seconds', async () => {
    const source = join(folder, 'times.geojson');
    writeFileSync(source, collection('{"t":"2020-01-01T23:59:59.5Z"}'));
    for (const [driver, ending] of [
      ['FlatGeobuf', 'fgb'],
      ['GML', 'gml'],
    ]) {
      const path = join(folder, `times.${ending}`);
      execFileSync('ogr2ogr', ['-f', driver!, path, source]);
      // GDAL writes milliseconds: other programs do not.
      const bytes = readFileSync(path, 'latin1').replace(/23:59:59\.5(00)?Z?/, (time) =>
        '23:59:59.99999'.slice(0, time.length),
      );
      writeFileSync(path, bytes, 'latin1');
      expect([driver, bytes]).toEqual([driver, expect.stringContaining('23:59:59.9999')]);
      const { times, notes } = await translated(path);
      expect([driver, String(times[0])]).toEqual([driver, expect.not.stringContaining(':60')]);
      expect(notes).toEqual([
        'Times of the file have more digits than milliseconds: they are rounded to milliseconds.',
      ]);
    }
  });

  it('of MapInfo files at the end of a day are those of the next day', async () => {
    const source = join(folder, 'midnight.geojson');
    writeFileSync(source, collection('{"t":"2020-01-01T23:59:59.999999Z"}'));
    const path = join(folder, 'midnight.tab');
    execFileSync('ogr2ogr', ['-f', 'MapInfo File', path, source]);
    const { times } = await translated(path);
    expect(times).toEqual([expect.stringMatching(/^2020-01-02T00:00:00/)]);
  });

  it('of GeoPackages keep all digits', async () => {
    const path = join(folder, 'times.gpkg');
    writeFileSync(join(folder, 'times.geojson'), text);
    await translate(
      { path: join(folder, 'times.geojson'), output: path, table: 't' },
      `${path}.part`,
      () => {},
    );
    const { times, type, notes } = await translated(path);
    expect(times).toEqual(['2020-01-01T23:59:59.999999Z', '2020-01-01T00:00:00.5Z']);
    expect([type, notes]).toEqual(['DATETIME', []]);
  });
});

describe('times of GeoPackages that the command line exports', () => {
  it.each([
    ['GeoJSON', 'geojson', '2020-01-01T23:59:59.999999Z', 0],
    ['CSV', 'csv', '2020-01-01T23:59:59.999999Z', 0],
    ['GPKG', 'gpkg', '2020-01-01T23:59:59.999999Z', 0],
    ['FlatGeobuf', 'fgb', '2020-01-01T23:59:59.999Z', 1],
    ['KML', 'kml', '>2020-01-01T23:59:59.999999Z<', 0],
  ] as const)('keep their digits as %s, or are noted', async (format, ending, expected, noted) => {
    const path = join(folder, 'times.gpkg');
    const output = join(folder, `exported.${ending}`);
    const task = { path, output, table: 't', format };
    const { notes = [] } = await translate(task, `${output}.part.${ending}`, () => {});
    expect(readFileSync(output, 'latin1')).toContain(expected);
    expect(notes).toHaveLength(noted);
  });
});

describe('features that are sent to a process', () => {
  it('keep their numbers, as text where no column holds them', () => {
    const path = join(folder, 'sent.json');
    const output = join(folder, 'sent.gpkg');
    writeFileSync(
      path,
      collection(
        '{"huge":10000000000000000000000000001,"mixed":9007199254740993,"big":9223372036854775807,"long":0.12345678901234567890,"round":1e20,"far":1e400}',
        '{"huge":2,"mixed":1.5,"big":1,"long":1,"round":1.5,"far":1}',
      ),
    );
    const { notes } = stageFeatures({ path, output });
    const db = new Database(output, { readonly: true });
    const names = ['huge', 'mixed', 'big', 'long', 'round', 'far'];
    const list = names.map((name) => `typeof("${name}"), CAST("${name}" AS TEXT)`).join(', ');
    expect(db.prepare(`SELECT ${list} FROM features LIMIT 1`).raw().get()).toEqual([
      ...['text', '10000000000000000000000000001', 'text', '9007199254740993'],
      ...['integer', '9223372036854775807', 'real', '0.12345678901234568', 'real', '1.0e+20'],
      ...['text', '1e400'],
    ]);
    db.close();
    expect(notes).toEqual([
      'Numbers that a column of numbers cannot hold: the values of these properties are text: huge, mixed, far.',
      'Numbers are rounded to 64-bit floating point, about 17 digits, in these properties: long.',
    ]);
  });
});

describe('arcs', () => {
  it.each([
    ['CURVEPOLYGON (CIRCULARSTRING (0 0,1 1,2 0,1 -1,0 0))', 1],
    ['COMPOUNDCURVE ((0 0,1 1),(1 1,2 0))', 0],
    ['MULTISURFACE (((0 0,1 1,2 0,0 0)))', 0],
    ['GEOMETRYCOLLECTION (CIRCULARSTRING (0 0,1 1,2 0))', 1],
  ])('of %s that become lines are noted', async (wkt, expected) => {
    const csv = join(folder, `arc${++count}.csv`);
    writeFileSync(csv, `WKT,name\n"${wkt}",a\n`);
    const path = `${csv}.gpkg`;
    const crs = ['-a_srs', 'EPSG:4326', '-oo', 'GEOM_POSSIBLE_NAMES=WKT'];
    execFileSync('ogr2ogr', ['-f', 'GPKG', ...crs, path, csv]);
    const output = `${path}.out.gpkg`;
    const { notes = [] } = await translate({ path, output, table: 't' }, `${output}.part`, () => {});
    // Pages of GML become such sequences, which are refused where GDAL cannot write a collection.
    const lines = { path, output: `${output}.geojsonl`, table: 't', format: 'GeoJSONSeq' } as const;
    const sequence = await translate(lines, `${output}.part`, () => {}).catch(() => undefined);
    if (sequence || !wkt.startsWith('GEOMETRYCOLLECTION')) expect(sequence?.notes ?? []).toEqual(notes);
    expect(notes).toEqual(
      new Array(expected).fill('Arcs of the file became lines, in steps of 4 degrees of each arc.'),
    );
  });
});

describe('the scanner of properties', () => {
  const text =
    '{"properties":7,"a":{"properties" : { "x\\"y" : [1,{"properties":2}] , "s":"},{" ,"n":-1.5e3\n,"e":{} } },"b":{"properties":{}},"c":{"properties":{"last":null}}}';
  const all = [
    ['x"y', '[1,{"properties":2}]'],
    ['s', '"},{"'],
    ['n', '-1.5e3'],
    ['e', '{}'],
    ['last', 'null'],
  ];

  it.each([1, 2, 3, 7, 1000])('finds them in chunks of %d bytes', (size) => {
    const found: string[][] = [];
    const written: Buffer[] = [];
    const scanner = new PropertyScanner(
      (name, value) => {
        found.push([name, value.text()]);
        return name === 'n' ? '"n"' : undefined;
      },
      (bytes) => written.push(bytes),
    );
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) scanner.read(bytes.subarray(at, at + size));
    expect(found).toEqual(all);
    expect(JSON.parse(Buffer.concat(written).toString())).toEqual(JSON.parse(text.replace('-1.5e3', '"n"')));
  });
});

it('carries seconds that were rounded to 60', () => {
  expect(carryTime('2020-12-31T23:59:60.000+02:00')).toBe('2021-01-01T00:00:00.000+02:00');
  expect(carryTime('2020-12-31T23:59:59.000Z')).toBe('2020-12-31T23:59:59.000Z');
  expect(carryTime('2020-02-28T24:00:00.000Z')).toBe('2020-02-29T00:00:00.000Z');
  expect(carryTime('2020-02-28T24:00:00Z')).toBe('2020-02-29T00:00:00Z');
});
