import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { Upload } from 'tus-js-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gateways } from '../../support/processes.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { call, type Json } from '../remote/support.js';

/** Uploads that go on after their connection broke: the protocol tus, with a client of others. */

const ENDPOINT = '/api/v1/admin/import/resumable';

let server: TestServer;

beforeAll(async () => {
  server = await startServerProcess({ sources: [] });
}, 90_000);

afterAll(() => server?.stop());

const points = (n: number) =>
  Buffer.from(
    JSON.stringify({
      type: 'FeatureCollection',
      features: Array.from({ length: n }, (_, i) => ({
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [(i % 360) - 180, 50] },
        properties: { name: `point ${i}` },
      })),
    }),
  );

/** Sends a file as the client of others does, until it is whole or the client gives up. */
function upload(file: Buffer, table: string, url = server.url, progress = (_bytes: number) => {}) {
  return new Promise<string>((resolve, reject) => {
    const sending = new Upload(file, {
      endpoint: url + ENDPOINT,
      headers: { 'x-api-key': server.adminKey },
      metadata: { filename: 'points.geojson', TableName: table },
      chunkSize: 131_072,
      retryDelays: Array.from({ length: 60 }, () => 200),
      onChunkComplete: (_size, bytes) => progress(bytes),
      onError: reject,
      onSuccess: () => resolve(sending.url!),
    });
    sending.start();
  });
}

async function matched(table: string): Promise<unknown> {
  const answer = await fetch(`${server.url}/ogc/features/collections/${table}/items?limit=1`);
  return ((await answer.json()) as Json)['numberMatched'];
}

/** Each connection to it ends after so many bytes of the client's. */
async function startCuttingProxy(bytes: number) {
  let cuts = 0;
  const proxy = createServer((client) => {
    let rest = bytes;
    const target = connect(Number(new URL(server.url).port), '127.0.0.1');
    const end = () => {
      client.destroy();
      target.destroy();
    };
    client.on('data', (part: Buffer) => {
      target.write(part.subarray(0, rest));
      rest -= part.length;
      if (rest > 0) return;
      cuts++;
      // What was sent has to get there first.
      target.end();
      client.destroy();
    });
    target.on('data', (part: Buffer) => client.write(part));
    for (const socket of [client, target]) socket.on('error', end).on('close', end);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cuts: () => cuts,
    close: () => proxy.close(),
  };
}

/** One request of the protocol; headers of the answer in lower case. */
function tus(method: string, path: string, headers: Record<string, string> = {}, body?: Buffer) {
  return fetch(new URL(path, server.url), {
    method,
    headers: { 'x-api-key': server.adminKey, 'tus-resumable': '1.0.0', ...headers },
    ...(body ? { body: new Uint8Array(body) } : {}),
  });
}

/** The header of a new key that may import. */
async function importKey(...more: string[]): Promise<Record<string, string>> {
  const permissions = ['admin:import:write', 'admin:import:read', ...more];
  const { body } = await call(server, 'POST', '/api-keys', { name: 'import', permissions });
  return { 'x-api-key': (body['data'] as { key: string }).key };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');
const metadata = (table: string, filename = 'points.geojson') =>
  `filename ${base64(filename)},TableName ${base64(table)}`;

async function begin(table: string, length: number): Promise<string> {
  const answer = await tus('POST', ENDPOINT, {
    'upload-length': String(length),
    'upload-metadata': metadata(table),
  });
  expect(answer.status).toBe(201);
  return answer.headers.get('location')!;
}

const offsetOf = async (path: string) => (await tus('HEAD', path)).headers.get('upload-offset');

function patch(path: string, offset: number, body: Buffer) {
  const headers = { 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) };
  return tus('PATCH', path, headers, body);
}

/** Announces the whole of the body, and sends its beginning. */
async function patchCut(path: string, offset: number, body: Buffer, sent: number): Promise<void> {
  const request = httpRequest(new URL(path, server.url), {
    method: 'PATCH',
    headers: {
      'x-api-key': server.adminKey,
      'tus-resumable': '1.0.0',
      'content-type': 'application/offset+octet-stream',
      'upload-offset': String(offset),
      'content-length': String(body.length),
    },
  }).on('error', () => {});
  await new Promise<void>((written) => request.write(body.subarray(0, sent), () => written()));
  // A connection that is reset loses what the server has not read yet.
  await expect.poll(() => offsetOf(path), { timeout: 60_000 }).toBe(String(offset + sent));
  request.destroy();
}

describe('a client of tus', () => {
  it('sends a file over connections that break, and it is imported', async () => {
    const proxy = await startCuttingProxy(300_000);
    try {
      const file = points(20_000);
      const url = await upload(file, 'cut', proxy.url);
      expect(proxy.cuts()).toBeGreaterThan(2);
      const view = (await (await tus('GET', new URL(url).pathname)).json()) as Json;
      expect(view).toMatchObject({ bytesUploaded: file.length, totalBytes: file.length });
      await expect.poll(() => matched('cut'), { timeout: 60_000 }).toBe(20_000);
      const job = async () => (await call(server, 'GET', `/import/jobs/${view['jobId']}`)).body['status'];
      await expect.poll(job, { timeout: 60_000 }).toBe('Completed');
    } finally {
      proxy.close();
    }
  });

  it('goes on after kill -9', async () => {
    let killed = false;
    const offsets: number[] = [];
    await upload(points(20_000), 'killed', server.url, (bytes) => {
      offsets.push(bytes);
      if (killed || bytes < 500_000) return;
      killed = true;
      for (const pid of gateways(server.process.pid!)) process.kill(pid, 'SIGKILL');
    });
    expect(killed).toBe(true);
    // Nothing that was acknowledged is sent again.
    expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
    await expect.poll(() => matched('killed'), { timeout: 60_000 }).toBe(20_000);
  });
});

describe('a resumable upload', () => {
  it('goes on behind any byte at which it was cut', async () => {
    const file = points(30);
    const path = await begin('anywhere', file.length);
    let offset = 0;
    for (const sent of [1, 7, 500, 1, 64]) {
      await patchCut(path, offset, file.subarray(offset), sent);
      offset += sent;
      expect(await offsetOf(path)).toBe(String(offset));
    }
    const end = await patch(path, offset, file.subarray(offset));
    expect(end.status).toBe(204);
    expect(end.headers.get('upload-offset')).toBe(String(file.length));
    expect(end.headers.get('link')).toMatch(/^<\/api\/v1\/admin\/import\/jobs\/[\w-]+>; rel="monitor"$/);
    await expect.poll(() => matched('anywhere'), { timeout: 60_000 }).toBe(30);
    // The last bytes again, by a client that did not hear of them: the same job, and no second import.
    expect((await patch(path, file.length, Buffer.alloc(0))).headers.get('link')).toBe(
      end.headers.get('link'),
    );
  });

  it('is among the uploads, and is cancelled as they are', async () => {
    const file = points(30);
    const path = await begin('listed', file.length);
    await patch(path, 0, file.subarray(0, 100));
    const id = path.split('/').at(-1)!;
    const { body } = await call(server, 'GET', `/import/uploads/${id}/progress`);
    expect(body).toMatchObject({ fileName: 'points.geojson', status: 1, bytesUploaded: 100 });
    const { uploads } = (await call(server, 'GET', '/import/uploads')).body as { uploads: Json[] };
    expect(uploads.map(({ uploadId }) => uploadId)).toContain(id);
    expect((await call(server, 'POST', `/import/uploads/${id}/cancel`)).status).toBe(200);
    expect((await tus('HEAD', path)).status).toBe(404);
    expect(existsSync(join(server.dataDir, 'resumable', id))).toBe(false);
  });

  it('refuses what the protocol forbids, and says what is wrong', async () => {
    const length = { 'upload-length': '10' };
    const created = (headers: Record<string, string>) => tus('POST', ENDPOINT, headers);
    const refusals: [Promise<Response>, number, RegExp][] = [
      [
        created({ ...length, 'tus-resumable': '0.2.2', 'upload-metadata': metadata('a') }),
        412,
        /Tus-Resumable/,
      ],
      [created({ 'upload-metadata': metadata('a') }), 400, /Upload-Length/],
      [created({ 'upload-length': '0', 'upload-metadata': metadata('a') }), 400, /Upload-Length/],
      [created({ 'upload-length': '-1', 'upload-metadata': metadata('a') }), 400, /Upload-Length/],
      [
        created({ 'upload-length': '99999999999', 'upload-metadata': metadata('a') }),
        413,
        /too large\. The limit is/,
      ],
      [created(length), 400, /Upload-Metadata/],
      [created({ ...length, 'upload-metadata': 'filename ***' }), 400, /Upload-Metadata/],
      [created({ ...length, 'upload-metadata': metadata('1 a; DROP') }), 400, /TableName/],
      [created({ ...length, 'upload-metadata': metadata('a', '../../a.exe') }), 415, /cannot be imported/],
      [created({ ...length, 'upload-metadata': metadata('cut') }), 409, /already/],
      [tus('HEAD', `${ENDPOINT}/../../../../etc`), 404, /^$/],
      [tus('GET', `${ENDPOINT}/${'0'.repeat(36)}`), 404, /upload/],
    ];
    for (const [answer, status, text] of refusals) {
      expect((await answer).status).toBe(status);
      expect(await (await answer).text()).toMatch(text);
    }
    expect((await refusals[0]![0]).headers.get('tus-version')).toBe('1.0.0');
    expect(readdirSync(join(server.dataDir, 'resumable')).length).toBe(3);
  });

  it('takes no byte at another place, and none beyond its length', async () => {
    const path = await begin('bounds', 10);
    expect((await patch(path, 5, Buffer.from('12345'))).status).toBe(409);
    expect((await patch(path, 0, Buffer.alloc(11))).status).toBe(413);
    const headers = { 'content-type': 'application/json', 'upload-offset': '0' };
    expect((await tus('PATCH', path, headers, Buffer.from('{}'))).status).toBe(415);
    expect((await tus('DELETE', path)).status).toBe(204);
    expect((await tus('HEAD', path)).status).toBe(404);
    expect((await patch(path, 0, Buffer.from('1'))).status).toBe(404);
  });

  it('is of who began it, and is not there for anybody else', async () => {
    const [own, other] = [await importKey(), await importKey()];
    const file = points(3);
    const length = { 'upload-length': String(file.length), 'upload-metadata': metadata('owned') };
    const path = (await tus('POST', ENDPOINT, { ...length, ...own })).headers.get('location')!;
    const id = path.split('/').at(-1)!;
    const bytes = { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
    // Administrators look at it among all uploads, and send no bytes into it.
    for (const caller of [other, {}]) {
      expect((await tus('HEAD', path, caller)).status).toBe(404);
      expect((await tus('GET', path, caller)).status).toBe(404);
      expect((await tus('PATCH', path, { ...bytes, ...caller }, file)).status).toBe(404);
      expect((await tus('DELETE', path, caller)).status).toBe(404);
    }
    const uploads = '/api/v1/admin/import/uploads';
    const listed = async (caller: Record<string, string>) => (await tus('GET', uploads, caller)).text();
    expect(await listed(own)).toContain(id);
    expect(await listed({})).toContain(id);
    expect(await listed(other)).not.toContain(id);
    expect((await tus('GET', `${uploads}/${id}/progress`, other)).status).toBe(404);
    expect((await tus('POST', `${uploads}/${id}/cancel`, other)).status).toBe(404);
    expect((await tus('GET', `${uploads}/${id}/progress`, own)).status).toBe(200);
    const end = await tus('PATCH', path, { ...bytes, ...own }, file);
    const job = /<(.+)>/.exec(end.headers.get('link')!)![1]!;
    await expect.poll(() => matched('owned'), { timeout: 60_000 }).toBe(3);
    expect((await tus('GET', job, own)).status).toBe(200);
    for (const path of [job, `${job}/rejected-rows`])
      expect(await (await tus('GET', path, other)).text()).toContain('There is no import job');
    expect((await tus('POST', `${job}/cancel`, other)).status).toBe(404);
    // Who may look at all jobs may look at this one.
    expect((await tus('GET', job, await importKey('admin:jobs:read'))).status).toBe(200);
  });

  it('replaces a collection for those who may write all of it', async () => {
    const replace = (caller: Record<string, string>) =>
      tus('POST', ENDPOINT, {
        'upload-length': '10',
        'upload-metadata': `${metadata('owned')},OverwriteExisting ${base64('true')}`,
        ...caller,
      });
    expect((await replace(await importKey())).status).toBe(403);
    expect((await replace(await importKey('read:default'))).status).toBe(403);
    expect((await replace(await importKey('write:default/owned'))).status).toBe(201);
    expect((await replace({})).status).toBe(201);
  });

  it('replaces nothing that has come since it began, without the right to that', async () => {
    const file = points(3);
    const begin = async (caller: Record<string, string>, more = '') => {
      const begun = await tus('POST', ENDPOINT, {
        'upload-length': String(file.length),
        'upload-metadata': metadata('coming') + more,
        ...caller,
      });
      expect(begun.status).toBe(201);
      return new URL(begun.headers.get('location')!, server.url).pathname;
    };
    const own = await importKey();
    const early = await begin(own, `,OverwriteExisting ${base64('true')}`);
    const send = (path: string, caller: Record<string, string>) =>
      tus(
        'PATCH',
        path,
        { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0', ...caller },
        file,
      );
    expect((await send(await begin({}), {})).status).toBe(204);
    await expect.poll(() => matched('coming'), { timeout: 60_000 }).toBe(3);
    expect((await send(early, own)).status).toBe(403);
    expect((await tus('HEAD', early, own)).status).toBe(403);
  });

  it('is for those who may import', async () => {
    const answer = await fetch(server.url + ENDPOINT, {
      method: 'POST',
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '10', 'upload-metadata': metadata('a') },
    });
    expect(answer.status).toBe(401);
  });
});
