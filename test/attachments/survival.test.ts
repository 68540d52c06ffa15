import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { type EditableStore, geoPackageStore } from '../edits/support.js';
import { startTown, type Town } from '../replicas/support.js';
import { freePort } from '../support/ports.js';
import { startServerProcess } from '../support/server.js';
import { isFullRun } from '../support/soak.js';
import { Files, png } from './support.js';

/** What is left of attachments after the server was killed at any moment. A brief run kills it during an upload. */

const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);

let store: (EditableStore & { file: string }) | undefined;
let town: Town | undefined;

afterEach(async () => {
  await town?.server.stop();
  await store?.release();
  town = undefined;
  store = undefined;
});

async function start(): Promise<Files> {
  store = geoPackageStore();
  town = await startTown(store, { port: await freePort() }, startServerProcess);
  return new Files(town, town.layers['parcels']!);
}

async function killAndStart(between: (dataDir: string) => void = () => {}): Promise<Files> {
  const { dataDir } = town!.server;
  process.kill(town!.server.process.pid!, 'SIGKILL');
  between(dataDir);
  town = await startTown(store!, { dataDir, port: await freePort() }, startServerProcess);
  return new Files(town, town.layers['parcels']!);
}

const bytesIn = (dataDir: string, folder = 'attachments') =>
  existsSync(join(dataDir, folder)) ? readdirSync(join(dataDir, folder)) : [];

const settled = <T>(look: () => T) => expect.poll(look, { timeout: 60_000 });

full('an attachment that was answered is there after kill -9, as it was', async () => {
  const files = await start();
  const id = await files.insert();
  const { objectId, globalId } = (await files.add(id, { bytes: png(3, 3, 100) })).addAttachmentResult;
  const again = await killAndStart();
  expect(await again.infos(id)).toMatchObject([{ id: objectId, globalId }]);
  const response = await again.fetch(`${id}/attachments/${objectId}`);
  expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(png(3, 3, 100)))).toBe(true);
});

it('an upload that was under way leaves no attachment', async () => {
  const files = await start();
  const id = await files.insert();
  const url = new URL(files.url(`${id}/addAttachment`));
  const sending = request(url, {
    method: 'POST',
    headers: { ...files.key, 'content-type': 'multipart/form-data; boundary=x', 'content-length': '100000' },
  });
  sending.on('error', () => {});
  sending.write(
    `--x\r\ncontent-disposition: form-data; name="attachment"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n`,
  );
  sending.write(png(1, 1, 20_000));
  await settled(() => bytesIn(town!.server.dataDir, 'uploads').length).toBe(1);
  const again = await killAndStart();
  sending.destroy();
  expect(await again.infos(id)).toEqual([]);
  expect(bytesIn(town!.server.dataDir)).toEqual([]);
  expect((await again.add(id)).addAttachmentResult.success).toBe(true);
});

full('a start removes bytes of no attachment and of deleted features, and keeps the others', async () => {
  const files = await start();
  const [kept, gone] = [await files.insert(), await files.insert()];
  await files.add(kept, { bytes: png(2, 2) });
  await files.add(gone, { bytes: png(4, 4) });
  const again = await killAndStart((dataDir) => {
    mkdirSync(join(dataDir, 'attachments'), { recursive: true });
    // Bytes whose row was never written, and bytes that nobody ever wrote a place of.
    writeFileSync(join(dataDir, 'attachments', `${'a'.repeat(64)}-stray000`), 'x');
    const state = new Database(join(dataDir, 'state.db'));
    state.exec('UPDATE attachment_contents SET used_at = 0');
    state
      .prepare('INSERT INTO attachment_contents (key, digest, size, folder, used_at) VALUES (?, ?, 1, ?, 0)')
      .run('attachments/unused', 'unused', '');
    state.close();
    writeFileSync(join(dataDir, 'attachments', 'unused'), 'x');
    // An edit by another program, of which the server hears nothing.
    const file = new Database(store!.file);
    file.exec(`DROP TRIGGER IF EXISTS rtree_parcels_geom_delete`);
    file.exec(`DELETE FROM parcels WHERE fid = ${gone}`);
    file.close();
  });
  await settled(() => bytesIn(town!.server.dataDir).length).toBe(1);
  expect(await again.infos(kept)).toHaveLength(1);
  const [{ id }] = await again.infos(kept);
  const response = await again.fetch(`${kept}/attachments/${id}`);
  expect(response.status).toBe(200);
  await response.arrayBuffer();
});
