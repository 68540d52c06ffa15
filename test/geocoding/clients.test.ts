import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { arcgisRest } from '../support/arcgis-rest.js';
import { startServer, type TestServer } from '../support/server.js';
import { importTowns } from './support.js';

/** Esri's client for programs geocodes. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const home = mkdtempSync(join(tmpdir(), 'graticule-geocoding-clients-'));
let server: TestServer;
let client: Json;
let about: { endpoint: string; authentication: Json };

beforeAll(async () => {
  server = await startServer({ sources: [] });
  await importTowns(server, 'towns');
  client = await arcgisRest(home);
  const authentication = client.ApiKeyManager.fromKey(server.adminKey);
  about = { endpoint: `${server.url}/arcgis/rest/services/towns/GeocodeServer/`, authentication };
}, 60_000);
afterAll(async () => {
  await server?.stop();
  rmSync(home, { recursive: true, force: true });
});

it('finds places by lines and by parts', async () => {
  const { candidates, spatialReference } = await client.geocode({ ...about, singleLine: 'Munich' });
  expect([candidates[0].address, spatialReference.wkid]).toEqual([expect.stringContaining('München'), 4326]);
  const parts = { address: 'Hauptstraße 5', city: 'Köln' };
  const [first] = (await client.geocode({ ...about, params: parts })).candidates;
  expect([first.location.x, first.location.y]).toEqual([6.99, 50.89]);
});

it('suggests, and finds what was suggested', async () => {
  const { suggestions } = await client.suggest('Gen', about);
  const { magicKey, text } = suggestions[0];
  const { candidates } = await client.geocode({ ...about, singleLine: text, magicKey });
  expect(candidates[0].location.x).toBeCloseTo(6.1457, 4);
});

it('names what lies at a place', async () => {
  const { address } = await client.reverseGeocode([13.355, 52.487], about);
  expect(address.Match_addr).toContain('Hauptstraße');
});

it('finds many at once', async () => {
  const addresses = ['Łódź', 'Köln'].map((address, i) => ({ OBJECTID: i + 1, SingleLine: address }));
  const { locations } = await client.bulkGeocode({ ...about, addresses });
  expect(locations.map(({ attributes }: Json) => attributes.ResultID)).toEqual([1, 2]);
});
