import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/** Two gateways, which have to agree. */
let server: TestServer;
let layerId: number;

const dataDir = mkdtempSync(join(tmpdir(), 'graticule-layer-style-'));
const setup = { sources: ['demo/data/world_map.gpkg'], dataDir, args: ['--processes', '2'] };

beforeAll(async () => {
  server = await startServer(setup);
  layerId = await layerOf('countries');
});
afterAll(async () => {
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function layerOf(id: string): Promise<number> {
  const { collections } = (await (await fetch(`${server.url}/ogc/tiles/collections?f=json`)).json()) as {
    collections: { id: string; title: string; links: { href: string }[] }[];
  };
  return Number(collections.find(({ title }) => title.toLowerCase() === id)!.id);
}

async function admin(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}/api/v1/admin/metadata/layers${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json', connection: 'close' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape.
  return { status: response.status, body: (await response.json()) as any };
}

const filled = (color: string) => ({
  version: 8,
  sources: {},
  layers: [{ id: 'fill', type: 'fill', paint: { 'fill-color': color, 'fill-antialias': false } }],
});

async function pictureOf(path: string, response: Response): Promise<string> {
  return `${path.slice(0, 10)} ${hash('sha1', Buffer.from(await response.arrayBuffer()))}`;
}

/** A tile and a map over land, each as both gateways answer it: connections are opened until both have. */
async function pictures(): Promise<Set<string>> {
  const seen = new Set<string>();
  for (const path of [
    `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/2/1/2?f=png`,
    `/ogc/maps/collections/${layerId}/map?bbox=10,10,20,20&width=64&height=64&f=png`,
  ])
    for (const gateways = new Set<string>(); gateways.size < 2; ) {
      const response = await fetch(server.url + path, { headers: { connection: 'close' } });
      expect(response.status).toBe(200);
      gateways.add(response.headers.get('x-request-id')!.split('-')[0]!);
      seen.add(await pictureOf(path, response));
    }
  return seen;
}

describe('the style of a layer', () => {
  it('is the one that the layer has by itself, until one is put', async () => {
    const { status, body } = await admin('GET', `/${layerId}/style`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      success: true,
      data: { styleVersion: 0, revisedAt: null, revisedBy: null, changeSummary: null, drawingInfo: null },
    });
    expect(body.data.mapLibreStyle.layers.length).toBeGreaterThan(0);
    expect(body.data.mapLibreStyle.layers[0]).toMatchObject({ source: 'collection' });
  });

  it('changes maps and tiles of all gateways at once, and survives a restart', async () => {
    const before = await pictures();
    const put = await admin('PUT', `/${layerId}/style`, {
      MapLibreStyle: filled('#ff0000'),
      changeSummary: 'red',
      changedBy: 'ann',
    });
    expect(put.status).toBe(200);
    expect(put.body.data).toMatchObject({ styleVersion: 1, revisedBy: 'ann', changeSummary: 'red' });
    const red = await pictures();
    expect(red.size).toBe(2);
    for (const one of red) expect(before).not.toContain(one);

    const vector = `${server.url}/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/2/1/2?f=mvt`;
    const tag = (await fetch(vector)).headers.get('etag');
    await admin('PUT', `/${layerId}/style`, { mapLibreStyle: filled('#0000ff') });
    expect((await fetch(vector)).headers.get('etag')).toBe(tag);
    const blue = await pictures();
    expect([...blue].some((one) => red.has(one))).toBe(false);

    await server.stop();
    server = await startServer(setup);
    const path = `/ogc/maps/collections/${layerId}/map?bbox=10,10,20,20&width=64&height=64&f=png`;
    const map = await fetch(server.url + path);
    expect(blue).toContain(await pictureOf(path, map));
  });

  it('survives a reload of the catalog', async () => {
    const blue = await pictures();
    server.reload();
    await expect.poll(() => server.log(), { timeout: 20_000 }).toContain('the catalog was reloaded');
    await pause(500);
    expect(await pictures()).toEqual(blue);
  });

  it('is kept when a bad one is refused, with the place of the error', async () => {
    const before = await admin('GET', `/${layerId}/style`);
    const bad = filled('#ff0000');
    const refused = await admin('PUT', `/${layerId}/style`, {
      mapLibreStyle: { ...bad, layers: [{ ...bad.layers[0], paint: { 'fill-opacity': 'x' } }] },
    });
    expect(refused.status).toBe(400);
    expect(refused.body.errors[0]).toMatchObject({
      name: '/mapLibreStyle/layers/0/paint/fill-opacity',
      detail: expect.stringContaining('number expected'),
    });
    const empty = await admin('PUT', `/${layerId}/style`, {});
    expect(empty.status).toBe(400);
    const sprite = { ...bad, sprite: 'https://10.0.0.1/sprite' };
    const elsewhere = await admin('PUT', `/${layerId}/style`, { mapLibreStyle: sprite });
    expect(elsewhere.body.errors).toEqual([
      {
        name: '/mapLibreStyle/sprite',
        detail: "10.0.0.1:443 is not in remote.allow; received 'https://10.0.0.1/sprite'.",
        ...{ code: 'invalid', severity: 'error', path: '/mapLibreStyle/sprite', fieldId: 'sprite' },
        ...{
          itemIndex: null,
          message:
            "mapLibreStyle.sprite: 10.0.0.1:443 is not in remote.allow; received 'https://10.0.0.1/sprite'.",
        },
      },
    ]);
    expect((await admin('GET', `/${layerId}/style`)).body.data).toEqual(before.body.data);
  });

  it('is kept in its versions, which can be put again', async () => {
    const { body } = await admin('GET', `/${layerId}/style`);
    const { styleVersion, versions } = body.data;
    expect(versions[0].styleVersion).toBe(styleVersion);
    expect(versions.at(-1)).toMatchObject({ styleVersion: 1, revisedBy: 'ann', changeSummary: 'red' });
    const first = await admin('GET', `/${layerId}/style?version=1`);
    expect(first.body.data).toMatchObject({ styleVersion: 1, revisedBy: 'ann' });
    expect(JSON.stringify(first.body.data.mapLibreStyle)).toContain('#ff0000');
    expect((await admin('GET', `/${layerId}/style?version=99`)).status).toBe(404);
    const again = await admin('PUT', `/${layerId}/style`, first.body.data);
    expect(again.body.data.styleVersion).toBe(styleVersion + 1);
  });

  it('is 404 for a layer that is not there', async () => {
    expect((await admin('GET', '/987654/style')).status).toBe(404);
    expect((await admin('PUT', '/987654/style', { mapLibreStyle: filled('#fff') })).status).toBe(404);
    expect((await admin('GET', '/987654/popup-info')).status).toBe(404);
    expect((await admin('GET', '/x/style')).status).toBe(400);
  });

  it('needs the permission, and leaves an audit row', async () => {
    const refused = await fetch(`${server.url}/api/v1/admin/metadata/layers/${layerId}/style`, {
      method: 'PUT',
      body: '{}',
    });
    expect(refused.status).toBe(401);
    const trail = await fetch(`${server.url}/api/v1/admin/observability/audit?pageSize=100`, {
      headers: { 'x-api-key': server.adminKey },
    });
    expect(await trail.text()).toContain('admin.styles.updateLayerStyle');
  });

  it('keeps what pop-ups and drawings are made of beside it, and draws nothing anew for that', async () => {
    const before = await pictures();
    const popup = { title: '{NAME}', fieldInfos: [{ fieldName: 'NAME', visible: true }] };
    const put = await admin('PUT', `/${layerId}/popup-info`, popup);
    expect(put).toMatchObject({ status: 200, body: { data: { layerId, document: popup } } });
    const drawing = { renderer: { type: 'simple' } };
    await admin('PUT', `/${layerId}/drawing-info`, drawing);
    expect((await admin('GET', `/${layerId}/style`)).body.data.drawingInfo).toEqual(drawing);
    expect((await admin('GET', `/${layerId}/popup-info`)).body.data.document).toEqual(popup);
    expect(await pictures()).toEqual(before);
    await admin('PUT', `/${layerId}/popup-info`, null);
    expect((await admin('GET', `/${layerId}/popup-info`)).body.data.document).toBeNull();
    expect((await admin('PUT', `/${layerId}/popup-info`, [1])).status).toBe(400);
  });

  it('draws by the renderer of a drawing that is put, until it is removed', async () => {
    const before = await pictures();
    const symbol = { type: 'esriSFS', style: 'esriSFSSolid', color: [200, 0, 100, 255] };
    const drawing = { renderer: { type: 'simple', symbol } };
    expect((await admin('PUT', `/${layerId}/drawing-info`, drawing)).status).toBe(200);
    const drawn = await pictures();
    expect(drawn).not.toEqual(before);
    const { data } = (await admin('GET', `/${layerId}/style`)).body;
    expect(data.drawingInfo).toEqual(drawing);
    expect(JSON.stringify(data.mapLibreStyle)).toMatch(/#c80064|rgba?\(200, ?0, ?100/);
    await admin('PUT', `/${layerId}/drawing-info`, null);
    expect((await admin('GET', `/${layerId}/style`)).body.data.drawingInfo).toBeNull();
    expect(await pictures()).not.toEqual(drawn);
  });

  it('binds members of drawings and pop-ups in any case, and drops unknown ones', async () => {
    const before = await pictures();
    const sent = {
      Transparency: 10,
      Renderer: {
        Type: 'simple',
        Symbol: { Type: 'esriSFS', Style: 'esriSFSSolid', COLOR: [9, 8, 7, 255], OutLine: null, nonsense: 1 },
        visualvariables: [{ TYPE: 'sizeInfo', minsize: { Type: 'sizeInfo' }, junk: {} }],
      },
      labelingInfo: null,
      nonsense: { a: 1 },
    };
    const renderer = {
      type: 'simple',
      symbol: { type: 'esriSFS', style: 'esriSFSSolid', color: [9, 8, 7, 255], outline: null },
      visualVariables: [{ type: 'sizeInfo', minSize: { Type: 'sizeInfo' } }],
    };
    const document = { transparency: 10, renderer, labelingInfo: null };
    const put = await admin('PUT', `/${layerId}/drawing-info`, sent);
    expect(put).toMatchObject({ status: 200 });
    expect(put.body.data.document).toEqual(document);
    expect(await pictures()).not.toEqual(before);
    const style = await admin('PUT', `/${layerId}/style`, { DrawingInfo: sent });
    expect(style.body.data.drawingInfo).toEqual(document);
    expect(
      (await admin('PUT', `/${layerId}/drawing-info`, { renderer: { symbol: [1] } })).body,
    ).toMatchObject({
      status: 400,
      errors: [{ name: '/renderer/symbol' }],
    });
    expect(
      (await admin('PUT', `/${layerId}/style`, { drawingInfo: { transparency: {} } })).body,
    ).toMatchObject({
      status: 400,
      errors: [{ name: '/drawingInfo/transparency' }],
    });
    await admin('PUT', `/${layerId}/drawing-info`, null);
    const popup = { Title: '{NAME}', FieldInfos: [{ FIELDNAME: 'NAME', Format: { Places: 1 }, x: 1 }], y: 1 };
    expect((await admin('PUT', `/${layerId}/popup-info`, popup)).body.data.document).toEqual({
      title: '{NAME}',
      fieldInfos: [{ fieldName: 'NAME', format: { places: 1 } }],
    });
    await admin('PUT', `/${layerId}/popup-info`, null);
  });
});
