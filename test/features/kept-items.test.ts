import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { geoPackageBlob } from '../native/support.js';
import { startServer, type TestServer } from '../support/server.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-kept-'));
/** Files by journal mode, which names their collections. */
const file = { wal: join(folder, 'wal.gpkg'), delete: join(folder, 'delete.gpkg') };
type Mode = keyof typeof file;
let server: TestServer;

const read = (headers: Record<string, string> = {}, mode: Mode = 'wal') =>
  fetch(`${server.url}/ogc/features/collections/${mode}/items/5`, { headers });
const nameIn = async (response: Response) =>
  ((await response.json()) as { properties: { name: string } }).properties.name;
/** What made an answer: nothing in Server-Timing when it was given before. */
const isKept = (response: Response) => !response.headers.has('server-timing');

/** A table of ten points with long names, called as the mode. */
function createFile(path: string, mode: string): void {
  const db = connect(path, false);
  prepareStore(db);
  db.exec(`CREATE TABLE "${mode}" (fid INTEGER PRIMARY KEY, geom POINT, name TEXT);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('${mode}', 'features', '${mode}', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('${mode}', 'geom', 'POINT', 4326, 0, 0);`);
  const insert = db.prepare(`INSERT INTO "${mode}" VALUES (?, ?, ?)`);
  const point = Buffer.from('0101000000000000000000f03f0000000000000040', 'hex');
  for (let i = 1; i <= 10; i++) insert.run(i, geoPackageBlob(point), `${i}`.repeat(400));
  db.pragma(`journal_mode = ${mode}`);
  db.close();
}

/** Changes a row as another program would. */
function rename(path: string, mode: Mode, name: string): void {
  const db = new Database(path);
  db.prepare(`UPDATE "${mode}" SET name = ? WHERE fid = 5`).run(name);
  db.close();
}

beforeAll(async () => {
  for (const [mode, path] of Object.entries(file)) createFile(path, mode);
  server = await startServer({ sources: [folder], env: { SVC_SERVER__TRUST_PROXY: '127.0.0.0/8' } });
}, 60_000);

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

describe('an answer of one feature that is kept', () => {
  it('is given again, with the same body and entity tag', async () => {
    const first = await read();
    const second = await read();
    expect(isKept(first)).toBe(false);
    expect(isKept(second)).toBe(true);
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
    expect(await second.text()).toBe(await first.text());
  });

  it.each(['gzip', 'br'])('is right in %s, made now or kept', async (encoding) => {
    const plain = await read({ 'accept-encoding': 'identity' });
    const bodies = [];
    for (let i = 0; i < 3; i++) {
      const response = await read({ 'accept-encoding': encoding });
      expect(response.headers.get('content-encoding')).toBe(encoding);
      expect(response.headers.get('etag')).toBe(plain.headers.get('etag')!.replace(/"$/, `-${encoding}"`));
      bodies.push(await response.text());
    }
    expect(new Set([...bodies, await plain.text()]).size).toBe(1);
  });

  it('is one for each format and origin', async () => {
    const json = await (await read()).text();
    expect(await (await read({ accept: 'text/csv' })).text()).not.toBe(json);
    const proxied = await (await read({ 'x-forwarded-host': 'maps.example' })).text();
    expect(proxied).toContain('//maps.example/');
    expect(await (await read()).text()).toBe(json);
  });

  it.each(['wal', 'delete'] as const)(
    'is not given after another program wrote to the file (%s)',
    async (mode) => {
      for (let i = 0; i < 20; i++) {
        await read({}, mode);
        expect(isKept(await read({}, mode))).toBe(true);
        rename(file[mode], mode, `name ${i}`);
        expect(await nameIn(await read({}, mode))).toBe(`name ${i}`);
      }
    },
  );

  it('is not given after the file was replaced', async () => {
    const next = join(folder, 'next.part');
    copyFileSync(file.delete, next);
    rename(next, 'delete', 'replaced');
    await read({}, 'delete');
    renameSync(next, file.delete);
    // Longer than the watch on the inode, shorter than that on the folder.
    await sleep(300);
    expect(await nameIn(await read({}, 'delete'))).toBe('replaced');
  });
});
