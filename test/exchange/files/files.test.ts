import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { multipart } from '../../admin/support/multipart.js';
import { startServer, type TestServer } from '../../support/server.js';
import { zip } from '../../support/zip.js';
import {
  call,
  collections,
  itemsOf,
  type Json,
  leftovers,
  type Remote,
  sendJson,
  startRemote,
} from '../remote/support.js';
import { filesWithCrs } from './crs-files.js';

/** Previews, downloads and the progress of uploads, through all of a server. */

/** The towns as a zipped shapefile with a definition of its CRS. */
function shapefile(prj: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-prj-'));
  try {
    writeFileSync(join(folder, 'in.geojson'), TOWNS);
    execFileSync('ogr2ogr', ['-f', 'ESRI Shapefile', join(folder, 'towns.shp'), join(folder, 'in.geojson')]);
    writeFileSync(join(folder, 'towns.prj'), prj);
    const names = readdirSync(folder).filter((name) => name.startsWith('towns.'));
    return zip(names.map((name) => ({ name, content: readFileSync(join(folder, name)) })));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

let server: TestServer;
let remote: Remote;
/** Answers to /slow that are under way. */
let slow: (() => void)[] = [];

const TOWNS = JSON.stringify({
  type: 'FeatureCollection',
  features: [1, 2, 3].map((n) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [10 + n, 50] },
    properties: { name: `town ${n}`, people: n * 1000 },
  })),
});

beforeAll(async () => {
  remote = await startRemote(({ pathname }, response) => {
    switch (pathname) {
      case '/towns.geojson':
      case '/download':
        response.end(TOWNS);
        break;
      case '/moved.geojson':
        response.writeHead(302, { location: '/towns.geojson' }).end();
        break;
      case '/short.geojson':
        response.writeHead(200, { 'content-length': String(TOWNS.length + 10) }).write(TOWNS);
        response.on('error', () => {});
        setImmediate(() => response.destroy());
        break;
      case '/huge.geojson':
        response.writeHead(200, { 'content-length': '999999999999' }).end();
        break;
      case '/busy.geojson':
        sendJson(response, {}, 'application/json', 503);
        break;
      case '/slow.geojson':
        response.writeHead(200, { 'content-length': String(TOWNS.length) }).write(TOWNS.slice(0, 100));
        slow.push(() => response.end(TOWNS.slice(100)));
        break;
      default:
        sendJson(response, {}, 'application/json', 404);
    }
  });
  server = await startServer({ sources: [], env: { SVC_REMOTE__ALLOW: '["127.0.0.2", "localhost"]' } });
}, 90_000);

afterAll(async () => {
  await server?.stop();
  await remote?.close();
});

async function send(
  path: string,
  fields: Record<string, string>,
  content: string | Buffer,
  filename: string,
) {
  const parts = Object.entries(fields).map(([name, value]) => ({ name, content: value }));
  const { contentType, body } = multipart([...parts, { name: 'file', filename, content }]);
  const answer = await fetch(`${server.url}/api/v1/admin${path}`, {
    method: 'POST',
    headers: { 'content-type': contentType, 'x-api-key': server.adminKey },
    body: new Uint8Array(body),
  });
  return { status: answer.status, body: (await answer.json()) as Json };
}

describe('preview', () => {
  it('tells format, CRS, count, layers and a sample, and leaves nothing', async () => {
    const { status, body } = await send('/import/preview', {}, TOWNS, 'towns.geojson');
    expect(status).toBe(200);
    expect(body).toEqual({
      format: 'GeoJson',
      detectedSrid: 4326,
      totalFeatureCount: 3,
      availableLayers: [expect.any(String)],
      sampleProperties: { name: 'town 1', people: 1000 },
      warnings: [],
      extent: [11, 50, 13, 50],
      coordinateExtent: [11, 50, 13, 50],
      fields: [
        { name: 'name', type: 'string' },
        { name: 'people', type: 'integer' },
      ],
      sample: {
        type: 'FeatureCollection',
        features: [1, 2, 3].map((n) => ({
          type: 'Feature',
          id: n,
          geometry: { type: 'Point', coordinates: [10 + n, 50] },
          properties: { name: `town ${n}`, people: n * 1000 },
        })),
      },
      crsGuesses: [],
      assumedCrs: null,
    });
    const feature = { attributes: { name: 'a' }, geometry: { x: 7, y: 47 } };
    const esri = { geometryType: 'esriGeometryPoint', spatialReference: { wkid: 4326 }, features: [feature] };
    const fields = [{ name: 'name', type: 'esriFieldTypeString', alias: 'name', length: 10 }];
    const sent = JSON.stringify({ ...esri, fields });
    expect((await send('/import/preview', {}, sent, 'towns.json')).body).toMatchObject({
      ...{ format: 'EsriJson', totalFeatureCount: 1, sampleProperties: { name: 'a' } },
    });
    expect(leftovers(server)).toEqual([]);
    expect(await collections(server)).toEqual([]);
  });

  it('judges a file without a CRS as a published folder does', async () => {
    const preview = async (content: string | Buffer, name: string) =>
      (await send('/import/preview', {}, content, name)).body as {
        totalFeatureCount: number;
        sample: { features: { properties: unknown }[] };
        sampleProperties: unknown;
        warnings: string[];
        extent: number[];
      };
    const rows = 'name,lon,lat,built,floors\na,10,50,2023-01-02,3\n';
    expect(await preview(rows, 'towns 2023.csv')).toMatchObject({
      format: 'Csv',
      detectedSrid: 4326,
      availableLayers: ['towns 2023'],
      extent: [10, 50, 10, 50],
      fields: [{ type: 'string' }, { name: 'built', type: 'date' }, { name: 'floors', type: 'integer' }],
      sample: { features: [{ properties: { name: 'a', built: '2023-01-02', floors: 3 } }] },
      warnings: [],
      assumedCrs: null,
    });
    expect(await preview('x,y\n10,50\n', 'points.csv')).toMatchObject({
      detectedSrid: 4326,
      warnings: [expect.stringMatching(/Longitudes and latitudes .* were assumed.* Set SourceSrid/)],
      crsGuesses: [{ crs: 'OGC:CRS84' }],
      assumedCrs: { as: 'degrees', crs: null },
    });
    expect(await preview('x,y\n4500000,5500000\n', 'plan.csv')).toMatchObject({
      detectedSrid: null,
      extent: null,
      coordinateExtent: [4_500_000, 5_500_000, 4_500_000, 5_500_000],
      sample: { features: [{ geometry: null }] },
      warnings: [
        expect.stringMatching(
          /its place is unknown, because x 4500000 .* cannot be degrees\. Send SourceSrid/,
        ),
      ],
    });
    // Types and warnings are those of an import of the complete file.
    const typed = await preview('name,lon,lat,n\na,10,50,1\n', 'typed.csv');
    expect(typed.sampleProperties).toEqual(typed.sample.features[0]!.properties);
    const points = Array.from({ length: 150 }, (_, i) => ({
      type: 'Feature',
      properties: { name: i === 2 ? 'Z\uFFFDrich' : 'a' },
      geometry: { type: i === 140 ? 'Spot' : 'Point', coordinates: i === 0 ? [9, 48] : [8, 47] },
    }));
    const text = JSON.stringify({ type: 'FeatureCollection', features: points });
    const bad = await preview(text, 'bad.geojson');
    expect(bad.warnings).toEqual([
      '1 geometry of the file cannot be read: its feature has none.',
      expect.stringContaining('1 value is damaged: name of feature 3'),
    ]);
    const shape = await send('/import/preview', {}, 'x', 'wheat.shp');
    expect([shape.status, shape.body.detail]).toEqual([
      415,
      expect.stringMatching(
        /^A shapefile is several files\. Send a ZIP archive of its \.shp, \.shx and \.dbf files/,
      ),
    ]);
    const rest = Array.from({ length: 150 }, (_, i) => `p${i},${i / 10},50\n`).join('');
    const many = await preview(`name,lon,lat\n${rest}`, 'many.csv');
    expect([many.totalFeatureCount, many.sample.features.length, many.extent[2]]).toEqual([150, 100, 14.9]);
    expect(leftovers(server)).toEqual([]);
  });

  it('and the import does the same, and says what it assumed', async () => {
    const placesOf = async (table: string) =>
      (await itemsOf(server, table)).features as { geometry: { coordinates: number[] } }[];
    const imported = async (table: string, content: string) =>
      send('/import/upload', { TableName: table }, content, `${table}.csv`);
    expect((await imported('by_columns', 'name,lon,lat\na,10,50\n')).body).toMatchObject({
      success: true,
      warnings: [],
    });
    expect((await imported('assumed', 'x,y\n10,50\n')).body).toMatchObject({
      success: true,
      warnings: [expect.stringMatching(/Longitudes and latitudes .* were assumed/)],
    });
    expect((await placesOf('assumed'))[0]!.geometry.coordinates).toEqual([10, 50]);
    const refused = await imported('plan', 'x,y\n4500000,5500000\n');
    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('SourceSrid')]);
    // The data lies where the towns are, in the CRS that they were given.
    const grid = { TableName: 'grid', SourceSrid: '25832', TargetSrid: '25832' };
    await send('/import/upload', grid, 'x,y\n500000,5500000\n510000,5510000\n', 'grid.csv');
    const guessed = await imported('guessed', 'x,y\n504000,5504000\n506000,5506000\n');
    expect(guessed.body).toMatchObject({
      success: true,
      warnings: [
        expect.stringContaining('EPSG:25832 was guessed, because the data then overlaps published data'),
      ],
    });
    expect((await placesOf('guessed'))[0]!.geometry.coordinates[0]).toBeCloseTo(9.06, 1);
    const added = await send(
      '/import/upload',
      { TableName: 'grid', Mode: 'append' },
      'x,y\n505000,5505000\n',
      'more.csv',
    );
    expect(added.body).toMatchObject({
      success: true,
      warnings: [expect.stringContaining('EPSG:25832 was guessed')],
    });
    expect((await placesOf('grid')).map(({ geometry }) => geometry.coordinates[0]!.toFixed(2))).toContain(
      '9.07',
    );
    expect(leftovers(server)).toEqual([]);
  });

  it('looks into archives and geometries alone', async () => {
    const archive = zip([{ name: 'a/towns.geojson', content: Buffer.from(TOWNS) }]);
    expect((await send('/import/preview', {}, archive, 'towns.zip')).body).toMatchObject({
      format: 'GeoJson',
      totalFeatureCount: 3,
    });
    expect((await send('/import/preview', {}, 'POINT (1 2)\nPOINT (3 4)', 'a.wkt')).body).toMatchObject({
      format: 'Wkt',
      totalFeatureCount: 2,
    });
    expect(leftovers(server)).toEqual([]);
  });

  it('opens no file that a CRS names, and leaves nothing of what drivers write', async () => {
    const wkt = (grid: string) =>
      `GEOGCS["a",DATUM["b",SPHEROID["c",6378137,298.25],EXTENSION["PROJ4_GRIDS","${grid}"]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],EXTENSION["PROJ4","+proj=longlat +ellps=GRS80 +nadgrids=${grid} +no_defs"]]`;
    // Whoever opens it waits for ever.
    const pipe = join(server.dataDir, 'grid.gsb');
    execFileSync('mkfifo', [pipe]);
    for (const path of ['/etc/passwd', '@/proc/self/environ', 'http://127.0.0.1:9/grid.tif', pipe])
      for (const route of ['/import/preview', '/import/upload']) {
        const { status, body } = await send(
          route,
          { TableName: 'named_file', TargetSrid: '3857' },
          shapefile(wkt(path)),
          'towns.zip',
        );
        expect([route, path, status >= 400 && status < 500]).toEqual([route, path, true]);
        expect(body.detail).toContain('refers to a grid file, which is not supported');
      }
    const files = filesWithCrs(wkt(pipe), pipe);
    for (const [name, content] of files)
      for (const route of ['/import/preview', '/import/upload']) {
        const { status, body } = await send(route, { TableName: 'named_file' }, content, name);
        expect([route, name, status, body.detail]).toEqual([
          route,
          name,
          expect.toSatisfy((code) => code >= 400 && code < 500),
          expect.stringContaining(
            name.startsWith('dtd') ? 'DOCTYPE' : 'refers to a file, which is not supported',
          ),
        ]);
      }
    const gml = `<?xml version="1.0"?><ogr:FeatureCollection xmlns:ogr="http://ogr.maptools.org/" xmlns:gml="http://www.opengis.net/gml">
      <gml:featureMember><ogr:town fid="town.0"><ogr:geometryProperty><gml:Point srsName="EPSG:4326"><gml:coordinates>1,2</gml:coordinates></gml:Point></ogr:geometryProperty><ogr:name>a</ogr:name></ogr:town></gml:featureMember>
    </ogr:FeatureCollection>`;
    expect((await send('/import/preview', {}, gml, 'towns.gml')).body).toMatchObject({
      totalFeatureCount: 1,
    });
    const imported = await send('/import/upload', { TableName: 'of_gml' }, gml, 'towns.gml');
    expect(imported.body).toMatchObject({ success: true, featureCount: 1 });
    expect(leftovers(server)).toEqual([]);
  });

  it('refuses XML with a document type or entities, and takes what only looks like one', async () => {
    const entities = '<!DOCTYPE x [<!ENTITY e "no">]>';
    const kml = (before: string, text: string) => `<?xml version="1.0"?>${before}
      <kml xmlns="http://www.opengis.net/kml/2.2"><Placemark><name>${text}</name>
        <Point><coordinates>7,47</coordinates></Point></Placemark></kml>`;
    const gpx = (before: string, text: string) => `<?xml version="1.0"?>${before}
      <gpx version="1.1" creator="a" xmlns="http://www.topografix.com/GPX/1/1"><wpt lat="47" lon="7"><name>${text}</name></wpt></gpx>`;
    const long = `<!--${' '.repeat(10_000)}-->`;
    const refused: [string, string | Buffer][] = [
      ['inner.kml', kml(entities, '&e;x')],
      ['outer.kml', kml('<!DOCTYPE kml SYSTEM "http://localhost/a.dtd">', '&e;x')],
      ['late.kml', kml(`${long}\n${entities}`, '&e;x')],
      ['wide.kml', Buffer.from(`\ufeff${kml(entities, '&e;x')}`, 'utf16le')],
      ['inner.gpx', gpx(entities, '&e;x')],
      ['outer.gpx', gpx('<!DOCTYPE gpx SYSTEM "a.dtd">', '&e;x')],
    ];
    for (const [name, content] of refused)
      for (const route of ['/import/preview', '/import/upload']) {
        const { status, body } = await send(route, { TableName: 'entities' }, content, name);
        expect([route, name, status, body.detail]).toEqual([
          ...[route, name, expect.toSatisfy((code) => code >= 400 && code < 500)],
          expect.stringContaining('document type (DOCTYPE)'),
        ]);
      }
    const html = '<![CDATA[<!DOCTYPE html><p>a</p>]]>';
    for (const [name, content] of [
      ['html.kml', kml(long, html)],
      ['html.gpx', gpx('<!-- <!DOCTYPE x> -->', html)],
    ] as const)
      expect((await send('/import/preview', {}, content, name)).body).toMatchObject({ totalFeatureCount: 1 });
    expect(leftovers(server)).toEqual([]);
  });

  it('refuses what it cannot read with 400, and leaves nothing', async () => {
    const { status, body } = await send('/import/preview', {}, 'no json at all', 'towns.geojson');
    expect({ status, detail: body.detail }).toMatchObject({
      status: 400,
      detail: expect.stringMatching(/\w/),
    });
    expect(leftovers(server)).toEqual([]);
  });

  it('downloads from an allowed host', async () => {
    const { status, body } = await call(server, 'POST', '/import/preview-url', {
      sourceUrl: `${remote.url}/towns.geojson`,
    });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { format: 'GeoJson', totalFeatureCount: 3 },
    });
    expect(leftovers(server)).toEqual([]);
  });
});

describe('import from a URL', () => {
  const upload = (path: string, more: object = {}) =>
    call(server, 'POST', '/import/upload-url', {
      sourceUrl: remote.url + path,
      tableName: 'fetched',
      ...more,
    });

  it('imports the file, and serves it', async () => {
    const { status, body } = await upload('/towns.geojson');
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { success: true, tableName: 'fetched', featureCount: 3, format: 'GeoJson' },
    });
    expect((await itemsOf(server, 'fetched')).numberMatched).toBe(3);
    expect(leftovers(server)).toEqual([]);
    const again = await upload('/towns.geojson', { mode: 'append', rejectRows: true });
    expect(again.body).toMatchObject({
      featureCount: 3,
      merge: { mode: 'append', inserted: 3, rejected: 0 },
    });
    expect((await itemsOf(server, 'fetched')).numberMatched).toBe(6);
    expect(leftovers(server)).toEqual([]);
    const named = { tableName: 'named', fileName: 'a.geojson', FORCEBACKGROUND: true };
    const background = await upload('/download', named);
    expect(background).toMatchObject({ status: 202, body: { jobId: expect.any(String) } });
    await vi.waitFor(async () => expect(await collections(server)).toContain('named'), { timeout: 30_000 });
  });

  it.each([
    ['/moved.geojson', 400, 'redirected'],
    ['/missing.geojson', 400, 'no such file'],
    ['/short.geojson', 503, ''],
    ['/huge.geojson', 413, 'bytes'],
    ['/busy.geojson', 503, ''],
    ['/download', 400, 'fileName'],
  ])('refuses %s with %i, and leaves nothing', async (path, expected, words) => {
    const { status, body } = await upload(path, { tableName: 'refused' });
    expect(status).toBe(expected);
    expect(body.detail).toContain(words);
    expect(leftovers(server)).toEqual([]);
    expect(await collections(server)).not.toContain('refused');
  });

  it('asks no host that is not allowed, and no private address behind an allowed name', async () => {
    const before = remote.asked.length;
    for (const sourceUrl of [
      'http://10.0.0.1/a.geojson',
      'http://example.org/a.geojson',
      // The name is allowed, its address is not.
      `http://localhost:${new URL(remote.url).port}/towns.geojson`,
      'ftp://127.0.0.2/a.geojson',
      `http://user:word@${new URL(remote.url).host}/towns.geojson`,
      'nonsense',
    ]) {
      const { status } = await call(server, 'POST', '/import/upload-url', { sourceUrl, tableName: 'x' });
      expect({ sourceUrl, status }).toEqual({ sourceUrl, status: 400 });
    }
    expect(remote.asked.length).toBe(before);
  });

  it('shows the progress of a download, and cancels it', async () => {
    const answer = upload('/slow.geojson', { tableName: 'slow', uploadId: 'mine' });
    await vi.waitFor(
      async () => {
        const { body } = await call(server, 'GET', '/import/uploads/mine/progress');
        expect(body).toMatchObject({
          uploadId: 'mine',
          status: 1,
          bytesUploaded: 100,
          fileName: 'slow.geojson',
        });
      },
      { timeout: 30_000 },
    );
    const listed = await call(server, 'GET', '/import/uploads');
    expect(listed.body).toMatchObject({ uploads: [{ uploadId: 'mine' }] });
    expect(await call(server, 'POST', '/import/uploads/mine/cancel')).toMatchObject({ status: 200 });
    expect(await answer).toMatchObject({ status: 409 });
    expect((await call(server, 'GET', '/import/uploads/mine/progress')).body).toMatchObject({ status: 4 });
    expect((await call(server, 'GET', '/import/uploads')).body).toEqual({ uploads: [] });
    expect(leftovers(server)).toEqual([]);
    expect(await call(server, 'POST', '/import/uploads/mine/cancel')).toMatchObject({ status: 409 });
    expect(await call(server, 'GET', '/import/uploads/none/progress')).toMatchObject({ status: 404 });
    slow = [];
  });
});

it('follows an upload to the end of its job', async () => {
  const { status, body } = await send(
    '/import/upload',
    { UploadId: 'sent', TableName: 'sent' },
    TOWNS,
    'a.geojson',
  );
  expect({ status, body }).toMatchObject({ status: 200, body: { uploadId: 'sent' } });
  expect((await call(server, 'GET', '/import/uploads/sent/progress')).body).toMatchObject({
    uploadId: 'sent',
    fileName: 'a.geojson',
    status: 2,
    percentComplete: 100,
    bytesUploaded: TOWNS.length,
    cloudFileId: null,
    errorMessage: null,
  });
});
