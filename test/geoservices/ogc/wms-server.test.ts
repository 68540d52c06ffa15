import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../e2e/support/http.js';
import { OgcSchemas } from '../../support/ogc-schemas.js';
import { pythonOfClients } from '../../support/python.js';
import { expectDrawnByQgis } from '../../support/qgis-drawing.js';
import { layerNumbers, type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Map services as WMS: clients that others wrote see what `export` draws. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const home = mkdtempSync(join(tmpdir(), 'graticule-wms-'));
let server: SharedServer;
let service: string;
let countries: string;
let schemas: OgcSchemas;

beforeAll(async () => {
  schemas = new OgcSchemas();
  server = await sharedServer();
  service = `${server.url}/rest/services/default/MapServer`;
  countries = `${(await layerNumbers(server))['countries']}`;
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
  schemas?.remove();
});

const ask = (members: Record<string, string>) =>
  fetch(`${service}/WMSServer?${new URLSearchParams({ SERVICE: 'WMS', VERSION: '1.3.0', ...members })}`);
const pixels = async (picture: ArrayBuffer | Buffer) => sharp(picture).ensureAlpha().raw().toBuffer();

const WINDOW = { WIDTH: '110', HEIGHT: '110', FORMAT: 'image/png', TRANSPARENT: 'TRUE', STYLES: '' };
const map = () => ({ REQUEST: 'GetMap', LAYERS: countries, CRS: 'EPSG:4326', BBOX: '45,5,56,16', ...WINDOW });

/** The same window by `export`. */
async function exported(): Promise<Buffer> {
  const window = { bbox: '5,45,16,56', bboxSR: '4326', size: '110,110', layers: `show:${countries}` };
  const query = new URLSearchParams({ ...window, transparent: 'true', f: 'image' });
  return pixels(await (await fetch(`${service}/export?${query}`)).arrayBuffer());
}

describe('clients', () => {
  it('OWSLib reads both versions, draws, asks what is there and is told what is wrong', async () => {
    const text = await run(
      pythonOfClients(),
      ['test/geoservices/read_with_owslib.py', service, countries],
      {},
    );
    const expected = await exported();
    for (const [i, read] of (JSON.parse(text) as Json[]).entries()) {
      expect(read).toMatchObject({ version: ['1.3.0', '1.1.1'][i], queryable: 1 });
      expect(read.box[0]).toBeCloseTo(-180, 0);
      expect(read.crs).toEqual(expect.arrayContaining(['EPSG:3857', 'EPSG:4326']));
      expect(read.operations).toEqual(expect.arrayContaining(['GetMap', 'GetFeatureInfo']));
      expect((await fetch(read.legend)).headers.get('content-type')).toBe('image/png');
      expect(await pixels(Buffer.from(read.picture, 'base64'))).toEqual(expected);
      expect(read.info).toContain('Germany');
      expect(read.problem).toContain('there is no layer 999');
    }
  }, 60_000);

  it('QGIS draws a layer', async () => {
    const uri = new URLSearchParams({
      ...{ crs: 'EPSG:3857', format: 'image/png', layers: countries, styles: 'default' },
      url: `${service}/WMSServer`,
    });
    await expectDrawnByQgis(home, uri);
  }, 120_000);

  it('GDAL draws a layer', async () => {
    const query = `SERVICE=WMS&VERSION=1.3.0&REQUEST=GetMap&LAYERS=${countries}&CRS=EPSG:3857&BBOX=-20037508,-20037508,20037508,20037508`;
    const picture = join(home, 'map.png');
    const window = ['-projwin', '0', '8000000', '2000000', '6000000', '-outsize', '100', '100'];
    await run(
      'gdal_translate',
      ['-q', '-of', 'PNG', ...window, `WMS:${service}/WMSServer?${query}&FORMAT=image/png`, picture],
      { GDAL_DEFAULT_WMS_CACHE_PATH: home },
    );
    const { channels } = await sharp(picture).stats();
    expect(Math.max(...channels.map(({ stdev }) => stdev))).toBeGreaterThan(5);
  }, 120_000);
});

describe('versions', () => {
  it.each([
    ['1.0.0', '1.1.1'],
    ['1.1.1', '1.1.1'],
    ['1.2.0', '1.1.1'],
    ['1.3.0', '1.3.0'],
    ['1.10.0', '1.3.0'],
    ['2.0.0', '1.3.0'],
    ['10.0', '1.3.0'],
  ])('%s is answered by %s', async (asked, version) => {
    const response = await ask({ VERSION: asked, REQUEST: 'GetCapabilities' });
    const isOld = version === '1.1.1';
    expect(response.headers.get('content-type')).toBe(isOld ? 'application/vnd.ogc.wms_xml' : 'text/xml');
    const document = await response.text();
    expect(document).toContain(`Capabilities version="${version}"`);
    schemas.validate(
      isOld ? 'ogc/wms/1.1.1/WMS_MS_Capabilities.dtd' : 'ogc/wms/1.3.0/capabilities_1_3_0.xsd',
      document,
    );
  });

  it('1.1.1 has exceptions of its own', async () => {
    const old = { ...map(), VERSION: '1.1.1', SRS: 'EPSG:4326' };
    for (const [members, code] of [
      [{ LAYERS: '999' }, ' code="LayerNotDefined"'],
      [{ SRS: 'EPSG:0' }, ' code="InvalidSRS"'],
      [{ REQUEST: 'Odd' }, ''],
      [{ REQUEST: 'GetFeatureInfo', QUERY_LAYERS: countries, X: '110', Y: '1' }, ''],
    ] as const) {
      const response = await ask({ ...old, ...members });
      expect([response.status, response.headers.get('content-type')]).toEqual([
        ...[400, 'application/vnd.ogc.se_xml'],
      ]);
      const report = await response.text();
      expect(report).toContain(`<ServiceExceptionReport version="1.1.1"><ServiceException${code}>`);
      schemas.validate('ogc/wms/1.1.1/WMS_exception_1_1_1.dtd', report);
    }
  });

  it.each([
    ['VERSION', { VERSION: 'odd' }],
    ['SERVICE', { SERVICE: 'WFS' }],
  ])('%s must be right', async (name, members) => {
    const response = await ask({ REQUEST: 'GetCapabilities', ...(members as Record<string, string>) });
    expect(response.status).toBe(400);
    const report = await response.text();
    expect(report).toContain(`<ServiceException>${name}`);
    schemas.validate('ogc/wms/1.3.0/exceptions_1_3_0.xsd', report);
  });
});

describe('maps', () => {
  it('take a parameter twice with one value, and not with two', async () => {
    const query = new URLSearchParams({ SERVICE: 'WMS', VERSION: '1.3.0', ...map() }).toString();
    const twice = await fetch(`${service}/WMSServer?${query}&STYLES=&request=GetMap&REQUEST=GetMap`);
    expect([twice.status, twice.headers.get('content-type')]).toEqual([200, 'image/png']);
    for (const other of ['request=GetCapabilities', 'REQUEST=GetCapabilities'])
      expect((await fetch(`${service}/WMSServer?${query}&${other}`)).status).toBe(400);
  });

  it('have a background, and layers in their order', async () => {
    const corner = { ...map(), BBOX: '40,-30,45,-20', TRANSPARENT: 'FALSE', BGCOLOR: '0x102030' };
    const data = await pixels(await (await ask(corner)).arrayBuffer());
    expect([...data.subarray(0, 4)]).toEqual([0x10, 0x20, 0x30, 255]);
    const formats = await ask({ ...map(), FORMAT: 'image/jpeg' });
    expect(formats.headers.get('content-type')).toBe('image/jpeg');
  });

  it('tell what is there as JSON and HTML', async () => {
    const info = { ...map(), REQUEST: 'GetFeatureInfo', QUERY_LAYERS: countries, I: '50', J: '50' };
    const json = (await (await ask({ ...info, INFO_FORMAT: 'application/json' })).json()) as Json;
    expect(json.features).toHaveLength(1);
    expect(JSON.stringify(json.features[0].properties)).toContain('Germany');
    expect(await (await ask({ ...info, INFO_FORMAT: 'text/html' })).text()).toContain('<td>Germany</td>');
  });

  it.each([
    ['LAYERS', { LAYERS: '999' }, 'LayerNotDefined'],
    ['LAYERS', { LAYERS: 'x' }, 'LayerNotDefined'],
    ['STYLES', { STYLES: 'odd' }, 'StyleNotDefined'],
    ['STYLE', { REQUEST: 'GetLegendGraphic', STYLE: 'odd' }, 'StyleNotDefined'],
    ['CRS', { CRS: 'EPSG:0' }, 'InvalidCRS'],
    ['FORMAT', { FORMAT: 'image/bmp' }, 'InvalidFormat'],
    ['REQUEST', { REQUEST: 'DescribeLayer' }, 'OperationNotSupported'],
    ['BBOX', { BBOX: '1,2,3' }, undefined],
    ['BBOX', { BBOX: '56,5,45,16' }, undefined],
    ['BBOX', { BBOX: '-1e300,0,1e300,1' }, undefined],
    ['WIDTH', { WIDTH: '100000' }, undefined],
    ['BGCOLOR', { BGCOLOR: 'red"><' }, undefined],
    ['I', { REQUEST: 'GetFeatureInfo', I: '110', J: '1' }, 'InvalidPoint'],
  ])('say what is wrong with %s', async (name, members, code) => {
    const layers = { QUERY_LAYERS: countries, LAYER: countries };
    const response = await ask({ ...map(), ...layers, ...(members as Record<string, string>) });
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/xml']);
    const text = await response.text();
    expect(text).toContain(code ? `<ServiceException code="${code}">${name}` : `<ServiceException>${name}`);
  });

  it('are of no service that is not there', async () => {
    const response = await fetch(
      `${server.url}/rest/services/nothing/MapServer/WMSServer?REQUEST=GetCapabilities`,
    );
    expect(response.status).toBe(404);
    expect(await response.text()).toContain('<ServiceExceptionReport');
  });
});
