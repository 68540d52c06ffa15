import { execFileSync } from 'node:child_process';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HTTP_LIMITS } from '../../src/core/http/limits.js';
import { exchange, raw } from '../e2e/support/http.js';
import { errorLines, gateways, residentBytes } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';

/** Messages at the edge of HTTP, as bytes. */

let server: TestServer;
beforeAll(async () => {
  server = await startServerProcess();
});
afterAll(() => server?.stop());

/** The older build of the socket library takes letters, digits and hyphens only. */
const RARE_NAME = "GET /healthz/live HTTP/1.1\r\nHost: x\r\n!#$%&'*+.^_`|~: y";

let targets = 0;
/** A target that was not asked for before. */
const fresh = () => `/stac/search?limit=${++targets}`;
const send = (head: string, body = '') =>
  exchange(server.url, `${head}\r\nConnection: close\r\n\r\n${body}`, 3000);
const get = (headers: string) =>
  exchange(server.url, `GET ${fresh()} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`, 10_000);
const post = (headers: string, body = '{}') =>
  exchange(
    server.url,
    `POST /stac/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`,
    1500,
  );
const CHUNKED = '2\r\n{}\r\n0\r\n\r\n';

describe('a message whose end is in doubt', () => {
  it.each<[string, string, string, number | string]>([
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 3', '{} ', 400],
    ['the same length twice', 'Content-Length: 2\r\nContent-Length: 2', '{}', 400],
    ['a length and chunks', 'Content-Length: 2\r\nTransfer-Encoding: chunked', CHUNKED, 400],
    ['a length that is no number', 'Content-Length: +2', '{}', 400],
    ['a length that is negative', 'Content-Length: -2', '{}', 400],
    ['a length without end', 'Content-Length: 99999999999999999999', '{}', 400],
    ['a coding that is not known', 'Transfer-Encoding: gzip, chunked', CHUNKED, 501],
    ['a coding without chunks', 'Transfer-Encoding: gzip', '{}', '(400|501)'],
    ['two codings', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', CHUNKED, 400],
    ['a chunk without size', 'Transfer-Encoding: chunked', 'zz\r\n{}\r\n0\r\n\r\n', 400],
    ['a chunk of all memory', 'Transfer-Encoding: chunked', 'ffffffffffffffffff\r\n{}\r\n', 400],
  ])('%s is refused, and the connection ends', async (_, headers, body, status) => {
    const answer = await post(headers, body);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    // The library's own answers end the connection without saying so.
    expect(answer).toMatch(/connection: close|rjweb-server/i);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  });

  it('does not hide a second request', async () => {
    const smuggled = await post(
      'Content-Length: 2\r\nContent-Length: 60',
      '{}GET /healthz/live HTTP/1.1\r\nHost: x\r\nX: ',
    );
    expect(smuggled).not.toMatch(/HTTP\/1\.1 200/);
  });
});

describe('a request', () => {
  it.each([
    ['for two hosts', 'Host: a\r\nHost: b'],
    ['for a host that is none', 'Host: a b'],
    ['for a host with a path', 'Host: a/b'],
  ])('%s is answered 400', async (_, headers) => {
    expect(await get(headers)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it.each(['Host:', 'Host: [::1]:8080', 'Host: xn--bcher-kva.example:80'])(
    'for %s is answered',
    async (host) => {
      expect(await get(host)).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  it('that expects what it does not get is answered 417, and one that expects to go on may', async () => {
    expect(await post('Content-Length: 2\r\nExpect: 200-ok')).toMatch(/^HTTP\/1\.1 417 /);
    expect(await post('Content-Length: 2\r\nExpect: 100-continue')).toMatch(
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /,
    );
  });

  it.each(['TRACE', 'CONNECT'])('with the method %s is refused', async (method) => {
    expect(await send(`${method} ${method === 'CONNECT' ? 'x:80' : '/'} HTTP/1.1\r\nHost: x`)).toMatch(
      /^HTTP\/1\.1 (405|501|505) /,
    );
  });

  it.each([
    'GET / HTTP/1.0',
    'GET / HTTP/2.0',
    'GET /a b HTTP/1.1',
    'GET /a\0b HTTP/1.1',
    'GET http://x/ HTTP/1.1',
    'OPTIONS * HTTP/1.1',
  ])('line that is none of HTTP/1.1 is refused: %j', async (line) => {
    expect(await send(`${line}\r\nHost: x`)).toMatch(/^HTTP\/1\.1 (400|501|505) /);
  });

  it('with a header with a rare name does no harm, answered or not', async () => {
    const answer = await exchange(server.url, `${RARE_NAME}\r\nConnection: close\r\n\r\n`, 300);
    expect(answer).toMatch(/^$|^HTTP\/1\.1 (200|400) /);
    expect((await raw(`${server.url}/healthz/live`)).status).toBe(200);
  });

  /** What the socket library does not answer at all: see docs/reference/server/request-limits.md. It must not do harm. */
  it.each([
    ['an unknown method', 'PROPFIND / HTTP/1.1\r\nHost: x'],
    ['a method in small letters', 'get / HTTP/1.1\r\nHost: x'],
    ['no host', 'GET / HTTP/1.1'],
    ['150 headers', `GET / HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(149)}X: y`],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: x\r\nX: a\0b'],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b'],
    [
      'a chunk with an extension',
      'POST /stac/search HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0',
    ],
  ])('with %s gets no answer of success, and others do', async (_, head) => {
    expect(await exchange(server.url, `${head}\r\n\r\n`, 300)).not.toMatch(/HTTP\/1\.1 2/);
    expect((await raw(`${server.url}/healthz/live`)).status).toBe(200);
  });
});

describe('a body with a content coding', () => {
  const search = (body: Buffer, headers: Record<string, string>) =>
    raw(`${server.url}/stac/search`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });

  const zstd = (input: Uint8Array | string) => execFileSync('zstd', ['-qc'], { input });

  it.each([
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['x-gzip', gzipSync],
    ['br', brotliCompressSync],
    ['zstd', zstd],
  ] as const)('%s is inflated', async (coding, compress) => {
    const wrong = await search(compress('{"limit":0}'), { 'content-encoding': coding });
    expect([wrong.status, wrong.body.toString()]).toEqual([400, expect.stringContaining('/limit')]);
    const right = await search(compress('{"limit":1}'), { 'content-encoding': coding });
    expect(right.status).toBe(200);
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['zstd', zstd],
  ] as const)('%s is inflated above 64 KiB too, where a worker parses it', async (coding, compress) => {
    const body = compress(
      JSON.stringify({ datetime: 'x'.repeat(8000), ids: Array(20).fill('y'.repeat(5000)) }),
    );
    const answer = await search(body, { 'content-encoding': coding });
    expect([answer.status, answer.body.toString()]).toEqual([400, expect.stringContaining('/ids')]);
  });

  it.each([
    ['gzip', (bytes: Buffer) => gzipSync(bytes, { level: 9 })],
    ['br', (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })],
    ['zstd', zstd],
  ] as const)(
    '%s is refused with 413 when it inflates without end, in bounded memory',
    async (coding, compress) => {
      const [gateway] = gateways(server.process.pid!) as [number];
      const bomb = compress(Buffer.alloc(200_000_000, 0x20));
      expect(bomb.byteLength).toBeLessThan(HTTP_LIMITS.anonymousBodyBytes);
      const before = residentBytes(gateway);
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => search(bomb, { 'content-encoding': coding })),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(413));
      expect(residentBytes(gateway) - before).toBeLessThan(100_000_000);
    },
  );

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['zstd', zstd],
  ] as const)('%s is refused with 400 when it is broken', async (coding, compress) => {
    const cut = compress('{"limit":1}').subarray(0, -3);
    const long = Buffer.concat([compress('{"limit":1}'), Buffer.from('rest')]);
    for (const body of [Buffer.from('{}'), cut, long]) {
      const answer = await search(body, { 'content-encoding': coding });
      expect([answer.status, answer.body.toString()]).toEqual([400, expect.stringContaining(coding)]);
    }
  });

  it.each(['deflate', 'gzip, gzip', 'br, zstd', 'compress'])(
    '%s is answered 415, with what is taken',
    async (coding) => {
      const answer = await search(brotliCompressSync('{}'), { 'content-encoding': coding });
      expect([answer.status, answer.headers['accept-encoding']]).toEqual([415, 'gzip, br, zstd, identity']);
    },
  );

  it('is answered 415 for an upload', async () => {
    const answer = await raw(`${server.url}/api/v1/admin/import/upload`, {
      method: 'POST',
      body: gzipSync('x'),
      headers: {
        'x-api-key': server.adminKey,
        'content-type': 'multipart/form-data; boundary=x',
        'content-encoding': 'gzip',
      },
    });
    expect([answer.status, answer.headers['accept-encoding']]).toEqual([415, 'identity']);
  });
});

it('none of it was a fault of the server', () => {
  expect(errorLines(server.log())).toEqual([]);
});
