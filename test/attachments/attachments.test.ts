import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore, postgisStore } from '../edits/support.js';
import { startTown, type Town } from '../replicas/support.js';
import { Files, png } from './support.js';

/** Files of features: as clients attach, list, get and delete them, and who may. */

async function postgisTown(): Promise<EditableStore> {
  const store = await postgisStore();
  return { ...store, env: { ...store.env, SVC_STATE__URL: store.sources[0]! } };
}

const STORES: [string, () => EditableStore | Promise<EditableStore>][] = [
  ['a GeoPackage', geoPackageStore],
  ['PostGIS, with the state in PostgreSQL', postgisTown],
];

describe.each(STORES)('attachments of features of %s', (_name, makeStore) => {
  let store: EditableStore;
  let town: Town;
  let files: Files;

  beforeAll(async () => {
    store = await makeStore();
    town = await startTown(store);
    files = new Files(town, town.layers['parcels']!);
  }, 180_000);
  afterAll(async () => {
    await town?.server.stop();
    await store?.release();
  });

  it('are added once for each Idempotency-Key', async () => {
    const id = await files.insert();
    const keyed = { ...files.key, 'idempotency-key': `attach-${id}` };
    const first = await files.add(id, {}, keyed);
    expect(await files.add(id, {}, keyed)).toEqual(first);
    expect(await files.infos(id)).toHaveLength(1);
    const other = await files.add(await files.insert(), {}, keyed).catch(String);
    expect(JSON.stringify(other)).toMatch(/Idempotency-Key/);
  });

  it('are added, listed, sent by ranges, changed and deleted', async () => {
    const id = await files.insert();
    const bytes = png(2, 3, 1000);
    const added = await files.add(id, { bytes, name: 'Brücke 1.png', fields: { keywords: 'bridge' } });
    const { objectId: attachment, globalId } = added.addAttachmentResult;
    expect(added).toEqual({
      addAttachmentResult: { objectId: expect.any(Number), globalId: expect.any(String), success: true },
    });
    expect(await files.infos(id)).toEqual([
      {
        ...{ id: attachment, globalId, name: 'Brücke 1.png', contentType: 'image/png' },
        ...{ size: bytes.length, keywords: 'bridge' },
      },
    ]);
    const whole = await files.fetch(`${id}/attachments/${attachment}`);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': `attachment; filename="Br_cke_1.png"; filename*=UTF-8''Br%C3%BCcke%201.png`,
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      'content-length': String(bytes.length),
    });
    expect(Buffer.from(await whole.arrayBuffer()).equals(Buffer.from(bytes))).toBe(true);
    const part = await files.fetch(`${id}/attachments/${attachment}`, { ...files.key, range: 'bytes=8-15' });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 8-15/${bytes.length}`]);
    expect(Buffer.from(await part.arrayBuffer()).equals(Buffer.from(bytes.slice(8, 16)))).toBe(true);
    const beyond = await files.fetch(`${id}/attachments/${attachment}`, {
      ...files.key,
      range: 'bytes=99999-',
    });
    expect(beyond.status).toBe(416);
    await beyond.arrayBuffer();
    const same = await files.fetch(`${id}/attachments/${attachment}`, {
      ...files.key,
      'if-none-match': whole.headers.get('etag')!,
    });
    expect(same.status).toBe(304);

    const words = await files.post(`${id}/updateAttachment`, {
      attachmentId: `${attachment}`,
      keywords: 'old',
    });
    expect(words.updateAttachmentResult).toMatchObject({ objectId: attachment, globalId, success: true });
    // As ArcGIS API for Python sends it: a multipart form without a file.
    const form = { fields: { attachmentId: String(attachment), keywords: 'old,stone' } };
    const again = await files.send(`${id}/updateAttachment`, form);
    expect(again.updateAttachmentResult).toMatchObject({ objectId: attachment, success: true });
    expect((await files.infos(id))[0]).toMatchObject({ keywords: 'old,stone', size: bytes.length });
    const other = await files.send(`${id}/updateAttachment`, {
      ...{ bytes: 'a note', name: 'note.txt', type: 'text/plain' },
      fields: { attachmentId: `${attachment}` },
    });
    expect(other.updateAttachmentResult.success).toBe(true);
    expect(await files.infos(id)).toEqual([
      expect.objectContaining({
        ...{ id: attachment, globalId, name: 'note.txt', contentType: 'text/plain' },
        ...{ size: 6, keywords: 'old,stone' },
      }),
    ]);
    expect(await (await files.fetch(`${id}/attachments/${attachment}`)).text()).toBe('a note');

    const deleted = await files.post(`${id}/deleteAttachments`, { attachmentIds: `${attachment},987654` });
    expect(deleted.deleteAttachmentResults).toMatchObject([
      { objectId: attachment, success: true },
      { objectId: 987654, success: false, error: { code: 1019 } },
    ]);
    expect(await files.infos(id)).toEqual([]);
    expect(await files.get(`${id}/attachments/${attachment}`)).toMatchObject({ error: { code: 404 } });
  });

  it('are found by features, types, keywords, sizes and conditions, page by page', async () => {
    const [one, two] = [await files.insert({ floors: 70 }), await files.insert({ floors: 71 })];
    await files.add(one, { fields: { keywords: 'front' } });
    await files.add(one, { bytes: '%PDF-1.7 x', name: 'plan.pdf', type: 'application/pdf' });
    await files.add(two, { bytes: png(1, 1, 5000), fields: { keywords: 'back, front' } });
    const query = (members: string) => files.get(`queryAttachments?objectIds=${one},${two}&${members}`);
    const counts = async (members: string) =>
      (await query(members)).attachmentGroups.map(
        (group: { parentObjectId: number; attachmentInfos: unknown[] }) => [
          group.parentObjectId,
          group.attachmentInfos.length,
        ],
      );
    expect(await counts('')).toEqual([
      [one, 2],
      [two, 1],
    ]);
    expect(await counts('attachmentTypes=application/pdf')).toEqual([[one, 1]]);
    expect(await counts('keywords=front')).toEqual([
      [one, 1],
      [two, 1],
    ]);
    expect(await counts('size=4000,6000')).toEqual([[two, 1]]);
    expect(await counts('definitionExpression=floors%3D71')).toEqual([[two, 1]]);
    expect(await query('returnCountOnly=true')).toEqual({
      attachmentGroups: [
        { parentObjectId: one, parentGlobalId: '', count: 2 },
        { parentObjectId: two, parentGlobalId: '', count: 1 },
      ],
    });
    const page = await query('resultRecordCount=2&resultOffset=0&returnUrl=true');
    expect(page.exceededTransferLimit).toBe(true);
    const [{ url }] = page.attachmentGroups[0].attachmentInfos;
    const bytes = await fetch(url, { headers: files.key });
    expect([bytes.status, bytes.headers.get('content-type')]).toEqual([200, 'image/png']);
    await bytes.arrayBuffer();
    expect(await counts('resultRecordCount=2&resultOffset=2')).toEqual([[two, 1]]);
    const posted = await files.post('queryAttachments', { objectIds: `${two}` });
    expect(posted.attachmentGroups).toHaveLength(1);
  });

  it('go with their feature, and come to no other', async () => {
    const id = await files.insert();
    await files.add(id);
    expect((await town.send('DELETE', `parcels/items/${id}`)).status).toBe(204);
    expect(await files.get(`${id}/attachments`)).toMatchObject({ error: { code: 404 } });
    expect(await files.get(`queryAttachments?objectIds=${id}`)).toEqual({ attachmentGroups: [] });
    expect(await files.add(id)).toMatchObject({ error: { code: 404 } });
  });

  it('are edits for those who hear of edits, and stand in the audit', async () => {
    const id = await files.insert();
    const { addAttachmentResult } = await files.add(id);
    await expect
      .poll(
        async () => {
          const { body } = await town.admin('GET', '/feature-events/replay?limit=1000');
          return body.Events.filter(
            (event: { Protocol: string; ObjectId: number }) => event.ObjectId === id,
          ).map((event: { Operation: string; Protocol: string }) => [event.Operation, event.Protocol]);
        },
        { timeout: 60_000 },
      )
      .toEqual([
        ['insert', 'OGC-Features'],
        ['update', 'FeatureServer'],
      ]);
    const { body } = await town.admin('GET', '/observability/audit');
    const rows = JSON.stringify(body);
    expect(rows).toContain('geoservices.addAttachment');
    expect(rows).toContain(`"${addAttachmentResult.objectId}"`);
  });
});

describe('a file', () => {
  let store: EditableStore;
  let town: Town;
  let files: Files;
  let id: number;

  beforeAll(async () => {
    store = geoPackageStore();
    town = await startTown(store);
    files = new Files(town, town.layers['parcels']!);
    id = await files.insert();
  }, 180_000);
  afterAll(async () => {
    await town?.server.stop();
    await store?.release();
  });

  it.each([
    ['is text, and says that it is a picture', { bytes: 'hello' }, /says that it is image\/png, and is text/],
    [
      'is named as a picture',
      { bytes: 'hello', name: 'a.jpg', type: 'application/octet-stream' },
      /says that it is image\/jpeg/,
    ],
    ['is a page', { bytes: '<!DOCTYPE html><p>', name: 'a.txt', type: 'text/plain' }, /text\/html/],
    [
      'is a page that calls itself one',
      { bytes: '<html></html>', name: 'a.html', type: 'text/html' },
      /text\/html/,
    ],
    [
      'is a drawing with scripts',
      { bytes: '<?xml version="1.0"?><svg onload="x()"/>', name: 'a.svg', type: 'image/svg+xml' },
      /svg/,
    ],
    ['is a picture of too many pixels', { bytes: png(20_000, 20_000) }, /20000 x 20000 pixels/],
    ['is a picture that is cut off', { bytes: png().slice(0, 12) }, /damaged image/],
    ['is empty', { bytes: '' }, /empty/],
    [
      'is not there',
      { bytes: undefined },
      '{"error":{"code":400,"message":"attachment: is required.","details":["attachment: is required."]}}',
    ],
    ['has too many keywords', { fields: { keywords: 'x'.repeat(1025) } }, /keywords/],
  ])('that %s is refused in band, and nothing is stored', async (_what, sent, reason) => {
    const answer = await files.add(id, sent);
    expect(answer).toMatchObject({ error: { code: 400, message: expect.anything() } });
    expect(JSON.stringify(answer)).toMatch(reason);
    expect(await files.infos(id)).toEqual([]);
    expect(bytesOf(town)).toEqual([]);
  });

  it('that is too large is 413, and a body without one 400', async () => {
    expect(await files.add(id, { bytes: png(1, 1, 10_485_760) })).toMatchObject({ error: { code: 413 } });
    expect(await files.post(`${id}/addAttachment`, { keywords: 'x' })).toMatchObject({
      error: { code: 400, message: expect.stringContaining('attachment') },
    });
    expect(bytesOf(town)).toEqual([]);
  });

  it('that several features have lies on the disk once', async () => {
    const ids = [await files.insert(), await files.insert()];
    for (const one of ids) await files.add(one, { bytes: png(5, 5) });
    expect(bytesOf(town)).toHaveLength(1);
    await files.post(`${ids[0]}/deleteAttachments`, {
      attachmentIds: `${(await files.infos(ids[0]!))[0].id}`,
    });
    const [{ id: left }] = await files.infos(ids[1]!);
    const response = await files.fetch(`${ids[1]}/attachments/${left}`);
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(png(5, 5)))).toBe(true);
  });

  it('is one too many behind a hundred', async () => {
    const feature = await files.insert();
    for (let i = 0; i < 100; i++) expect((await files.add(feature)).error).toBeUndefined();
    expect(await files.add(feature)).toMatchObject({ error: { code: 409 } });
    expect(await files.infos(feature)).toHaveLength(100);
  }, 120_000);

  it.each([
    ['queryAttachments?globalIds=x', /globalIds/],
    ['queryAttachments?objectIds=1,x', /objectIds/],
    ['queryAttachments?size=big', /size/],
    ['queryAttachments?definitionExpression=nope%3D1', /definitionExpression/],
    ['queryAttachments?resultOffset=-1', /resultOffset/],
    ['queryAttachments?f=xml', /f: must be/],
    ['x/attachments', /objectId/],
  ])('is asked for by %s, which is wrong', async (path, reason) => {
    const answer = await files.get(path);
    expect(answer.error.code).toBe(400);
    expect(JSON.stringify(answer)).toMatch(reason);
  });
});

describe('a caller', () => {
  let store: EditableStore;
  let town: Town;
  let files: Files;
  let clerk: Record<string, string>;
  let reader: Record<string, string>;

  beforeAll(async () => {
    store = geoPackageStore();
    town = await startTown(store);
    files = new Files(town, town.layers['parcels']!);
    const rules = { service: 'default', layer: 'parcels', role: 'clerk', attribute: 'code' };
    expect((await town.admin('POST', '/roles', { name: 'clerk' })).status).toBe(201);
    expect((await town.admin('POST', '/rls-policies', { ...rules, claimType: 'code' })).status).toBeLessThan(
      300,
    );
    clerk = await keyOf(
      town,
      'role:clerk',
      'claim:code=mine',
      'write:default/parcels',
      'read:default/parcels',
    );
    reader = await keyOf(town, 'role:reader');
  }, 180_000);
  afterAll(async () => {
    await town?.server.stop();
    await store?.release();
  });

  it('sees attachments of the features that it sees, and changes no others', async () => {
    const [own, other] = [await files.insert({ code: 'mine' }), await files.insert({ code: 'theirs' })];
    await files.add(own);
    const { objectId } = (await files.add(other)).addAttachmentResult;
    expect(await files.infos(own, clerk)).toHaveLength(1);
    const { attachmentGroups } = await files.get(`queryAttachments?objectIds=${own},${other}`, clerk);
    expect(attachmentGroups.map((group: { parentObjectId: number }) => group.parentObjectId)).toEqual([own]);
    for (const path of [`${other}/attachments`, `${other}/attachments/${objectId}`])
      expect(await files.get(path, clerk)).toMatchObject({ error: { code: 404 } });
    expect(await files.add(other, {}, clerk)).toMatchObject({ error: { code: 404 } });
    const ids = { attachmentIds: `${objectId}` };
    expect(await files.post(`${other}/deleteAttachments`, ids, clerk)).toMatchObject({
      error: { code: 404 },
    });
    const words = { attachmentId: `${objectId}`, keywords: 'x' };
    expect(await files.post(`${other}/updateAttachment`, words, clerk)).toMatchObject({
      error: { code: 404 },
    });
    // Nor by the way of a feature that it sees.
    expect(await files.get(`${own}/attachments/${objectId}`, clerk)).toMatchObject({ error: { code: 404 } });
    expect((await files.post(`${own}/deleteAttachments`, ids, clerk)).deleteAttachmentResults).toMatchObject([
      { success: false },
    ]);
    expect((await files.add(own, {}, clerk)).addAttachmentResult.success).toBe(true);
    expect(await files.infos(other)).toMatchObject([{ id: objectId, keywords: '' }]);
  });

  it('comes with a token in the form, in front of the file or after it', async () => {
    const id = await files.insert();
    const token = town.server.adminKey;
    const add = (fields: Record<string, string>) => files.add(id, { fields }, {});
    expect(await add({ token })).toMatchObject({ addAttachmentResult: { success: true } });
    expect(await add({ token: `${token}x` })).toMatchObject({ error: { code: 498 } });
    expect(await add({})).toMatchObject({ error: { code: 499 } });
    const late = new FormData();
    late.set('attachment', new Blob([png() as BlobPart], { type: 'image/png' }), 'late.png');
    late.set('f', 'json');
    late.set('token', token);
    const send = async () =>
      (await fetch(files.url(`${id}/addAttachment`), { method: 'POST', body: late })).json();
    expect(await send()).toMatchObject({ addAttachmentResult: { success: true } });
    late.set('token', `${token}x`);
    expect(await send()).toMatchObject({ error: { code: 498 } });
    late.delete('token');
    // More often than files of unknown callers are received at a time.
    for (let i = 0; i < 5; i++) expect(await send()).toMatchObject({ error: { code: 499 } });
    late.set('token', token);
    expect(await send()).toMatchObject({ addAttachmentResult: { success: true } });
    expect(await files.infos(id)).toHaveLength(3);
  });

  it('that may only read changes nothing', async () => {
    const id = await files.insert();
    const { objectId } = (await files.add(id)).addAttachmentResult;
    for (const [headers, code] of [
      [reader, 403],
      [{}, 499],
    ] as const) {
      expect(await files.infos(id, headers as Record<string, string>)).toHaveLength(1);
      const failure = { error: { code } };
      expect(await files.add(id, {}, headers as Record<string, string>)).toMatchObject(failure);
      expect(
        await files.post(`${id}/deleteAttachments`, { attachmentIds: `${objectId}` }, headers as never),
      ).toMatchObject(failure);
    }
    expect(await files.infos(id)).toHaveLength(1);
  });

  it('finds none where the FeatureServer is switched off', async () => {
    const id = await files.insert();
    await files.add(id);
    const all = ['OgcFeatures', 'OgcTiles', 'OgcMaps', 'OgcCoverages', 'Stac', 'Streaming'];
    const put = (names: string[]) => town.admin('PUT', '/services/default/protocols', names);
    expect((await put(all)).status).toBe(200);
    expect(await files.get(`${id}/attachments`)).toMatchObject({ error: { code: 404 } });
    expect((await put([...all, 'FeatureServer'])).status).toBe(200);
    expect(await files.infos(id)).toHaveLength(1);
  });
});

function bytesOf({ server }: Town): string[] {
  try {
    return readdirSync(join(server.dataDir, 'attachments'));
  } catch {
    return [];
  }
}

async function keyOf(town: Town, ...permissions: string[]): Promise<Record<string, string>> {
  const { status, body } = await town.admin('POST', '/api-keys', { name: 'attachments', permissions });
  expect(status, JSON.stringify(body)).toBe(201);
  return { 'x-api-key': body.data.key };
}
