import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { run } from '../e2e/support/http.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Clients of GeoServices that others wrote read a feature service. */

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
    ['test/geoservices/read_with_qgis.py', layer, 'NAME', '5', '46', '11', '48'],
    { HOME: home, QT_QPA_PLATFORM: 'offscreen' },
  );
  const read = JSON.parse(text.trim().split('\n').at(-1)!);
  expect(read).toMatchObject({ crs: 'EPSG:4326', features: 240, geometries: 240, renderer: 'singleSymbol' });
  expect(read.fields).toEqual(expect.arrayContaining(['NAME', 'ISO_A3']));
  expect(read.inside).toEqual(['Austria', 'France', 'Germany', 'Italy', 'Liechtenstein', 'Switzerland']);
}, 120_000);
