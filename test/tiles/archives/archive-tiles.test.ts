import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unzstd } from '../../../src/native/index.js';
import {
  makeMBTiles,
  PACK,
  type TileRecord,
  tilesOf,
  writeMBTiles,
  writePMTiles,
} from '../../support/archives.js';
import { startServer, type TestServer } from '../../support/server.js';

const MVT = 'application/vnd.mapbox-vector-tile';
const MLT = 'application/vnd.maplibre-tile';
const folder = mkdtempSync(join(tmpdir(), 'graticule-archives-'));
const images: Partial<Record<string, Buffer>> = {};
let tiles: TileRecord[];
let server: TestServer;
let layerIds: Map<string, string>;

async function makeSources() {
  const countries = join(folder, 'archived.mbtiles');
  makeMBTiles(countries);
  tiles = tilesOf(countries);
  const metadata = {
    attribution: 'Some people',
    vector_layers: [{ id: 'countries', fields: { NAME: 'String' } }],
  };
  writePMTiles(join(folder, 'world.pmtiles'), tiles, { leafSize: 6, metadata, bounds: [-10, 40, 20, 60] });
  for (const [name, tileCompression] of [
    ['brotli', 3],
    ['zstd', 4],
  ] as const) {
    const packed = tiles.map((tile) => ({ ...tile, data: PACK[tileCompression]!(gunzipSync(tile.data)) }));
    writePMTiles(join(folder, `${name}.pmtiles`), packed, { tileCompression, metadata });
  }
  const pixels = sharp({ create: { width: 8, height: 8, channels: 3, background: '#268' } });
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const data = await pixels.clone().toFormat(format).toBuffer();
    images[format] = data;
    const at = { zoom: 1, row: 0, column: 1 };
    if (format === 'webp')
      writePMTiles(join(folder, 'webp.pmtiles'), [{ ...at, data }], { tileType: 4, tileCompression: 1 });
    else writeMBTiles(join(folder, `${format}.mbtiles`), { format }, [{ ...at, data }]);
  }
  writeFileSync(join(folder, 'noise.mbtiles'), Buffer.alloc(5000, 7));
  writeFileSync(join(folder, 'short.pmtiles'), 'PMTiles');
  writeMBTiles(join(folder, 'bad-tile.mbtiles'), { format: 'pbf' }, [
    { zoom: 0, row: 0, column: 0, data: Buffer.from('1f8b0800deadbeef', 'hex') },
    { zoom: 1, row: 0, column: 0, data: Buffer.concat([tiles[0]!.data, Buffer.from('garbage!')]) },
  ]);
}

beforeAll(async () => {
  await makeSources();
  server = await startServer({ sources: [folder, 'demo/data/world_map.gpkg'] });
  const { collections } = await json('/ogc/tiles/collections');
  layerIds = new Map(collections.map(({ name, id }: { name: string; id: string }) => [name, id]));
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function json(path: string) {
  const response = await fetch(server.url + path);
  expect(response.status, path).toBe(200);
  return response.json();
}

const base = (name: string) => `/ogc/tiles/collections/${layerIds.get(name)}/tiles`;

function at(name: string, address: string, headers: Record<string, string> = {}) {
  return fetch(`${server.url}${base(name)}/WebMercatorQuad/${address}`, { headers });
}

/** The answer as it is on the wire: `fetch` would inflate it. */
function raw(
  path: string,
  acceptEncoding = 'gzip',
): Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const call = request(
      server.url + path,
      { headers: { 'accept-encoding': acceptEncoding } },
      async (answer) => {
        const parts: Buffer[] = [];
        for await (const part of answer) parts.push(part as Buffer);
        resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(parts) });
      },
    );
    call.on('error', reject).end();
  });
}

describe('tiles of an archive', () => {
  it('are described by the layers and attributes of its metadata', async () => {
    const { layers } = await json(`${base('world')}/WebMercatorQuad?f=json`);
    const propertiesSchema = { type: 'object', properties: { NAME: { type: 'string' } } };
    expect(layers).toMatchObject([{ id: 'countries', dataType: 'vector', propertiesSchema }]);
  });

  it.each(['archived', 'world'])('%s: every tile is the stored one, gzip passed through', async (name) => {
    for (const { zoom, row, column, data } of tiles) {
      const path = `${base(name)}/WebMercatorQuad/${zoom}/${row}/${column}?f=mvt`;
      for (const round of ['made', 'cached']) {
        const answer = await raw(path);
        expect(answer.status, `${path} ${round}`).toBe(200);
        expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-type': MVT });
        expect(answer.body.equals(data), path).toBe(true);
      }
    }
  });

  it.each([
    ['brotli', 'br'],
    ['zstd', 'zstd'],
  ])('%s inside is handed on to who takes it, and made anew for others', async (name, coding) => {
    for (const { zoom, row, column, data } of tiles) {
      const path = `${base(name)}/WebMercatorQuad/${zoom}/${row}/${column}?f=mvt`;
      const plain = gunzipSync(data);
      for (const round of ['made', 'cached']) {
        const whole = await raw(path, 'gzip, br, zstd');
        expect([round, whole.headers['content-encoding']]).toEqual([round, coding]);
        const inflated = coding === 'br' ? brotliDecompressSync(whole.body) : unzstd(whole.body, 1e8);
        expect(inflated.equals(plain)).toBe(true);
        const gzip = await raw(path, 'gzip');
        expect([gzip.headers['content-encoding'], gunzipSync(gzip.body).equals(plain)]).toEqual([
          'gzip',
          true,
        ]);
        const identity = await raw(path, 'identity');
        expect([identity.headers['content-encoding'], identity.body.equals(plain)]).toEqual([
          undefined,
          true,
        ]);
        const tags = [whole, gzip, identity].map(({ headers }) => headers['etag']);
        expect(new Set(tags).size).toBe(3);
      }
    }
    const mlt = await at(name, '0/0/0?f=mlt');
    expect([mlt.headers.get('content-type'), mlt.headers.get('content-encoding')]).toEqual([MLT, 'gzip']);
    const same = await at('world', '0/0/0?f=mlt');
    expect(Buffer.from(await mlt.arrayBuffer()).equals(Buffer.from(await same.arrayBuffer()))).toBe(true);
  });

  it('is inflated for a client that takes no gzip', async () => {
    const tile = tiles.find((t) => t.zoom === 0)!;
    const response = await at('world', '0/0/0', { 'accept-encoding': 'identity' });
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(Buffer.from(await response.arrayBuffer()).equals(gunzipSync(tile.data))).toBe(true);
  });

  it('answers 304 for the entity tag it gave', async () => {
    const first = await at('world', '0/0/0?f=mvt');
    await first.arrayBuffer();
    const again = await at('world', '0/0/0?f=mvt', { 'if-none-match': first.headers.get('etag')! });
    expect(again.status).toBe(304);
  });

  it.each(['png', 'jpeg', 'webp'])(
    '%s images have their own media type, asked for or not',
    async (format) => {
      for (const query of ['', `?f=${format}`]) {
        const response = await at(format, `1/0/1${query}`);
        expect([response.status, response.headers.get('content-type')]).toEqual([200, `image/${format}`]);
        expect(Buffer.from(await response.arrayBuffer()).equals(images[format]!)).toBe(true);
      }
      const browser = await at(format, '1/0/1', { accept: 'image/avif,image/webp,image/*,*/*;q=0.8' });
      expect([browser.status, browser.headers.get('content-type')]).toEqual([200, `image/${format}`]);
      await browser.arrayBuffer();
    },
  );

  it.each([
    ['archived', '?f=png', 406],
    ['png', '?f=mvt', 406],
    ['jpeg', '?f=webp', 406],
    ['png', '?f=tiff', 400],
    ['countries', '?f=jpeg', 400],
  ])('%s asked for %s: %d', async (name, query, status) => {
    const response = await at(name, `0/0/0${query}`);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      status,
      'application/problem+json',
    ]);
    await response.text();
  });

  it('answers 406 to an Accept header without its format', async () => {
    expect((await at('png', '1/0/1', { accept: 'image/webp' })).status).toBe(406);
    expect((await at('countries', '0/0/0', { accept: 'image/gif' })).status).toBe(406);
  });

  it('a browser gets no webp of what is drawn', async () => {
    const response = await at('countries', '0/0/0', { accept: 'image/avif,image/webp,image/png,*/*;q=0.8' });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
    await response.arrayBuffer();
  });

  it.each([
    ['png', '1/1/1', 200],
    ['webp', '1/1/1', 200],
    ['world', '9/0/0', 404],
    ['world', '1/2/0', 400],
    ['world', '1/0/2', 400],
    ['world', '25/0/0', 400],
    ['bad-tile', '0/0/0', 503],
    ['bad-tile', '1/0/0', 503],
  ])('%s %s: %d', async (name, address, status) => {
    const response = await at(name, address);
    expect(response.status).toBe(status);
    await response.text();
  });

  it('has no tiles in another tile matrix set', async () => {
    for (const path of ['WorldCRS84Quad/0/0/0', 'WorldCRS84Quad', 'Nothing/0/0/0']) {
      const response = await fetch(`${server.url}${base('world')}/${path}`);
      expect(response.status, path).toBe(404);
      await response.text();
    }
  });

  it('cannot be mixed into tiles or maps of several collections', async () => {
    for (const path of [
      '/ogc/tiles/tiles/WebMercatorQuad/0/0/0?collections=world',
      '/ogc/maps/map?f=png&collections=world',
    ]) {
      const response = await fetch(server.url + path);
      expect(response.status, path).toBe(400);
      await response.text();
    }
    const whole = await fetch(`${server.url}/ogc/tiles/tiles/WebMercatorQuad/0/0/0?f=mvt`);
    expect(whole.status).toBe(200);
    await whole.arrayBuffer();
  });
});

describe('documents about an archive', () => {
  it('list the one tileset, its format and its zoom levels', async () => {
    const { tilesets } = await json(base('world'));
    expect(tilesets).toMatchObject([{ tileMatrixSetId: 'WebMercatorQuad', dataType: 'vector' }]);
    const tileset = await json(`${base('world')}/WebMercatorQuad`);
    expect(tileset).toMatchObject({
      mediaTypes: [MVT, MLT],
      attribution: 'Some people',
      layers: [{ id: 'countries', dataType: 'vector' }],
      boundingBox: { lowerLeft: [-10, 40], upperRight: [20, 60] },
      tileMatrixSetLimits: [{ tileMatrix: '0' }, { tileMatrix: '1' }, { tileMatrix: '2' }],
    });
    const items = tileset.links.filter(({ rel }: { rel: string }) => rel === 'item');
    expect(items).toMatchObject([{ type: MVT, href: expect.stringMatching(/\?f=mvt$/) }, { type: MLT }]);
    const image = await json(`${base('webp')}/WebMercatorQuad`);
    expect(image).toMatchObject({
      dataType: 'map',
      mediaTypes: ['image/webp'],
      tileMatrixSetLimits: [{ tileMatrix: '1' }],
    });
  });

  it('are in STAC and on the start page, not among features, maps and coverages', async () => {
    const stac = await json('/stac/collections/world');
    expect(stac.assets.tiles.href).toBe(`${server.url}${base('world')}/WebMercatorQuad`);
    expect((await fetch(stac.assets.tiles.href)).status).toBe(200);
    const start = await (await fetch(server.url, { headers: { accept: 'text/html' } })).text();
    expect(start).toContain('World');
    expect(start).toContain('Tile archive');
    for (const surface of ['features', 'coverages']) {
      const { collections } = await json(`/ogc/${surface}/collections?f=json`);
      const ids = collections.map(({ id }: { id: string }) => id);
      expect(ids, surface).not.toContain('world');
    }
    expect((await fetch(`${server.url}/ogc/features/collections/world/items`)).status).toBe(404);
    expect((await fetch(`${server.url}/ogc/coverages/collections/world/coverage`)).status).toBe(404);
    expect((await fetch(`${server.url}/ogc/maps/collections/${layerIds.get('world')}/map`)).status).toBe(404);
  });

  it('unreadable archives are named with the reason, and stop nothing', () => {
    expect(layerIds.has('noise')).toBe(false);
    expect(layerIds.has('short')).toBe(false);
    expect(server.log()).toMatch(/noise\.mbtiles.*not a database/);
    expect(server.log()).toMatch(/short\.pmtiles.*damaged/);
  });
});
