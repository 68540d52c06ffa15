import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../e2e/support/http.js';
import { pythonOfClients } from '../support/python.js';
import { expectDrawnByQgis } from '../support/qgis-drawing.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Map services as WMTS: clients that others wrote get the tiles of the service. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const home = mkdtempSync(join(tmpdir(), 'graticule-wmts-'));
let server: SharedServer;
let service: string;

beforeAll(async () => {
  server = await sharedServer();
  service = `${server.url}/rest/services/default/MapServer`;
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const CAPABILITIES = () => `${service}/WMTS/1.0.0/WMTSCapabilities.xml`;
const bytes = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer());

describe('clients', () => {
  it('OWSLib gets the tile that the service has', async () => {
    const text = await run(
      pythonOfClients(),
      ['test/geoservices/wmts_with_owslib.py', CAPABILITIES(), '4', '5', '8'],
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

  it.each([
    ['layer', { layer: 'other' }, 'InvalidParameterValue'],
    ['TileMatrixSet', { tilematrixset: 'other' }, 'InvalidParameterValue'],
    ['TileMatrix', { tilematrix: '99' }, 'InvalidParameterValue'],
    ['TileRow', { tilerow: '16' }, 'TileOutOfRange'],
    ['TileCol', { tilecol: '-1' }, 'TileOutOfRange'],
    ['style', { style: 'odd' }, 'InvalidParameterValue'],
    ['format', { format: 'image/gif' }, 'InvalidParameterValue'],
    ['request', { request: 'GetFeature' }, 'InvalidParameterValue'],
  ])('say what is wrong with %s', async (locator, members, code) => {
    const response = await ask(members as Record<string, string>);
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/xml']);
    expect(await response.text()).toContain(`exceptionCode="${code}" locator="${locator}"`);
  });
});
