import { execFileSync } from 'node:child_process';
import { copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { range, writeZarr } from '../../rasters/support.js';
import { gridItem } from '../../stac/catalog-files.js';
import { startServer, type TestServer } from '../../support/server.js';

/** A published file itself is no way around the rules of its layers. */

let folder: string;
let server: TestServer;
const keys: Record<string, string> = {};
const layerIds: Record<string, number> = {};

/** The file of each asset of the catalog. */
const ASSETS = {
  dem: 'dem.tif',
  statistics: 'dem.tif.aux.xml',
  link: 'soft.bin',
  hard: 'hard.bin',
  towns: 'towns.gpkg',
  log: 'towns.gpkg-journal',
  roads: 'roads.shp',
  columns: 'roads.dbf',
  chunk: 'sea.zarr/t/0.0',
  other: 'readme.txt',
  own: 'state/own.txt',
};
type Asset = keyof typeof ASSETS;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-files-'));
  const cat = join(folder, 'cat');
  mkdirSync(cat);
  mkdirSync(join(cat, 'state'));
  copyFileSync('demo/data/olinda_dem_utm25s.tif', join(cat, 'dem.tif'));
  writeFileSync(join(cat, 'dem.tif.aux.xml'), '<PAMDataset><Metadata/></PAMDataset>');
  symlinkSync('dem.tif', join(cat, 'soft.bin'));
  linkSync(join(cat, 'dem.tif'), join(cat, 'hard.bin'));
  const features = ['A', 'B'].map((owner, n) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [n, n] },
    properties: { owner, name: `town ${n}` },
  }));
  const points = join(folder, 'points.json');
  writeFileSync(points, JSON.stringify({ type: 'FeatureCollection', features }));
  for (const name of ['towns.gpkg', 'roads.shp'])
    execFileSync('ogr2ogr', ['-nln', name.slice(0, 5), join(cat, name), points]);
  writeFileSync(join(cat, 'towns.gpkg-journal'), '');
  const grid = { lons: range(4, 0, 1), lats: range(4, 0, 1), value: () => 7 };
  writeZarr(join(cat, 'sea.zarr'), grid);
  writeFileSync(join(cat, 'readme.txt'), 'about the files');
  writeFileSync(join(cat, 'state', 'own.txt'), 'the state of the server');
  const assets = Object.fromEntries(
    Object.entries(ASSETS).map(([key, path]) => [key, { href: `./${path}` }]),
  );
  const write = (name: string, document: object) => writeFileSync(join(cat, name), JSON.stringify(document));
  const about = { stac_version: '1.0.0', description: 'Scenes' };
  write('catalog.json', {
    ...about,
    ...{ type: 'Catalog', id: 'root', links: [{ rel: 'child', href: './collection.json' }] },
  });
  write('collection.json', {
    ...about,
    ...{ type: 'Collection', id: 'scenes', license: 'proprietary' },
    extent: { spatial: { bbox: [[0, 0, 1, 1]] }, temporal: { interval: [['2020-01-01T00:00:00Z', null]] } },
    links: [{ rel: 'item', href: './item.json' }],
  });
  write('item.json', gridItem(0, { id: 'i', collection: 'scenes', assets }));
  const cdl = `netcdf two { dimensions: lat=2; lon=2; lat2=3; lon2=3;
variables: ${['', '2'].map((n) => `double lat${n}(lat${n}); lat${n}:units="degrees_north"; double lon${n}(lon${n}); lon${n}:units="degrees_east";`).join(' ')}
  float pub(lat,lon); float priv(lat2,lon2);
data: lat=1,2; lon=1,2; lat2=1,2,3; lon2=1,2,3; pub=1,2,3,4; priv=1,2,3,4,5,6,7,8,9; }`;
  const two = join(folder, 'two.nc');
  writeFileSync(`${two}.cdl`, cdl);
  execFileSync('ncgen', ['-o', two, `${two}.cdl`]);
  server = await startServer({ sources: [cat, two], dataDir: join(cat, 'state') });
  const home = (await (await fetch(`${server.url}/?f=json`)).json()) as {
    collections: { id: string; layerId: number }[];
  };
  for (const { id, layerId } of home.collections) layerIds[id] = layerId;
  expect((await admin('POST', '/roles', { name: 'clerk' })).status).toBe(201);
  expect((await admin('POST', '/tenants', { tenantId: 'small', layers: ['scenes', 'roads'] })).status).toBe(
    201,
  );
  for (const [name, permissions] of [
    ['clerk', ['role:clerk', 'claim:owner=A']],
    ['all', ['read:*']],
    ['tenant', ['tenant:small', 'read:*']],
  ] as const)
    keys[name] = (await admin('POST', '/api-keys', { name, permissions })).data.key;
}, 120_000);

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function admin(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
  return { status: response.status, data: (text === '' ? {} : JSON.parse(text)).data as any };
}

/** Status of a file for callers. */
async function statuses(path: string, headers: Record<string, string> = {}) {
  const all = ['nobody', 'clerk', 'all', 'tenant'].map(async (caller) => {
    const key: Record<string, string> = keys[caller] === undefined ? {} : { 'x-api-key': keys[caller]! };
    const response = await fetch(server.url + path, {
      headers: { ...key, ...headers },
      signal: AbortSignal.timeout(20_000),
    });
    await response.arrayBuffer();
    return response.status;
  });
  return Promise.all(all);
}
const ofAsset = (asset: Asset, headers?: Record<string, string>) =>
  statuses(`/stac/collections/scenes/items/i/assets/${asset}`, headers);

const setOpen = async (layer: string, allowAnonymous: boolean) => {
  const path = `/services/default/layers/${layerIds[layer]}/metadata`;
  expect((await admin('PUT', path, { accessPolicy: { allowAnonymous } })).status).toBe(200);
};

describe('an asset of a catalog', () => {
  it('needs the right to the layer that its file is, by whatever path, and in parts', async () => {
    const files: Asset[] = ['dem', 'statistics', 'link', 'hard'];
    for (const asset of files) expect(await ofAsset(asset), asset).toEqual([200, 200, 200, 404]);
    await setOpen('dem', false);
    for (const asset of files) expect(await ofAsset(asset), asset).toEqual([401, 403, 200, 404]);
    expect(await ofAsset('dem', { range: 'bytes=0-3' })).toEqual([401, 403, 206, 404]);
    expect(await ofAsset('roads')).toEqual([200, 200, 200, 200]);
    expect(await ofAsset('other')).toEqual([200, 200, 200, 200]);
    await setOpen('dem', true);
    expect(await ofAsset('dem')).toEqual([200, 200, 200, 404]);
  });

  it('needs it for folders and further files of the layer, too', async () => {
    await setOpen('sea', false);
    await setOpen('roads', false);
    expect(await ofAsset('chunk')).toEqual([401, 403, 200, 404]);
    expect(await ofAsset('columns')).toEqual([401, 403, 200, 200]);
    await setOpen('sea', true);
    await setOpen('roads', true);
    expect(await ofAsset('chunk')).toEqual([200, 200, 200, 404]);
  });

  it('needs all rows and attributes, also those that settings hide', async () => {
    const files: Asset[] = ['towns', 'log'];
    const about = { service: 'default', layer: 'towns', role: 'clerk' };
    const rows = await admin('POST', '/rls-policies', { ...about, attribute: 'owner', claimType: 'owner' });
    for (const asset of files) expect(await ofAsset(asset), asset).toEqual([200, 403, 200, 404]);
    await admin('DELETE', `/rls-policies/${rows.data.policyId}`);
    const mask = await admin('POST', '/field-mask-policies', { ...about, attribute: 'name' });
    expect(await ofAsset('towns')).toEqual([200, 403, 200, 404]);
    await admin('DELETE', `/field-mask-policies/${mask.data.policyId}`);
    expect(await ofAsset('towns')).toEqual([200, 200, 200, 404]);
    const layer = `/metadata/layers/${layerIds['towns']}`;
    await admin('PUT', `${layer}/fields`, { fields: [{ name: 'name', hidden: true }] });
    expect(await ofAsset('towns')).toEqual([401, 403, 403, 404]);
    await admin('PUT', `${layer}/fields`, { fields: [{ name: 'name', hidden: false }] });
    await admin('PUT', `${layer}/filter`, { permanentFilter: { expression: "owner = 'A'" } });
    expect(await ofAsset('towns')).toEqual([401, 403, 403, 404]);
    await admin('PUT', `${layer}/filter`, null);
    expect(await ofAsset('towns')).toEqual([200, 200, 200, 404]);
  });

  it('is never a file of the data folder', async () => {
    expect(await ofAsset('own')).toEqual([404, 404, 404, 404]);
  });
});

describe('the data asset of a raster', () => {
  it('needs the right to all layers of its file', async () => {
    const [pub, priv] = ['pub', 'priv'].map((name) => Object.keys(layerIds).find((id) => id.endsWith(name))!);
    const path = `/stac/collections/${pub}/items/${pub}/assets/data`;
    expect(await statuses(path)).toEqual([200, 200, 200, 404]);
    await setOpen(priv!, false);
    expect(await statuses(path)).toEqual([401, 403, 200, 404]);
    await setOpen(priv!, true);
  });
});
