import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../engine/support.js';
import { startServer, startServerProcess, type TestServer } from '../../support/server.js';
import { colouredTiles } from '../files/packages.js';
import { startMapProxy } from './mapproxy.js';
import { call, REMOTE_HOST, type Remote, startRemote } from './support.js';

/** Tiles of a WMTS: of MapProxy, and of small servers that answer badly. */

const scratch = scratchDirectory();
let server: TestServer;
let mapProxy: Awaited<ReturnType<typeof startMapProxy>>;
let remote: Remote;
let capabilities = '';
let tile: (path: URL, response: ServerResponse) => void;
let png: Buffer;

beforeAll(async () => {
  mapProxy = await startMapProxy(scratch.path);
  png = (await colouredTiles([0]))[0]!.data;
  remote = await startRemote((url, response) => {
    if (url.searchParams.get('REQUEST') !== 'GetCapabilities') return tile(url, response);
    response.writeHead(200, { 'content-type': 'text/xml' }).end(capabilities);
  });
  server = await startServer({ sources: [], env: { SVC_REMOTE__ALLOW: `["${REMOTE_HOST}"]` } });
}, 180_000);

afterAll(async () => {
  await server?.stop();
  await mapProxy?.close();
  await remote?.close();
  scratch.remove();
});

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Answer = { status: number; body: any };
const send = (body: object): Promise<Answer> => call(server, 'POST', '/import/ogc-tiles/export', body);
const ofMapProxy = (body: object) => send({ serviceUrl: `${mapProxy.url}/service`, ...body });
const ofRemote = (body: object) => send({ serviceUrl: remote.url, applyMode: true, ...body });
const drafts = () => readdirSync(join(server.dataDir, 'archives'));

describe('MapProxy', () => {
  it('is planned, and sets of another grid are skipped with the reason', async () => {
    const { status, body } = await ofMapProxy({ dryRun: true, maxZoom: 2 });
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        success: true,
        wasDryRun: true,
        tileSetsPlanned: 2,
        tileSetsSkipped: 1,
        tilesPersisted: 0,
      }),
    ]);
    const byId = Object.fromEntries(
      body.tileSets.map((one: Answer['body']) => [one.tileMatrixSetIdentifier, one]),
    );
    expect(byId.mercator).toMatchObject({
      classification: 'planned',
      code: 'ok',
      minZoom: 0,
      maxZoom: 2,
      targetTileCacheId: 'drawn',
    });
    expect(byId.degrees).toMatchObject({
      classification: 'skipped',
      code: 'unsupported-grid',
      warnings: [expect.stringMatching(/EPSG:4326/)],
    });
  });

  it('gives its tiles, which are served as they were', async () => {
    const { status, body } = await ofMapProxy({
      applyMode: true,
      maxZoom: 3,
      tileMatrixSetIdentifiers: ['mercator'],
    });
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ success: true, tileSetsExported: 1, tilesPersisted: 85, tilesFailed: 0 }),
    ]);
    for (const [zoom, row, column] of [
      [0, 0, 0],
      [2, 1, 3],
      [3, 7, 2],
    ] as const) {
      const own = await fetch(`${server.url}/tiles/drawn/${zoom}/${column}/${row}.png`);
      const source = await fetch(
        `${mapProxy.url}/service?SERVICE=WMTS&REQUEST=GetTile&VERSION=1.0.0&LAYER=drawn&STYLE=&TILEMATRIXSET=mercator&TILEMATRIX=0${zoom}&TILEROW=${row}&TILECOL=${column}&FORMAT=image/png`,
      );
      expect([own.status, source.status]).toEqual([200, 200]);
      expect(Buffer.from(await own.arrayBuffer()).equals(Buffer.from(await source.arrayBuffer()))).toBe(true);
    }
    expect(drafts()).toEqual([]);
  });

  it('gives a window, cut at the highest zoom', async () => {
    const window = { minColumn: 4, maxColumn: 5, minRow: 2, maxRow: 2 };
    const { body } = await ofMapProxy({
      applyMode: true,
      minZoom: 2,
      maxZoom: 3,
      tileMatrixSetIdentifiers: ['mercator'],
      window,
    });
    expect(body).toMatchObject({ tilesPersisted: 3, tileSets: [{ minZoom: 2, maxZoom: 3 }] });
    expect((await fetch(`${server.url}/tiles/drawn/3/4/2.png`)).status).toBe(200);
    // What an archive of images does not have is a blank tile.
    const tileAt = async (column: number) =>
      (await sharp(await (await fetch(`${server.url}/tiles/drawn/3/${column}/2.png`)).arrayBuffer()).stats())
        .isOpaque;
    expect([await tileAt(4), await tileAt(6)]).toEqual([true, false]);
  });
});

const SCALE = 559_082_264.028_717_8;
const matrix = (zoom: number) => `<TileMatrix><ows:Identifier>${zoom}</ows:Identifier>
  <ScaleDenominator>${SCALE / 2 ** zoom}</ScaleDenominator><TopLeftCorner>-20037508.3428 20037508.3428</TopLeftCorner>
  <TileWidth>256</TileWidth><TileHeight>256</TileHeight></TileMatrix>`;
const document = (levels: number, more = '') => `<Capabilities xmlns:ows="o" version="1.0.0"><Contents>
  <Layer><ows:Identifier>Some layer</ows:Identifier><Format>image/png</Format>${more}
  <TileMatrixSetLink><TileMatrixSet>m</TileMatrixSet></TileMatrixSetLink></Layer>
  <TileMatrixSet><ows:Identifier>m</ows:Identifier><ows:SupportedCRS>urn:ogc:def:crs:EPSG::3857</ows:SupportedCRS>
  ${Array.from({ length: levels }, (_, zoom) => matrix(zoom)).join('')}</TileMatrixSet></Contents></Capabilities>`;

describe('told is', () => {
  it.each([
    ['what is not applied', { applyMode: false }, 'applyMode'],
    ['zooms the wrong way round', { minZoom: 3, maxZoom: 1 }, 'minZoom'],
    ['a layer that is not there', { layerIdentifiers: ['nothing'] }, 'layerIdentifiers'],
    ['a host that may not be asked', { serviceUrl: 'http://10.0.0.1/' }, 'serviceUrl'],
  ])('%s', async (_, body, member) => {
    capabilities = document(1);
    const answered = await ofRemote(body);
    expect([answered.status, answered.body.errors?.[0]?.name]).toEqual([400, member]);
  });

  it('a server that is none', async () => {
    capabilities = '<html></html>';
    expect(await ofRemote({})).toMatchObject({
      status: 502,
      body: { detail: expect.stringMatching(/not a WMTS/) },
    });
    capabilities = '<!DOCTYPE a [<!ENTITY b "c">]><Capabilities>&b;</Capabilities>';
    expect(await ofRemote({})).toMatchObject({ status: 502 });
  });

  it('what has more tiles than are taken, and tiles that lie elsewhere', async () => {
    capabilities = document(20);
    expect((await ofRemote({})).body.tileSets).toMatchObject([
      { code: 'too-many-tiles', classification: 'skipped' },
    ]);
    capabilities = document(
      1,
      '<ResourceURL format="image/png" resourceType="tile" template="http://10.0.0.1/{TileMatrix}/{TileRow}/{TileCol}.png"/>',
    );
    expect((await ofRemote({})).body.tileSets).toMatchObject([
      { classification: 'skipped', warnings: ['Its tiles lie on another server.'] },
    ]);
    capabilities = document(1);
    expect((await ofRemote({ tileFormat: 'image/webp' })).body.tileSets).toMatchObject([
      { code: 'unsupported-format' },
    ]);
  });

  it('a tile that fails again and again: then nothing is published', async () => {
    capabilities = document(3);
    let failures = 0;
    tile = ({ searchParams }, response) => {
      const isBroken =
        searchParams.get('TILEMATRIX') === '2' && searchParams.get('TILEROW') === '1' && failures++ < 100;
      if (isBroken) response.writeHead(503).end();
      else response.writeHead(200, { 'content-type': 'image/png' }).end(png);
    };
    const { body } = await ofRemote({});
    expect(body).toMatchObject({
      success: false,
      tileSetsExported: 0,
      tileSets: [{ classification: 'failed', targetTileCacheId: null }],
    });
    expect((await fetch(`${server.url}/ogc/tiles/collections/some-layer`)).status).toBe(404);
    expect(drafts()).toEqual([]);
  });

  it('where there is no tile; one that fails for a while is asked for again', async () => {
    capabilities = document(3);
    const asked = new Map<string, number>();
    tile = (url, response) => {
      const times = asked.get(url.search) ?? 0;
      asked.set(url.search, times + 1);
      const [level, row] = ['TILEMATRIX', 'TILEROW'].map((name) => url.searchParams.get(name));
      if (level === '2' && row === '3') response.writeHead(404).end();
      else if (level === '1' && times === 0) response.writeHead(503).end();
      else response.writeHead(200, { 'content-type': 'image/png' }).end(png);
    };
    const { body } = await ofRemote({});
    expect(body).toMatchObject({
      ...{ success: true, tilesPersisted: 17 },
      tileSets: [{ warnings: ['The server has no tile at 4 of the URLs.'] }],
    });
    tile = (_url, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    expect((await ofRemote({})).body).toMatchObject({
      success: false,
      errorMessage: expect.stringMatching(/text\/html/),
    });
    // What was there before stays.
    expect((await fetch(`${server.url}/ogc/tiles/collections/some-layer`)).status).toBe(200);
  });
});

describe('a server that is killed while it copies', () => {
  it('goes on where it was, and publishes the whole set', async () => {
    capabilities = document(5);
    const asked = new Map<string, number>();
    tile = ({ search }, response) => {
      asked.set(search, (asked.get(search) ?? 0) + 1);
      setTimeout(() => response.writeHead(200, { 'content-type': 'image/png' }).end(png), 5);
    };
    const dataDir = mkdtempSync(join(scratch.path, 'killed-'));
    const setup = { sources: [], dataDir, env: { SVC_REMOTE__ALLOW: `["${REMOTE_HOST}"]` } };
    const first = await startServerProcess(setup);
    const body = { serviceUrl: remote.url, applyMode: true };
    const sending = call(first, 'POST', '/import/ogc-tiles/export', body).catch(() => undefined);
    // Of 341 tiles the first 64 were written before the third part is asked for.
    for (const late = Date.now() + 60_000; asked.size < 150 && Date.now() < late; ) await pause(2);
    await first.kill();
    await sending;
    const second = await startServer(setup);
    try {
      const isShown = async () =>
        (await fetch(`${second.url}/ogc/tiles/collections/some-layer`)).status === 200;
      for (const late = Date.now() + 120_000; !(await isShown()); await pause(100))
        if (Date.now() > late) throw new Error(`it was not published: ${second.log().slice(-3000)}`);
      expect(asked.size).toBe(341);
      const times = [...asked.values()];
      expect(times.slice(0, 64)).toEqual(times.slice(0, 64).map(() => 1));
      // The header tells how many addresses have a tile (PMTiles 3, 3.1).
      const archive = readFileSync(join(dataDir, 'published', 'some-layer.pmtiles'));
      expect(Number(archive.readBigUInt64LE(72))).toBe(341);
      await expect.poll(() => readdirSync(join(dataDir, 'archives')), { timeout: 60_000 }).toEqual([]);
    } finally {
      await second.stop();
    }
  }, 240_000);
});
