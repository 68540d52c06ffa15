import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/** Attachments belong to the file of their features: another file under its name has other features. */

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
type Json = any;

let folder: string;
let server: TestServer;
let base: string;
const published = () => join(folder, 'sites.gpkg');

function write(path: string, tag: string) {
  const features = [1, 2, 3].map((n) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [n, n] },
    properties: { name: `${tag} ${n}` },
  }));
  const input = join(folder, `${tag}.json`);
  writeFileSync(input, JSON.stringify({ type: 'FeatureCollection', features }));
  execFileSync('ogr2ogr', ['-nln', 'sites', path, input]);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-replaced-'));
  write(published(), 'old');
  server = await startServer({ sources: [published()] });
  const home = (await (await fetch(`${server.url}/?f=json`)).json()) as Json;
  base = `${server.url}/rest/services/default/FeatureServer/${home.collections[0].layerId}`;
}, 120_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const headers = () => ({ 'x-api-key': server.adminKey });
const names = async () => {
  const response = await fetch(`${server.url}/ogc/features/collections/sites/items`);
  const page = (await response.json()) as Json;
  return (page.features ?? []).map(({ properties }: Json) => properties.name).join();
};
async function attach(id: number, text: string): Promise<number> {
  const form = new FormData();
  form.set('f', 'json');
  form.set('attachment', new Blob([text], { type: 'text/plain' }), `${text}.txt`);
  const response = await fetch(`${base}/${id}/addAttachment`, {
    method: 'POST',
    body: form,
    headers: headers(),
  });
  return ((await response.json()) as Json).addAttachmentResult.objectId;
}
async function listed(id: number): Promise<string[]> {
  const one = (await (
    await fetch(`${base}/${id}/attachments?f=json`, { headers: headers() })
  ).json()) as Json;
  const query = `${base}/queryAttachments?f=json&definitionExpression=1%3D1`;
  const all = (await (await fetch(query, { headers: headers() })).json()) as Json;
  const group = all.attachmentGroups.find(({ parentObjectId }: Json) => parentObjectId === id);
  const [own, found] = [one.attachmentInfos, group?.attachmentInfos ?? []].map((infos: Json[]) =>
    infos.map(({ name }) => name as string),
  );
  expect(found).toEqual(own);
  return own!;
}
const content = async (id: number, attachment: number) =>
  (await fetch(`${base}/${id}/attachments/${attachment}`, { headers: headers() })).text();

/** Waits until no edit is in the log of the file only. */
const rest = () =>
  expect
    .poll(() => (existsSync(`${published()}-wal`) ? statSync(`${published()}-wal`).size : 0), {
      timeout: 30_000,
    })
    .toBe(0);

it('are set aside while another file has the place of theirs, and return with it', async () => {
  const first = await attach(1, 'first');
  await attach(2, 'second');
  expect([await listed(1), await listed(2)]).toEqual([['first.txt'], ['second.txt']]);
  await rest();
  const aside = join(folder, 'aside');
  write(join(folder, 'other.gpkg'), 'new');
  renameSync(published(), aside);
  renameSync(join(folder, 'other.gpkg'), published());
  await expect.poll(names, { timeout: 30_000 }).toContain('new 1');
  expect([await listed(1), await listed(2)]).toEqual([[], []]);
  expect(await content(1, first)).not.toBe('first');
  // They are neither changed nor deleted by what becomes of the features that have their numbers now.
  const foreign = await attach(1, 'third');
  expect([await listed(1), await listed(2)]).toEqual([['third.txt'], []]);
  const remove = new URLSearchParams({ f: 'json', attachmentIds: `${first}` });
  await fetch(`${base}/1/deleteAttachments`, { method: 'POST', body: remove, headers: headers() });
  const path = `${server.url}/ogc/features/collections/sites/items/2`;
  expect((await fetch(path, { method: 'DELETE', headers: headers() })).status).toBeLessThan(300);
  await rest();
  renameSync(published(), join(folder, 'other.gpkg'));
  renameSync(aside, published());
  await expect.poll(names, { timeout: 30_000 }).toContain('old 1');
  expect([await listed(1), await listed(2)]).toEqual([['first.txt'], ['second.txt']]);
  expect(await content(1, first)).toBe('first');
  expect(await content(1, foreign)).not.toBe('third');
}, 120_000);
