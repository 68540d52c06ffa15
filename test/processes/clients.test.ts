import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { run } from '../e2e/support/http.js';
import { pythonOfClients } from '../support/python.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';
import { ProcessClient } from './support.js';

/** Programs that nobody here wrote execute processes. */

const FRANCE = ['countries', "iso_a2 = 'FR'"];

let server: SharedServer;
let home: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'graticule-process-clients-'));
  server = await sharedServer();
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

it('OWSLib reads what there is, executes a process and reads its results, waiting and as a job', async () => {
  const args = [
    'test/processes/execute_with_owslib.py',
    `${server.url}/ogc/processes`,
    server.adminKey,
    ...FRANCE,
  ];
  expect(JSON.parse(await run(pythonOfClients(), args))).toEqual({
    listed: true,
    inputs: expect.arrayContaining(['distance', 'features']),
    status: 'successful',
    types: ['MultiPolygon'],
    same: true,
  });
});

it('QGIS executes a process by a request and opens its results', async () => {
  const args = [
    'test/processes/execute_with_qgis.py',
    `${server.url}/ogc/processes`,
    server.adminKey,
    ...FRANCE,
    home,
  ];
  const text = await run('/usr/bin/python3', args, { HOME: home, QT_QPA_PLATFORM: 'offscreen' });
  const { area, ...others } = JSON.parse(text.trim().split('\n').at(-1)!);
  expect(others).toEqual({ status: 'successful', crs: 'EPSG:4326', features: 1 });
  const inputs = { features: { collection: FRANCE[0], filter: FRANCE[1] }, distance: 10, unit: 'kilometre' };
  const { features } = await new ProcessClient(server).results('geometry.buffer', { inputs });
  const [{ geometry }] = features.features;
  const parts = geometry.coordinates as [number, number][][][];
  expect(parts.flat().reduce((sum, ring) => sum + signedArea(ring), 0)).toBeCloseTo(area, 6);
});

/** Square degrees; positive for counterclockwise rings. */
function signedArea(ring: readonly [number, number][]): number {
  const terms = ring.slice(1).map(([x, y], i) => ring[i]![0] * y - x * ring[i]![1]);
  return terms.reduce((sum, term) => sum + term, 0) / 2;
}
