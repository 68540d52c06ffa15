import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { sender } from '../edits/support.js';
import { makeGeoPackage } from '../support/geopackage.js';
import { startServerProcess, type TestServer } from '../support/server.js';

/** Published files and folders that are replaced by links out of the published folder, before the server reads its sources again. */

const parent = mkdtempSync(join(tmpdir(), 'graticule-links-'));
const [folder, outside, data] = ['sources', 'outside', 'data'].map((name) => join(parent, name)) as [
  string,
  string,
  string,
];
const DEM = 'demo/data/olinda_dem_utm25s.tif';
let server: TestServer;

beforeAll(async () => {
  for (const path of [folder, outside, data, join(folder, 'deep'), join(outside, 'deep')]) mkdirSync(path);
  for (const table of ['zones', 'fields', 'deep/inner']) {
    const name = table.split('/').at(-1)!;
    makeGeoPackage(join(folder, `${table}.gpkg`), [name], 'inside');
    makeGeoPackage(join(outside, `${table}.gpkg`), [name], 'OUTSIDE');
  }
  for (const place of [folder, outside]) copyFileSync(DEM, join(place, 'dem.tif'));
  // The data folder is reached by a link, as operators may do.
  symlinkSync(data, join(parent, 'linked-data'));
  server = await startServerProcess({
    sources: [folder],
    dataDir: join(parent, 'linked-data'),
    env: { SVC_DATA__WATCH: 'false' },
  });
});
afterAll(async () => {
  await server?.stop();
  rmSync(parent, { recursive: true, force: true });
});

const read = async (path: string) => {
  const response = await fetch(server.url + path);
  return [response.status, await response.text()] as const;
};
const items = (id: string) => read(`/ogc/features/collections/${id}/items?f=json`);
const insert = async (id: string) => {
  const geometry = { type: 'Point', coordinates: [1, 2] };
  const feature = { type: 'Feature', geometry, properties: { secret: 'new' } };
  return (await sender(server.url, server.adminKey)('POST', `${id}/items`, feature)).status;
};
const countOf = (path: string, table: string) => {
  const db = new Database(path, { readonly: true });
  try {
    return db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  } finally {
    db.close();
  }
};
/** Puts a link in the place of a file or folder, as `mv -T` does. */
function link(name: string) {
  symlinkSync(join(outside, name), join(parent, 'link'));
  execFileSync('mv', ['-T', join(parent, 'link'), join(folder, name)]);
}

describe('a published file that is replaced by a link', () => {
  it.each(['zones', 'fields'])('is neither read nor edited: %s', async (table) => {
    // One of the two was edited before, so that its connection is open.
    const isEdited = table === 'fields';
    const before = (await items(table))[1];
    expect(before).toContain('inside');
    if (isEdited) expect(await insert(table)).toBe(201);
    link(`${table}.gpkg`);
    expect(await insert(table)).toBe(404);
    const [status, text] = await items(table);
    expect([status, text]).toEqual([404, expect.stringContaining('was replaced by a link')]);
    expect((await read(`/tiles/${table}/0/0/0.mvt`))[0]).toBe(404);
    expect(countOf(join(outside, `${table}.gpkg`), table)).toBe(1);
    rmSync(join(folder, `${table}.gpkg`));
    makeGeoPackage(join(folder, `${table}.gpkg`), [table], 'inside again');
    // A reading that met the link or no file leaves the collection unread until the next one.
    server.reload();
    const readAgain = async () => {
      const text = (await items(table))[1];
      return [text.includes('inside again'), JSON.parse(text).numberMatched];
    };
    await expect.poll(readAgain, { timeout: 60_000 }).toEqual([true, 1]);
  });

  it('is no raster', async () => {
    const map = '/ogc/coverages/collections/dem/coverage?f=geotiff';
    expect((await read(map))[0]).toBe(200);
    link('dem.tif');
    expect((await read(map))[0]).toBe(404);
  });
});

describe('a folder that is replaced by a link', () => {
  it('shows no file of the other folder', async () => {
    expect((await items('inner'))[1]).toContain('inside');
    renameSync(join(folder, 'deep'), join(parent, 'away'));
    link('deep');
    expect(await insert('inner')).toBe(404);
    expect((await items('inner'))[0]).toBe(404);
    expect(countOf(join(outside, 'deep', 'inner.gpkg'), 'inner')).toBe(1);
    rmSync(join(folder, 'deep'));
    renameSync(join(parent, 'away'), join(folder, 'deep'));
    expect([await insert('inner'), (await items('inner'))[1].includes('inside')]).toEqual([201, true]);
  });
});
