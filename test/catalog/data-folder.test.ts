import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFiles } from '../../src/services/catalog/publish/find.js';
import { startServer, type TestServer } from '../support/server.js';

/** A data folder below a published folder, as `graticule serve .` has it, is not published. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-within-'));
const dataDir = join(folder, 'graticule-data');
let server: TestServer;

const write = (path: string, name: string) =>
  writeFileSync(
    path,
    JSON.stringify({
      type: 'FeatureCollection',
      features: [
        { type: 'Feature', id: 1, properties: { name }, geometry: { type: 'Point', coordinates: [1, 2] } },
      ],
    }),
  );

beforeAll(async () => {
  mkdirSync(dataDir);
  write(join(folder, 'towns.geojson'), 'a');
  server = await startServer({ sources: [folder], dataDir });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const collections = async (): Promise<string[]> => {
  const response = await fetch(`${server.url}/ogc/features/collections?f=json`);
  const { collections: all } = (await response.json()) as { collections: { id: string }[] };
  return all.map(({ id }) => id);
};

describe('a data folder below a published folder', () => {
  it('shows no results of jobs, uploads and other files of the server', async () => {
    const execution = await fetch(`${server.url}/ogc/processes/processes/geometry.centroid/execution`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json', prefer: 'wait=60' },
      body: JSON.stringify({ inputs: { features: { collection: 'towns' } } }),
    });
    expect([execution.status, await execution.text()]).toEqual([200, expect.stringContaining('Point')]);
    const results = readdirSync(join(dataDir, 'processes'), { recursive: true }) as string[];
    expect(results.filter((name) => name.endsWith('.gpkg'))).toHaveLength(1);
    // A file that appears later is published by the same reading of the folder.
    write(join(folder, 'villages.geojson'), 'b');
    await expect.poll(collections, { timeout: 30_000 }).toContain('villages');
    expect((await collections()).sort()).toEqual(['towns', 'villages']);
    const form = new FormData();
    form.set('TableName', 'imported');
    form.set('file', new Blob([JSON.stringify({ type: 'Point', coordinates: [3, 4] })]), 'point.geojson');
    const imported = await fetch(`${server.url}/api/v1/admin/import/upload`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey },
      body: form,
    });
    expect(imported.status).toBe(200);
    expect((await collections()).sort()).toEqual(['imported', 'towns', 'villages']);
    expect(server.log()).toContain('The folder is the data folder of a server.');
  });

  it('is no source either when it is that of another server', async () => {
    const other = join(folder, 'old-data');
    cpSync(dataDir, other, { recursive: true, filter: (path) => !path.includes('state.db') });
    const found = await findFiles([folder], '/somewhere/else');
    const problem = 'The folder is the data folder of a server.';
    expect(found.filter((file) => file.problem !== undefined)).toEqual([
      { path: dataDir, problem },
      { path: other, problem },
    ]);
    expect(found.filter((file) => file.problem === undefined).map(({ path }) => path)).toEqual([
      join(folder, 'towns.geojson'),
      join(folder, 'villages.geojson'),
    ]);
  });
});
