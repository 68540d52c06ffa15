import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { createSpatialIndex, prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { eventually } from '../e2e/support/http.js';
import { startServer, startServerProcess, type TestServer } from '../support/server.js';
import { isFullRun, repetitions } from '../support/soak.js';
import { type Editor, sender } from './support.js';

/** An edited GeoPackage that is replaced, by a rename or in place, is the new one: the log of the former one is not applied. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-replaced-'));
const file = join(folder, 'town.gpkg');
const draft = join(folder, 'draft');
const OLD_ROWS = 300;
/** A brief run replaces the file by a rename right after an edit, in place while edits go on, and after a kill. */
const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);
/** Readers beside edits wait as long between two requests. */
const READER_MS = repetitions(import.meta.url, 0, 10);

let server: TestServer;
let send: Editor['send'];
let dataDir: string;

/** Writes a GeoPackage of one table whose rows all have a name. */
function makeTown(path: string, rows: number, name: string, mode: 'WAL' | 'DELETE' = 'DELETE'): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  const db = connect(path, false);
  prepareStore(db);
  db.exec(`
    CREATE TABLE spots (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom POINT, name TEXT, note TEXT);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('spots', 'features', 'spots', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('spots', 'geom', 'POINT', 4326, 0, 0);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
      INSERT INTO spots (name, note) SELECT '${name}', printf('%0200d', i) FROM n;`);
  createSpatialIndex(db, 'spots', 'geom', 'fid');
  db.pragma(`journal_mode = ${mode}`);
  db.close();
}

const spot = (name: string) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [7, 46] },
  properties: { name, note: name.padEnd(300, '.') },
});

/** Rows by name, as another program reads them. */
function rowsByName(): Record<string, number> {
  const read = (sql: string) =>
    JSON.parse(execFileSync('sqlite3', ['-readonly', '-json', file, sql], { encoding: 'utf8' }) || '[]');
  expect(read('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  const rows: { name: string; n: number }[] = read('SELECT name, count(*) AS n FROM spots GROUP BY name');
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

async function served(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const { status, body } = await send('GET', 'spots/items?limit=1000');
  expect(status).toBe(200);
  for (const { properties } of body.features) counts[properties.name] = (counts[properties.name] ?? 0) + 1;
  expect(body.numberMatched).toBe(body.features.length);
  return counts;
}

async function start(startOne = startServerProcess, args: string[] = []): Promise<void> {
  server = await startOne({ sources: [file], args, dataDir });
  send = sender(server.url, server.adminKey);
}

/** Sends edits until one is taken, as a client does that is answered 503; how many were taken is one. */
async function insert(name: string): Promise<void> {
  await eventually(async () => expect((await send('POST', 'spots/items', spot(name))).status).toBe(201));
}

/** Inserts at least five rows, and more until the log has some of them: edits that come to rest leave it. Returns their number. */
async function fillLog(name: string): Promise<number> {
  let count = 0;
  for (; count < 5 || logSize() === 0; count++) await insert(name);
  return count;
}

const restore = (path: string) => execFileSync('sqlite3', [file, `.restore ${path}`]);
const REPLACEMENTS = {
  'by a rename': (path: string) => renameSync(path, file),
  'in place': (path: string) => copyFileSync(path, file),
};
const ways = Object.entries(REPLACEMENTS);
const logSize = () => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'graticule-replaced-data-'));
});
afterAll(() => {
  for (const path of [folder, dataDir]) rmSync(path, { recursive: true, force: true });
});

describe.each([[[]], [['--processes', '2']]])('a server with %j', (args) => {
  const brief = it.runIf(IS_FULL || args.length === 0);

  beforeAll(async () => {
    makeTown(file, OLD_ROWS, 'old');
    await start(startServer, args);
  });
  afterAll(async () => {
    const log = server?.log();
    await server?.stop();
    // No gateway was lost meanwhile.
    expect(log).not.toMatch(/gateway \d+ ended/);
  });

  const rounds = Array.from({ length: repetitions(import.meta.url, 20, 1) }, (_, i) => i + 1);

  brief('moves edits into the file when they come to rest', async () => {
    const reloads = () => server.log().split('"@i":1120').length;
    await insert('edit');
    const before = reloads();
    await eventually(async () => expect(logSize()).toBe(0));
    expect(rowsByName()['edit']).toBe(1);
    await pause(1500);
    // The file that changed is not taken for one that another program changed.
    expect(reloads()).toBe(before);
  });

  full('counts the rows that another program restored by the backup interface', async () => {
    for (let i = 0; i < 5; i++) await insert('before');
    makeTown(draft, 250, 'restored');
    restore(draft);
    await eventually(async () => expect(await served()).toEqual({ restored: 250 }));
    for (let i = 0; i < 3; i++) await insert('after');
    await eventually(async () => expect(await served()).toEqual({ restored: 250, after: 3 }));
  });

  describe.each(ways)('replaced %s', (way, replace) => {
    (way === 'by a rename' ? brief : full).each(rounds)('right after an edit, time %i', async (round) => {
      const rows = 500 + round;
      makeTown(draft, rows, 'new', round % 2 ? 'DELETE' : 'WAL');
      await fillLog('before');
      replace(draft);
      await insert('after');
      await eventually(async () => expect(await served()).toEqual({ new: rows, after: 1 }));
      for (let i = 0; i < 5; i++) await insert('after');
      await eventually(async () => expect(await served()).toEqual({ new: rows, after: 6 }));
      await eventually(async () => expect(logSize()).toBe(0));
      expect(rowsByName()).toEqual({ new: rows, after: 6 });
      await eventually(async () => expect(server.log()).toContain('"@i":1204'));
    });

    full.each(rounds)('at rest, time %i', async (round) => {
      await insert('before');
      await eventually(async () => expect(logSize()).toBe(0));
      const rows = 700 + round;
      makeTown(draft, rows, 'new', round % 2 ? 'WAL' : 'DELETE');
      replace(draft);
      await eventually(async () => expect(await served()).toEqual({ new: rows }));
      await insert('after');
      await eventually(async () => expect(await served()).toEqual({ new: rows, after: 1 }));
      expect(rowsByName()).toEqual({ new: rows, after: 1 });
    });

    (way === 'in place' ? brief : full).each(rounds)('while edits go on, time %i', async (round) => {
      const rows = 400 + round;
      makeTown(draft, rows, 'new', round % 2 ? 'DELETE' : 'WAL');
      let goesOn = true;
      const taken = { before: 0, after: 0, unknown: 0 };
      let name: 'before' | 'after' = 'before';
      const write = async () => {
        while (goesOn) {
          const mine = name;
          // Who is not answered does not know.
          const { status } = await send('POST', 'spots/items', spot(mine)).catch(() => ({ status: 0 }));
          if (status === 201) taken[mine] += 1;
          if (status === 0) taken.unknown += 1;
        }
      };
      const reader = async () => {
        while (goesOn) {
          await send('GET', 'spots/items?limit=10').catch(() => {});
          await pause(READER_MS);
        }
      };
      const running = [write(), write(), reader(), reader()];
      // Where in an edit, or in a checkpoint, the file is replaced is left to chance.
      await pause(300 + Math.random() * 300);
      replace(draft);
      name = 'after';
      try {
        await eventually(async () => expect(taken.after).toBeGreaterThan(20));
      } finally {
        goesOn = false;
      }
      await Promise.all(running);
      const { before = 0, after, ...others } = await eventually(served);
      expect(others).toEqual({ new: rows });
      expect({ after, unknown: taken.unknown }).toEqual({ after: taken.after, unknown: 0 });
      // An edit that was sent before and waited in the lane may be in the new file.
      expect(before).toBeLessThanOrEqual(2);
      await eventually(async () => expect(logSize()).toBe(0));
      expect(rowsByName()).toEqual({ new: rows, after, ...(before ? { before } : {}) });
    });
  });
});

describe('a server that was killed', () => {
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'graticule-replaced-data-'));
    makeTown(file, OLD_ROWS, 'old');
    await start();
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const rounds = Array.from({ length: repetitions(import.meta.url, 20, 1) }, (_, i) => i + 1);
  /** Edits the file of the server, which the round before started, and kills it. */
  const edited = async () => {
    const count = await fillLog('edit');
    await server.kill();
    expect(logSize()).toBeGreaterThan(0);
    return count;
  };
  /** Logs that the servers of the data folder did not apply. */
  const refusedLogs = () => server.log().split('"@i":1204').length - 1;
  const copies = () => {
    const logs = join(dataDir, 'write-ahead-logs');
    return existsSync(logs) ? readdirSync(logs).filter((name) => name.endsWith('.wal')).length : 0;
  };

  let edits = 0;
  full.each(rounds)('has what it acknowledged, time %i', async (_round) => {
    edits += await edited();
    await start();
    expect(await served()).toEqual({ old: OLD_ROWS, edit: edits });
    expect(refusedLogs()).toBe(0);
  });

  describe.each(ways)('replaced %s meanwhile', (way, replace) => {
    const run = it.runIf(IS_FULL || way === 'by a rename');
    run.each(rounds)('has no log of the former file applied, time %i', async (round) => {
      const [refusedBefore, copiesBefore] = [refusedLogs(), copies()];
      await edited();
      makeTown(draft, 500 + round, 'new');
      replace(draft);
      await start();
      expect(await served()).toEqual({ new: 500 + round });
      await insert('after');
      expect(rowsByName()).toEqual({ new: 500 + round, after: 1 });
      await eventually(async () => expect(refusedLogs()).toBeGreaterThan(refusedBefore));
      expect(copies()).toBeGreaterThan(copiesBefore);
    });
  });
});

it('serves an archive that replaced one which another program had written', async () => {
  const archive = join(folder, 'tiles.mbtiles');
  const make = (path: string, tiles: number) => {
    const db = new Database(path);
    db.pragma('journal_mode = WAL');
    db.exec(`CREATE TABLE metadata (name TEXT, value TEXT); CREATE TABLE tiles
      (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB, PRIMARY KEY (zoom_level, tile_column, tile_row));
      INSERT INTO metadata VALUES ('name', 'n'), ('format', 'png'), ('minzoom', '0'), ('maxzoom', '9');`);
    const insertTile = db.prepare('INSERT INTO tiles VALUES (9, ?, 0, ?)');
    const png = Buffer.from('89504e470d0a1a0a', 'hex');
    db.transaction(() => {
      for (let i = 0; i < tiles; i++)
        insertTile.run(i, Buffer.concat([png, Buffer.alloc(2000, tiles % 256)]));
    })();
    return db;
  };
  make(archive, 100).close();
  server = await startServer({ sources: [archive] });
  const id = (
    (await (await fetch(`${server.url}/ogc/tiles/collections`)).json()) as { collections: { id: string }[] }
  ).collections[0]!.id;
  const at = async (column: number) => {
    const url = `${server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/9/511/${column}`;
    const response = await fetch(url, { headers: { 'x-api-key': server.adminKey } });
    return [
      response.status,
      Buffer.from(await response.arrayBuffer())
        .subarray(8, 9)
        .toString('hex'),
    ];
  };
  expect(await at(1)).toEqual([200, '64']);
  // Another program writes, and its log stays because the server has the file open.
  const other = new Database(archive);
  other.exec('UPDATE tiles SET tile_data = zeroblob(2000)');
  other.close();
  expect(statSync(`${archive}-wal`).size).toBeGreaterThan(0);
  make(join(folder, 'next.mbtiles'), 200).close();
  renameSync(join(folder, 'next.mbtiles'), archive);
  await eventually(async () => expect(await at(1)).toEqual([200, 'c8']));
  expect(await at(199)).toEqual([200, 'c8']);
  await server.stop();
});
