import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { PMTiles } from 'pmtiles';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { EXCHANGE_LIMITS } from '../../src/core/exchange/limits.js';
import Database from '../../src/native/sqlite.js';
import { prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { isFullRun } from '../support/soak.js';
import { type Json, ProcessClient } from './support.js';

/** Archives of tiles, and files of other servers that become collections. */

/** A brief run kills in the midst of one phase. */
const IS_FULL = isFullRun(import.meta.url);
const ARCHIVE = 'conversion.tile-archive';
const IMPORT = 'conversion.import';
const folder = mkdtempSync(join(tmpdir(), 'graticule-process-files-'));

let server: TestServer;
let client: ProcessClient;

const storePath = (name: string) => join(folder, 'stores', `${name}.gpkg`);

/** The store of a folder that has been used: it takes no further table. */
function fillStore(path: string): void {
  const db = new Database(path);
  prepareStore(db);
  const fill = db.transaction(() => {
    for (let i = 0; i < EXCHANGE_LIMITS.storeTables; i++)
      db.exec(`CREATE TABLE old_${i} (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom POINT, name TEXT);
        INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('old_${i}', 'features', 'old_${i}', 4326);
        INSERT INTO gpkg_geometry_columns VALUES ('old_${i}', 'geom', 'POINT', 4326, 0, 0)`);
  });
  fill();
  db.close();
}

function tablesOf(name: string): string[] {
  const db = new Database(storePath(name), { readonly: true });
  try {
    return db.prepare('SELECT table_name FROM gpkg_contents ORDER BY 1').pluck().all() as string[];
  } finally {
    db.close();
  }
}

async function start() {
  const env = { SVC_REMOTE__ALLOW: '127.0.0.1' };
  server = await startServerProcess({ sources: ['demo/data/world_map.gpkg'], dataDir: folder, env });
  client = new ProcessClient(server);
}

beforeAll(() => {
  mkdirSync(join(folder, 'stores'));
  fillStore(storePath('default'));
  return start();
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function refusal(process: string, body: Json): Promise<[number, string]> {
  const response = await client.execute(process, body);
  const { errors, detail } = (await response.json()) as Json;
  return [response.status, errors?.[0]?.name ?? detail];
}

/** A file as readers of PMTiles ask for it. */
function sourceOf(bytes: Buffer) {
  const getBytes = async (offset: number, length: number) => ({
    data: new Uint8Array(bytes.subarray(offset, offset + length)).buffer as ArrayBuffer,
  });
  return { getBytes, getKey: () => 'archive' };
}

describe('tile archives', () => {
  it('hold the tiles that the server gives', async () => {
    const inputs = { collections: ['countries'], maxZoom: 2 };
    const { archive } = await client.results(ARCHIVE, { inputs });
    expect(archive.type).toBe('application/vnd.pmtiles');
    const bytes = Buffer.from(await (await client.get(archive.href)).arrayBuffer());
    const pmtiles = new PMTiles(sourceOf(bytes));
    for (const [z, row, column] of [
      [0, 0, 0],
      [1, 0, 1],
      [2, 1, 2],
    ] as const) {
      const path = `/ogc/tiles/collections/countries/tiles/WebMercatorQuad/${z}/${row}/${column}?f=mvt`;
      const served = Buffer.from(await (await client.get(path)).arrayBuffer());
      const tile = Buffer.from((await pmtiles.getZxy(z, column, row))!.data);
      expect([z, plain(tile).equals(plain(served))]).toEqual([z, true]);
    }
  });

  it('become collections', async () => {
    const inputs = { collections: ['countries'], maxZoom: 1, format: 'mbtiles', tileFormat: 'png' };
    const outputs = { archive: { publish: { collection: 'pictures' } } };
    await client.results(ARCHIVE, { inputs, outputs });
    const tile = await client.get('/ogc/tiles/collections/pictures/tiles/WebMercatorQuad/1/0/1?f=png');
    expect([tile.status, tile.headers.get('content-type')]).toEqual([200, 'image/png']);
    // The result of the job and the collection are names of one file, which was written once.
    expect(statSync(join(folder, 'published', 'pictures.mbtiles')).nlink).toBe(2);
    const kept = {
      inputs: { ...inputs, format: 'gpkg' },
      outputs: { archive: { publish: { collection: 'b' } } },
    };
    expect(await refusal(ARCHIVE, kept)).toEqual([400, '/outputs/archive/publish']);
  });

  it('are refused where they cannot be made', async () => {
    const archive = (more: Json) => refusal(ARCHIVE, { inputs: { collections: ['countries'], ...more } });
    expect(await archive({})).toEqual([400, '/inputs/maxZoom']);
    expect(await archive({ maxZoom: 30 })).toEqual([400, '/inputs/maxZoom']);
    expect(await archive({ maxZoom: 1, bbox: [0, 10, 5, 5] })).toEqual([400, '/inputs/bbox']);
    expect((await archive({ maxZoom: 20 }))[0]).toBe(413);
    expect((await archive({ maxZoom: 1, collections: ['nowhere'] }))[1]).toContain('nowhere');
    expect((await archive({ maxZoom: 1, format: 'gpkg' }))[1]).toContain('GeoPackage');
    const step = { kind: 'geoprocess', stepId: 'a', processId: ARCHIVE, inputs: { maxZoom: 1 } };
    const plan = { inputs: { plan: { planId: 'p', steps: [step] } } };
    expect(await refusal('svc-geoprocessing', plan)).toEqual([400, '/inputs/plan/steps/0/processId']);
  });
});

const plain = (tile: Buffer) => (tile[0] === 0x1f && tile[1] === 0x8b ? gunzipSync(tile) : tile);

describe('imports', () => {
  let files: Server;
  let at: string;
  const ports = JSON.stringify({
    type: 'FeatureCollection',
    features: Array.from({ length: 20_000 }, (_, i) => ({
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [i / 200, 50] },
      properties: { name: `Port ${i}` },
    })),
  });

  beforeAll(async () => {
    files = createServer((request, response) => {
      if (request.url === '/ports.geojson') return response.end(ports);
      if (request.url === '/page.geojson') return response.end('<html>no</html>');
      return response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
    at = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
  });
  afterAll(() => files.close());

  const importOf = (collection: string, name = 'ports.geojson') => ({
    inputs: { file: { href: `${at}/${name}` }, collection },
  });
  const matched = async (collection: string) =>
    (await client.json(`/ogc/features/collections/${collection}/items?limit=1`)).numberMatched;

  it('make collections', async () => {
    const { collection } = await client.results(IMPORT, importOf('ports'));
    expect(collection).toMatchObject({ id: 'ports', features: 20_000 });
    expect(await matched('ports')).toBe(20_000);
    expect((await refusal(IMPORT, importOf('ports')))[0]).toBe(409);
  });

  it('are refused, or fail and leave nothing', async () => {
    expect(await refusal(IMPORT, importOf('x', 'ports.exe'))).toEqual([400, '/inputs/file/href']);
    expect(await refusal(IMPORT, importOf('gpkg_x'))).toEqual([400, expect.stringContaining('reserved')]);
    const secret = { inputs: { file: { href: 'file:///etc/passwd' }, collection: 'x' } };
    expect(await refusal(IMPORT, secret)).toEqual([400, '/inputs/file/href']);
    for (const name of ['page.geojson', 'gone.geojson']) {
      const { status } = await client.run(IMPORT, importOf('broken', name));
      expect([name, status]).toEqual([name, 'failed']);
    }
    const metadata = { inputs: { file: { href: 'http://169.254.169.254/a.geojson' }, collection: 'x' } };
    const { status, message } = await client.run(IMPORT, metadata);
    expect([status, message]).toEqual(['failed', expect.stringContaining('169.254.169.254')]);
    expect((await client.get('/ogc/features/collections/broken')).status).toBe(404);
  });

  describe.each(['Fetching the file', 'Reading the file', 'Loading', 'Publishing'])('while %s', (phase) => {
    it.runIf(IS_FULL || phase === 'Loading')('go on after a kill -9', async () => {
      const name = phase.split(' ')[0]!.toLowerCase();
      const { jobID } = (await (await client.execute(IMPORT, importOf(name))).json()) as Json;
      const log = async () => (await client.json(`/api/v1/admin/jobs/${jobID}/logs`)).items as Json[];
      await vi.waitFor(
        async () => expect((await log()).some(({ message }) => message.startsWith(phase))).toBe(true),
        { timeout: 60_000, interval: 2 },
      );
      await server.kill();
      await start();
      expect((await client.ended(jobID)).status).toBe('successful');
      expect(await matched(name)).toBe(20_000);
      expect(tablesOf('default-2').filter((table) => table === name)).toEqual([name]);
    });
  });

  it('go into a further file when the store is full', async () => {
    expect(tablesOf('default')).toHaveLength(EXCHANGE_LIMITS.storeTables);
    expect(tablesOf('default-2')).toContain('ports');
    expect((await client.get('/ogc/features/collections/old_0')).status).toBe(200);
    const taken = await refusal(IMPORT, importOf('old_0'));
    expect(taken[0]).toBe(409);
  });
});
