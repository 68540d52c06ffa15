import { type StyleSpecification, validateStyleMin } from '@maplibre/maplibre-gl-style-spec';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

let server: TestServer;
const ids: Record<string, number> = {};

beforeAll(async () => {
  server = await startServer();
  const list = await json('/ogc/tiles/collections?f=json');
  for (const { id, name } of list.collections) ids[name] = Number(id);
});
afterAll(() => server.stop());

async function json(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(path.startsWith('http') ? path : server.url + path, { headers });
  expect(response.status, path).toBe(200);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape.
  return (await response.json()) as any;
}

const stylesOf = (name: string) => `/ogc/maps/collections/${ids[name]}/styles`;

/** Everything that a client loads for a style is there. */
async function expectComplete(style: StyleSpecification): Promise<void> {
  expect(validateStyleMin(style)).toEqual([]);
  for (const source of Object.values(style.sources)) {
    const { url } = source as { url: string };
    const { tiles } = await json(url, { accept: 'application/json' });
    expect(tiles[0]).toContain('{z}');
  }
  await json(`${style.sprite}.json`);
  expect((await fetch(`${style.sprite}@2x.png`)).status).toBe(200);
  const glyphs = style.glyphs!.replace('{fontstack}', 'Noto Sans Regular').replace('{range}', '0-255');
  expect((await fetch(glyphs)).status).toBe(200);
}

describe('the styles of a collection', () => {
  it('are listed with links to their forms and their map', async () => {
    const document = await json(stylesOf('countries'));
    expect(document.default).toBe('default');
    expect(document.styles[0]).toMatchObject({ id: 'default' });
    const { links } = document.styles[0];
    const forms = links.filter(({ rel }: { rel: string }) => rel === 'stylesheet');
    expect(forms.map(({ type }: { type: string }) => type)).toEqual([
      'application/vnd.mapbox.style+json',
      'application/vnd.ogc.sld+xml;version=1.1',
    ]);
    for (const { href } of links) expect((await fetch(href)).status, href).toBe(200);
    const page = await fetch(server.url + stylesOf('countries'), { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  });

  it('are linked from the collection on every surface', async () => {
    for (const path of [
      '/ogc/features/collections/countries',
      `/ogc/tiles/collections/${ids['countries']}`,
      '/ogc/coverages/collections/l7_etms',
    ]) {
      const { links } = await json(`${path}?f=json`);
      const found = links.find(({ rel }: { rel: string }) => rel.endsWith('/rel/ogc/1.0/styles'));
      expect((await json(found.href)).styles.length).toBeGreaterThan(0);
    }
  });

  it('are 404 where there are none', async () => {
    for (const path of [
      '/ogc/maps/collections/999/styles',
      `${stylesOf('countries')}/night`,
      '/ogc/maps/styles/night',
    ])
      expect((await fetch(server.url + path)).status).toBe(404);
  });
});

describe('a style as a document', () => {
  it.each(['countries', 'l7_etms'])('of %s is all that a MapLibre client needs', async (name) => {
    const style = await json(`${stylesOf(name)}/default`, { accept: 'application/json' });
    await expectComplete(style);
    expect(style.layers.every((layer: { source: string }) => layer.source === name)).toBe(true);
  });

  it('shows what was put, with the background and the name', async () => {
    const put = await fetch(`${server.url}/api/v1/admin/metadata/layers/${ids['disputed_borders']}/style`, {
      method: 'PUT',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
      body: JSON.stringify({
        mapLibreStyle: {
          version: 8,
          name: 'Borders',
          sources: {},
          sprite: '/ogc/maps/sprites/default',
          layers: [
            { id: 'paper', type: 'background', paint: { 'background-color': '#eee' } },
            { id: 'line', type: 'line', paint: { 'line-dasharray': [2, 1], 'line-width': 2 } },
          ],
        },
      }),
    });
    expect(put.status).toBe(200);
    const response = await fetch(`${server.url}${stylesOf('disputed_borders')}/default`);
    expect(response.headers.get('content-type')).toBe('application/vnd.mapbox.style+json');
    const style = (await response.json()) as StyleSpecification;
    await expectComplete(style);
    expect(style.name).toBe('Borders');
    expect(style.sprite).toBe(`${server.url}/ogc/maps/sprites/default`);
    expect(style.layers).toEqual([
      { id: 'paper', type: 'background', paint: { 'background-color': '#eee' } },
      {
        id: 'line',
        type: 'line',
        source: 'disputed_borders',
        'source-layer': 'disputed_borders',
        paint: { 'line-dasharray': [2, 1], 'line-width': 2 },
      },
    ]);
    const tag = response.headers.get('etag')!;
    const again = await fetch(response.url, { headers: { 'if-none-match': tag } });
    expect(again.status).toBe(304);
  });

  it('is SLD 1.1, metadata or a page when asked for', async () => {
    const url = `${server.url}${stylesOf('countries')}/default`;
    const sld = await fetch(`${url}?f=sld11`);
    expect(sld.headers.get('content-type')).toBe('application/vnd.ogc.sld+xml;version=1.1');
    expect(await sld.text()).toContain('<StyledLayerDescriptor');
    expect(await json(`${url}?f=json`)).toMatchObject({ id: 'default', title: 'Countries' });
    expect(await (await fetch(`${url}?f=html`)).text()).toContain('<h1>');
    expect((await fetch(`${url}?f=qml`)).status).toBe(400);
  });

  it('of the dataset shows all collections, or those that are named, bottom first', async () => {
    const all = await json('/ogc/maps/styles/default');
    await expectComplete(all);
    expect(Object.keys(all.sources).sort()).toEqual(Object.keys(ids).sort());
    const two = await json('/ogc/maps/styles/default?collections=l7_etms,countries');
    expect(Object.keys(two.sources)).toEqual(['l7_etms', 'countries']);
    expect(two.layers[0]).toMatchObject({ id: 'l7_etms/raster', type: 'raster' });
    expect(two.layers.map(({ type }: { type: string }) => type)).not.toContain('background');
    expect((await json('/ogc/maps/styles')).styles[0].id).toBe('default');
    expect((await fetch(`${server.url}/ogc/maps/styles/default?collections=nothing`)).status).toBe(404);
  });
});
