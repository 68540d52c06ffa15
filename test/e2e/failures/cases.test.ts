import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../providers/postgis/support.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { startServer, type TestServer } from '../../support/server.js';

/** Data that servers got wrong (test/fixtures/cases), asked from every surface that can show it. */

let folder: string;
let postgres: TestPostgres;
let server: TestServer;
/** Numbers of layers by the ids of collections. */
const numbers = new Map<string, string>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-cases-'));
  cpSync('test/fixtures/cases', join(folder, 'data'), { recursive: true });
  postgres = await startPostgres();
  await run(postgres.url, readFileSync('test/fixtures/cases/failing.sql', 'utf8'));
  await run(
    postgres.url,
    `CREATE TABLE commas (a text, b int, geom geometry(Point, 4326), PRIMARY KEY (a, b));
     INSERT INTO commas VALUES ('a,b', 0, 'SRID=4326;POINT(1 1)'), ('b', 0, 'SRID=4326;POINT(2 2)');`,
  );
  server = await startServer({ sources: [join(folder, 'data'), postgres.url] });
  const { collections } = JSON.parse(await text('/ogc/tiles/collections?f=json')) as {
    collections: { id: string; title: string }[];
  };
  for (const { id, title } of collections) numbers.set(title.toLowerCase().replaceAll(' ', '_'), id);
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function bytes(path: string, status = 200): Promise<Buffer> {
  const response = await fetch(server.url + path);
  const body = Buffer.from(await response.arrayBuffer());
  expect([path, response.status, response.status === status ? '' : body.toString()]).toEqual([
    path,
    status,
    '',
  ]);
  return body;
}
const text = async (path: string) => (await bytes(path)).toString();
const quoteForRegExp = (words: string) => words.replace(/[+^]/g, '\\$&');
const items = (id: string) => `/ogc/features/collections/${id}/items`;
const layer = (id: string, server = 'FeatureServer') =>
  `/rest/services/default/${server}/${numbers.get(id)}/query`;
const encode = encodeURIComponent;

/** An attribute of a feature, digit by digit as JSON has it. */
interface Value {
  readonly id: string;
  readonly field: string;
  readonly value: string;
  /** As GeoServices have it, where that is not the same: milliseconds. */
  readonly esri?: string;
  /** As CSV and GML have it, without quotes of JSON. */
  readonly plain?: string;
}

const big = (n: number) => ({ field: 'sid', value: `${1152921504606846976n + BigInt(n)}` });
const VALUES: readonly Value[] = [
  { id: 'snow', ...big(3) },
  { id: 'big', ...big(3) },
  { id: 'bigids', field: 'name', value: '"2^53+1"', plain: '2^53+1' },
  { id: 'f_0_1_2', field: 'v', value: '1' },
  { id: 'e_dup', field: 'v', value: '1' },
  { id: 'base', field: 'rank', value: '5' },
  { id: 'only_a', field: 'rank', value: '3' },
  { id: 'lat1_none', field: 'NAME', value: '"Zürich Größe"', plain: 'Zürich Größe' },
  { id: 'cpg_ansi', field: 'NAME', value: '"Zürich Größe"', plain: 'Zürich Größe' },
];

describe.each(VALUES)('$id: $field = $value', ({ id, field, value, esri = value, plain = value }) => {
  const literal = value.startsWith('"') ? `'${plain}'` : value;

  it('is written with all digits and letters in every format', async () => {
    expect(await text(`${items(id)}?f=json&limit=100`)).toContain(`"${field}":${value}`);
    expect(await text(`${items(id)}?f=csv&limit=100`)).toMatch(
      new RegExp(`[,\n]"?${quoteForRegExp(plain)}"?[,\r\n]`),
    );
    expect(await text(`${items(id)}?f=gml&limit=100`)).toContain(`<app:${field}>${plain}</app:${field}>`);
    expect(await text(`${items(id)}?f=html&limit=100`)).toMatch(
      new RegExp(`>\\s*${quoteForRegExp(plain)}\\s*<`),
    );
    for (const kind of ['FeatureServer', 'MapServer']) {
      const query = `${layer(id, kind)}?where=1%3D1&outFields=*`;
      expect(await text(`${query}&f=json`)).toContain(`"${field}":${esri}`);
      expect(await text(`${query}&f=geojson`)).toContain(`"${field}":${esri}`);
    }
    const { layers } = new VectorTile(new PbfReader(await bytes(`/tiles/${id}/0/0/0`)));
    const [shown] = Object.values(layers);
    const values = Array.from({ length: shown!.length }, (_, i) =>
      String(shown!.feature(i).properties[field]),
    );
    // This reader has no integers beyond 2^53.
    expect(values).toContain(plain.length > 15 && /^\d+$/.test(plain) ? String(Number(plain)) : plain);
  });

  it('is found by it alone, however it is asked for', async () => {
    const wanted = [
      `${items(id)}?f=json&filter=${encode(`${field} = ${literal}`)}`,
      `${items(id)}?f=json&filter-lang=cql2-json&filter=${encode(`{"op":"=","args":[{"property":"${field}"},${value}]}`)}`,
      `${items(id)}?f=json&${field}=${encode(plain)}`,
    ];
    for (const path of wanted) {
      const answer = await text(path);
      expect([path, answer.match(/"type":"Feature"/g)?.length]).toEqual([path, 1]);
      expect(answer).toContain(`"${field}":${value}`);
    }
    const where = `where=${encode(`${field} = ${literal}`)}`;
    for (const kind of ['FeatureServer', 'MapServer'])
      expect(await text(`${layer(id, kind)}?${where}&returnCountOnly=true&f=json`)).toBe('{"count":1}');
    const statistics = `[{"statisticType":"max","onStatisticField":"${field}","outStatisticFieldName":"most"}]`;
    if (!value.startsWith('"'))
      expect(await text(`${layer(id)}?${where}&outStatistics=${encode(statistics)}&f=json`)).toContain(
        `"most":${value}`,
      );
    expect(await text(`${layer(id)}?${where}&returnDistinctValues=true&outFields=${field}&f=json`)).toContain(
      `"${field}":${value}`,
    );
  });
});

/** A feature by its id. */
const FEATURES: readonly [id: string, feature: string, part: string][] = [
  ['f_0_1_2', '1', '"v":1'],
  ['b_none_1', '1', '"v":1'],
  ['bigids', '9007199254740993', '"name":"2^53+1"'],
  ['bigids', '-1427616', '"name":"neg"'],
  ['snow', '3', `"sid":${big(3).value}`],
  ['big', '3', `"sid":${big(3).value}`],
];

it.each(FEATURES)('%s %s is one feature on every surface', async (id, feature, part) => {
  const one = await text(`${items(id)}/${feature}?f=json`);
  // JSON has no digits for all integers beyond 2^53.
  expect(one).toMatch(new RegExp(`"id":"?${feature}"?,`));
  expect(one).toContain(part);
  const several = await text(`${items(id)}?ids=${feature}&f=json`);
  expect(several.match(/"type":"Feature"/g)).toHaveLength(1);
  expect(several).toContain(part);
  for (const kind of ['FeatureServer', 'MapServer']) {
    const answer = await text(`${layer(id, kind)}?objectIds=${feature}&outFields=*&f=json`);
    expect(answer).toContain(part);
    expect(answer.match(/"attributes"/g)).toHaveLength(1);
    expect(await text(`${layer(id, kind)}?where=1%3D1&returnIdsOnly=true&f=json`)).toMatch(
      new RegExp(`[[,]${feature}[\\],]`),
    );
  }
});

it('a key of several columns with a comma is an id that a list can hold', async () => {
  const idsIn = async (query: string) =>
    JSON.parse(await text(`${items('commas')}?f=json${query}`)).features.map(({ id }: { id: string }) => id);
  const all = await idsIn('');
  expect(all.sort()).toEqual(['a%2Cb:0', 'b:0']);
  for (const id of all) {
    expect(await idsIn(`&ids=${encode(id)}`)).toEqual([id]);
    expect(await text(`${items('commas')}/${encode(id)}?f=json`)).toContain(`"id":"${id}"`);
  }
  expect((await idsIn(`&ids=${all.map(encode).join(',')}`)).sort()).toEqual(all);
});

/** Geometries that are linearised, or of kinds that clients do not know. */
it.each(['cpoly', 'msurf', 'mcurve', 'curves', 'tin'])('%s has a geometry everywhere', async (id) => {
  const { features } = JSON.parse(await text(`${items(id)}?f=json`)) as {
    features: { geometry: { type: string } | null }[];
  };
  expect(features.length).toBeGreaterThan(0);
  for (const { geometry } of features) expect(geometry).not.toBeNull();
  expect(await text(`${items(id)}?f=gml`)).toMatch(
    /<gml:(Polygon|MultiSurface|MultiCurve|MultiGeometry|LineString)/,
  );
  expect(await text(`${items(id)}?f=csv`)).toMatch(/POLYGON|LINESTRING|COLLECTION/);
  // GeoServices have no layers of several kinds of geometry: to them it is a table.
  if (id !== 'curves') {
    const answer = await text(`${layer(id)}?where=1%3D1&f=json`);
    expect(answer.match(/"(rings|paths)":\[\[/g)).toHaveLength(features.length);
  }
  const { data, info } = await sharp(
    await bytes(`/ogc/maps/collections/${numbers.get(id)}/map?width=64&height=64&f=png`),
  )
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const drawn = Array.from({ length: info.width * info.height }, (_, i) => data[4 * i + 3]!).filter(
    (a) => a > 0,
  );
  expect(drawn.length).toBeGreaterThan(10);
});

describe('times', () => {
  it.each([
    ['2020-01-01', [1, 2]],
    ['2020-01-01T23:59:59.999999Z', [2]],
    ['2020-01-01T23:59:59.999999Z/..', [2, 3]],
    ['2020-01-02T00:00:00.5Z', [3]],
  ])('datetime=%s selects to the microsecond', async (datetime, ids) => {
    const answer = await text(`${items('micro')}?f=json&datetime=${datetime}`);
    expect([...answer.matchAll(/"id":(\d+),/g)].map(([, id]) => Number(id))).toEqual(ids);
  });

  it('of GeoServices may be open at an end', async () => {
    const query = `${layer('micro')}?where=1%3D1&returnIdsOnly=true&f=json&time=`;
    expect(await text(`${query}1577836800001,null`)).toContain('"objectIds":[2,3]');
    expect(await text(`${query}null,1577836800001`)).toContain('"objectIds":[1]');
  });

  it('without a zone are written as instants', async () => {
    expect(await text(`${items('gj_local')}?f=json`)).toMatch(/"2020-01-01T00:00:00(\.0+)?Z"/);
    expect(await text(`${items('gj_local')}?f=csv`)).toMatch(/2020-01-01T00:00:00(\.0+)?Z/);
  });
});

describe('a table with a row of NaN', () => {
  it('lies where the others lie', async () => {
    expect(await text('/ogc/features/collections/nan?f=json')).toContain('[[7.1,47,7.9,47]]');
    const { extent } = JSON.parse(await text(`${layer('nan')}?where=1%3D1&returnExtentOnly=true&f=json`));
    expect(extent).toMatchObject({ xmin: 7.1, ymin: 47, xmax: 7.9, ymax: 47 });
    await bytes(`/ogc/maps/collections/${numbers.get('nan')}/map?width=16&height=16&f=png`);
  });

  it('has points that a box of a point finds', async () => {
    expect((await text(`${items('nan')}?f=json&bbox=7.1,47,7.1,47`)).match(/"type":"Feature"/g)).toHaveLength(
      1,
    );
  });
});

/** Values of pixels at places in CRS84. */
const PIXELS: readonly [id: string, lon: number, lat: number, value: string][] = [
  ['int8', 7.005, 47.995, '-128'],
  ['int8', 7.635, 47.365, '124'],
  ['world360', 10, 10, '4'],
  ['world360', -160, 10, '140'],
  ['world360', -60, -40, '212'],
  ['dateline', 171, 5, '50'],
  ['dateline', -175, 5, '50'],
  ['utm60dateline', 179.5, -17, '50'],
  ['utm60dateline', -179.6, -17, '50'],
  ['cint16', 7.155, 47.845, '15'],
  ['gcps', 7.35, 47.72, '50'],
];

describe.each(PIXELS)('%s at %d, %d', (id, lon, lat, value) => {
  const point = encode(JSON.stringify({ x: lon, y: lat, spatialReference: { wkid: 4326 } }));
  const first = (text: string) => text.split(/[ ,]/)[0];

  it('is in the answers of image services', async () => {
    const service = `/rest/services/${id}/ImageServer`;
    const identified = JSON.parse(
      await text(`${service}/identify?geometry=${point}&geometryType=esriGeometryPoint&f=json`),
    ) as { value: string };
    const { samples } = JSON.parse(
      await text(`${service}/getSamples?geometry=${point}&geometryType=esriGeometryPoint&f=json`),
    ) as { samples: { value: string }[] };
    expect(samples).toHaveLength(1);
    expect(first(samples[0]!.value)).toBe(first(identified.value));
    expect(first(identified.value)).toBe(value);
  });

  it('is in coverages, as files', async () => {
    const d = 0.004;
    const box = [lon - d, lat - d, lon + d, lat + d].join(',');
    const path = join(folder, `${id}-${lon}-${lat}.tif`);
    writeFileSync(path, await bytes(`/ogc/coverages/collections/${id}/coverage?f=geotiff&bbox=${box}`));
    const args = ['-valonly', '-b', '1', '-wgs84', path, `${lon}`, `${lat}`];
    const read = execFileSync('gdallocationinfo', args, { encoding: 'utf8' }).trim();
    expect(read).toBe(value);
  });

  it('is drawn on maps and tiles, and found in STAC', async () => {
    const d = 0.02;
    const box = [lon - d, lat - d, lon + d, lat + d].join(',');
    const map = `/ogc/maps/collections/${numbers.get(id)}/map?bbox=${box}&bbox-crs=CRS84&width=9&height=9&f=png`;
    const { data } = await sharp(await bytes(map))
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect(data[4 * 40 + 3]).toBe(255);
    const [x, y] = tileAt(lon, lat, 3);
    const tile = await bytes(`/tiles/${id}/3/${x}/${y}.png`);
    const pixels = await sharp(tile).ensureAlpha().raw().toBuffer();
    expect(pixels.some((alpha, i) => i % 4 === 3 && alpha === 255)).toBe(true);
    const found = JSON.parse(await text(`/stac/search?bbox=${box}&collections=${id}`)) as {
      features: object[];
    };
    expect(found.features).toHaveLength(1);
  });
});

/** Column and row of WebMercatorQuad. */
function tileAt(lon: number, lat: number, zoom: number): [number, number] {
  const size = 2 ** zoom;
  const sin = Math.sin((lat * Math.PI) / 180);
  const y = 0.5 - Math.log((1 + sin) / (1 - sin)) / (4 * Math.PI);
  return [Math.floor(((lon + 180) / 360) * size), Math.floor(y * size)];
}

it('a raster across 180 degrees is not found on the other side of the Earth', async () => {
  const found = JSON.parse(await text('/stac/search?bbox=0,-18,10,-16&collections=utm60dateline'));
  expect(found.features).toEqual([]);
});

it('an image of one bit is black and white', async () => {
  const map = await bytes(`/ogc/maps/collections/${numbers.get('bit1')}/map?f=png`);
  const pixels = await sharp(map).toColourspace('srgb').removeAlpha().raw().toBuffer();
  const grey = new Set(pixels);
  expect([grey.has(0), grey.has(255)]).toEqual([true, true]);
});

it('an archive of images says and sends images', async () => {
  const response = await fetch(`${server.url}/tiles/mb_wrongformat/0/0/0`);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(0);
});

/** After all that only reads. */
describe('an edit', () => {
  const send = (method: string, path: string, body: string, type = 'application/geo+json') =>
    fetch(server.url + path, {
      method,
      headers: { 'x-api-key': server.adminKey, 'content-type': type },
      body,
    });
  const form = (path: string, members: Record<string, string>) =>
    send(
      'POST',
      path,
      new URLSearchParams({ f: 'json', ...members }).toString(),
      'application/x-www-form-urlencoded',
    );
  const rows = async (sql: string) => (await run(postgres.url, sql)).rows;

  it.each(['cpoly', 'msurf', 'mcurve', 'curves'])(
    'that puts %s back as it is read keeps the curve, or is refused',
    async (id) => {
      const read = await text(`${items(id)}/1?f=json`);
      const answer = await send('PUT', `${items(id)}/1`, read);
      // Surfaces of straight lines lose nothing.
      expect([200, 409]).toContain(answer.status);
      expect(await text(`${items(id)}/1?f=json`)).toContain(/"geometry":\{[^}]*\}/.exec(read)![0]);
      if (id === 'curves')
        expect(await rows('SELECT ST_GeometryType(geom) AS kind FROM curves WHERE id = 1')).toEqual([
          { kind: 'ST_CurvePolygon' },
        ]);
    },
  );

  it('of one member of a JSON value leaves the others as they are', async () => {
    expect((await send('PATCH', `${items('js')}/1`, '{"properties":{"jb":{"k":2}}}')).status).toBe(200);
    const [row] = await rows('SELECT jb::text, nu::text FROM js WHERE id = 1');
    expect(row.nu).toBe('12345678901234567890.12345678901234567890');
    expect(row.jb).toContain('"big": 9007199254740993');
    expect(row.jb).toContain('"dec": 0.12345678901234567890');
    expect(row.jb).toContain('"k": 2');
    expect(row.jb.length).toBeGreaterThan(400);
  });

  it('stores numbers as they are sent', async () => {
    const sent =
      '{"type":"Feature","geometry":null,"properties":{"jb":{"a":9007199254740993},"nu":12345678901234567890.12345678901234567890}}';
    expect((await send('POST', items('js'), sent)).status).toBe(201);
    expect(await rows('SELECT jb::text, nu::text FROM js ORDER BY id DESC LIMIT 1')).toEqual([
      { jb: '{"a": 9007199254740993}', nu: '12345678901234567890.12345678901234567890' },
    ]);
  });

  it('deletes the rows that the condition names, and no others', async () => {
    const remove = (id: string, where: string) =>
      form(`/rest/services/default/FeatureServer/${numbers.get(id)}/deleteFeatures`, { where });
    await remove('snow', 'sid=1152921504606846979');
    expect(await rows('SELECT count(*)::int AS left, min(sid)::text FROM snow')).toEqual([
      { left: 5, min: '1152921504606846977' },
    ]);
    await remove('big', 'sid>1152921504606846979');
    expect(await text(`${items('big')}?f=json`)).toContain('"numberMatched":3');
    const edits = `/rest/services/default/FeatureServer/${numbers.get('bigids')}/applyEdits`;
    expect(await (await form(edits, { deletes: '-1427616' })).text()).toContain('"success":true');
    expect(await rows('SELECT id::text FROM bigids')).toEqual([{ id: '9007199254740993' }]);
  });

  it('lists attachments by the id of their feature, digit by digit', async () => {
    const server = `/rest/services/default/FeatureServer/${numbers.get('bigids')}`;
    const body =
      '--b\r\nContent-Disposition: form-data; name="attachment"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\na\r\n--b--\r\n';
    const path = `${server}/9007199254740993/addAttachment?f=json`;
    const added = await send('POST', path, body, 'multipart/form-data; boundary=b');
    expect(await added.text()).toContain('"success":true');
    const list = await text(`${server}/queryAttachments?objectIds=9007199254740993&f=json`);
    expect(list).toContain('"parentObjectId":9007199254740993,');
  });

  it('of settings that would round an integer is refused, and names the member', async () => {
    const put = (path: string, body: string) =>
      send('PUT', `/api/v1/admin/metadata/layers/${numbers.get('snow')}/${path}`, body, 'application/json');
    const code = (digits: string, more = '') =>
      `{"fields":[{"name":"sid","domain":{"type":"codedValue","name":"d","codedValues":[{"code":${digits},"name":"x"}]}}]${more}}`;
    const style =
      '{"version":8,"sources":{},"layers":[{"id":"a","type":"circle","filter":["==",["get","sid"],1152921504606846979]}]}';
    const refused = await put('style', style);
    const { detail } = (await refused.json()) as { detail: string };
    expect([refused.status, detail]).toEqual([
      400,
      expect.stringContaining('layers[0].filter[2]: the server would round '),
    ]);
    // Codes of domains keep their digits, also in bodies that a thread reads.
    for (const more of ['', `,"more":"${'x'.repeat(70_000)}"`])
      expect(await (await put('fields', code('9007199254740993', more))).text()).toContain(
        '"code":9007199254740993',
      );
    expect(await (await put('fields', '{"fields":[{"name":"sid"}]}')).text()).toContain('"domain":null');
  });
});
