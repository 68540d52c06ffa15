import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../e2e/support/http.js';
import { OgcSchemas } from '../../support/ogc-schemas.js';
import { pythonOfClients } from '../../support/python.js';
import { expectDrawnByQgis } from '../../support/qgis-drawing.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Map services as WMTS: clients that others wrote get the tiles of the service. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const home = mkdtempSync(join(tmpdir(), 'graticule-wmts-'));
let server: SharedServer;
let service: string;
let schemas: OgcSchemas;

beforeAll(async () => {
  schemas = new OgcSchemas();
  server = await sharedServer();
  service = `${server.url}/rest/services/default/MapServer`;
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
  schemas?.remove();
});

const CAPABILITIES = () => `${service}/WMTS/1.0.0/WMTSCapabilities.xml`;
const bytes = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer());

describe('clients', () => {
  it('OWSLib gets the tile that the service has', async () => {
    const text = await run(
      pythonOfClients(),
      ['test/geoservices/ogc/wmts_with_owslib.py', CAPABILITIES(), '4', '5', '8'],
      {},
    );
    const read = JSON.parse(text) as Json;
    expect(read).toMatchObject({ name: 'default', sets: ['GoogleMapsCompatible'], widths: [1, 2, 4] });
    expect(read.crs).toContain('3857');
    expect(Buffer.from(read.tile, 'base64')).toEqual(await bytes(`${service}/tile/4/5/8`));
  }, 60_000);

  it('GDAL draws the tiles', async () => {
    const picture = join(home, 'map.png');
    const window = ['-projwin', '0', '8000000', '2000000', '6000000', '-outsize', '100', '100'];
    await run('gdal_translate', ['-q', '-of', 'PNG', ...window, `WMTS:${CAPABILITIES()}`, picture], {
      GDAL_DEFAULT_WMS_CACHE_PATH: home,
    });
    const { channels } = await sharp(picture).stats();
    expect(Math.max(...channels.map(({ stdev }) => stdev))).toBeGreaterThan(5);
  }, 120_000);

  it('QGIS draws the tiles', async () => {
    const uri = new URLSearchParams({
      ...{ crs: 'EPSG:3857', format: 'image/png', layers: 'default', styles: 'default' },
      ...{ tileMatrixSet: 'GoogleMapsCompatible', url: CAPABILITIES() },
    });
    await expectDrawnByQgis(home, uri);
  }, 120_000);
});

describe('tiles by pairs', () => {
  const ask = (members: Record<string, string>) =>
    fetch(
      `${service}/WMTS?${new URLSearchParams({
        ...{ service: 'WMTS', version: '1.0.0', request: 'GetTile', layer: 'default', style: 'default' },
        ...{ tilematrixset: 'GoogleMapsCompatible', tilematrix: '4', tilerow: '5', tilecol: '8' },
        ...{ format: 'image/png', ...members },
      })}`,
    );

  it('are those of the service', async () => {
    expect(Buffer.from(await (await ask({})).arrayBuffer())).toEqual(await bytes(`${service}/tile/4/5/8`));
    const document = await (await ask({ request: 'GetCapabilities' })).text();
    expect(document).toBe(await (await fetch(CAPABILITIES())).text());
  });

  it('have names of parameters in any case, and an empty style', async () => {
    const query =
      'SERVICE=WMTS&Version=1.0.0&rEQUEST=GetTile&LAYER=default&Style=&TileMatrixSet=GoogleMapsCompatible';
    const response = await fetch(
      `${service}/WMTS?${query}&TILEMATRIX=4&tileRow=5&TileCol=8&FORMAT=image/png`,
    );
    expect(Buffer.from(await response.arrayBuffer())).toEqual(await bytes(`${service}/tile/4/5/8`));
  });

  it.each([
    ['service', { service: 'WMS' }, 'InvalidParameterValue'],
    ['version', { version: '2.0.0' }, 'InvalidParameterValue'],
    ['layer', { layer: 'other' }, 'InvalidParameterValue'],
    ['TileMatrixSet', { tilematrixset: 'other' }, 'InvalidParameterValue'],
    ['TileMatrix', { tilematrix: '99' }, 'InvalidParameterValue'],
    ['TileRow', { tilerow: '16' }, 'TileOutOfRange'],
    ['TileRow', { tilerow: 'x' }, 'InvalidParameterValue'],
    ['TileCol', { tilecol: '-1' }, 'TileOutOfRange'],
    ['style', { style: 'odd' }, 'InvalidParameterValue'],
    ['format', { format: 'image/gif' }, 'InvalidParameterValue'],
  ])('say what is wrong with %s', async (locator, members, code) => {
    const response = await ask(members as Record<string, string>);
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/xml']);
    expect(await response.text()).toContain(`exceptionCode="${code}" locator="${locator}"`);
  });

  it.each([
    'service',
    'request',
    'version',
    'layer',
    'style',
    'format',
    'TileMatrixSet',
    'TileMatrix',
    'TileRow',
  ])('need %s', async (name) => {
    const query = new URL((await ask({})).url).searchParams;
    query.delete(name.toLowerCase());
    const response = await fetch(`${service}/WMTS?${query}`);
    expect(response.status).toBe(400);
    const report = await response.text();
    expect(report).toContain(`exceptionCode="MissingParameterValue" locator="${name}"`);
    schemas.validate('ogc/ows/1.1.0/owsExceptionReport.xsd', report);
  });

  it.each(['GetFeatureInfo', 'GetFeature'])('are all that there is: not %s', async (request) => {
    const response = await ask({ request });
    expect(response.status).toBe(501);
    expect(await response.text()).toContain(`exceptionCode="OperationNotSupported" locator="${request}"`);
  });
});

describe('capabilities', () => {
  const ask = (query: string) => fetch(`${service}/WMTS?service=WMTS&request=GetCapabilities&${query}`);

  it('are valid, also in part', async () => {
    const schema = 'ogc/wmts/1.0/wmtsGetCapabilities_response.xsd';
    const document = await (await fetch(CAPABILITIES())).text();
    schemas.validate(schema, document);
    const part = await (await ask('Sections=Contents')).text();
    schemas.validate(schema, part);
    expect(part).not.toContain('ServiceProvider');
    expect(await (await ask('acceptversions=1.1.0,1.0.0')).text()).toBe(document);
  });

  it('are not there in another version or section', async () => {
    const failed = await ask('ACCEPTVERSIONS=2.0.0');
    expect(failed.status).toBe(400);
    expect(await failed.text()).toContain('exceptionCode="VersionNegotiationFailed">');
    const odd = await ask('SECTIONS=Odd');
    expect([odd.status, await odd.text()]).toEqual([400, expect.stringContaining('locator="sections"')]);
  });
});

describe('tiles as resources', () => {
  const tile = (path: string) => fetch(`${service}/WMTS/tile/1.0.0/${path}`);

  it('are those of the service', async () => {
    const template = /template="([^"]+)"/.exec(await (await fetch(CAPABILITIES())).text())![1]!;
    const values = {
      style: 'default',
      TileMatrixSet: 'GoogleMapsCompatible',
      TileMatrix: 4,
      TileRow: 5,
      TileCol: 8,
    };
    const url = Object.entries(values).reduce(
      (text, [name, value]) => text.replace(`{${name}}`, `${value}`),
      template,
    );
    expect(await bytes(url)).toEqual(await bytes(`${service}/tile/4/5/8`));
  });

  it.each([
    ['other/default/GoogleMapsCompatible/4/5/8.png', 'InvalidParameterValue', 'layer'],
    ['default/odd/GoogleMapsCompatible/4/5/8.png', 'InvalidParameterValue', 'style'],
    ['default/default/other/4/5/8.png', 'InvalidParameterValue', 'TileMatrixSet'],
    ['default/default/GoogleMapsCompatible/99/5/8.png', 'InvalidParameterValue', 'TileMatrix'],
    ['default/default/GoogleMapsCompatible/4/16/8.png', 'TileOutOfRange', 'TileRow'],
    ['default/default/GoogleMapsCompatible/4/5/16.png', 'TileOutOfRange', 'TileCol'],
    ['default/default/GoogleMapsCompatible/4/5/x.png', 'InvalidParameterValue', 'TileCol'],
    ['default/default/GoogleMapsCompatible/4/5/8.gif', 'InvalidParameterValue', 'format'],
  ])('%s is %s', async (path, code, locator) => {
    const response = await tile(path);
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/xml']);
    expect(await response.text()).toContain(`exceptionCode="${code}" locator="${locator}"`);
  });
});
