import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServerProcess, type TestServer } from '../support/server.js';

const ADMIN = '/api/v1/admin';
const ITEMS = '/ogc/features/collections/countries/items';

const folder = mkdtempSync(join(tmpdir(), 'graticule-repeat-'));
const dataDir = mkdtempSync(join(tmpdir(), 'graticule-repeat-data-'));
let server: TestServer;

const start = () => startServerProcess({ sources: [folder], dataDir, args: ['--processes', '2'] });

beforeAll(async () => {
  copyFileSync('demo/data/world_map.gpkg', join(folder, 'world_map.gpkg'));
  server = await start();
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
});

interface Sent {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: documents are looked into
  body: any;
}

/** On a connection of its own, so that it may reach either process. */
async function post(path: string, key: string, body: unknown, headers = {}): Promise<Sent> {
  const form = body instanceof FormData;
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    body: form ? body : JSON.stringify(body),
    headers: {
      'x-api-key': server.adminKey,
      connection: 'close',
      ...(key && { 'idempotency-key': key }),
      ...(!form && { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text && JSON.parse(text) };
}

const country = (name: string) => ({
  type: 'Feature',
  properties: { NAME: name },
  geometry: {
    type: 'Polygon',
    coordinates: [
      [
        [1, 1],
        [2, 1],
        [2, 2],
        [1, 1],
      ],
    ],
  },
});

async function countOf(name: string): Promise<number> {
  const response = await fetch(`${server.url}${ITEMS}?NAME=${encodeURIComponent(name)}`);
  return ((await response.json()) as { features: unknown[] }).features.length;
}

describe('a request with an Idempotency-Key', () => {
  it('is answered once: the same key and body give the same answer, secrets included', async () => {
    const first = await post(`${ADMIN}/api-keys`, 'make-key', { name: 'once' });
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
    for (let i = 0; i < 6; i++) {
      const again = await post(`${ADMIN}/api-keys`, 'make-key', { name: 'once' });
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
      expect(again.text).toBe(first.text);
      expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    }
    const { data } = await (
      await fetch(`${server.url}${ADMIN}/api-keys`, { headers: { 'x-api-key': server.adminKey } })
    ).json();
    expect(data.filter(({ name }: { name: string }) => name === 'once')).toHaveLength(1);
    for (const file of readdirSync(dataDir).filter((name) => name.startsWith('state.db')))
      expect(readFileSync(join(dataDir, file)).includes(first.body.data.key)).toBe(false);
  });

  it('is refused with another body, or for another operation (422)', async () => {
    expect((await post(`${ADMIN}/api-keys`, 'other', { name: 'one' })).status).toBe(201);
    expect((await post(`${ADMIN}/api-keys`, 'other', { name: 'two' })).status).toBe(422);
    expect((await post(ITEMS, 'other', country('Other'))).status).toBe(422);
    expect(await countOf('Other')).toBe(0);
  });

  it('is refused with another Content-Crs, in which the same body is another feature (422)', async () => {
    const crs = (name: string) => ({ 'content-crs': `<http://www.opengis.net/def/crs/${name}>` });
    expect((await post(ITEMS, 'crs', country('Crs'), crs('OGC/1.3/CRS84'))).status).toBe(201);
    expect((await post(ITEMS, 'crs', country('Crs'), crs('EPSG/0/3857'))).status).toBe(422);
    expect((await post(ITEMS, 'crs', country('Crs'))).status).toBe(422);
    const again = await post(ITEMS, 'crs', country('Crs'), crs('OGC/1.3/CRS84'));
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(await countOf('Crs')).toBe(1);
  });

  it('is the client’s own: the same key of another is another key', async () => {
    const { body } = await post(`${ADMIN}/api-keys`, '', { name: 'second', permissions: ['*'] });
    expect((await post(ITEMS, 'shared', country('Shared'))).status).toBe(201);
    const headers = { 'x-api-key': body.data.key };
    const other = await post(ITEMS, 'shared', country('Shared'), headers);
    expect([other.status, other.headers.get('idempotency-replayed')]).toEqual([201, null]);
    expect(await countOf('Shared')).toBe(2);
  });

  it('creates one feature, however often and from wherever it comes', async () => {
    const sent = await Promise.all(Array.from({ length: 12 }, () => post(ITEMS, 'race', country('Race'))));
    for (const { status } of sent) expect([201, 409]).toContain(status);
    expect(await countOf('Race')).toBe(1);
    const again = await post(ITEMS, 'race', country('Race'));
    const created = sent.find(({ status }) => status === 201)!;
    expect([again.status, again.text]).toEqual([201, created.text]);
    expect(again.headers.get('location')).toBe(created.headers.get('location'));
  });

  it('runs a batch once', async () => {
    const batch = { operations: [{ type: 'CREATE', feature: country('Batch') }] };
    const first = await post(`${ITEMS}/batch`, 'batch', batch);
    expect(first.status).toBe(200);
    expect((await post(`${ITEMS}/batch`, 'batch', batch)).text).toBe(first.text);
    expect(await countOf('Batch')).toBe(1);
  });

  it('that failed may be sent again, mended', async () => {
    const broken = { ...country('Mended'), geometry: { type: 'Point', coordinates: ['x'] } };
    expect((await post(ITEMS, 'mend', broken)).status).toBe(400);
    expect((await post(ITEMS, 'mend', country('Mended'))).status).toBe(201);
    expect(await countOf('Mended')).toBe(1);
  });

  it('takes an upload once', async () => {
    const file = JSON.stringify({ type: 'FeatureCollection', features: [country('Upload')] });
    const form = (text = file) => {
      const data = new FormData();
      data.set('TableName', 'uploaded');
      data.set('file', new Blob([text]), 'uploaded.geojson');
      return data;
    };
    const headers = { 'content-type': 'multipart/form-data; boundary=same' };
    // The boundary is part of the body, and a client that repeats a request repeats it.
    const body = await new Response(form()).text();
    const boundary = /^--(\S+)/.exec(body)![1]!;
    const upload = (text: string) =>
      fetch(`${server.url}${ADMIN}/import/upload`, {
        method: 'POST',
        body: text,
        headers: {
          ...headers,
          'content-type': `multipart/form-data; boundary=${boundary}`,
          'x-api-key': server.adminKey,
          'idempotency-key': 'upload',
        },
      });
    const first = await upload(body);
    expect(first.status).toBe(200);
    const again = await upload(body);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    expect(await again.text()).toBe(await first.text());
    expect((await upload(body.replace('Upload', 'Changed'))).status).toBe(422);
  });

  it.each(['', 'with space', 'x'.repeat(256)].filter(Boolean))('must be a key (%s)', async (key) => {
    const { status, body } = await post(`${ADMIN}/api-keys`, key, { name: 'bad' });
    expect([status, body.errors[0].name]).toEqual([400, 'Idempotency-Key']);
  });

  it('is remembered after kill -9', async () => {
    const first = await post(ITEMS, 'durable', country('Durable'));
    expect(first.status).toBe(201);
    await server.kill();
    server = await start();
    const again = await post(ITEMS, 'durable', country('Durable'));
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(again.body.id).toBe(first.body.id);
    expect(await countOf('Durable')).toBe(1);
  });
});
