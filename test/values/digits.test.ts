import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import pg from 'pg';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { createSpatialIndex, prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { geoPackageBlob, wkb } from '../native/support.js';
import { ProcessClient } from '../processes/support.js';
import { type Town, townOf } from '../replicas/support.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';

/** Numbers and instants keep all their digits, in both stores and on every surface. */

/** 2^60 and a few: doubles have one number for all of them. */
const SIDS = [1, 2, 3, 4, 5, 6].map((i) => String(2n ** 60n + BigInt(i)));
const [, , THIRD] = SIDS as [string, string, string];
const INSTANTS = ['2020-01-01T00:00:00Z', '2020-01-01T23:59:59.999999Z', '2020-01-02T00:00:00.5Z'];
const DOC = '{"big":9007199254740993,"dec":0.12345678901234567890,"k":1,"one":1.0}';

interface Names {
  readonly nums: string;
  readonly ids: string;
}
const STORES: readonly [string, Names][] = [
  ['GeoPackage', { nums: 'gnums', ids: 'gids' }],
  ['PostGIS', { nums: 'pnums', ids: 'pids' }],
];

let folder: string;
let postgres: TestPostgres;
let client: pg.Client;
let server: TestServer;
let town: Town;
let file: string;

const gpkgRows = (sql: string): unknown[][] => {
  const db = connect(file, true);
  try {
    return db.prepare(sql).safeIntegers().raw().all() as unknown[][];
  } finally {
    db.close();
  }
};
/** Values that a table holds, as text. */
const stored = async (table: string, expression: string, where = 'true'): Promise<unknown[]> => {
  const sql = `SELECT CAST(${expression} AS text) FROM ${table} WHERE ${where} ORDER BY 1`;
  if (table.startsWith('g')) return gpkgRows(sql).map(([value]) => value);
  return (await client.query({ text: sql, rowMode: 'array' })).rows.map(([value]) => value);
};

function makeGeoPackage(): void {
  const db = connect(file, false);
  prepareStore(db);
  db.exec(`CREATE TABLE gnums (fid INTEGER PRIMARY KEY, geom POINT, sid INTEGER, n INTEGER, at DATETIME, doc JSON);
    CREATE TABLE gids (fid INTEGER PRIMARY KEY, geom POINT, name TEXT);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES
      ('gnums', 'features', 'gnums', 4326), ('gids', 'features', 'gids', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('gnums', 'geom', 'POINT', 4326, 0, 0), ('gids', 'geom', 'POINT', 4326, 0, 0)`);
  SIDS.forEach((sid, i) => {
    db.prepare('INSERT INTO gnums VALUES (?, ?, ?, 0, ?, ?)').run(
      ...[i + 1, geoPackageBlob(wkb({ type: 'Point', coordinates: [i + 1, i + 1] })), BigInt(sid)],
      ...[INSTANTS[i] ?? null, DOC],
    );
  });
  db.exec(
    `INSERT INTO gids VALUES (9007199254740993, NULL, 'large'), (9007199254740992, NULL, 'near'), (-1427616, NULL, 'neg')`,
  );
  for (const table of ['gnums', 'gids']) createSpatialIndex(db, table, 'geom', 'fid');
  db.close();
}

async function fillPostgres(): Promise<void> {
  await client.query(`
    CREATE TABLE pnums (fid serial PRIMARY KEY, geom geometry(Point, 4326), sid bigint, n int DEFAULT 0, at timestamptz,
      doc jsonb, raw json, nu numeric, list bigint[], until timestamptz);
    CREATE TABLE pids (fid bigint PRIMARY KEY, geom geometry(Point, 4326), name text);
    INSERT INTO pids VALUES (9007199254740993, NULL, 'large'), (9007199254740992, NULL, 'near'), (-1427616, NULL, 'neg')`);
  for (const [i, sid] of SIDS.entries())
    await client.query(
      `INSERT INTO pnums (geom, sid, at, doc, raw, nu, list, until)
       VALUES (ST_SetSRID(ST_MakePoint($1::int, $1::int), 4326), $2::bigint, $3, $4::text::jsonb, $4::text::json,
         12345678901234567890.12345678901234567890 + $1::int, ARRAY[$2::bigint], 'infinity')`,
      [i + 1, sid, INSTANTS[i] ?? null, DOC],
    );
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-digits-'));
  file = join(folder, 'digits.gpkg');
  makeGeoPackage();
  postgres = await startPostgres();
  client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await fillPostgres();
  server = await startServer({ sources: [file, postgres.url] });
  town = await townOf(server);
});
afterAll(async () => {
  await server?.stop();
  await client?.end();
  await postgres?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const items = (path: string) => `${server.url}/ogc/features/collections/${path}`;
const idsOf = async (collection: string, query: string): Promise<unknown[]> => {
  const response = await fetch(items(`${collection}/items?${query}`));
  const body = await response.json();
  expect(response.status, JSON.stringify(body)).toBe(200);
  return body.features.map(({ id }: { id: unknown }) => id);
};
const filtered = (collection: string, text: string) =>
  idsOf(collection, `filter=${encodeURIComponent(text)}`);
const filterAnswer = async (collection: string, text: string) => {
  const response = await fetch(items(`${collection}/items?filter=${encodeURIComponent(text)}`));
  return { status: response.status, body: await response.text() };
};
const send = (method: string, path: string, body: string, type = 'application/geo+json') =>
  fetch(items(path), {
    method,
    body,
    headers: { 'x-api-key': server.adminKey, 'content-type': type },
  });
/** Text of an answer of a layer, whose numbers JSON.parse would round. */
const restText = async (operation: string, members: Record<string, string>): Promise<string> => {
  const response = await fetch(`${server.url}/rest/services/default/${operation}`, {
    method: 'POST',
    body: new URLSearchParams({ f: 'json', ...members }),
    headers: { 'x-api-key': server.adminKey },
  });
  return response.text();
};
const layer = (collection: string) => `FeatureServer/${town.layers[collection]}`;
const objectIds = (text: string): string[] =>
  /"objectIds":\[([^\]]*)\]/.exec(text)?.[1]?.split(',').filter(Boolean) ?? [text];

describe.each(STORES)('%s', (_store, { nums, ids }) => {
  it.each<[string, number[]]>([
    [`sid=${THIRD}`, [3]],
    [`${THIRD}=sid`, [3]],
    [`sid<>${THIRD}`, [1, 2, 4, 5, 6]],
    [`sid>${THIRD}`, [4, 5, 6]],
    [`sid<${THIRD}`, [1, 2]],
    [`sid BETWEEN ${SIDS[1]} AND ${THIRD}`, [2, 3]],
    [`sid IN (${THIRD}, ${SIDS[4]})`, [3, 5]],
    [`sid=${THIRD} OR sid=${SIDS[4]}`, [3, 5]],
    [`sid=${THIRD}.0`, [3]],
    [`sid=1.152921504606846979e18`, [3]],
    [`sid>-${THIRD}`, [1, 2, 3, 4, 5, 6]],
    [`sid>${THIRD}.5`, [4, 5, 6]],
    [`${THIRD}.5>=sid`, [1, 2, 3]],
    [`sid=${THIRD}.5 OR sid IN (${THIRD}.5, ${SIDS[0]})`, [1]],
    [`NOT sid=${THIRD}.5 AND sid<>-${THIRD}.5`, [1, 2, 3, 4, 5, 6]],
    [`sid BETWEEN ${SIDS[1]}.5 AND ${SIDS[3]}.5`, [3, 4]],
    [`sid=99999999999999999999`, []],
    [`sid<99999999999999999999`, [1, 2, 3, 4, 5, 6]],
    [`sid + 0 = ${THIRD}`, [3]],
    [`sid = ${SIDS[1]} + 1`, [3]],
    [`-sid = -${THIRD}`, [3]],
    [`sid - 1 IN (${SIDS[0]}, ${SIDS[1]})`, [2, 3]],
    [`sid * 1 BETWEEN ${SIDS[1]} AND ${THIRD}`, [2, 3]],
    [`sid div 1 = ${THIRD} AND mod(sid, 10) = ${THIRD.slice(-1)}`, [3]],
    [`abs(0 - sid) = ${THIRD} AND floor(sid) = ceil(sid) AND round(sid) = sid`, [3]],
    [`sid div (fid - 3) > 0`, [4, 5, 6]],
  ])('filters by %s', async (filter, found) => {
    expect(await filtered(nums, filter)).toEqual(found);
    const where = objectIds(await restText(`${layer(nums)}/query`, { where: filter, returnIdsOnly: 'true' }));
    expect(where.map(Number)).toEqual(found);
  });

  it('takes no other number for a product beyond 64 bits', async () => {
    const beyond = [3].filter(() => nums === 'pnums');
    expect(await filtered(nums, `sid * 10 = ${THIRD}0`)).toEqual(beyond);
    expect(await filtered(nums, `sid * 10 IN (${THIRD}0, 5)`)).toEqual(beyond);
    expect(await filtered(nums, `sid * 10 > ${THIRD}`)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('refuses to compare what was rounded with more digits than are left of it', async () => {
    for (const where of [`sid / 1 = ${THIRD}`, `sid + 0.5 IN (1, ${THIRD})`, `power(sid, 1) < ${THIRD}`]) {
      const { status, body } = await filterAnswer(nums, where);
      expect([where, status]).toEqual([where, 400]);
      expect(body).toContain(`cannot be compared with ${THIRD}, which has more digits`);
      expect(await restText(`${layer(nums)}/deleteFeatures`, { where })).toContain('"code":400');
    }
    expect(await stored(nums, 'sid')).toEqual(SIDS);
  });

  it('filters by CQL2 JSON, queryables, tiles and definitions of map layers', async () => {
    const json = `{"op":"=","args":[{"property":"sid"},${THIRD}]}`;
    expect(await idsOf(nums, `filter-lang=cql2-json&filter=${encodeURIComponent(json)}`)).toEqual([3]);
    expect(await idsOf(nums, `sid=${THIRD}`)).toEqual([3]);
    const layerDefs = JSON.stringify({ [town.layers[nums]!]: `sid=${THIRD}` });
    const found = await restText('FeatureServer/query', { layerDefs, returnIdsOnly: 'true' });
    expect(objectIds(found)).toEqual(['3']);
    const sought = { searchText: '0', searchFields: 'n', layers: `${town.layers[nums]}`, layerDefs };
    const { results } = JSON.parse(await restText('MapServer/find', { ...sought, contains: 'false' }));
    expect(results.map(({ attributes }: { attributes: { fid: string } }) => attributes.fid)).toEqual(['3']);
    const number = { searchText: THIRD, searchFields: 'sid', layers: `${town.layers[nums]}` };
    const one = JSON.parse(await restText('MapServer/find', { ...number, contains: 'false' }));
    expect(one.results).toMatchObject([{ value: THIRD, attributes: { fid: '3' } }]);
  });

  it('lets rows through by claims with all digits', async () => {
    const policy = { service: '*', layer: nums, role: `reader-${nums}` };
    await town.admin('POST', '/roles', { name: policy.role });
    const by = async (rule: object) => {
      const made = await town.admin('POST', '/rls-policies', { ...policy, ...rule });
      expect(made.status, JSON.stringify(made.body)).toBe(201);
      const permissions = [`role:${policy.role}`, `claim:sid=${THIRD}`];
      const issued = await town.admin('POST', '/api-keys', { name: 'reader', permissions });
      const response = await fetch(items(`${nums}/items`), {
        headers: { 'x-api-key': issued.body.data.key },
      });
      await town.admin('DELETE', `/rls-policies/${made.body.data.policyId}`);
      return (await response.json()).features?.map(({ id }: { id: number }) => id);
    };
    expect(await by({ attribute: 'sid', claimType: 'sid' })).toEqual([3]);
    expect(await by({ filter: "sid < claim('sid')" })).toEqual([1, 2]);
    expect(await by({ filter: `sid IN (${SIDS[0]}, ${SIDS[4]})` })).toEqual([1, 5]);
  });

  it('hands filters and expressions to processes with all digits', async () => {
    const client = new ProcessClient(server);
    const rows = async (process: string, inputs: string) => {
      const response = await client.execute(process, `{"inputs":${inputs},"response":"document"}`, {
        prefer: 'wait=60',
      });
      const text = await response.text();
      expect(response.status, text).toBe(200);
      return text;
    };
    const filter = `{"op":"=","args":[{"property":"sid"},${THIRD}]}`;
    const features = `{"collection":"${nums}","filter":${filter}}`;
    const expression = `{"op":"=","args":[{"property":"sid"},${THIRD}]}`;
    const text = await rows(
      'analytics.calculate-field',
      `{"features":${features},"name":"same","expression":${expression}}`,
    );
    expect(text.match(/"sid": ?\d+/g)).toEqual([expect.stringContaining(THIRD)]);
    expect(text).toMatch(/"same": ?true/);
    const next = `{"op":"+","args":[{"property":"sid"},1]}`;
    const later = await rows(
      'analytics.calculate-field',
      `{"features":${features},"name":"next","expression":${next}}`,
    );
    expect(later).toMatch(new RegExp(`"next": ?${SIDS[3]}[^\\d.]`));
  });

  it.runIf(nums === 'pnums')('compares keys of processes by all digits, and warns who waits', async () => {
    const client = new ProcessClient(server);
    const run = async (process: string, inputs: object) => {
      const features = { collection: nums };
      const response = await client.execute(
        process,
        { inputs: { features, ...inputs } },
        { prefer: 'wait=60' },
      );
      expect(response.status).toBe(200);
      const warnings = JSON.parse(response.headers.get('graticule-warnings') ?? '[]') as string[];
      expect(warnings).toContainEqual(expect.stringMatching(/rounded.*nu/));
      return JSON.stringify(await response.json()).match(/"type":"Feature"/g)?.length;
    };
    const count = (await stored(nums, 'sid')).length;
    expect(await run('analytics.deduplicate', { fields: ['nu'], geometry: false })).toBe(count);
    expect(await run('analytics.summary-statistics', { groupBy: ['nu'] })).toBe(count);
  });

  it('writes a statistic and distinct values with their digits', async () => {
    const outStatistics = JSON.stringify([
      { statisticType: 'max', onStatisticField: 'sid', outStatisticFieldName: 'last' },
    ]);
    const where = `sid<=${THIRD}`;
    expect(await restText(`${layer(nums)}/query`, { where, outStatistics })).toContain(`"last":${THIRD}`);
    const distinct = { where, outFields: 'sid', returnDistinctValues: 'true', returnGeometry: 'false' };
    const text = await restText(`${layer(nums)}/query`, distinct);
    for (const sid of SIDS.slice(0, 3)) expect(text).toContain(`"sid":${sid}`);
    const sums = JSON.stringify([
      { statisticType: 'sum', onStatisticField: 'sid', outStatisticFieldName: 'total' },
      { statisticType: 'sum', onStatisticField: 'fid', outStatisticFieldName: 'small' },
    ]);
    const summed = await restText(`${layer(nums)}/query`, { where: '1=1', outStatistics: sums });
    const total = SIDS.reduce((sum, sid) => sum + BigInt(sid), 0n);
    expect(summed).toContain(`"total":${total},"small":21`);
    const having = `MAX(sid)=${THIRD}`;
    const groups = await restText(`${layer(nums)}/query`, {
      ...{ where: '1=1', groupByFieldsForStatistics: 'fid', outStatistics, having },
    });
    expect(JSON.parse(groups).features ?? groups).toHaveLength(1);
  });

  it('selects by microseconds', async () => {
    expect(await idsOf(nums, 'datetime=2020-01-01')).toEqual([1, 2]);
    expect(await idsOf(nums, 'datetime=2020-01-01T23:59:59.999999Z')).toEqual([2]);
    expect(await idsOf(nums, 'datetime=2020-01-01T23:59:59.999Z')).toEqual([]);
    expect(await idsOf(nums, 'datetime=2020-01-01T23:59:59.9999991Z/..')).toEqual([2, 3]);
    expect(await idsOf(nums, 'datetime=../2020-01-01T23:59:59.999998Z')).toEqual([1]);
    expect(await filtered(nums, "at=TIMESTAMP('2020-01-01T23:59:59.999999Z')")).toEqual([2]);
    expect(await filtered(nums, "at>=DATE('2020-01-02')")).toEqual([3]);
    expect(await filtered(nums, 'day(at)=1 AND hour(at)=23 AND second(at)>59.9999')).toEqual([2]);
    const time = async (range: string) =>
      objectIds(await restText(`${layer(nums)}/query`, { where: '1=1', time: range, returnIdsOnly: 'true' }));
    expect(await time(`${Date.UTC(2020, 0, 1) + 1},null`)).toEqual(['2', '3']);
    expect(await time(`null,${Date.UTC(2020, 0, 2) - 1}`)).toEqual(['1', '2']);
    expect(await time(`${Date.UTC(2020, 0, 1)}`)).toEqual(['1']);
  });

  it('knows features by every integer of 64 bits', async () => {
    const all = await restText(`${layer(ids)}/query`, { where: '1=1', outFields: '*' });
    for (const id of ['9007199254740993', '-1427616']) expect(all).toContain(`"fid":${id},`);
    const named = { objectIds: '9007199254740993,-1427616', outFields: 'name' };
    const found = await restText(`${layer(ids)}/query`, named);
    expect(
      found
        .match(/"name":"\w+"/g)
        ?.slice(-2)
        .sort(),
    ).toEqual(['"name":"large"', '"name":"neg"']);
    const listed = await restText(`${layer(ids)}/query`, {
      objectIds: '[9007199254740993]',
      returnIdsOnly: 'true',
    });
    expect(objectIds(listed)).toEqual(['9007199254740993']);
    expect(await idsOf(ids, 'ids=9007199254740993')).toEqual(['9007199254740993']);
    expect(await idsOf(ids, 'ids=-1427616')).toEqual([-1427616]);
    expect(await filtered(ids, 'fid=9007199254740993')).toEqual(['9007199254740993']);
    const item = await fetch(items(`${ids}/items/9007199254740993`));
    expect((await item.json()).properties.name).toBe('large');
  });

  it('shows all digits on pages', async () => {
    for (const path of [`${nums}/items/3`, `${nums}/items`]) {
      const page = await (await fetch(items(`${path}?f=html`))).text();
      expect(page).toContain(THIRD);
      expect(page).toContain('9007199254740993');
    }
  });

  it('writes ids beyond 2^53 in protocol buffers', async () => {
    const response = await fetch(
      `${server.url}/rest/services/default/${layer(ids)}/query?where=1%3D1&returnIdsOnly=true&f=pbf`,
    );
    const bytes = Buffer.from(await response.arrayBuffer());
    const varint = (value: bigint): Buffer => {
      const out: number[] = [];
      let rest = BigInt.asUintN(64, value);
      for (; rest > 0x7fn; rest >>= 7n) out.push(Number(rest & 0x7fn) | 0x80);
      return Buffer.from([...out, Number(rest)]);
    };
    for (const id of [9007199254740993n, -1427616n]) expect(bytes.includes(varint(id))).toBe(true);
  });

  it('tells tiles of different filters apart, also where doubles are the same', async () => {
    const tile = async (sid: string) => {
      const filter = encodeURIComponent(`sid=${sid}`);
      const path = `/ogc/tiles/collections/${nums}/tiles/WebMercatorQuad/0/0/0?f=mvt&filter=${filter}`;
      const response = await fetch(server.url + path);
      if (response.status === 204) return [];
      const { layers } = new VectorTile(new PbfReader(new Uint8Array(await response.arrayBuffer())));
      return Object.values(layers).flatMap((one) =>
        Array.from({ length: one.length }, (_, i) => one.feature(i).id),
      );
    };
    expect([await tile(SIDS[0]!), await tile(SIDS[1]!), await tile(THIRD)]).toEqual([[1], [2], [3]]);
  });

  it('has statistics, groups and bins of all digits', async () => {
    const fields = nums === 'pnums' ? ['sid', 'nu'] : ['sid'];
    for (const field of fields) {
      const statistic = (statisticType: string, fraction?: number) => ({
        ...{ statisticType, onStatisticField: field, outStatisticFieldName: `${statisticType}_` },
        ...(fraction === undefined ? {} : { statisticParameters: { value: fraction } }),
      });
      const outStatistics = JSON.stringify([
        statistic('stddev'),
        statistic('var'),
        statistic('PERCENTILE_DISC', 0.5),
      ]);
      const text = await restText(`${layer(nums)}/query`, { where: '1=1', outStatistics });
      const { stddev_, var_ } = JSON.parse(text).features[0].attributes;
      expect([stddev_, var_]).toEqual([expect.closeTo(Math.sqrt(3.5), 9), expect.closeTo(3.5, 9)]);
      const middle = field === 'sid' ? THIRD : '12345678901234567893.1234567890123456789';
      expect(text).toMatch(new RegExp(`"PERCENTILE_DISC_":"?${middle.replace('.', '[.]')}`));
      const statistics = await (await fetch(items(`${nums}/statistics?f=json`))).json();
      const { stddev } = statistics.fields.find(({ name }: { name: string }) => name === field);
      expect(stddev).toBeCloseTo(Math.sqrt(3.5), 9);
      const aggregate = {
        ...{ distance: 1000, dissolve: true },
        outStatistics: ['max', 'stddev'].map((type) => ({
          statisticType: type,
          onStatisticField: field,
          outStatisticFieldName: `${type}_`,
        })),
      };
      const dissolved = await (
        await send('POST', `${nums}/buffer-aggregate`, JSON.stringify(aggregate), 'application/json')
      ).text();
      const most = field === 'sid' ? SIDS[5] : '12345678901234567896.1234567890123456789';
      expect(dissolved).toContain(`"max_":${most}`);
      expect(JSON.parse(dissolved).features[0].properties.stddev_).toBeCloseTo(Math.sqrt(3.5), 9);
    }
    const binsOf = async (type: string, parameters: object) => {
      const bin = JSON.stringify({ type, onField: 'sid', parameters }).replace(/"(\d{19})"/g, '$1');
      return restText(`${layer(nums)}/queryBins`, { bin });
    };
    const found = (text: string) =>
      [...text.matchAll(/"lowerBoundary":(\d+),"upperBoundary":(\d+),"frequency":(\d+)/g)].map((match) =>
        match.slice(1),
      );
    const [one, two, three, , five, six] = SIDS as string[];
    expect(found(await binsOf('fixedBoundariesBin', { boundaries: [one, three, five] }))).toEqual([
      [one, three, '2'],
      [three, five, '3'],
    ]);
    expect(found(await binsOf('autoIntervalBin', { numberOfBins: 5 }))).toEqual([
      ...SIDS.slice(0, 4).map((sid, i) => [sid, SIDS[i + 1], '1']),
      [five, six, '2'],
    ]);
    const odd = await binsOf('fixedIntervalBin', { interval: 2, start: two });
    expect(found(odd)).toEqual([
      [two, SIDS[3], '2'],
      [SIDS[3], six, '3'],
    ]);
    expect(await binsOf('autoIntervalBin', { numberOfBins: 8 })).toContain('too close together');
  });

  it('draws each value by its own symbol', async () => {
    const symbol = (color: number[]) => ({ type: 'esriSMS', style: 'esriSMSSquare', color, size: 20 });
    const renderer = {
      ...{ type: 'uniqueValue', field1: 'sid' },
      uniqueValueInfos: [
        { value: SIDS[0], symbol: symbol([255, 0, 0, 255]) },
        { value: SIDS[1], symbol: symbol([0, 0, 255, 255]) },
      ],
    };
    const dynamicLayers = JSON.stringify([
      { id: 0, source: { type: 'mapLayer', mapLayerId: town.layers[nums] }, drawingInfo: { renderer } },
    ]);
    const window = {
      bbox: '0.5,0.5,2.5,2.5',
      bboxSR: '4326',
      imageSR: '4326',
      size: '64,64',
      transparent: 'true',
    };
    const answer = await fetch(`${server.url}/rest/services/default/MapServer/export`, {
      method: 'POST',
      body: new URLSearchParams({ ...window, format: 'png', f: 'image', dynamicLayers }),
      headers: { 'x-api-key': server.adminKey },
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(answer.headers.get('content-type'), bytes.toString('latin1').slice(0, 300)).toBe('image/png');
    const { data } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
    const at = (x: number, y: number) => [...data.subarray((y * 64 + x) * 4, (y * 64 + x) * 4 + 3)];
    expect([at(16, 48), at(48, 16)]).toEqual([
      [255, 0, 0],
      [0, 0, 255],
    ]);
  });

  it('deletes the rows that match, and no other', async () => {
    const before = await stored(nums, 'sid');
    expect(before).toEqual(SIDS);
    const one = JSON.parse(await restText(`${layer(nums)}/deleteFeatures`, { where: `sid=${SIDS[5]}` }));
    expect(one.deleteResults).toEqual([{ objectId: 6, success: true }]);
    const more = JSON.parse(await restText(`${layer(nums)}/deleteFeatures`, { where: `sid>${SIDS[3]}` }));
    expect(more.deleteResults).toEqual([{ objectId: 5, success: true }]);
    expect(await stored(nums, 'sid')).toEqual(SIDS.slice(0, 4));
    const large = await restText(`${layer(ids)}/deleteFeatures`, { where: "name='large'" });
    expect(large).toContain('{"objectId":9007199254740993,"success":true}');
    const negative = await restText(`${layer(ids)}/applyEdits`, { deletes: '-1427616' });
    expect(negative).toContain('{"objectId":-1427616,"success":true}');
    expect(await stored(ids, 'name')).toEqual(['near']);
  });

  it('calculates the rows that match, with all digits', async () => {
    const calculated = async (where: string, value: string) =>
      restText(`${layer(nums)}/calculate`, { where, calcExpression: value });
    expect(await calculated(`sid=${THIRD}`, '[{"field":"n","value":7}]')).toContain(
      '"updatedFeatureCount":1',
    );
    expect(await stored(nums, 'fid', 'n=7')).toEqual(['3']);
    await calculated(`sid=${THIRD}`, '[{"field":"sid","value":9007199254740993}]');
    expect(await stored(nums, 'sid', 'fid=3')).toEqual(['9007199254740993']);
    await calculated('fid=3', `[{"field":"sid","sqlExpression":"${THIRD}"}]`);
    expect(await stored(nums, 'sid', 'fid=3')).toEqual([THIRD]);
    await calculated('fid=1', '[{"field":"sid","sqlExpression":"sid"}]');
    expect(await stored(nums, 'sid', 'fid=1')).toEqual([SIDS[0]]);
    await calculated('fid=2', '[{"field":"sid","sqlExpression":"sid + 2 - 1"}]');
    expect(await stored(nums, 'sid', 'fid=2')).toEqual([THIRD]);
    await calculated('fid=2', `[{"field":"n","sqlExpression":"sid - ${SIDS[0]}"}]`);
    expect(await stored(nums, 'n', 'fid=2')).toEqual(['2']);
    await calculated('fid=2', '[{"field":"sid","sqlExpression":"sid - 1"}]');
    expect(await stored(nums, 'sid', 'fid=2')).toEqual([SIDS[1]]);
    const beyond = await calculated('fid=2', '[{"field":"sid","sqlExpression":"sid * 100"}]');
    expect(beyond).toMatch(/"code":400|"success":false/);
    expect(await stored(nums, 'sid', 'fid=2')).toEqual([SIDS[1]]);
  });

  it('updates attributes with all digits, as JSON and in a form', async () => {
    const updates = '[{"attributes":{"fid":3,"sid":9007199254740993}}]';
    await restText(`${layer(nums)}/updateFeatures`, { features: updates });
    expect(await stored(nums, 'sid', 'fid=3')).toEqual(['9007199254740993']);
    const json = await fetch(`${server.url}/rest/services/default/${layer(nums)}/applyEdits`, {
      method: 'POST',
      body: `{"updates":[{"attributes":{"fid":3,"sid":${THIRD}}}]}`,
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    });
    expect((await json.json()).updateResults).toEqual([{ objectId: 3, success: true }]);
    expect(await stored(nums, 'sid', 'fid=3')).toEqual([THIRD]);
  });

  it('keeps what clients of GeoServices were not shown when they put back what they were', async () => {
    const columns =
      nums === 'gnums' ? ['at', 'doc', 'sid'] : ['at', 'doc', 'raw', 'nu', 'list', 'until', 'sid'];
    const all = async () => {
      const values: unknown[] = [];
      for (const column of columns) values.push(...(await stored(nums, column, 'fid=2')));
      return values;
    };
    const before = await all();
    const shown = await restText(`${layer(nums)}/query`, {
      ...{ objectIds: '2', outFields: columns.join(','), returnGeometry: 'false' },
    });
    const features = /"features":(\[.*\])}$/.exec(shown)![1]!;
    const updated = JSON.parse(await restText(`${layer(nums)}/updateFeatures`, { features }));
    expect(updated.updateResults).toEqual([{ objectId: 2, success: true }]);
    expect(await all()).toEqual(before);
    const at = Date.UTC(2020, 0, 1, 23, 59, 59, 998);
    const other = `[{"attributes":{"fid":2,"at":${at},"doc":"{\\"z\\": 9007199254740993}"}}]`;
    await restText(`${layer(nums)}/updateFeatures`, { features: other });
    expect(await idsOf(nums, 'datetime=2020-01-01T23:59:59.998Z')).toEqual([2]);
    expect(String(await stored(nums, 'doc', 'fid=2')).replace(/\s/g, '')).toBe('{"z":9007199254740993}');
    const restored = JSON.stringify({ properties: { at: INSTANTS[1], doc: null } });
    await send('PATCH', `${nums}/items/2`, restored);
    await send('PATCH', `${nums}/items/2`, `{"properties":{"doc":${DOC}}}`);
  });

  it('patches one member of a JSON value and nothing else', async () => {
    const before = await stored(nums, 'doc', 'fid=1');
    const response = await send('PATCH', `${nums}/items/1`, '{"properties":{"doc":{"k":2}}}');
    expect(response.status).toBe(200);
    const normal = (text: unknown) => String(text).replace(/\s/g, '');
    expect((await stored(nums, 'doc', 'fid=1')).map(normal)).toEqual(
      before.map((text) => normal(text).replace('"k":1', '"k":2')),
    );
  });

  it('creates and replaces JSON values as they are sent', async () => {
    const doc = '{"a":9007199254740993,"b":[1.0,0.12345678901234567890]}';
    const body = `{"type":"Feature","geometry":null,"properties":{"n":100,"doc":${doc}}}`;
    const created = await send('POST', `${nums}/items`, body);
    expect(created.status).toBe(201);
    const normal = (text: unknown) => String(text).replace(/\s/g, '');
    expect((await stored(nums, 'doc', 'n=100')).map(normal)).toEqual([doc]);
    const { id } = await created.json();
    const other = doc.replace('9007199254740993', '9007199254740995');
    await send('PUT', `${nums}/items/${id}`, body.replace(doc, other));
    expect((await stored(nums, 'doc', 'n=100')).map(normal)).toEqual([other]);
    const batch = `{"operations":[{"type":"UPDATE","featureId":"${id}","feature":${body}}]}`;
    expect((await send('POST', `${nums}/items/batch`, batch, 'application/json')).status).toBe(200);
    expect((await stored(nums, 'doc', 'n=100')).map(normal)).toEqual([doc]);
    const removed = await fetch(items(`${nums}/items/${id}`), {
      method: 'DELETE',
      headers: { 'x-api-key': server.adminKey },
    });
    expect(removed.status).toBe(204);
  });

  it('keeps every stored value when what was read is put back', async () => {
    const columns =
      nums === 'gnums' ? ['sid', 'at', 'doc'] : ['sid', 'at', 'doc', 'raw', 'nu', 'list', 'until'];
    const all = async () => {
      const values: unknown[] = [];
      for (const column of columns) values.push(...(await stored(nums, column, 'fid=2')));
      return values;
    };
    const before = await all();
    const text = await (await fetch(items(`${nums}/items/2`))).text();
    expect((await send('PUT', `${nums}/items/2`, text)).status).toBe(200);
    expect(await all()).toEqual(before);
  });

  it('writes microseconds', async () => {
    const at = '2021-03-04T05:06:07.123456Z';
    const body = `{"type":"Feature","geometry":null,"properties":{"n":200,"at":"${at}"}}`;
    const created = await send('POST', `${nums}/items`, body);
    const { id, properties } = await created.json();
    expect(properties.at).toBe(at);
    expect(await idsOf(nums, `datetime=${at}`)).toEqual([id]);
    expect(await idsOf(nums, 'datetime=2021-03-04T05:06:07.123455Z')).toEqual([]);
  });
});

describe('decimals of PostgreSQL', () => {
  const NU = '12345678901234567891.12345678901234567890';

  it('are compared digit by digit', async () => {
    expect(await filtered('pnums', `nu=${NU}`)).toEqual([1]);
    expect(await filtered('pnums', `nu>${NU} AND fid<4`)).toEqual([2, 3]);
    expect(await filtered('pnums', `nu IN (${NU}, 12345678901234567893.12345678901234567890)`)).toEqual([
      1, 3,
    ]);
    expect(await idsOf('pnums', `nu=${NU}`)).toEqual([1]);
    expect(await filtered('pnums', `nu + 0 = ${NU}`)).toEqual([1]);
    expect(await filtered('pnums', `nu - 0.1 = ${NU.replace('.1', '.0')}`)).toEqual([1]);
    expect((await filterAnswer('pnums', `nu / 1 = ${NU}`)).status).toBe(400);
  });

  it('are stored, patched and grouped with all digits', async () => {
    const digits = '12345678901234567890.12345678901234567899';
    const response = await send(
      'PATCH',
      'pnums/items/4',
      `{"properties":{"nu":${digits},"list":[9007199254740993]}}`,
    );
    expect(response.status).toBe(200);
    expect(await stored('pnums', 'nu', 'fid=4')).toEqual([digits]);
    expect(await stored('pnums', 'list', 'fid=4')).toEqual(['{9007199254740993}']);
    const distinct = {
      where: 'fid=4',
      outFields: 'nu',
      returnDistinctValues: 'true',
      returnGeometry: 'false',
    };
    expect(await restText(`${layer('pnums')}/query`, distinct)).toContain(`"nu":${digits}`);
    const feature = `[{"attributes":{"fid":4,"nu":1.50000000000000000001}}]`;
    await restText(`${layer('pnums')}/updateFeatures`, { features: feature });
    expect(await stored('pnums', 'nu', 'fid=4')).toEqual(['1.50000000000000000001']);
  });

  it('clears an infinite instant when that is asked for', async () => {
    expect((await send('PATCH', 'pnums/items/3', '{"properties":{"until":null}}')).status).toBe(200);
    expect(await stored('pnums', 'until', 'fid=3')).toEqual([null]);
    expect(await stored('pnums', 'until', 'fid=2')).toEqual(['infinity']);
  });
});
