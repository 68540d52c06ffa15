import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arcgisRest } from '../support/arcgis-rest.js';
import { startServer, type TestServer } from '../support/server.js';

/** Tokens, pages and scripts of GeoServices; Esri's own client for programs signs in, searches, reads and edits. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const PASSWORD = 'correct horse battery';
const home = mkdtempSync(join(tmpdir(), 'graticule-sign-in-'));
let server: TestServer;
let layer: string;

beforeAll(async () => {
  const file = join(home, 'world.gpkg');
  copyFileSync('demo/data/world_map.gpkg', file);
  const env = { SVC_GEOCODING__COLLECTIONS: '{"countries":{"name":"NAME"}}' };
  server = await startServer({ sources: [file, 'demo/data/olinda_dem_utm25s.tif'], env });
  layer = `${server.url}/rest/services/default/FeatureServer/${await numberOf('countries')}`;
  await admin('POST', '/users', { name: 'ursula', password: PASSWORD, roles: ['editor'] });
  await admin('PUT', '/admin/services/default/access-policy', { allowAnonymous: false });
});
afterAll(async () => {
  await server?.stop();
  rmSync(home, { recursive: true, force: true });
});

async function numberOf(collection: string): Promise<number> {
  const { collections } = (await (await fetch(`${server.url}/?f=json`)).json()) as Json;
  return collections.find(({ id }: Json) => id === collection).layerId;
}

async function admin(method: string, path: string, body: object): Promise<void> {
  const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' };
  const url = `${server.url}/api/v1${path}`;
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  expect([path, response.ok ? '' : await response.text()]).toEqual([path, '']);
}

const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(server.url + path, { method: 'POST', body: new URLSearchParams(form), headers });
const json = async (response: Promise<Response>): Promise<Json> => (await response).json();
const tokenOf = async (form: Record<string, string>) =>
  json(post('/sharing/rest/generateToken', { f: 'json', ...form }));
const count = (more: string) => `${layer}/query?where=1%3D1&returnCountOnly=true&f=json${more}`;

describe('tokens', () => {
  it('open what is closed, wherever a request has them', async () => {
    expect((await json(fetch(count('')))).error.code).toBe(499);
    const { authInfo } = await json(fetch(`${server.url}/arcgis/rest/info?f=json`));
    expect(authInfo.tokenServicesUrl).toBe(`${server.url}/arcgis/sharing/rest/generateToken`);
    const before = Date.now();
    const { token, expires } = await tokenOf({ username: 'ursula', password: PASSWORD, expiration: '30' });
    expect(Math.abs(expires - before - 1_800_000)).toBeLessThan(60_000);
    const bearer = { 'x-esri-authorization': `Bearer ${token}` };
    const path = `${new URL(layer).pathname}/query`;
    const query = { where: '1=1', returnCountOnly: 'true', f: 'json' };
    for (const answer of [
      fetch(count(`&token=${token}`)),
      fetch(count(''), { headers: bearer }),
      post(path, query, bearer),
      post(path, { ...query, token }),
      post(path, { ...query, token: server.adminKey }),
      fetch(count(`&token=${server.adminKey}`)),
    ])
      expect((await json(answer)).count).toBe(240);
  });

  it('are given for a password alone, and are looked at', async () => {
    const forms: Record<string, string>[] = [
      { username: 'ursula', password: 'wrong' },
      { username: 'ursula' },
      { password: 'x' },
    ];
    for (const form of forms) expect((await tokenOf(form)).error.message).toBe('Unable to generate token.');
    const inQuery = post(`/sharing/rest/generateToken?username=ursula&password=${PASSWORD}`, { f: 'json' });
    expect((await json(inQuery)).error.code).toBe(400);
    const { token } = await tokenOf({ username: 'ursula', password: PASSWORD });
    for (const wrong of ['nonsense', `${token.slice(0, -4)}AAAA`]) {
      expect((await json(fetch(count(`&token=${wrong}`)))).error.code).toBe(498);
      const form = { where: '1=1', f: 'json', token: wrong };
      expect((await json(post(`${new URL(layer).pathname}/query`, form))).error.code).toBe(498);
    }
    const renewal = await tokenOf({ token: 'old', username: 'ursula', password: PASSWORD });
    expect(renewal.token).toEqual(expect.any(String));
    // What is sent goes before what the browser sends along.
    const form = { where: '1=1', f: 'json', token: 'wrong' };
    const cookie = { cookie: 'graticule=x' };
    expect((await json(post(`${new URL(layer).pathname}/query`, form, cookie))).error.code).toBe(498);
    // Other surfaces take none.
    expect(
      (await fetch(`${server.url}/ogc/features/collections/countries?f=json&token=${token}`)).status,
    ).toBe(400);
  });
});

describe('scripts', () => {
  it('get calls, with failures too, and nothing that a cookie opens', async () => {
    const info = await fetch(`${server.url}/rest/info?f=json&callback=dojo.got`);
    expect(info.headers.get('content-type')).toContain('text/javascript');
    const got: Json[] = [];
    runInNewContext(await info.text(), { dojo: { got: (value: Json) => got.push(value) } });
    expect(got[0].currentVersion).toBeGreaterThan(10);
    const failure = await (await fetch(count('&callback=cb'))).text();
    expect(failure).toMatch(/^\/\*\*\/cb\(\{"error":\{"code":499/);
    const { token } = await tokenOf({ username: 'ursula', password: PASSWORD });
    expect(await (await fetch(count(`&callback=cb&token=${token}`))).text()).toBe('/**/cb({"count":240});');
    const cookie = await cookieOf();
    expect((await json(fetch(count(''), { headers: { cookie } }))).count).toBe(240);
    expect(await (await fetch(count('&callback=cb'), { headers: { cookie } })).text()).toContain('499');
    const basic = { authorization: `Basic ${Buffer.from(`x:${server.adminKey}`).toString('base64')}` };
    expect((await json(fetch(count(''), { headers: basic }))).count).toBe(240);
    expect(await (await fetch(count('&callback=cb'), { headers: basic })).text()).toContain('499');
    const task = `${server.url}/rest/services/Processes/GPServer/echo/submitJob?f=json`;
    expect((await json(fetch(task, { headers: basic }))).error.message).toContain('POST');
    expect((await json(fetch(task, { headers: { cookie } }))).error.message).toContain('POST');
    for (const wrong of ['alert(1)', 'a;b', 'x'.repeat(200), '<b>'])
      expect((await json(fetch(count(`&callback=${encodeURIComponent(wrong)}`)))).error.message).toContain(
        'callback',
      );
  });

  async function cookieOf(): Promise<string> {
    const response = await fetch(`${server.url}/account/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: server.url },
      body: JSON.stringify({ name: 'ursula', password: PASSWORD }),
    });
    expect(response.status).toBe(204);
    return response.headers.get('set-cookie')!.split(';')[0]!;
  }
});

it('people get pages that lead from the catalogue to the records', async () => {
  const page = async (path: string) => {
    const response = await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });
    expect([path, response.headers.get('content-type')]).toEqual([path, 'text/html; charset=utf-8']);
    return response.text();
  };
  const hrefsOf = (text: string) => [...text.matchAll(/href="([^"]+)"/g)].map(([, href]) => href!);
  const services = hrefsOf(await page('/rest/services?f=html'));
  const service = `${server.url}/rest/services/default/FeatureServer`;
  expect(services).toContain(service);
  expect(services).toContain(`${server.url}/rest/services?f=json`);
  expect(hrefsOf(await page(`${new URL(service).pathname}?f=html`))).toContain(layer);
  const about = await page(`${new URL(layer).pathname}?f=html`);
  expect(about).toContain('<title>Countries · ');
  const ofMap = new URL(layer).pathname.replace('FeatureServer', 'MapServer');
  expect(await page(`/arcgis${ofMap}?f=html`)).toContain('<h1><bdi>Countries</bdi></h1>');
  const records = hrefsOf(about).find((href) => /query/.test(href))!;
  const first = await fetch(records.replaceAll('&amp;', '&'), {
    headers: { 'x-api-key': server.adminKey, accept: 'text/html' },
  });
  expect(await first.text()).toContain('NAME');
});

describe('@esri/arcgis-rest', () => {
  let client: Json;
  let manager: Json;

  beforeAll(async () => {
    client = await arcgisRest(home);
    const portal = `${server.url}/sharing/rest`;
    const signIn = { username: 'ursula', password: PASSWORD, portal };
    manager = await client.ArcGISIdentityManager.signIn(signIn);
  }, 60_000);

  it('signs in, and finds services', async () => {
    expect(await manager.getUser()).toMatchObject({ username: 'ursula' });
    const search = { portal: `${server.url}/sharing/rest`, authentication: manager };
    const found = await client.searchItems({ ...search, q: 'default AND type:"Feature Service"' });
    expect([found.total, found.results[0].url]).toEqual([1, layer.replace(/\/\d+$/, '')]);
    const item = await client.getItem(found.results[0].id, search);
    expect(item).toMatchObject({ type: 'Feature Service', title: 'default' });
    const all = await client.searchItems({ ...search, q: '*', num: 1 });
    expect([all.total > 3, all.nextStart]).toEqual([true, 2]);
    await expect(client.searchItems({ ...search, q: 'a OR b' })).rejects.toThrow('q');
  });

  it('finds the portal, its services and who asks, as ArcGIS API for Python looks for them', async () => {
    const about = { authentication: manager };
    const portal = await client.getPortal(null, { ...about, portal: `${server.url}/sharing/rest` });
    expect(portal.helperServices.geometry.url).toBe(
      `${server.url}/rest/services/Utilities/Geometry/GeometryServer`,
    );
    expect(portal.helperServices.geocode).toMatchObject([
      { url: `${server.url}/rest/services/countries/GeocodeServer`, suggest: true },
    ]);
    for (const { url } of [portal.helperServices.geometry, ...portal.helperServices.geocode])
      expect((await client.request(url, about)).currentVersion).toBeGreaterThan(10);
    expect((await json(fetch(`${server.url}/sharing/rest?f=json`))).currentVersion).toMatch(/^\d+\.\d+$/);
    const search = { portal: `${server.url}/sharing/rest`, ...about };
    const ofPortal = await client.searchItems({ ...search, q: `accountid:${portal.id}` });
    expect(ofPortal.total).toBeGreaterThan(1);
    const pastEnd = await client.searchItems({ ...search, q: '*', start: -1 });
    expect(pastEnd).toMatchObject({ total: ofPortal.total, num: 0, nextStart: -1, results: [] });
    const user = `${server.url}/sharing/rest/community/users`;
    expect(await client.request(`${user}/ursula`, about)).toEqual(portal.user);
    await expect(client.request(`${user}/nobody`, about)).rejects.toMatchObject({ code: 404 });
    expect((await json(fetch(`${user}/ursula?f=json`))).error.code).toBe(404);
  });

  it('reads a closed layer, and edits it', async () => {
    const about = { url: layer, authentication: manager };
    const { features } = await client.queryFeatures({
      ...about,
      where: "iso_a2 = 'CH'",
      outFields: ['NAME'],
    });
    expect(features.map(({ attributes }: Json) => attributes.NAME)).toEqual(['Switzerland']);
    await expect(client.queryFeatures({ url: layer })).rejects.toMatchObject({ code: 499 });
    const ring = [
      [0, 0],
      [0, 1],
      [1, 1],
      [0, 0],
    ];
    const added = { geometry: { rings: [ring] }, attributes: { NAME: 'Nowhere' } };
    const { addResults } = await client.addFeatures({ ...about, features: [added] });
    expect(addResults[0].success).toBe(true);
    const objectIds = [addResults[0].objectId];
    const { deleteResults } = await client.deleteFeatures({ ...about, objectIds });
    expect(deleteResults[0].success).toBe(true);
  });
});
