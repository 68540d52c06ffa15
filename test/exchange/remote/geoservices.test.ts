import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';
import { call, type Json, REMOTE_HOST, type Remote, sendJson, startRemote } from './support.js';

/** Discovery of GeoServices: a small server that answers as the public reference of GeoServices REST says. */

const ROOT = '/rest/services/Base/Towns/FeatureServer';
const reference = { wkid: 102100, latestWkid: 3857 };
const extent = { xmin: 0, ymin: 0, xmax: 1, ymax: 1, spatialReference: reference };
const layer = (id: number, name: string, more: Json = {}) => ({
  id,
  name,
  type: 'Feature Layer',
  geometryType: 'esriGeometryPoint',
  extent,
  ...more,
});

let server: TestServer;
let remote: Remote;
let resources: Record<string, Json>;
let broken: ((path: string, response: ServerResponse) => boolean) | undefined;
let authorization: string | undefined;

beforeAll(async () => {
  remote = await startRemote(({ pathname }, response, request) => {
    authorization = request.headers.authorization;
    if (broken?.(pathname, response)) return;
    sendJson(response, resources[pathname] ?? { error: { code: 404, message: 'Not found' } });
  });
  server = await startServer({ sources: [], env: { SVC_REMOTE__ALLOW: `["${REMOTE_HOST}"]` } });
}, 180_000);

beforeEach(() => {
  broken = undefined;
  resources = {
    [ROOT]: {
      serviceDescription: 'Towns and their mayors',
      maxRecordCount: 2000,
      spatialReference: reference,
      layers: [
        { id: 0, name: 'towns' },
        { id: 1, name: 'group' },
      ],
      tables: [{ id: 2, name: 'mayors' }],
    },
    [`${ROOT}/0`]: layer(0, 'towns', { description: 'All towns', hasAttachments: true }),
    [`${ROOT}/0/query`]: { count: 4321 },
    [`${ROOT}/1`]: { id: 1, name: 'group', type: 'Group Layer' },
    [`${ROOT}/2`]: { id: 2, name: 'mayors', type: 'Table' },
    [`${ROOT}/2/query`]: { error: { code: 400, message: 'Query is not supported' } },
  };
});

afterAll(async () => {
  await server?.stop();
  await remote?.close();
});

const discover = (body: object = {}) =>
  call(server, 'POST', '/import/geoservices/discover', { serviceUrl: remote.url + ROOT, ...body });

describe('discovery of GeoServices', () => {
  it.each(['', '/0', '/'])(
    'tells layers, tables, counts and attachments of a URL that ends in "%s"',
    async (end) => {
      expect(await discover({ serviceUrl: remote.url + ROOT + end })).toEqual({
        status: 200,
        body: {
          serviceUrl: remote.url + ROOT,
          serviceName: 'Base/Towns',
          description: 'Towns and their mayors',
          maxRecordCount: 2000,
          spatialReferenceWkid: 3857,
          layers: [
            {
              id: 0,
              name: 'towns',
              description: 'All towns',
              geometryType: 'esriGeometryPoint',
              featureCount: 4321,
              hasAttachments: true,
            },
            {
              id: 1,
              name: 'group',
              description: null,
              geometryType: null,
              featureCount: null,
              hasAttachments: false,
            },
            {
              id: 2,
              name: 'mayors',
              description: null,
              geometryType: null,
              featureCount: null,
              hasAttachments: false,
            },
          ],
        },
      });
    },
  );

  it('sends a token in the query and a password in a header, with every request', async () => {
    const from = remote.asked.length;
    await discover({ credentials: { accessToken: 'a b' } });
    const asked = remote.asked.slice(from);
    expect(asked.length).toBe(6);
    expect(asked.filter((url) => !url.includes('token=a+b'))).toEqual([]);
    await discover({ credentials: { mode: 'basic', username: 'u', password: 'p' } });
    expect(authorization).toBe(`Basic ${Buffer.from('u:p').toString('base64')}`);
  });

  it.each([
    [{ serviceUrl: 'http://10.0.0.1/x/FeatureServer' }],
    [{ serviceUrl: 'ftp://127.0.0.2/x/FeatureServer' }],
    [{ serviceUrl: 'http://127.0.0.2/x' }],
    [{ credentials: { passwordSecretReference: 'env:X' } }],
    [{ timeoutSeconds: 0 }],
  ])('%j is 400', async (body) => {
    expect(await discover(body)).toMatchObject({ status: 400 });
  });

  it.each<[string, (path: string, response: ServerResponse) => boolean]>([
    ['an error in the body of the service', (path, response) => path === ROOT && failure(response)],
    ['an error in the body of a layer', (path, response) => path === `${ROOT}/1` && failure(response)],
    [
      'HTML',
      (_path, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
        return true;
      },
    ],
    [
      'a cut connection',
      (path, response) => {
        if (path === `${ROOT}/0`) response.destroy();
        return path === `${ROOT}/0`;
      },
    ],
    [
      'a service without layers',
      (_path, response) => {
        sendJson(response, { currentVersion: 11 });
        return true;
      },
    ],
  ])('is 502 for %s', async (_name, breaking) => {
    broken = breaking;
    expect(await discover()).toMatchObject({ status: 502 });
  });
});

function failure(response: ServerResponse): true {
  sendJson(response, { error: { code: 499, message: 'Token Required' } });
  return true;
}
