import { request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

async function ask(path: string, init: RequestInit = {}) {
  const response = await fetch(`${server.url}${path}`, init);
  const text = await response.text();
  const type = response.headers.get('content-type');
  return {
    status: response.status,
    type,
    text,
    error: type?.includes('json') ? JSON.parse(text).error : undefined,
  };
}

const inBand = (code: number) => ({
  ...{ status: 200, type: 'application/json' },
  error: { code, message: expect.any(String), details: [] },
});

describe('what is no resource of GeoServices', () => {
  it('is told in band', async () => {
    for (const path of [
      '/rest/nothing',
      '/rest/services/default/NothingServer',
      '/sharing/rest/a/b',
      '/arcgis/rest/x',
    ])
      for (const query of ['', '?f=json', '?f=pjson', '?f=PBF', '?f='])
        expect(await ask(path + query)).toMatchObject(inBand(404));
    const form = { method: 'POST', body: new URLSearchParams({ f: 'json' }) };
    expect(await ask('/rest/services/default/FeatureServer/0/nothing', form)).toMatchObject(inBand(404));
    expect(await ask('/rest/services/default/FeatureServer/0/query', { method: 'DELETE' })).toMatchObject(
      inBand(405),
    );
    const long = `/rest/services/default/FeatureServer/0/query?f=json&where=${'x'.repeat(9000)}`;
    expect(await ask(long)).toMatchObject(inBand(414));
  });

  it('is called where a page asks for a call', async () => {
    const { type, text } = await ask('/rest/nothing?f=json&callback=dojo.io.a');
    expect(type).toMatch(/javascript/);
    expect(text).toMatch(/^\/\*\*\/dojo\.io\.a\(\{"error":\{"code":404,/);
  });

  it('is a problem document for other formats, and other paths', async () => {
    for (const path of [
      '/rest/nothing?f=html',
      '/rest/nothing?f=image',
      '/restful',
      '/sharing',
      '/ogc/nothing?f=json',
    ])
      expect(await ask(path)).toMatchObject({ status: 404, type: 'application/problem+json' });
  });

  it('has no body for who asks for its head', async () => {
    const { url } = server;
    const answer = await new Promise<{ status?: number | undefined; bytes: number }>((resolve, reject) => {
      const asking = request(`${url}/rest/nothing`, { method: 'HEAD' }, (response) => {
        let bytes = 0;
        response.on('data', (chunk: Buffer) => (bytes += chunk.length));
        response.on('end', () => resolve({ status: response.statusCode, bytes }));
      });
      asking.on('error', reject).end();
    });
    expect(answer).toEqual({ status: 200, bytes: 0 });
  });
});
