import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { startServer, type TestServer } from '../support/server.js';
import { type ZipEntry, zip } from '../support/zip.js';

/** A folder with files of many formats: each is published with all that it holds, or named with the reason. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-formats-'));
const parts = mkdtempSync(join(tmpdir(), 'graticule-formats-parts-'));
const HIRE = join(parts, 'cycle_hire.geojson');
const WORLD = 'demo/data/world_map.gpkg';
const HIRES = 300;
let server: TestServer;

const ogr2ogr = (...args: string[]) => execFileSync('ogr2ogr', args, { encoding: 'utf8', stdio: 'pipe' });
const at = (name: string) => join(folder, name);

/** Files whose refusal names the cause. */
function damagedFiles(): void {
  const shape = join(parts, 'parts_of_a_shape.shp');
  ogr2ogr('-f', 'ESRI Shapefile', shape, HIRE);
  copyFileSync(shape, at('lonely.shp'));
  for (const end of ['shp', 'dbf', 'prj']) copyFileSync(shape.replace(/shp$/, end), at(`noindex.${end}`));
  writeFileSync(at('cut.geojson'), readFileSync(HIRE).subarray(0, 3000));
  writeFileSync(at('comma.geojson'), '{"type": x}');
  writeFileSync(at('error.geojson'), '<!DOCTYPE html><html><body>404</body></html>');
  writeFileSync(at('settings.json'), '{"name": "x", "version": 1}');
  writeFileSync(at('cut.gpx'), GPX.slice(0, 60));
  writeFileSync(at('nothing.csv'), '');
  writeFileSync(at('rows.csv'), 'name,lon,lat\n');
  writeFileSync(at('words.tif'), 'hello');
  writeFileSync(
    at('parts.vrt'),
    '<VRTDataset rasterXSize="2" rasterYSize="2"><VRTRasterBand dataType="Byte" band="1"><SimpleSource><SourceFilename relativeToVRT="1">nope.tif</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>',
  );
}

/** Files of a folder, as entries of an archive. */
function filesOf(path: string, prefix = ''): ZipEntry[] {
  return readdirSync(path).map((name) => ({ name: prefix + name, content: readFileSync(join(path, name)) }));
}

/** Docks of many values: texts with quotes and accents, zeros in front, reals and integers. */
const DOCKS = Array.from({ length: HIRES }, (_, i) => ({
  type: 'Feature',
  properties: {
    code: String(i).padStart(5, '0'),
    name: `"Dock" ${i}, Quai d'Été`,
    bikes: i % 40,
    share: i / 7,
    big: 9_007_199_254_740_000 + i,
    note: i % 3 ? null : 'x',
  },
  geometry: { type: 'Point', coordinates: [-0.2 + (i % 20) / 100, 51.5 + Math.floor(i / 20) / 100] },
}));

beforeAll(async () => {
  writeFileSync(HIRE, JSON.stringify({ type: 'FeatureCollection', name: 'cycle_hire', features: DOCKS }));
  const shapes = join(parts, 'shapes');
  const geodatabase = join(parts, 'world.gdb');
  ogr2ogr('-f', 'ESRI Shapefile', shapes, WORLD, 'countries', 'disputed_borders');
  ogr2ogr('-f', 'OpenFileGDB', geodatabase, WORLD, 'countries', 'disputed_borders');
  ogr2ogr('-f', 'OpenFileGDB', at('borders.gdb'), WORLD, 'disputed_borders', '-nln', 'folder_borders');
  const table = join(parts, 'stock.csv');
  writeFileSync(table, 'code;n\n007;1\n');
  ogr2ogr('-update', at('borders.gdb'), table, '-nln', 'stock');
  ogr2ogr('-f', 'GPKG', at('town.gpkg'), WORLD, 'disputed_borders', '-nln', 'walls');
  ogr2ogr('-update', at('town.gpkg'), table, '-nln', 'prices');
  const town = new Database(at('town.gpkg'));
  town.exec(
    'CREATE TABLE unregistered (n INTEGER); INSERT INTO unregistered VALUES (1); CREATE TABLE bare (n INTEGER)',
  );
  town.close();
  ogr2ogr('-f', 'GPKG', at('prices.gpkg'), table, '-nln', 'prices_alone');
  const one = filesOf(shapes).filter(({ name }) => name.startsWith('disputed_borders'));
  writeFileSync(
    at('two shapefiles.zip'),
    zip([...filesOf(shapes, 'deep/data/'), { name: 'readme.txt', content: 'x' }]),
  );
  writeFileSync(
    at('one.shz'),
    zip(one.map((entry) => ({ ...entry, name: entry.name.replace('disputed_borders', 'one') }))),
  );
  writeFileSync(at('tables.gdb.zip'), zip(filesOf(geodatabase, 'world.gdb/')));
  ogr2ogr('-f', 'KML', join(parts, 'doc.kml'), HIRE, '-nln', 'docks');
  writeFileSync(at('docks.kmz'), zip([{ name: 'doc.kml', content: readFileSync(join(parts, 'doc.kml')) }]));
  writeFileSync(at('packed.geojson.gz'), gzipSync(readFileSync(HIRE)));
  ogr2ogr('-f', 'GeoJSONSeq', at('lines.ndjson'), HIRE);
  ogr2ogr('-f', 'GeoJSONSeq', at('sequence.geojsonl'), HIRE);
  ogr2ogr('-f', 'GeoJSONSeq', '-limit', '1', at('single.geojsonl'), HIRE);
  ogr2ogr('-f', 'GeoJSONSeq', '-lco', 'RS=YES', at('records.geojsons'), HIRE);
  writeFileSync(at('walk.gpx'), GPX);
  writeFileSync(at('atlas.topojson'), TOPOJSON);
  ogr2ogr('-f', 'DXF', at('plan.dxf'), HIRE, '-select', '');
  ogr2ogr('-f', 'MapInfo File', at('counties.tab'), WORLD, 'disputed_borders');
  ogr2ogr('-f', 'MapInfo File', at('exchange.mif'), WORLD, 'disputed_borders');
  writeFileSync(
    join(parts, 'sheet.csv'),
    'id,lon,lat,day,big,code\n1,7.5,50.25,2024-02-29,12345678901234,x\n2,8,51,2024-03-01,2,007\n',
  );
  for (const [format, name] of [
    ['XLSX', 'stations.xlsx'],
    ['ODS', 'posts.ods'],
  ] as const)
    ogr2ogr('-f', format, at(name), '-oo', 'AUTODETECT_TYPE=YES', join(parts, 'sheet.csv'), '-nln', 'Sheet1');
  ogr2ogr('-f', 'XLSX', at('budget.xlsx'), table, '-nln', 'costs');
  ogr2ogr(
    '-f',
    'GPKG',
    at('survey.gpkg'),
    WORLD,
    'disputed_borders',
    '-nln',
    'to_be_mapped',
    '-where',
    '1 = 0',
  );
  refusals();
  damagedFiles();
  server = await startServer({ sources: [folder] });
}, 120_000);
afterAll(async () => {
  await server?.stop();
  for (const path of [folder, parts]) rmSync(path, { recursive: true, force: true });
});

/** Two waypoints and a track of three points; no route. */
const GPX = `<gpx version="1.1" creator="test" xmlns="http://www.topografix.com/GPX/1/1">
<wpt lat="50" lon="7"><ele>120</ele><name>Start</name></wpt><wpt lat="50.5" lon="7.25"><name>End</name></wpt>
<trk><name>Way</name><trkseg><trkpt lat="50" lon="7"/><trkpt lat="50.2" lon="7.1"/><trkpt lat="50.5" lon="7.25"/></trkseg></trk></gpx>`;

/** Two objects on quantized arcs. */
const TOPOJSON = JSON.stringify({
  type: 'Topology',
  transform: { scale: [0.5, 0.5], translate: [10, 20] },
  arcs: [
    [
      [0, 0],
      [2, 0],
      [0, 2],
      [-2, -2],
    ],
  ],
  objects: {
    plots: {
      type: 'GeometryCollection',
      geometries: [{ type: 'Polygon', arcs: [[0]], properties: { owner: 'A' } }],
    },
    fences: {
      type: 'GeometryCollection',
      geometries: [{ type: 'LineString', arcs: [0], properties: { height: 2 } }],
    },
  },
});

function refusals(): void {
  writeFileSync(at('notes.zip'), zip([{ name: 'notes.txt', content: 'x' }]));
  writeFileSync(at('locked.zip'), zip([{ name: 'a.shp', content: 'x', encrypted: true }]));
  writeFileSync(at('bomb.zip'), zip([{ name: 'a.shp', content: Buffer.alloc(64 << 20) }]));
  writeFileSync(at('out.zip'), zip([{ name: '../a.shp', content: 'x' }]));
  writeFileSync(at('images.zip'), zip([{ name: 'scene.tif', content: 'x' }]));
  writeFileSync(at('bomb.geojson.gz'), gzipSync(Buffer.alloc(64 << 20)));
  writeFileSync(at('cut.geojson.gz'), gzipSync(readFileSync(HIRE)).subarray(0, 2000));
  writeFileSync(at('bomb.xlsx'), zip([{ name: 'xl/workbook.xml', content: Buffer.alloc(64 << 20) }]));
  writeFileSync(
    at('virtual.xlsx'),
    '<OGRVRTDataSource><OGRVRTLayer name="a"><SrcDataSource>/etc/passwd</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>',
  );
  writeFileSync(
    at('empty.gpx'),
    '<gpx version="1.1" creator="test" xmlns="http://www.topografix.com/GPX/1/1"></gpx>',
  );
  for (const name of [
    'cloud.laz',
    'city.osm.pbf',
    'all.tar.gz',
    'old.mdb',
    'plan.dwg',
    'scene.ecw',
    'wind.grib2',
    'dem.tif.gz',
  ])
    writeFileSync(at(name), 'x');
  mkdirSync(at('broken.gdb'));
  copyFileSync(HIRE, at('broken.gdb/gdb'));
}

interface Feature {
  geometry: { type: string; coordinates: number[] };
  properties: Record<string, unknown>;
}

async function items(id: string): Promise<{ numberMatched: number; features: Feature[] }> {
  const answer = await fetch(`${server.url}/ogc/features/collections/${id}/items?f=json&limit=1000`);
  expect(answer.status, id).toBe(200);
  return (await answer.json()) as { numberMatched: number; features: Feature[] };
}

/** Rows of a source as OGR gives them: each as its attributes, in an order of their own. */
function rowsOf(path: string, layer: string): string[] {
  const text = ogr2ogr('-f', 'GeoJSONSeq', '/vsistdout/', path, layer);
  return text
    .trim()
    .split('\n')
    .map((line) => rowOf(JSON.parse(line) as Feature))
    .sort();
}
const rowOf = ({ properties }: Feature) =>
  JSON.stringify(
    Object.entries(properties)
      .filter(([name]) => !/^(fid|objectid|shape_)/i.test(name))
      .sort(),
  );

describe('a file of its format', () => {
  it.each([
    ['cycle_hire', HIRES],
    ['lines', HIRES],
    ['sequence', HIRES],
    ['single', 1],
    ['records', HIRES],
    ['docks', HIRES],
    ['plan', HIRES],
    ['counties', 46],
    ['exchange', 46],
    ['one', 46],
    ['folder_borders', 46],
  ])('%s is published with all of its features', async (id, count) => {
    expect((await items(id)).numberMatched).toBe(count);
  });

  it.each(['cycle_hire', 'lines', 'sequence', 'records'])(
    '%s has the attributes of the source',
    async (id) => {
      expect((await items(id)).features.map(rowOf).sort()).toEqual(rowsOf(HIRE, 'cycle_hire'));
    },
  );

  it('has the attributes of the source in a folder of tables', async () => {
    const { features } = await items('folder_borders');
    expect(features.map(rowOf).sort()).toEqual(rowsOf(at('borders.gdb'), 'folder_borders'));
  });

  it.each([
    ['two-shapefiles', 'two shapefiles.zip'],
    ['tables-gdb', 'tables.gdb.zip'],
  ])('%s is an archive of two layers, each a collection', async (group) => {
    expect((await items(`${group}-countries`)).numberMatched).toBe(240);
    expect((await items(`${group}-disputed_borders`)).numberMatched).toBe(46);
  });

  it('keeps the CRS of a zipped shapefile', async () => {
    const answer = await fetch(`${server.url}/ogc/features/collections/one?f=json`);
    expect(await answer.json()).toMatchObject({ storageCrs: 'http://www.opengis.net/def/crs/EPSG/0/4326' });
  });

  it('has a collection for each kind of feature in a GPX file, but none for kinds without any', async () => {
    const { features } = await items('walk_waypoints');
    expect(features.map(({ properties }) => properties['name']).sort()).toEqual(['End', 'Start']);
    expect((await items('walk_tracks')).features[0]!.properties['name']).toBe('Way');
    expect((await items('walk_track_points')).numberMatched).toBe(3);
    for (const kind of ['routes', 'route_points'])
      expect((await fetch(`${server.url}/ogc/features/collections/walk_${kind}?f=json`)).status).toBe(404);
  });

  it('has a collection for each object of a topology, with the arcs put together', async () => {
    const [plot] = (await items('plots')).features;
    expect(plot!.properties['owner']).toBe('A');
    const numbers = (plot!.geometry.coordinates as unknown as number[][][]).flat(3) as unknown as number[];
    const positions = numbers.flatMap((x, index) => (index % 2 === 0 ? [`${x},${numbers[index + 1]}`] : []));
    expect(positions.sort()).toEqual(['10,20', '10,20', '11,20', '11,21']);
    expect((await items('fences')).features[0]!.properties['height']).toBe(2);
  });

  it.each(['stations', 'posts'])('%s is a sheet whose rows are points, with typed columns', async (id) => {
    const { features } = await items(id);
    const rows = features.map(({ geometry, properties }) => ({ ...properties, at: geometry.coordinates }));
    expect(rows.sort((a, b) => Number(a['id' as never]) - Number(b['id' as never]))).toEqual([
      { id: 1, day: '2024-02-29', big: 12345678901234, code: 'x', at: [7.5, 50.25] },
      { id: 2, day: '2024-03-01', big: 2, code: '007', at: [8, 51] },
    ]);
  });

  it('is published empty where it can be edited', async () => {
    expect((await items('to_be_mapped')).numberMatched).toBe(0);
  });
});

describe('what is not published is named', () => {
  it.each([
    ['borders.gdb', /stock.*No geometry/],
    ['town.gpkg (prices)', /Tables without a geometry/],
    ['town.gpkg (unregistered)', /Tables without a geometry/],
    ['prices.gpkg (prices_alone)', /Tables without a geometry/],
    ['budget.xlsx', /costs: No geometry, and no columns of coordinates/],
    ['notes.zip', /not published: \S+\/notes\.zip: The archive has no geodata in a supported format\./],
    ['locked.zip', /protected by a password/],
    ['bomb.zip', /compressed more than 200 times/],
    ['out.zip', /damaged, or of another kind/],
    [
      'images.zip',
      /not published: \S+\/images\.zip: The archive has files that must be unpacked first: scene\.tif\./,
    ],
    ['bomb.geojson.gz', /compressed more than 200 times/],
    ['cut.geojson.gz', /damaged, or of another kind/],
    ['bomb.xlsx', /compressed more than 200 times/],
    ['virtual.xlsx', /damaged, or of another kind/],
    ['empty.gpx', /no features with a geometry/],
    ['cloud.laz', /Point clouds/],
    ['city.osm.pbf', /OpenStreetMap/],
    ['all.tar.gz', /Unpack it/],
    ['lonely.shp', /The files lonely\.shx and lonely\.dbf are missing\. Copy them/],
    ['noindex.shp', /The file noindex\.shx is missing\. Copy it/],
    ['cut.geojson', /The JSON ends at byte 3,000, where .* is expected: the file is truncated\./],
    ['comma.geojson', /The JSON has "x" at byte 9, where a value is expected\. Correct the text there\./],
    ['error.geojson', /an HTML page, such as an error page of a download/],
    ['settings.json', /neither GeoJSON, .*: its members are name, version\./],
    ['cut.gpx', /The XML ends at byte 60 within an element/],
    ['nothing.csv', /The file is empty \(0 bytes\)/],
    ['rows.csv', /The layer rows is empty\. Add features/],
    ['words.tif', /The file is not TIFF: it starts with "hello"/],
    ['parts.vrt', /refers to files that do not exist: nope\.tif\./],
    [
      'old.mdb',
      /not published: \S+\/old\.mdb: Databases of this kind are not supported\. Copy its layers into a GeoPackage/,
    ],
    ['plan.dwg', /not published: \S+\/plan\.dwg: DWG is not supported\. Save it as DXF\./],
    ['scene.ecw', /not free/],
    ['wind.grib2', /GRIB/],
    ['dem.tif.gz', /Compressed rasters/],
    ['broken.gdb', /damaged, or of a version/],
  ])('%s, with the reason', (name, reason) => {
    const line = server
      .log()
      .split('\n')
      .find((text) => /not published: /.test(text) && text.includes(`/${name}`));
    expect(line).toMatch(reason);
  });

  it('with reason and remedy in the list of sources, which is for operators', async () => {
    const get = async (path: string, headers: Record<string, string> = { 'x-api-key': server.adminKey }) => {
      const response = await fetch(`${server.url}${path}`, { headers });
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    const list = async (query: string) => {
      const { headers, text } = await get(`/api/v1/admin/sources?${query}`);
      return { tag: headers.get('etag'), ...JSON.parse(text).data };
    };
    expect((await get('/api/v1/admin/sources', {})).status).toBe(401);
    const [lonely] = (await list('state=refused&q=LONELY')).sources;
    expect(lonely).toMatchObject({
      source: expect.stringMatching(/\/lonely\.shp$/),
      reason: 'The files lonely.shx and lonely.dbf are missing.',
      remedy: 'Copy them into the folder of lonely.shp.',
      state: 'refused',
      layer: null,
    });
    const pages: { sourceId: string }[][] = [];
    for (let cursor = ''; ; ) {
      const page = await list(`limit=7${cursor}`);
      pages.push(page.sources);
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    const { sources, total, tag } = await list('limit=1000');
    expect(pages.flat().map(({ sourceId }) => sourceId)).toEqual(
      sources.map(({ sourceId }: { sourceId: string }) => sourceId),
    );
    expect(total).toBe(sources.length);
    const headers = { 'x-api-key': server.adminKey, 'if-none-match': tag };
    expect((await get('/api/v1/admin/sources?limit=1000', headers)).status).toBe(304);
    expect((await get('/api/v1/admin/sources?state=lost')).status).toBe(400);
    const known = (await get('/', { accept: 'text/html', 'x-api-key': server.adminKey })).text;
    expect(known).toMatch(/\d+ sources are not published/);
    expect(known).toContain('The files lonely.shx and lonely.dbf are missing.');
    expect((await get('/', { accept: 'text/html' })).text).not.toContain('lonely');
    expect((await get('/sources', { accept: 'text/html' })).status).toBe(401);
    const page = await get('/sources?q=lonely', { accept: 'text/html', 'x-api-key': server.adminKey });
    expect(page.text).toContain('Copy them into the folder of lonely.shp.');
    expect(page.text).not.toContain('cut.gpx');
  });

  it('until it is repaired and the source is read again', async () => {
    const admin = async (method: string, path: string) => {
      const headers = { 'x-api-key': server.adminKey };
      const response = await fetch(`${server.url}/api/v1/admin/sources${path}`, { method, headers });
      return (await response.json()).data;
    };
    const [{ sourceId }] = (await admin('GET', '?q=noindex.shp')).sources;
    copyFileSync(join(parts, 'parts_of_a_shape.shx'), at('noindex.shx'));
    const { sources } = await admin('POST', `/${sourceId}/retry`);
    expect(sources).toMatchObject([{ state: 'published', collections: [{ collectionId: 'noindex' }] }]);
  });

  it('and a table without rows is not', () => {
    expect(server.log()).not.toMatch(/town\.gpkg \(bare\)/);
    const table = server.log().replace(/^\{.*$/gm, '');
    expect(table.match(/town\.gpkg/g)).toHaveLength(3);
  });

  it('after a second start too, when the copies are there already', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'graticule-formats-data-'));
    try {
      for (let start = 1; start <= 2; start++) {
        const one = await startServer({ sources: [at('borders.gdb')], dataDir });
        await one.stop();
        expect(one.log().match(/borders\.gdb \(stock\): No geometry/g)).toHaveLength(start);
      }
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
