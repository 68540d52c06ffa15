import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import gdal from 'gdal-async';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../engine/support.js';
import { makeMBTiles, type TileRecord, tilesOf, writeMBTiles } from '../../support/archives.js';
import { startServer, startServerProcess, type TestServer } from '../../support/server.js';
import { repetitions } from '../../support/soak.js';
import { leftovers } from '../remote/support.js';
import { colouredTiles, tpk, tpkx, vtpk } from './packages.js';

/** Imports of tile packages: each tile is served as it was packed, and what is no package leaves nothing behind. */

const scratch = scratchDirectory();
let server: TestServer;
let tiles: TileRecord[];
let vectors: TileRecord[];

beforeAll(async () => {
  server = await startServer({ sources: [] });
  tiles = await colouredTiles([0, 1, 2, 3]);
  const path = join(scratch.path, 'vectors.mbtiles');
  makeMBTiles(path);
  vectors = tilesOf(path);
}, 120_000);

afterAll(async () => {
  await server?.stop();
  scratch.remove();
});

interface ImportReply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
  body: any;
}

async function send(
  query: Record<string, string>,
  body: Uint8Array<ArrayBuffer>,
  to = server,
): Promise<ImportReply> {
  const answer = await fetch(`${to.url}/api/v1/admin/import/tile-package?${new URLSearchParams(query)}`, {
    method: 'POST',
    headers: { 'x-api-key': to.adminKey, 'content-type': 'application/octet-stream' },
    body,
  });
  return { status: answer.status, body: await answer.json() };
}

const bytesOf = (buffer: Buffer) => new Uint8Array(buffer);

async function expectServed(
  serveUrl: string,
  expected: readonly TileRecord[],
  accept: string,
): Promise<void> {
  for (const { zoom, row, column, data } of expected) {
    const answer = await fetch(`${server.url}${serveUrl}/${zoom}/${row}/${column}`, { headers: { accept } });
    expect(answer.status).toBe(200);
    const body = Buffer.from(await answer.arrayBuffer());
    expect(body.equals(data), `tile ${zoom}/${row}/${column}`).toBe(true);
  }
}

/** What the import leaves besides the archive. */
function strays(): string[] {
  const archives = join(server.dataDir, 'archives');
  return [...leftovers(server), ...readdirSync(archives).filter((name) => !name.endsWith('.log'))];
}

describe('a package of images', () => {
  it('is read by GDAL as it is meant', async () => {
    const path = join(scratch.path, 'coloured.zip');
    writeFileSync(path, tpk(tiles, 2));
    const dataset = gdal.open(`/vsizip/${path}/v101/Old map/conf.xml`);
    expect(dataset.driver.description).toBe('ESRIC');
    // The file has six levels, of which the last two have no tiles.
    const last = dataset.bands.get(1).overviews.get(1);
    const at = ({ row, column }: TileRecord) => last.pixels.get(column * 256 + 128, row * 256 + 128);
    const third = tiles.filter(({ zoom }) => zoom === 3);
    expect(third.map(at)).toEqual(third.map(() => 120));
    dataset.close();
    const { body } = await send({ tilesetId: 'second', fileName: 'old.tpk' }, bytesOf(tpk(tiles, 2)));
    expect(body).toMatchObject({ storageFormat: 'CompactV2', tilesImported: 85 });
    await expectServed(body.serveUrl, tiles, 'image/png');
  });

  it('is served, each tile as it was packed', async () => {
    const { status, body } = await send({ tilesetId: 'coloured', fileName: 'A.tpkx' }, bytesOf(tpkx(tiles)));
    expect([status, body]).toEqual([
      200,
      {
        ...{ success: true, dryRun: false, tileCacheId: 'coloured', tileMatrixSet: 'WebMercatorQuad' },
        ...{
          dataType: 'raster',
          storageFormat: 'CompactV2',
          contentType: 'image/png',
          minZoom: 0,
          maxZoom: 3,
        },
        ...{
          tilesImported: 85,
          tilesSkipped: 0,
          serveUrl: expect.stringMatching(/^\/ogc\/tiles\/collections\/\d+\/tiles\/WebMercatorQuad$/),
        },
      },
    ]);
    await expectServed(body.serveUrl, tiles, 'image/png');
    const collection = await fetch(`${server.url}/ogc/tiles/collections/coloured?f=json`);
    expect(await collection.json()).toMatchObject({ name: 'coloured', title: 'Coloured tiles' });
    expect(strays()).toEqual([]);
  });

  it('is told without being imported, and cut to zooms', async () => {
    const numbered = await send({ tilesetId: '5', fileName: 'A.tpkx' }, bytesOf(tpkx(tiles)));
    expect([numbered.status, JSON.stringify(numbered.body)]).toEqual([400, expect.stringContaining("'5'")]);
    const query = { tilesetId: 'tried', minZoom: '1', maxZoom: '2' };
    const tried = await send({ ...query, dryRun: 'true' }, bytesOf(tpkx(tiles)));
    const counts = { minZoom: 1, maxZoom: 2, tilesImported: 20, tilesSkipped: 65 };
    expect(tried.body).toMatchObject({ dryRun: true, tileCacheId: null, serveUrl: null, ...counts });
    expect((await fetch(`${server.url}/ogc/tiles/collections/tried`)).status).toBe(404);
    const { body } = await send(query, bytesOf(tpkx(tiles)));
    expect(body).toMatchObject({ dryRun: false, ...counts });
    await expectServed(
      body.serveUrl,
      tiles.filter(({ zoom }) => zoom === 1 || zoom === 2),
      'image/png',
    );
    const beyond = await fetch(`${server.url}${body.serveUrl}/3/0/0`, { headers: { accept: 'image/png' } });
    expect(beyond.status).not.toBe(200);
  });

  it('takes the place of the one that was imported before', async () => {
    const changed = await colouredTiles([0]);
    await send({ tilesetId: 'again' }, bytesOf(tpkx(tiles)));
    const { body } = await send({ tilesetId: 'again' }, bytesOf(tpkx(changed)));
    expect(body).toMatchObject({ maxZoom: 0, tilesImported: 1 });
  });

  it('of bundles of version 1 is served', async () => {
    const { status, body } = await send({ tilesetId: 'old', fileName: 'old.tpk' }, bytesOf(tpk(tiles)));
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ storageFormat: 'Compact', tilesImported: 85 }),
    ]);
    await expectServed(body.serveUrl, tiles, 'image/png');
    const about = (await (
      await fetch(`${server.url}/ogc/tiles/collections/old?f=json`)
    ).json()) as ImportReply['body'];
    expect(about).toMatchObject({
      title: 'Old map',
      extent: { spatial: { bbox: [[0, 0, 180, expect.closeTo(85.05, 1)]] } },
    });
  });
});

describe('other packages', () => {
  it('of vector tiles have the layers that their style draws', async () => {
    const { status, body } = await send(
      { tilesetId: 'vectors', fileName: 'x.vtpk' },
      bytesOf(vtpk(vectors, ['countries'])),
    );
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ dataType: 'vector', tilesImported: vectors.length }),
    ]);
    const tile = vectors[0]!;
    const answer = await fetch(`${server.url}${body.serveUrl}/${tile.zoom}/${tile.row}/${tile.column}`, {
      headers: { accept: 'application/vnd.mapbox-vector-tile' },
    });
    expect(answer.status).toBe(200);
    const json = await fetch(`${server.url}${body.serveUrl}?f=tilejson`);
    expect(await json.json()).toMatchObject({ vector_layers: [{ id: 'countries' }] });
  });

  it('are MBTiles, and GeoPackages that GDAL has written', async () => {
    const path = join(scratch.path, 'plain.mbtiles');
    writeMBTiles(path, { name: 'Plain', format: 'png' }, tiles);
    const plain = await send({ tilesetId: 'plain', fileName: 'plain.mbtiles' }, bytesOf(readFileSync(path)));
    expect(plain.body).toMatchObject({ storageFormat: 'mbtiles', tilesImported: 85 });
    await expectServed(plain.body.serveUrl, tiles, 'image/png');
    const source = gdal.open(path);
    const target = join(scratch.path, 'tiles.gpkg');
    const creation = ['TILING_SCHEME=GoogleMapsCompatible', 'TILE_FORMAT=PNG'];
    gdal.drivers.get('GPKG').createCopy(target, source, creation).close();
    const { status, body } = await send(
      { tilesetId: 'geopackage', fileName: 't.gpkg' },
      bytesOf(readFileSync(target)),
    );
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ storageFormat: 'geopackage', tilesImported: 64 }),
    ]);
    await expectServed(body.serveUrl, [], 'image/png');
    rmSync(target);
  });
});

describe('refused is', () => {
  const good = () => bytesOf(tpkx(tiles));
  const cases: [string, Record<string, string>, () => Uint8Array<ArrayBuffer>, RegExp][] = [
    ['an id that is none', { tilesetId: 'A b' }, good, /^tilesetId: must be 1 to 64 /],
    ['no id', {}, good, /^tilesetId: must be 1 to 64 /],
    [
      'a zoom that is none',
      { tilesetId: 'x', minZoom: '-1' },
      good,
      /^minZoom: must be an integer from 0 to 24/,
    ],
    [
      'zooms the wrong way round',
      { tilesetId: 'x', minZoom: '3', maxZoom: '1' },
      good,
      /^minZoom: must not be above maxZoom/,
    ],
    ['a zoom without tiles', { tilesetId: 'x', minZoom: '9' }, good, /no tiles at the requested zooms/],
    ['another ending', { tilesetId: 'x', fileName: 'a.zip' }, good, /^fileName: must end with one of /],
    ['an empty body', { tilesetId: 'x' }, () => new Uint8Array(0), /empty/],
    ['what is no archive', { tilesetId: 'x' }, () => new Uint8Array(1000), /damaged, or of another kind/],
    [
      'a package that is cut off',
      { tilesetId: 'x' },
      () => good().slice(0, 5000),
      /damaged, or of another kind/,
    ],
    ['another grid', { tilesetId: 'x' }, () => bytesOf(tpkx(tiles, { wkid: 4326 })), /EPSG:4326/],
    ['another origin', { tilesetId: 'x' }, () => bytesOf(tpkx(tiles, { originX: 0 })), /begin elsewhere/],
    [
      'a bundle that is cut off',
      { tilesetId: 'x' },
      () =>
        bytesOf(
          tpkx(tiles, { entries: [{ name: 'tile/L03/R0000C0000.bundle', content: Buffer.alloc(1000) }] }),
        ),
      /bundle has no index/,
    ],
    [
      'an entry that leads elsewhere',
      { tilesetId: 'x' },
      () => bytesOf(tpkx(tiles, { entries: [{ name: '../evil', content: 'x' }] })),
      /damaged, or of another kind/,
    ],
    [
      'documents that are none',
      { tilesetId: 'x' },
      () => bytesOf(tpkx(tiles, { entries: [{ name: 'root.json', content: '{"tileInfo":' }] })),
      /root.json is not JSON/,
    ],
    [
      'a document of nothing',
      { tilesetId: 'x' },
      () => bytesOf(tpkx(tiles, { entries: [{ name: 'root.json', content: '[]' }] })),
      /not those of WebMercatorQuad/,
    ],
  ];

  it.each(cases)('%s', async (_, query, body, reason) => {
    const answer = await send(query, body());
    expect([answer.status, answer.body]).toEqual([400, expect.stringMatching(reason)]);
    expect(strays()).toEqual([]);
  });

  it('tiles of two formats, and tiles outside of their bundle', async () => {
    const jpeg = tiles.map((tile, i) =>
      i === 50 ? { ...tile, data: Buffer.from('ffd8ffe0', 'hex') } : tile,
    );
    expect((await send({ tilesetId: 'x' }, bytesOf(tpkx(jpeg)))).body).toMatch(/several formats/);
    const bundle = Buffer.from(tpkx(tiles));
    const magic = bundle.indexOf(Buffer.from('tile/L03/R0000C0000.bundle'));
    // The place of its first tile, in the index behind the header of the stored entry.
    bundle.writeUInt32LE(0xfffffff0, magic + 26 + 64);
    const answer = await send({ tilesetId: 'x' }, bytesOf(bundle));
    expect([answer.status, typeof answer.body]).toEqual([400, 'string']);
    expect(strays()).toEqual([]);
  });

  it('the id of a collection that is no tileset', async () => {
    const path = join(scratch.path, 'towns.geojson');
    writeFileSync(path, '{"type":"FeatureCollection","features":[]}');
    const form = new FormData();
    const point = { type: 'Feature', properties: {}, geometry: { type: 'Point', coordinates: [1, 2] } };
    form.append(
      'file',
      new Blob([JSON.stringify({ type: 'FeatureCollection', features: [point] })]),
      'p.geojson',
    );
    form.append('TableName', 'points');
    const headers = { 'x-api-key': server.adminKey };
    await fetch(`${server.url}/api/v1/admin/import/upload`, { method: 'POST', headers, body: form });
    const answer = await send({ tilesetId: 'points' }, good());
    expect([answer.status, answer.body]).toEqual([400, expect.stringMatching(/is not an imported tileset/)]);
  });
});

describe('a server that is killed while it imports', () => {
  const ROUNDS = repetitions(import.meta.url, 10, 2);

  it.each(Array.from({ length: ROUNDS }, (_, i) => i))(
    'has the whole package or nothing of it (%i)',
    async (round) => {
      const dataDir = mkdtempSync(join(scratch.path, 'killed-'));
      const [plain] = tiles;
      // Equal tiles are packed often, and each is copied: enough to be killed in the middle.
      const many = [6, 7].flatMap((zoom) =>
        Array.from({ length: 4 ** zoom }, (_, i) => ({
          ...{ zoom, row: i >> zoom, column: i & (2 ** zoom - 1), data: plain!.data },
        })),
      );
      const first = await startServerProcess({ sources: [], dataDir });
      const sending = send({ tilesetId: 'whole' }, bytesOf(tpkx(many)), first).catch(() => undefined);
      const isBegun = () =>
        readdirSync(dataDir, { recursive: true }).some((name) => /partial/.test(String(name)));
      for (const late = Date.now() + 60_000; !isBegun() && Date.now() < late; ) await pause(5);
      await pause(round * 40);
      await first.kill();
      await sending;
      const second = await startServer({ sources: [], dataDir });
      try {
        const isShown = async () => (await fetch(`${second.url}/ogc/tiles/collections/whole`)).status === 200;
        for (const late = Date.now() + 120_000; !(await isShown()); await pause(100))
          if (Date.now() > late) throw new Error(`it was not published: ${second.log().slice(-3000)}`);
        const archive = join(dataDir, 'published', 'whole.pmtiles');
        // The header tells how many addresses have a tile (PMTiles 3, 3.1).
        expect(Number(readFileSync(archive).readBigUInt64LE(72))).toBe(many.length);
        // The job ends, and tidies up, once the collection is shown.
        const left = () =>
          ['archives', 'uploads']
            .flatMap((name) => readdirSync(join(dataDir, name)))
            .filter((name) => /partial|tpkx/.test(name));
        await expect.poll(left, { timeout: 60_000 }).toEqual([]);
      } finally {
        await second.stop();
      }
    },
    240_000,
  );
});
