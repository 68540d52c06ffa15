import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { multipart } from '../../admin/support/multipart.js';
import { scratchDirectory } from '../../engine/support.js';
import { gateways } from '../../support/processes.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { repetitions } from '../../support/soak.js';
import { zip } from '../../support/zip.js';

/** Imports through all of a server: multipart, jobs, GDAL, SQLite, catalog. */

const scratch = scratchDirectory();
let server: TestServer;

beforeAll(async () => {
  server = await startServerProcess({ sources: [] });
}, 90_000);

afterAll(async () => {
  await server?.stop();
  scratch.remove();
});

const points = (n: number, x = 10, y = 50, extra: object = {}) =>
  JSON.stringify({
    type: 'FeatureCollection',
    features: Array.from({ length: n }, (_, i) => ({
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [x, y] },
      properties: { name: `f${i}`, ...extra },
    })),
  });

async function send(
  fields: Record<string, string>,
  content: string | Buffer,
  filename = 'data.geojson',
  key = server.adminKey,
) {
  const parts = Object.entries(fields).map(([name, value]) => ({ name, content: value }));
  const { contentType, body } = multipart([...parts, { name: 'file', filename, content }]);
  const answer = await fetch(`${server.url}/api/v1/admin/import/upload`, {
    method: 'POST',
    headers: { 'content-type': contentType, 'x-api-key': key },
    body: new Uint8Array(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

/** Three points at one place. */
const towns = () => points(3);

const TOPOLOGY = JSON.stringify({
  type: 'Topology',
  objects: {
    towns: {
      type: 'GeometryCollection',
      geometries: [0, 1, 2].map((i) => ({
        type: 'Point',
        coordinates: [10, 50],
        properties: { name: `f${i}` },
      })),
    },
  },
  arcs: [],
});

/** The towns in another format. */
function written(driver: string, name: string, options: string[] = []): Buffer {
  const path = join(scratch.path, name);
  const source = join(scratch.path, 'source.geojson');
  writeFileSync(source, towns());
  execFileSync('ogr2ogr', ['-f', driver, path, source, ...options], { stdio: 'pipe' });
  return readFileSync(path);
}

function sheet(driver: string, name: string): Buffer {
  const path = join(scratch.path, name);
  const source = join(scratch.path, 'sheet.csv');
  writeFileSync(source, 'name,longitude,latitude\nf0,10,50\nf1,10,50\nf2,10,50\n');
  const types = ['-oo', 'AUTODETECT_TYPE=YES', '-lco', 'HEADERS=YES'];
  execFileSync('ogr2ogr', ['-f', driver, path, source, ...types], {
    stdio: 'pipe',
    env: { ...process.env, OGR_ODS_HEADERS: 'FORCE', OGR_XLSX_HEADERS: 'FORCE' },
  });
  return readFileSync(path);
}

/** The files that one data set consists of. */
function partsOf(driver: string, name: string, options: string[] = []) {
  const source = join(scratch.path, 'source.geojson');
  writeFileSync(source, towns());
  const folder = join(scratch.path, `parts-${name}`);
  execFileSync('ogr2ogr', ['-f', driver, folder, source, '-nln', 'towns', ...options], { stdio: 'pipe' });
  return readdirSync(folder).map((file) => ({ name: file, content: readFileSync(join(folder, file)) }));
}

interface Feature {
  geometry: { coordinates: number[] };
  properties: Record<string, unknown>;
}

/** What the tests read of pages, collections and lists of them. */
interface Answer {
  features: [Feature, ...Feature[]];
  numberMatched: number;
  collections: { title: string }[];
  storageCrs: string;
  extent: { spatial: { bbox: number[][] } };
}

async function get(path: string) {
  const answer = await fetch(server.url + path, { headers: { accept: 'application/json' } });
  return { status: answer.status, body: (await answer.json()) as Answer };
}

const collection = async (id: string) => (await get(`/ogc/features/collections/${id}`)).body;
const items = async (id: string) => (await get(`/ogc/features/collections/${id}/items`)).body.features;

describe('import', () => {
  it('takes several files of one name, and tells their collections apart', async () => {
    for (const table of ['first', 'second', 'third'])
      expect(await send({ TableName: table }, points(2))).toMatchObject({ status: 200 });
    const { body } = await get('/ogc/features/collections');
    const titles = body.collections.map(({ title }) => title);
    expect(titles).toEqual(['data', 'data (second)', 'data (third)']);
  });

  it('refuses a name that differs from a taken one only by case', async () => {
    expect(await send({ TableName: 'First' }, points(1))).toMatchObject({ status: 409 });
  });

  it('takes SourceSrid for the CRS of a GeoJSON file, and projects to TargetSrid', async () => {
    const data = points(1, 500_000, 5_540_000);
    expect(await send({ TableName: 'utm', SourceSrid: '25832' }, data)).toMatchObject({ status: 200 });
    expect(await collection('utm')).toMatchObject({
      storageCrs: 'http://www.opengis.net/def/crs/EPSG/0/4326',
    });
    const [feature] = await items('utm');
    expect(feature.geometry.coordinates[0]).toBeCloseTo(9, 6);
    expect(feature.geometry.coordinates[1]).toBeCloseTo(50.012316, 6);
    const fields = { TableName: 'utm_kept', SourceSrid: '25832', TargetSrid: '25832' };
    expect(await send(fields, data)).toMatchObject({ status: 200 });
    const kept = await collection('utm_kept');
    expect(kept.storageCrs).toBe('http://www.opengis.net/def/crs/EPSG/0/25832');
    const { body } = await get(
      '/ogc/features/collections/utm_kept/items?crs=http://www.opengis.net/def/crs/EPSG/0/25832',
    );
    expect(body.features[0].geometry.coordinates).toEqual([500_000, 5_540_000]);
    expect(await send({ TableName: 'mercator', TargetSrid: '3857' }, points(1, 10, 50))).toMatchObject({
      status: 200,
    });
    expect((await collection('mercator')).storageCrs).toMatch(/3857$/);
    expect((await items('mercator'))[0].geometry.coordinates).toEqual([
      expect.closeTo(10, 6),
      expect.closeTo(50, 6),
    ]);
  });

  it('answers 422 when coordinates have no place in the target CRS', async () => {
    const fields = { TableName: 'nowhere', SourceSrid: '25832', TargetSrid: '4326' };
    expect((await send(fields, points(1, 1e12, 1e12))).status).toBe(422);
  });

  it.each([
    ['WKT', 'name,wkt\na,"POINT (10 50)"\nb,"POINT (11 51)"\n'],
    [
      'hexadecimal WKB',
      'name,geom\na,010100000000000000000024400000000000004940\nb,010100000000000000000026400000000000804940\n',
    ],
  ])('reads CSV with %s', async (what, csv) => {
    const table = what.replace(/\W/g, '_');
    expect(await send({ TableName: table, SourceSrid: '4326' }, csv, 'points.csv')).toMatchObject({
      status: 200,
    });
    const coordinates = (await items(table.toLowerCase())).map((f: Feature) => f.geometry.coordinates);
    expect(coordinates).toEqual(
      expect.arrayContaining([
        [10, 50],
        [11, 51],
      ]),
    );
  });

  const POINT_WKB = '010100000000000000000024400000000000004940';
  it.each([
    ['lines.wkt', 'POINT (10 50)\n\nSRID=4326;POINT (11\n  51)\n', 'Wkt', 2],
    ['hex.wkb', `${POINT_WKB}\n\\x010100000000000000000026400000000000804940\n`, 'Wkb', 2],
    ['binary.wkb', Buffer.from(POINT_WKB, 'hex'), 'Wkb', 1],
  ])('reads %s, which holds geometries alone', async (name, content, format, count) => {
    const table = name.replace('.', '_');
    const { status, body } = await send({ TableName: table, SourceSrid: '4326' }, content, name);
    expect([status, body.format, body.featureCount]).toEqual([200, format, count]);
    const places = (await items(table)).map(({ geometry }: Feature) => geometry?.coordinates);
    expect(places).toContainEqual([10, 50]);
    if (count > 1) expect(places).toContainEqual([11, 51]);
  });

  it.each([
    ['cut.wkt', 'POLYGON ((0 0, 1 1,'],
    ['empty.wkt', '\n\n'],
  ])('refuses %s', async (name, content) => {
    const answer = await send({ TableName: 'refused', SourceSrid: '4326' }, content, name);
    expect(answer.status).toBe(422);
  });

  it('removes what cut off uploads left, and nothing that may still be sent', async () => {
    const uploads = join(server.dataDir, 'uploads');
    const [old, young] = ['old.gpkg', 'young.gpkg'].map((name) => join(uploads, name)) as [string, string];
    for (const path of [old, young]) writeFileSync(path, 'part');
    utimesSync(old, 1_000_000, 1_000_000);
    expect((await send({ TableName: 'sweeping' }, points(1))).status).toBe(200);
    await vi.waitFor(() => expect(existsSync(old)).toBe(false));
    expect(existsSync(young)).toBe(true);
    rmSync(young);
  });

  it.each([
    ['ESRI Shapefile', 'Shapefile', ''],
    ['OpenFileGDB', 'FileGdb', 'towns.gdb/'],
  ])('unpacks and imports a zipped %s', async (driver, format, prefix) => {
    const source = join(scratch.path, 'towns.geojson');
    writeFileSync(source, points(3));
    const folder = join(scratch.path, `${format}.gdb`);
    execFileSync('ogr2ogr', ['-f', driver, folder, source]);
    const entries = readdirSync(folder).map((name) => ({
      name: prefix + name,
      content: readFileSync(join(folder, name)),
    }));
    const answer = await send({ TableName: `zipped_${format}` }, zip(entries), 'towns.zip');
    expect(answer).toMatchObject({ status: 200, body: { featureCount: 3, format } });
    expect(await items(`zipped_${format.toLowerCase()}`)).toHaveLength(3);
    expect(readdirSync(join(server.dataDir, 'staging'))).toEqual([]);
  });

  it.each([
    ['towns.geojson.gz', 'GeoJson', () => gzipSync(towns())],
    ['towns.ndjson', 'GeoJson', () => written('GeoJSONSeq', 'towns.ndjson')],
    ['towns.topojson', 'GeoJson', () => TOPOLOGY],
    ['towns.gpx', 'Gpx', () => written('GPX', 'towns.gpx', ['-nln', 'waypoints', '-select', 'name'])],
    ['towns.dxf', 'Dxf', () => written('DXF', 'towns.dxf', ['-select', ''])],
    ['towns.tsv', 'Csv', () => 'name\tlon\tlat\nf0\t10\t50\nf1\t10\t50\nf2\t10\t50\n'],
    ['towns.xlsx', 'Xlsx', () => sheet('XLSX', 'towns.xlsx')],
    ['towns.ods', 'Ods', () => sheet('ODS', 'towns.ods')],
    ['towns.shz', 'Shapefile', () => zip(partsOf('ESRI Shapefile', 'shz'))],
    ['towns.kmz', 'Kml', () => zip([{ name: 'doc.kml', content: written('KML', 'towns.kml') }])],
    ['tab.zip', 'MapInfo', () => zip(partsOf('MapInfo File', 'tab'))],
    ['mif.zip', 'MapInfo', () => zip(partsOf('MapInfo File', 'mif', ['-dsco', 'FORMAT=MIF']))],
    ['csv.zip', 'Csv', () => zip([{ name: 'a/towns.csv', content: 'lon,lat\n10,50\n10,50\n10,50\n' }])],
  ])('takes %s as publishing does', async (name, format, content) => {
    const table = name.replace('.', '_').replace('.gz', '');
    const answer = await send({ TableName: table, SourceSrid: '4326' }, content(), name);
    expect(answer).toMatchObject({ status: 200, body: { featureCount: 3, format } });
    const features = await items(table);
    expect(features).toHaveLength(3);
    for (const { geometry } of features) {
      expect(geometry.coordinates[0]).toBeCloseTo(10, 4);
      expect(geometry.coordinates[1]).toBeCloseTo(50, 4);
    }
  });

  it('takes GeoParquet, and projects it', async () => {
    const content = readFileSync('test/fixtures/parquet/types.parquet');
    for (const srid of ['4326', '25832']) {
      const TableName = `columns_${srid}`;
      const answer = await send({ TableName, TargetSrid: srid }, content, 'types.parquet');
      expect(answer).toMatchObject({ status: 200, body: { format: 'GeoParquet' } });
      expect(answer.body['featureCount']).toBeGreaterThan(5);
      expect(await collection(TableName)).toMatchObject({ storageCrs: expect.stringMatching(`${srid}$`) });
    }
    const [projected, own] = await Promise.all(['columns_4326', 'columns_25832'].map(items));
    for (const [i, { geometry }] of projected!.entries())
      for (const axis of [0, 1])
        expect(geometry.coordinates[axis]).toBeCloseTo(own![i]!.geometry.coordinates[axis]!, 6);
  });

  it.each([
    ['scan.dwg', /^DWG is not supported\. Save it as DXF\. Use \.geojson, /],
    ['region.osm.pbf', /osm2pgsql/],
    ['roads.gz', /cannot be imported\. Use .*\.geojson\.gz/],
    ['table.exe', /^Files of this kind cannot be imported\. Use /],
  ])('names why %s is not taken', async (name, reason) => {
    const answer = await send({ TableName: 'refused' }, 'x', name);
    expect(answer).toMatchObject({ status: 415, body: { detail: expect.stringMatching(reason) } });
  });

  it('names the data sets of an archive that holds several', async () => {
    const entries = ['a.csv', 'b.csv'].map((name) => ({ name, content: 'lon,lat\n1,2\n' }));
    const answer = await send({ TableName: 'several', SourceSrid: '4326' }, zip(entries), 'two.zip');
    expect(answer).toMatchObject({
      status: 422,
      body: {
        detail: expect.stringMatching(/^The archive has several data sets: a\.csv, b\.csv\. Send one\.$/),
      },
    });
  });

  it('answers 422 for a hostile archive', async () => {
    const answer = await send({ TableName: 'evil' }, zip([{ name: '../a.shp', content: 'x' }]), 'a.zip');
    expect(answer.status).toBe(422);
  });

  it('replaces a collection all at once, and serves the old data until then', async () => {
    await send({ TableName: 'towns' }, points(40, 10, 50, { old: 1 }));
    const seen = new Set<string>();
    let replacing = true;
    const watching = (async () => {
      while (replacing) {
        const { status, body } = await get('/ogc/features/collections/towns/items?limit=100');
        // While the catalog follows, the answer may be: come again.
        seen.add(status === 200 ? `${body.features.length}` : `${status}`);
        if (status === 200 && body.features.length === 40) expect(body.features[0].properties.old).toBe(1);
        await pause(15);
      }
    })();
    for (let n = 0; n < 3; n++) {
      const fields = { TableName: 'towns', OverwriteExisting: 'true' };
      expect(await send(fields, points(60, 11, 51, { fresh: n }))).toMatchObject({
        status: 200,
        body: { featureCount: 60 },
      });
    }
    replacing = false;
    await watching;
    for (const what of seen) expect(['40', '60', '503']).toContain(what);
    const features = await items('towns');
    expect(features).toHaveLength(60);
    expect(features[0]?.properties).toEqual({ name: expect.any(String), fresh: 2 });
    expect((await collection('towns')).extent.spatial.bbox[0]?.slice(0, 2)).toEqual([11, 51]);
  });

  it('replaces nothing that another caller publishes meanwhile', async () => {
    const response = await fetch(`${server.url}/api/v1/admin/api-keys`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': server.adminKey },
      body: JSON.stringify({ name: 'importer', permissions: ['admin:import:write'] }),
    });
    const { key } = ((await response.json()) as { data: { key: string } }).data;
    const ends = new Set<string>();
    // The other one comes 20 to 160 ms later.
    const rounds = repetitions(import.meta.url, 8, 4);
    for (let n = 0; n < rounds; n++) {
      const TableName = `contested${n}`;
      const first = send({ TableName }, points(3000));
      await pause(20 + (n * 140) / (rounds - 1));
      const fields = { TableName, OverwriteExisting: 'true' };
      const [one, other] = await Promise.all([first, send(fields, points(3), 'data.geojson', key)]);
      ends.add(`${one.status} ${other.status}`);
      const { body } = await get(`/ogc/features/collections/${TableName}/items?limit=1`);
      expect((body as { numberMatched?: number }).numberMatched).toBe(one.status === 200 ? 3000 : 3);
    }
    // Whoever comes second is refused: the name is taken, a job is at work, or the right to replace is missing.
    for (const end of ends) expect(['200 403', '200 409', '409 200']).toContain(end);
  });

  it('keeps the old data when the new is damaged', async () => {
    const answer = await send({ TableName: 'towns', OverwriteExisting: 'true' }, '{"type":"Feature');
    expect(answer.status).toBe(422);
    expect(await items('towns')).toHaveLength(60);
  });

  it('has the old or the new data, and never a part, after kill -9 at any moment', async () => {
    const many = points(20_000);
    expect((await send({ TableName: 'kill' }, points(10))).status).toBe(200);
    const killed = new Set<number>();
    for (let n = 0; n < repetitions(import.meta.url, 8, 3); n++) {
      const sending = send({ TableName: 'kill', OverwriteExisting: 'true' }, many).catch(() => undefined);
      await pause(80 + n * 250);
      const gateway = gateways(server.process.pid!).find((pid) => !killed.has(pid))!;
      process.kill(gateway, 'SIGKILL');
      killed.add(gateway);
      await sending;
      const matched = await settled('/ogc/features/collections/kill/items?limit=1');
      expect([10, 20_000]).toContain(matched);
    }
    // A job that was taken up goes on by itself.
    await expect
      .poll(async () => (await send({ TableName: 'kill', OverwriteExisting: 'true' }, points(7))).status, {
        timeout: 30_000,
      })
      .toBe(200);
    await expect.poll(() => settled('/ogc/features/collections/kill/items'), { timeout: 30_000 }).toBe(7);
  });
});

/** `numberMatched` of a page, once a gateway answers: one that was killed often starts a little later each time. */
async function settled(path: string): Promise<number> {
  for (const late = Date.now() + 60_000; Date.now() < late; await pause(50)) {
    const answer = await get(path).catch(() => undefined);
    if (answer?.status === 200) return answer.body.numberMatched;
  }
  throw new Error('the server does not answer');
}
