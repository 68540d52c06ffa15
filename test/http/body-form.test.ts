import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MVT_FORMAT } from '../../src/core/http/media.js';
import { defineOperation, type Reply } from '../../src/core/http/operation.js';
import { WEB_MERCATOR_QUAD } from '../../src/core/tiles/tile-matrix.js';
import { bodyForm } from '../../src/gateway/http/requests/body-form.js';
import type { HttpServer } from '../../src/gateway/http/server.js';
import { tileReply } from '../../src/gateway/surface/tile-reply.js';
import { newTile } from '../../src/services/tiles/tile.js';
import { raw } from '../e2e/support/http.js';
import { serverOf } from './support.js';

const TEXT = Buffer.from('graticule '.repeat(5000));
const GZIP = gzipSync(TEXT);
const constantReply = (constant: NonNullable<Reply['constant']>): Reply => ({
  ...{ status: 200, mediaType: MVT_FORMAT.mediaType, body: GZIP, encoding: 'gzip', constant },
});
const form = async (reply: Reply, coding: 'identity' | 'br' | 'zstd') => bodyForm(reply, GZIP, coding);

describe('a body in another coding', () => {
  it.each(['identity', 'br', 'zstd'] as const)('is made once for all who ask at once: %s', async (coding) => {
    const reply = constantReply({ block: undefined });
    const [first, second] = await Promise.all([form(reply, coding), form(reply, coding)]);
    expect(second).toBe(first);
    expect(await form(reply, coding)).not.toBe(first);
    if (coding === 'br') expect(brotliDecompressSync(first).equals(TEXT)).toBe(true);
  });

  it('is made again after a failure', async () => {
    const reply = { ...constantReply({ block: undefined }), body: Buffer.from('no gzip') };
    const ask = async () => bodyForm(reply, reply.body, 'identity');
    await expect(Promise.all([ask(), ask()])).rejects.toThrow();
    await expect(ask()).rejects.toThrow();
  });

  it('is kept only where there is room for it', async () => {
    const all = constantReply({ block: undefined, isStatic: true });
    const last = constantReply({ block: undefined, secondForm: 'any' });
    const none = constantReply({ block: undefined, secondForm: 'gzip' });
    for (const reply of [all, last, none])
      for (const coding of ['br', 'zstd', 'identity'] as const) await form(reply, coding);
    const codings = [all, last, none].map(({ constant }) => Object.keys(constant!.forms ?? {}));
    expect(codings).toEqual([['br', 'zstd'], ['zstd'], []]);
  });

  it('of a tile takes no memory that the tile does not count', async () => {
    const at = { set: WEB_MERCATOR_QUAD, zoom: 0, row: 0, column: 0 };
    const tile = (data: Uint8Array, encoding?: 'gzip') =>
      newTile({ format: MVT_FORMAT, collections: [], at }, data, MVT_FORMAT.mediaType, encoding, false);
    for (const one of [tile(GZIP, 'gzip'), tile(TEXT)]) {
      const { bytes } = one;
      const reply = tileReply(one);
      const body = reply.body as Uint8Array;
      for (const coding of ['gzip', 'br', 'zstd', 'identity'] as const) await bodyForm(reply, body, coding);
      const forms = Object.values(reply.constant?.forms ?? {});
      const size = forms.reduce((sum, { byteLength }) => sum + byteLength, body.byteLength);
      expect(size).toBeLessThanOrEqual(bytes);
    }
  });
});

describe('a server', () => {
  const operation = (name: string, reply: Reply) =>
    defineOperation({
      ...{ id: `test.${name}`, method: 'GET', path: `/${name}`, surface: 'site', protocol: 'Site' },
      ...{ summary: name, permission: 'public', responses: {} },
      run: () => reply,
    });
  let server: HttpServer;
  let url: string;

  beforeAll(async () => {
    const damaged = { ...constantReply({ block: undefined }), body: Buffer.concat([GZIP, TEXT]) };
    server = serverOf([
      operation('damaged', damaged),
      operation('whole', constantReply({ block: undefined })),
    ]);
    url = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`;
  });
  afterAll(() => server?.close(0));

  it.each(['identity', 'zstd', 'identity;q=0, br'])(
    'answers a problem where a body cannot be brought into the coding: %s',
    async (accept) => {
      const answer = await raw(`${url}/damaged`, { headers: { 'accept-encoding': accept } });
      expect([answer.status, answer.headers['content-type']]).toEqual([500, 'application/problem+json']);
      const body = accept.endsWith('br') ? brotliDecompressSync(answer.body) : answer.body;
      expect(JSON.parse(body.toString())).toMatchObject({ status: 500, code: 'internal' });
    },
  );

  it('gives many clients the same at once', async () => {
    const headers = { 'accept-encoding': 'identity' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => raw(`${url}/whole`, { headers })));
    for (const { status, body } of answers)
      expect([status, body.equals(gunzipSync(GZIP))]).toEqual([200, true]);
  });
});
