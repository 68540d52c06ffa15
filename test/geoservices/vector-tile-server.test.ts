import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { beforeAll, describe, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Vector tile services: their tiles are those of the collections, and their style draws them. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const SERVICE = '/rest/services/default/VectorTileServer';
let server: SharedServer;

beforeAll(async () => {
  server = await sharedServer();
});

const get = (path: string) => fetch(server.url + path);
const json = async (path: string): Promise<Json> => (await get(path)).json();

async function tile(path: string): Promise<VectorTile> {
  const response = await get(path);
  expect([path, response.status]).toEqual([path, 200]);
  return new VectorTile(new PbfReader(new Uint8Array(await response.arrayBuffer())));
}

describe('a vector tile service', () => {
  it('tells of its tiles as Esri counts their scales', async () => {
    const service = await json(`${SERVICE}?f=json`);
    expect(service).toMatchObject({
      ...{ type: 'indexedVector', tiles: ['tile/{z}/{y}/{x}.pbf'], defaultStyles: 'resources/styles' },
      tileInfo: { rows: 512, cols: 512, spatialReference: { latestWkid: 3857 } },
      fullExtent: { spatialReference: { latestWkid: 3857 } },
    });
    // Half of that of tiles of 256 pixels, whose level 0 is 591657527.59.
    expect(service.tileInfo.lods[0].scale).toBeCloseTo(295_828_763.8, 0);
    const { services } = await json('/rest/services?f=json');
    expect(services).toContainEqual({ name: 'default', type: 'VectorTileServer' });
  });

  it('has the tiles of all its layers', async () => {
    const [own, countries] = [
      await tile(`${SERVICE}/tile/2/1/2.pbf`),
      await tile('/tiles/countries/2/2/1.mvt'),
    ];
    expect(Object.keys(own.layers).sort()).toEqual(expect.arrayContaining(['countries', 'states_provinces']));
    const [layer, expected] = [own.layers['countries']!, countries.layers['countries']!];
    expect(layer.length).toBe(expected.length);
    for (let i = 0; i < layer.length; i++) {
      expect(layer.feature(i).properties).toEqual(expected.feature(i).properties);
      expect(layer.feature(i).loadGeometry()).toEqual(expected.feature(i).loadGeometry());
    }
  });

  it('has one style, whose layers are those of the tiles, and symbols beside it', async () => {
    for (const path of ['resources/styles', 'resources/styles/root.json']) {
      const style = await json(`${SERVICE}/${path}`);
      expect(style).toMatchObject({ version: 8, sources: { esri: { type: 'vector', url: '../../' } } });
      const sources = new Set(style.layers.map((layer: Json) => layer['source-layer']));
      expect(sources).toContain('countries');
      expect(new Set(style.layers.map(({ source }: Json) => source))).toEqual(new Set(['esri']));
      const base = `http://x${SERVICE}/resources/styles/root.json`;
      const beside = (url: string) => new URL(url, base).pathname;
      expect((await get(`${beside(style.sprite)}@2x.json`)).status).toBe(200);
      const glyphs = style.glyphs.replace('{fontstack}', 'Noto Sans Regular').replace('{range}', '0-255');
      expect((await get(encodeURI(decodeURI(beside(glyphs))))).status).toBe(200);
      const service = beside(style.sources.esri.url);
      expect(await json(`${service.replace(/\/$/, '')}?f=json`)).toMatchObject({ type: 'indexedVector' });
    }
  });

  it('draws its layers in the order of the map service', async () => {
    const { layers } = await json('/rest/services/default/MapServer?f=json');
    const { collections } = await json('/?f=json');
    const idOf = (number: number) => collections.find(({ layerId }: Json) => layerId === number).id;
    const style = await json(`${SERVICE}/resources/styles/root.json`);
    const sources = [...new Set(style.layers.map((layer: Json) => layer['source-layer']))];
    const features = layers.filter(({ type }: Json) => type === 'Feature Layer');
    expect(sources.reverse()).toEqual(features.map(({ id }: Json) => idOf(id)));
  });

  it.each([
    [`${SERVICE}/tile/2/9/0.pbf`, 400],
    [`${SERVICE}/tile/99/0/0.pbf`, 400],
    [`${SERVICE}/tile/0/0/x.pbf`, 400],
    ['/rest/services/default/MapServer/tile/2/9/0', 400],
    [`${SERVICE}/resources/sprites/other.json`, 404],
    ['/rest/services/nothing/VectorTileServer/resources/sprites/sprite.json', 404],
    [`${SERVICE}/resources/fonts/Nobody/0-255.pbf`, 404],
    ['/rest/services/nothing/VectorTileServer', 200],
  ])('%s fails with the status %d: what is read as bytes has that of HTTP', async (path, status) => {
    const response = await get(path);
    expect([response.status, Object.keys((await response.json()) as Json)]).toEqual([status, ['error']]);
  });
});
