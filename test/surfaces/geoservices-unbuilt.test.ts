import { beforeAll, describe, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

describe('resources of GeoServices that are not built', () => {
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${server.url}${path}`, init);
    return [response.status, response.headers.get('content-type')];
  };

  it.each([
    '/rest/services/default/FeatureServer/0/calculate?f=json',
    '/rest/services/default/ImageServer/measure',
  ])('%s says so', async (path) => {
    expect(await ask(path)).toEqual([501, 'application/problem+json']);
    const form = new URLSearchParams({ f: 'json' });
    expect(await ask(path, { method: 'POST', body: form })).toEqual([501, 'application/problem+json']);
  });

  it('leave replicas, and what is no resource, as they are', async () => {
    expect((await ask('/rest/services/default/FeatureServer/replicas?f=json'))[0]).toBe(200);
    expect((await ask('/rest/services/default/NothingServer'))[0]).toBe(404);
  });
});
