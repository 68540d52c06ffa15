import { request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { defineOperation } from '../../../src/core/http/operation.js';
import type { HttpServer } from '../../../src/gateway/http/server.js';
import { serverOf } from '../support.js';

/** The socket library aborts the whole process on a wrong end of a response, so this runs on a real socket. */
const empty = defineOperation({
  id: 'test.empty',
  method: 'GET',
  path: '/empty',
  surface: 'site',
  protocol: 'Site',
  summary: 'Nothing',
  permission: 'public',
  responses: {},
  run: () => ({ status: 204 }),
});
const tagged = defineOperation({
  ...empty,
  id: 'test.tagged',
  path: '/tagged',
  params: {},
  run: () => ({ status: 200, body: 'x', mediaType: 'text/plain', etag: 'a' }),
});

let server: HttpServer;
let port: number;

beforeAll(async () => {
  server = serverOf([empty, tagged]);
  port = await server.listen('127.0.0.1', 0);
});

afterAll(() => server.close(100));

function send(path: string, headers: Record<string, string> = {}, body?: string) {
  return new Promise<{ status: number; length: string | undefined; body: string }>((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', path, headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode!, length: response.headers['content-length'], body: text }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

it('answers 204 and 304 without a body and without a length, and lives on', async () => {
  expect(await send('/empty')).toEqual({ status: 204, length: undefined, body: '' });
  expect(await send('/tagged', { 'if-none-match': '"a"' })).toEqual({
    status: 304,
    length: undefined,
    body: '',
  });
  expect((await send('/tagged')).body).toBe('x');
});

it('answers 204 to a request whose body nobody read', async () => {
  expect((await send('/empty', { 'content-length': '3' }, 'abc')).status).toBe(204);
  expect((await send('/empty')).status).toBe(204);
});
