import { beforeAll, describe, expect, it } from 'vitest';
import { mltToMvt } from '../../../src/native/index.js';
import { expectEqual } from '../../support/equal.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';
import { readByRust, writeByRust } from './rust-peer.js';
import { mltReader, type ReadTile, readMvt } from './support.js';

/** MapLibre Tiles show what the vector tiles of the same place show. */

let server: SharedServer;
let readMlt: (tile: Uint8Array) => ReadTile;
beforeAll(async () => {
  server = await sharedServer();
  readMlt = await mltReader();
});

const MLT = 'application/vnd.maplibre-tile';
const fetchTile = async (path: string, init?: RequestInit) => {
  const response = await fetch(`${server.url}${path}`, init);
  return { response, tile: new Uint8Array(await response.arrayBuffer()) };
};

/** All tiles to zoom 2, and some of each zoom to 8. */
function* places(): Generator<string> {
  for (let z = 0; z <= 8; z++)
    for (let x = 0; x < 2 ** z; x++)
      for (let y = 0; y < 2 ** z; y++)
        if (z <= 2 || (x * 31 + y * 17) % 2 ** (2 * z - 4) === 0) yield `${z}/${x}/${y}`;
}

it.each(['countries', 'states_provinces', 'disputed_borders', 'countries,states_provinces'])(
  'tiles of %s',
  async (collections) => {
    const tiles: { mvt: Uint8Array; mlt: Uint8Array; expected: ReadTile }[] = [];
    for (const place of places()) {
      const [mvt, mlt] = await Promise.all([
        fetchTile(`/tiles/${collections}/${place}`),
        fetchTile(`/tiles/${collections}/${place}.mlt`),
      ]);
      expect(mlt.response.status).toBe(mvt.response.status);
      if (mvt.tile.length === 0) continue;
      const expected = readMvt(mvt.tile);
      expectEqual(readMlt(mlt.tile), expected);
      tiles.push({ mvt: mvt.tile, mlt: mlt.tile, expected });
    }
    const layers = tiles.flatMap(({ expected }) => Object.values(expected));
    expect(layers.flatMap(({ features }) => features).length).toBeGreaterThan(100);

    expectEqual(
      await readByRust(tiles.map(({ mlt }) => mlt)),
      tiles.map(({ expected }) => expected),
    );
    for (const triangles of [false, true]) {
      const some = tiles.filter((_, i) => i % 8 === Number(triangles));
      const written = await writeByRust(
        some.map(({ mvt }) => mvt),
        triangles,
      );
      expectEqual(
        written.map((mlt) => readMvt(mltToMvt(mlt))),
        some.map(({ expected }) => expected),
      );
    }
  },
);

describe('negotiation', () => {
  const path = '/ogc/tiles/collections/countries/tiles/WebMercatorQuad/2/1/2';

  it('is by parameter, by header and by ending', async () => {
    const all = await Promise.all([
      fetchTile(`${path}?f=mlt`),
      fetchTile(path, { headers: { accept: MLT } }),
      fetchTile('/tiles/countries/2/2/1.mlt'),
    ]);
    for (const { response, tile } of all) {
      expect([response.status, response.headers.get('content-type')]).toEqual([200, MLT]);
      expect(tile).toEqual(all[0].tile);
    }
    const { response } = await fetchTile(path);
    expect(response.headers.get('content-type')).toBe('application/vnd.mapbox-vector-tile');
    expect(response.headers.get('vary')?.toLowerCase()).toContain('accept');
  });

  it('has an entity tag of its own, and filters as vector tiles do', async () => {
    const [mvt, mlt] = await Promise.all([fetchTile(`${path}?f=mvt`), fetchTile(`${path}?f=mlt`)]);
    const tag = mlt.response.headers.get('etag')!;
    expect(tag).not.toBe(mvt.response.headers.get('etag'));
    const { response } = await fetchTile(`${path}?f=mlt`, { headers: { 'if-none-match': tag } });
    expect(response.status).toBe(304);
    const query = `filter=${encodeURIComponent("NAME = 'France'")}&properties=NAME`;
    const [one, same] = await Promise.all([
      fetchTile(`${path}?f=mvt&${query}`),
      fetchTile(`${path}?f=mlt&${query}`),
    ]);
    expect(one.response.status).toBe(200);
    expect(readMlt(same.tile)).toEqual(readMvt(one.tile));
  });

  it('is refused of rasters', async () => {
    const raster = '/ogc/tiles/collections/olinda_dem_utm25s/tiles/WebMercatorQuad/8/133/103';
    const { response } = await fetchTile(`${raster}?f=mlt`);
    expect(response.status).toBe(406);
    const short = await fetchTile('/tiles/olinda_dem_utm25s/8/103/133.mlt');
    expect(short.response.status).toBe(406);
  });
});

describe('descriptions', () => {
  const document = async (path: string) => (await fetch(`${server.url}${path}`)).json();

  it('TileJSON tells the encoding that is asked for', async () => {
    const { tiles, encoding } = await document('/tiles/countries?encoding=mlt');
    expect([encoding, tiles[0]]).toEqual(['mlt', `${server.url}/tiles/countries/{z}/{x}/{y}.mlt`]);
    expect((await document('/tiles/countries')).encoding).toBe('mvt');
    expect((await document('/tiles/countries?encoding=pbf')).status).toBe(400);
    expect((await document('/tiles/olinda_dem_utm25s?encoding=mlt')).status).toBe(400);
  });

  it('tilesets link to tiles of both encodings', async () => {
    const { links, mediaTypes } = await document(
      '/ogc/tiles/collections/countries/tiles/WebMercatorQuad?f=json',
    );
    expect(mediaTypes).toContain(MLT);
    const item = links.find(({ rel, type }: { rel: string; type: string }) => rel === 'item' && type === MLT);
    expect(item.href).toContain('f=mlt');
  });
});
