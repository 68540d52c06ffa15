import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/** A collection as a locator, where more features fit than are read. */

const folder = mkdtempSync(join(tmpdir(), 'geocoding-large-'));
let server: TestServer;
beforeAll(async () => {
  const rows = Array.from(
    { length: 400 },
    (_, i) => `Mill,Long Lane,${i + 1},shop,Deutschland,${7 + i / 1e6},50`,
  );
  rows.push('Mill,Long Lane,,pub,Österreich,7.00001,50.00001', 'Mill,,,pub,,7.9,50', ',"",,,,8.1,50');
  const file = join(folder, 'mills.csv');
  writeFileSync(file, `name,street,number,kind,country,x,y\n${rows.join('\n')}\n`);
  const path = join(folder, 'mills.gpkg');
  execFileSync('ogr2ogr', [
    ...['-f', 'GPKG', path, file, '-nln', 'mills', '-a_srs', 'EPSG:4326'],
    ...['-oo', 'X_POSSIBLE_NAMES=x', '-oo', 'Y_POSSIBLE_NAMES=y'],
  ]);
  const fields = { name: 'name', street: 'street', houseNumber: 'number', type: 'kind', country: 'country' };
  server = await startServer({
    sources: [path],
    env: { SVC_GEOCODING__COLLECTIONS: JSON.stringify({ mills: fields }) },
  });
}, 120_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  candidates: { location: { x: number; y: number } }[];
  location: { x: number; y: number };
}

async function ask(verb: string, members: Record<string, string>): Promise<Answer> {
  const query = new URLSearchParams({ f: 'json', ...members });
  const answer = await fetch(`${server.url}/rest/services/mills/GeocodeServer/${verb}?${query}`);
  return answer.json() as Promise<Answer>;
}

const meridians = async (members: Record<string, string>) =>
  (await ask('findAddressCandidates', { SingleLine: 'Mill', ...members })).candidates.map(
    ({ location }) => location.x,
  );

it('finds those of a type and a country', async () => {
  expect(await meridians({ category: 'PUB' })).toEqual([7.000_01, 7.9]);
  expect(await meridians({ category: 'StreetName' })).toEqual([7.000_01]);
  expect(await meridians({ category: 'POI' })).toEqual([7.9]);
  expect(await meridians({ category: 'PointAddress', maxLocations: '50' })).toHaveLength(50);
  expect(await meridians({ category: 'Postal,nothing' })).toEqual([]);
  expect(await meridians({ countryCode: 'österreich' })).toEqual([7.000_01]);
});

it('finds the nearest one', async () => {
  const at = async (location: string) => (await ask('reverseGeocode', { location })).location;
  expect(await at('7.000399,50')).toMatchObject({ x: 7.000_399 });
  expect(await at('7.0004,50.000001')).toMatchObject({ x: 7.000_399 });
  expect(await at('7.00001,50.00002')).toMatchObject({ x: 7.000_01, y: 50.000_01 });
});
