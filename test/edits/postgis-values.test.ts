import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { VectorSource } from '../../src/core/sources/vector-source.js';
import { jsonTexts } from '../../src/core/values/json-text.js';
import { closeAll } from '../../src/workers/providers/postgis/connections/database.js';
import { discoverTables } from '../../src/workers/providers/postgis/schema/discover.js';
import { postgisStore } from '../../src/workers/providers/postgis/store.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';

/** Values that a type of PostgreSQL would cut, round or shift are refused; all others are stored as they were sent. */

let postgres: TestPostgres;
let client: pg.Client;
let source: VectorSource;

beforeAll(async () => {
  postgres = await startPostgres();
  client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(`
    CREATE EXTENSION IF NOT EXISTS postgis; CREATE EXTENSION IF NOT EXISTS hstore;
    CREATE TYPE pair AS (a int, b text, n numeric(4,1), at timestamp, short name);
    CREATE DOMAIN three AS bit(3);
    CREATE TABLE kinds (id serial PRIMARY KEY, geom geometry(Point, 4326),
      ts timestamp[], ts0 timestamp(0)[], tz timestamptz[], v3 varchar(3)[], c3 char(3)[], b3 bit(3), bv3 bit varying(3), d3 three,
      i0 interval(0), iy interval year, i interval, n name, ch "char", m money, ms money[], bs bytea[], q tsquery, h hstore,
      wide numeric, p pair, ip inet, r int4range, nums numeric(4,1)[], t3 varchar(3), c char(3), big text, tod time(0), x xml, bits bit(3)[]);
    INSERT INTO kinds DEFAULT VALUES;`);
  source = (await discoverTables({ database: postgres.url })).layers.find(
    (layer) => layer.source.table === 'kinds',
  )!.source;
});

afterAll(async () => {
  await client?.end();
  closeAll();
  await postgres?.stop();
});

async function outcomeOf(type: 'update' | 'create', properties: Record<string, unknown>) {
  const feature = { values: jsonTexts(properties) };
  const { outcomes } = await postgisStore.edit({
    ...{ filter: undefined, source, mode: 'each', crs: 'OGC:CRS84', swapAxes: false },
    operations: [type === 'create' ? { type, feature } : { type, id: '1', feature }],
    origin: { collection: 'c', layerId: 1, protocol: 'OGC-Features', requestId: 'r', actor: 'a' },
  });
  return outcomes[0];
}

const CUT = 'would be cut, rounded or filled up by its column';
const NONE = 'is not a value of its column';
const MEMBERS = 'has members or digits that its column cannot store';

it.each([
  ['v3', ['abcd'], CUT, 'character varying(3)[]'],
  ['c3', ['abcd'], CUT, 'character(3)[]'],
  ['b3', '1011', CUT, 'bit(3)'],
  ['b3', '1', CUT, 'bit(3)'],
  ['d3', '1', CUT, 'bit(3)'],
  ['bits', ['1'], CUT, 'bit(3)[]'],
  ['bv3', '1011', CUT, 'bit varying(3)'],
  ['i0', 'PT0.6S', CUT, 'interval(0)'],
  ['iy', 'P1Y2M3D', CUT, 'interval year'],
  ['n', 'n'.repeat(64), CUT, 'name'],
  ['ch', 'ab', CUT, '"char"'],
  ['m', '$1.005', 'must be an amount with at most 2 decimal places, for example 1234.50', 'money'],
  ['m', '1,5', 'must be an amount with at most 2 decimal places, for example 1234.50', 'money'],
  ['ms', ['1,5'], 'must be an amount with at most 2 decimal places, for example 1234.50', 'money[]'],
  ['bs', ['AQI='], 'must have bytes in hexadecimal digits as members, as \\x00ff', 'bytea[]'],
  ['q', 'a &', NONE, 'tsquery'],
  ['ip', 'nowhere', NONE, 'inet'],
  ['i', 'soon', NONE, 'interval'],
  ['x', '<a', NONE, 'xml'],
  ['h', 'a=>1', 'must be a JSON object', 'hstore'],
  ['p', { a: 1, zz: 'x' }, MEMBERS, 'pair'],
  ['p', { n: 1.25 }, MEMBERS, 'pair'],
  ['p', { at: '2020-01-01T00:00:00+05:00' }, MEMBERS, 'pair'],
  ['p', { short: 'n'.repeat(64) }, MEMBERS, 'pair'],
  ['p', [1], NONE, 'pair'],
])('refuses for %s the value %j', async (column, value, reason, type) => {
  for (const kind of ['update', 'create'] as const) {
    const outcome = await outcomeOf(kind, { [column]: value });
    const text = typeof value === 'string' && column !== 'h' ? value : JSON.stringify(value);
    const detail = `${reason} (type ${type}); received ${text.slice(0, 60)}`;
    expect(outcome).toMatchObject({
      ...{ ok: false, reason: 'invalid' },
      errors: [{ name: `/properties/${column}`, detail }],
    });
  }
});

it.each([
  ['ts', ['2020-01-01T00:00:00+05:00', null], '{"2019-12-31 19:00:00",NULL}'],
  ['ts0', ['2020-01-01T00:00:00Z'], '{"2020-01-01 00:00:00"}'],
  ['tz', [['2020-01-01T00:00:00+05:00']], '{{"2019-12-31 19:00:00+00"}}'],
  ['v3', ['abc', 'ä,"', null], '{abc,"ä,\\"",NULL}'],
  ['c3', ['ab'], '{"ab "}'],
  ['b3', '101', '101'],
  ['d3', '101', '101'],
  ['bv3', '1', '1'],
  ['i0', 'PT2S', '00:00:02'],
  ['iy', 'P3Y', '3 years'],
  ['i', 'PT0.6S', '00:00:00.6'],
  ['n', 'n'.repeat(63), 'n'.repeat(63)],
  ['ch', 'a', 'a'],
  ['m', '$1,234.50', '$1,234.50'],
  ['m', '-7', '-$7.00'],
  ['bs', ['\\x00ff'], '{"\\\\x00ff"}'],
  ['q', 'a & b', "'a' & 'b'"],
  ['h', { k: 'v' }, '"k"=>"v"'],
  ['p', { a: 1, b: 'x', n: 1.5, at: '2020-01-01T00:00:00Z' }, '(1,x,1.5,"2020-01-01 00:00:00",)'],
  ['r', '[1,3)', '[1,3)'],
  ['nums', [1.5], '{1.5}'],
  ['t3', 'abc', 'abc'],
  ['c', 'ab', 'ab'],
  ['tod', '10:00:01', '10:00:01'],
])('stores for %s the value %j', async (column, value, stored) => {
  expect(await outcomeOf('update', { [column]: value })).toEqual({ ok: true, id: '1' });
  const { rows } = await client
    .query(`SET TimeZone TO UTC; SET IntervalStyle TO postgres`)
    .then(() => client.query(`SELECT "${column}"::text AS v FROM kinds WHERE id = 1`));
  expect(rows).toEqual([{ v: stored }]);
});

it('leaves digits that clients of GeoServices are not shown, but not those of other numbers', async () => {
  const DIGITS = '12345678901234567890.12345678901234567891';
  const update = async (wide: string, areEsriAttributes?: true) => {
    await client.query(`UPDATE kinds SET wide = ${DIGITS} WHERE id = 1`);
    const feature = { values: { wide, n: '"name"' }, ...(areEsriAttributes ? { areEsriAttributes } : {}) };
    const { outcomes } = await postgisStore.edit({
      ...{ filter: undefined, source, mode: 'each', crs: 'OGC:CRS84', swapAxes: false },
      operations: [{ type: 'update', id: '1', feature }],
      origin: { collection: 'c', layerId: 1, protocol: 'FeatureServer', requestId: 'r', actor: 'a' },
    });
    expect(outcomes).toEqual([{ ok: true, id: '1' }]);
    return (await client.query('SELECT wide::text FROM kinds WHERE id = 1')).rows[0].wide;
  };
  const shown = String(Number(DIGITS));
  expect(await update(shown, true)).toBe(DIGITS);
  expect(await update(Number(DIGITS).toPrecision(17), true)).toBe(DIGITS);
  expect(await update('12345678901234560000', true)).toBe('12345678901234560000');
  expect(await update('12345678901234567891', true)).toBe('12345678901234567891');
  expect(Number(await update(shown))).toBe(Number(shown));
  expect(await update(shown)).not.toBe(DIGITS);
});

it('shows members of arrays of char(n) without blanks at the end', async () => {
  await client.query("UPDATE kinds SET c3 = '{ab,NULL,abc}' WHERE id = 1");
  const item = await postgisStore.item({
    ...{ source, id: '1', filter: undefined, format: 'geojson', crs: 'OGC:CRS84', swapAxes: false },
    precision: 7,
  });
  const { properties } = JSON.parse(Buffer.from(item!.data).toString());
  expect(properties.c3).toEqual(['ab', null, 'abc']);
});
