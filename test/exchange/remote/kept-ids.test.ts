import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** Whole numbers that are ids of features in an imported file. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-ids-'));
let server: TestServer;

beforeAll(async () => {
  server = await startServer({});
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface PlacedFeature {
  id?: unknown;
  at: number;
  properties?: object;
}

const collection = (features: readonly PlacedFeature[]) =>
  JSON.stringify({
    type: 'FeatureCollection',
    features: features.map(({ id, at, properties = { name: `at ${at}` } }) => ({
      ...{ type: 'Feature', id, geometry: { type: 'Point', coordinates: [at, at] }, properties },
    })),
  });

async function imported(table: string, name: string, bytes: string | Buffer) {
  const form = new FormData();
  form.set('TableName', table);
  form.set('file', new Blob([bytes as never]), name);
  const response = await fetch(`${server.url}/api/v1/admin/import/upload`, {
    method: 'POST',
    headers: { 'x-api-key': server.adminKey },
    body: form,
  });
  const answer = await response.text();
  expect(response.ok, answer).toBe(true);
  const items = await fetch(`${server.url}/ogc/features/collections/${table}/items`);
  const { features } = (await items.json()) as {
    features: { geometry: { coordinates: number[] }; properties: Record<string, unknown> }[];
  };
  const rows: Record<string, unknown>[] = features.map(({ geometry, properties }) => ({
    at: geometry.coordinates[0],
    ...properties,
  }));
  rows.sort((a, b) => Number(a['at']) - Number(b['at']));
  return { answer, rows };
}

const TWO = [
  { id: 7, at: 9 },
  { id: 3, at: 1 },
];

it('are a column of the table', async () => {
  const { rows } = await imported('whole', 'whole.geojson', collection(TWO));
  expect(rows).toEqual([
    { at: 1, id: 3, name: 'at 1' },
    { at: 9, id: 7, name: 'at 9' },
  ]);
});

it('are a column of the table if a GeoPackage has them', async () => {
  const json = join(folder, 'two.geojson');
  const file = join(folder, 'two.gpkg');
  writeFileSync(json, collection(TWO));
  execFileSync('ogr2ogr', ['-preserve_fid', file, json]);
  const { rows } = await imported('packed', 'two.gpkg', readFileSync(file));
  expect(rows.map((row) => [row['id'], row['at']])).toEqual([
    [3, 1],
    [7, 9],
  ]);
});

it('have another name where the file has a property id of other values', async () => {
  const own = TWO.map(({ id, at }) => ({ id, at, properties: { id: `x${at}` } }));
  const { rows } = await imported('both', 'both.geojson', collection(own));
  expect(rows).toEqual([
    { at: 1, id: 'x1', id_: 3 },
    { at: 9, id: 'x9', id_: 7 },
  ]);
});

it('are no second column where a property has them', async () => {
  const same = TWO.map(({ id, at }) => ({ id, at, properties: { id } }));
  const { rows } = await imported('same', 'same.geojson', collection(same));
  expect(rows).toEqual([
    { at: 1, id: 3 },
    { at: 9, id: 7 },
  ]);
});

it('are named in a warning where they cannot be kept', async () => {
  const repeated = [...TWO, { id: 7, at: 5 }];
  const { answer, rows } = await imported('repeated', 'repeated.geojson', collection(repeated));
  expect(answer).toContain('Ids of features are repeated in the file');
  expect(rows).toEqual([1, 5, 9].map((at) => ({ at, name: `at ${at}` })));
  const large = collection(TWO).replace('"id":7', '"id":9223372036854775808');
  expect((await imported('large', 'large.geojson', large)).answer).toContain(
    'are greater than 9223372036854775807',
  );
});

it('are not there for files without ids', async () => {
  const { rows } = await imported('plain', 'plain.geojson', collection([{ at: 2 }, { at: 1 }]));
  expect(rows).toEqual([1, 2].map((at) => ({ at, name: `at ${at}` })));
});
