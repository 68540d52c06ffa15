import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../e2e/support/http.js';
import { launchBrowser } from '../support/browser.js';
import { pythonOfClients } from '../support/python.js';
import { openSavedPage } from '../support/saved-page.js';
import { layerNumbers, type SharedServer, sharedServer } from '../support/shared-server.js';

/** Clients of GeoServices that others wrote read a feature service and a map service. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

let server: SharedServer;
let layer: string;
const home = mkdtempSync(join(tmpdir(), 'graticule-geoservices-'));

beforeAll(async () => {
  server = await sharedServer();
  const document = (await (await fetch(`${server.url}/?f=json`)).json()) as Json;
  const { layerId } = document.collections.find(({ id }: Json) => id === 'countries');
  layer = `${server.url}/rest/services/default/FeatureServer/${layerId}`;
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

it('GDAL reads all pages of a layer', async () => {
  const url = `ESRIJSON:${layer}/query?where=1%3D1&outFields=*&f=json&orderByFields=fid&resultRecordCount=50`;
  const text = await run('ogrinfo', ['-ro', '-al', '-geom=SUMMARY', url], {});
  expect(text).toContain('Feature Count: 240');
  expect(text).toContain('ID["EPSG",4326]');
  expect(text).toMatch(/NAME \(String\) = France\n/);
  expect(text).toMatch(/iso_a2: String \(2\.0\)/);
}, 60_000);

it('QGIS opens a layer, reads its features and those of a map window', async () => {
  const text = await run(
    '/usr/bin/python3',
    [
      'test/e2e/clients/read_with_qgis.py',
      `crs='EPSG:4326' url='${layer}'`,
      ...['arcgisfeatureserver', 'NAME'],
      ...['5', '46', '11', '48'],
    ],
    { HOME: home, QT_QPA_PLATFORM: 'offscreen' },
  );
  const read = JSON.parse(text.trim().split('\n').at(-1)!);
  expect(read).toMatchObject({ crs: 'EPSG:4326', features: 240, geometries: 240, renderer: 'singleSymbol' });
  expect(read.fields).toEqual(expect.arrayContaining(['NAME', 'ISO_A3']));
  expect(read.inside).toEqual(['Austria', 'France', 'Germany', 'Italy', 'Liechtenstein', 'Switzerland']);
}, 120_000);

it('QGIS draws a map service, and says what lies at a place', async () => {
  const service = layer.replace(/FeatureServer.*/, 'MapServer');
  const text = await run(
    '/usr/bin/python3',
    [
      'test/geoservices/draw_with_qgis.py',
      service,
      layer.slice(layer.lastIndexOf('/') + 1),
      '1113194',
      '6446275',
    ],
    { HOME: home, QT_QPA_PLATFORM: 'offscreen' },
  );
  const read = JSON.parse(text.trim().split('\n').at(-1)!);
  expect(read.crs).toBe('EPSG:3857');
  // Germany is in the middle; the corner is the sea, without a colour.
  expect(read.middle[3]).toBeGreaterThan(50);
  expect(read.corner[3]).toBe(0);
  expect(read.names).toContain('Germany');
}, 120_000);

it('QGIS draws an image service', async () => {
  const service = `${server.url}/rest/services/olinda_dem_utm25s/ImageServer`;
  const text = await run(
    '/usr/bin/python3',
    ['test/geoservices/draw_with_qgis.py', service, '', '-34.88', '-8'],
    { HOME: home, QT_QPA_PLATFORM: 'offscreen' },
  );
  const read = JSON.parse(text.trim().split('\n').at(-1)!);
  expect(read.middle[3]).toBe(255);
  expect(read.corner[3]).toBe(0);
}, 120_000);

it('QGIS draws a vector tile service in its style', async () => {
  const service = layer.replace(/FeatureServer.*/, 'VectorTileServer');
  const text = await run(
    '/usr/bin/python3',
    ['test/geoservices/draw_with_qgis.py', service, '', '1113194', '6446275'],
    { HOME: home, QT_QPA_PLATFORM: 'offscreen' },
  );
  const read = JSON.parse(text.trim().split('\n').at(-1)!);
  expect(read.crs).toBe('EPSG:3857');
  expect(read.middle[3]).toBeGreaterThan(50);
  expect(read.corner[3]).toBe(0);
}, 120_000);

it('GDAL draws the tiles of a map service', async () => {
  const env = { GDAL_DEFAULT_WMS_CACHE_PATH: home };
  const service = layer.replace(/FeatureServer.*/, 'MapServer');
  const text = await run('gdalinfo', [`${service}?f=json&pretty=true`], env);
  expect(text).toContain('Driver: WMS');
  const picture = join(home, 'map.png');
  const window = ['-projwin', '0', '8000000', '2000000', '6000000', '-outsize', '100', '100'];
  await run('gdal_translate', ['-q', '-of', 'PNG', ...window, `${service}?f=json&pretty=true`, picture], env);
  const { data } = await sharp(picture).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const middle = (100 * 80 + 55) * 4;
  expect(data[middle + 3]).toBeGreaterThan(50);
}, 120_000);

it('esridump writes all features of a layer', async () => {
  const text = await run(pythonOfClients(), ['-m', 'esridump.cli', '--jsonlines', layer, '-'], {});
  const features = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(features).toHaveLength(240);
  const france = features.find(({ properties }: Json) => properties.iso_a2 === 'FR');
  expect(france).toMatchObject({ geometry: { type: 'MultiPolygon' }, properties: { NAME: 'France' } });
}, 60_000);

it('restgdf reads features, pages, counts and the catalogue', async () => {
  const items = `${server.url}/ogc/features/collections/countries/items?f=json&limit=1000`;
  const numbers = await layerNumbers(server);
  const longer = layer.replace(/\d+$/, String(numbers['states_provinces']));
  const script = [
    'test/geoservices/read_with_restgdf.py',
    `${server.url}/rest/services`,
    layer,
    items,
    longer,
  ];
  const read = JSON.parse(await run(pythonOfClients(), ['-W', 'ignore', ...script], {}));
  const { features } = (await (await fetch(items)).json()) as Json;
  expect(read).toMatchObject({ count: features.length, counted: features.length, crs: 4326, ids: true });
  expect(read.columns).toEqual(Object.keys(features[0].properties));
  expect(read.different).toEqual([]);
  const names: string[] = features.map(({ properties }: Json) => properties.NAME);
  expect(new Set(read.part)).toEqual(new Set(names.filter((name) => name?.startsWith('S'))));
  const path = '/ogc/features/collections/states_provinces/items?f=json&limit=1';
  const { numberMatched } = (await (await fetch(server.url + path)).json()) as Json;
  expect(read.rows).toBe(numberMatched);
  expect(read.pages).toEqual([1000, 1000, 1000, 1000, numberMatched - 4000]);
  expect(read.layers['default/FeatureServer']).toContain('Countries');
}, 60_000);

describe('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  async function readWith(library: string): Promise<Json> {
    const page = readFileSync(`test/geoservices/pages/${library}.html`, 'utf8');
    const file = join(home, `${library}.html`);
    const number = layer.slice(layer.lastIndexOf('/') + 1);
    writeFileSync(file, page.replaceAll('http://localhost:8080', server.url).replaceAll('LAYER', number));
    const { page: opened, problems } = await openSavedPage(browser, file);
    await opened.waitForFunction('window.read');
    const reading = await opened.evaluate('window.read()');
    expect(problems).toEqual([]);
    await opened.context().close();
    return reading;
  }

  it('Esri Leaflet holds all features of a layer, and queries it', async () => {
    const read = await readWith('esri-leaflet');
    expect(new Set(read.features).size).toBe(240);
    const items = `${server.url}/ogc/features/collections/countries/items?f=json&limit=1000`;
    const { features } = (await (await fetch(`${items}&filter=NAME%20LIKE%20'S%25'`)).json()) as Json;
    expect(read.count).toBe(features.length);
    expect(read.ids).toEqual(features.map(({ id }: Json) => id));
    expect(read.north).toBeGreaterThan(60);
    expect(read.near).toEqual(['Switzerland']);
  }, 120_000);

  it('Esri Leaflet draws a map service, as one picture and by tiles, and asks what lies at a place', async () => {
    const read = await readWith('esri-leaflet-maps');
    expect(read.picture).toMatchObject({ width: 800, height: 600 });
    expect(read.tiles).toBeGreaterThan(3);
    expect(read.names).toContain('Germany');
    expect(read.found).toEqual(['Germany']);
    expect(read.image).toMatchObject({ naturalWidth: 800, pixel: expect.stringMatching(/^\d+$/) });
    expect(read.legend).toContain('Countries');
  }, 120_000);

  it('OpenLayers holds all features of a layer, read by tiles', async () => {
    const { features } = await readWith('openlayers');
    expect(new Set(features).size).toBe(240);
  }, 120_000);
});
