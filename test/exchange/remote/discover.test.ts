import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';
import { call, type Handler, type Json, REMOTE_HOST, type Remote, sendJson, startRemote } from './support.js';

/** Discovery of services elsewhere: another server of ours, and small servers that answer as those of others do. */

let server: TestServer;
let other: SharedServer;
const remotes: Remote[] = [];

beforeAll(async () => {
  other = await sharedServer();
  server = await startServer({ sources: [], env: { SVC_REMOTE__ALLOW: `["127.0.0.1", "${REMOTE_HOST}"]` } });
}, 180_000);

afterAll(async () => {
  await server?.stop();
  for (const remote of remotes) await remote.close();
});

async function remoteOf(handle: Handler): Promise<Remote> {
  const remote = await startRemote(handle);
  remotes.push(remote);
  return remote;
}

async function discover(url: string, more: object = {}) {
  return call(server, 'POST', '/external-services/discover', { url, ...more });
}

const ofKind = (body: Json, kind: string) =>
  (body['candidates'] as Json[]).filter(({ sourceKind }) => sourceKind === kind).map(({ name }) => name);

describe('discovery', () => {
  it('finds features, tiles and maps of another server of ours', async () => {
    const features = await discover(`${other.url}/ogc/features`);
    expect(features.body).toMatchObject({
      sourceUrl: `${other.url}/ogc/features`,
      sourceKind: 'ogc-api-features',
      serviceType: expect.stringMatching(/OGC API Features|Catalog/),
    });
    const listed = (await (await fetch(`${other.url}/ogc/features/collections?f=json`)).json()) as Json;
    const ids = (listed['collections'] as Json[])
      .filter(({ itemType }) => itemType === 'feature')
      .map(({ id }) => id);
    expect(ids).toHaveLength(3);
    expect(ofKind(features.body, 'ogc-api-features')).toEqual(expect.arrayContaining(ids));
    const tiles = await discover(`${other.url}/ogc/tiles`);
    expect(ofKind(tiles.body, 'ogc-api-tiles')).toContain('1');
    const maps = await discover(`${other.url}/ogc/maps`);
    expect(ofKind(maps.body, 'ogc-api-maps').length).toBeGreaterThanOrEqual(ids.length);
  });

  it('finds a catalog of STAC', async () => {
    const { body } = await discover(`${other.url}/stac`);
    expect(body).toMatchObject({ sourceKind: 'stac', serviceType: 'STAC' });
  });

  it.each([
    [
      'WFS',
      'ogc-wfs',
      `<wfs:WFS_Capabilities xmlns:wfs="w" xmlns:ows="o" version="2.0.0"><ows:ServiceIdentification>
       <ows:Title>Towns &amp; more</ows:Title></ows:ServiceIdentification><wfs:FeatureTypeList><wfs:FeatureType>
       <wfs:Name>ms:towns</wfs:Name><wfs:Title>Towns</wfs:Title><wfs:DefaultCRS>urn:ogc:def:crs:EPSG::25832</wfs:DefaultCRS>
       <ows:WGS84BoundingBox><ows:LowerCorner>8 50</ows:LowerCorner><ows:UpperCorner>9 51</ows:UpperCorner>
       </ows:WGS84BoundingBox></wfs:FeatureType></wfs:FeatureTypeList></wfs:WFS_Capabilities>`,
      { name: 'ms:towns', srid: 25832, extent: { xMin: 8, yMin: 50, xMax: 9, yMax: 51, srid: 4326 } },
    ],
    [
      'WMS',
      'ogc-wms',
      `<WMS_Capabilities version="1.3.0"><Service><Name>WMS</Name><Title>Maps</Title></Service><Capability><Layer>
       <CRS>EPSG:3857</CRS><Layer><Name>roads</Name><Title>Roads</Title></Layer></Layer></Capability></WMS_Capabilities>`,
      { name: 'roads', srid: 3857, title: 'Roads' },
    ],
    [
      'WMTS',
      'ogc-wmts',
      `<Capabilities xmlns:ows="o"><Contents><Layer><ows:Title>B</ows:Title><ows:Identifier>base</ows:Identifier>
       <TileMatrixSetLink><TileMatrixSet>WebMercatorQuad</TileMatrixSet></TileMatrixSetLink></Layer>
       <TileMatrixSet/></Contents></Capabilities>`,
      { name: 'base', layerType: 'WebMercatorQuad' },
    ],
  ])('finds a %s by its capabilities', async (service, kind, xml, candidate) => {
    const remote = await remoteOf(({ searchParams }, response) => {
      if (searchParams.get('SERVICE') !== service)
        return void sendJson(response, {}, 'application/json', 400);
      response.writeHead(200, { 'content-type': 'text/xml' }).end(xml);
    });
    const { status, body } = await discover(`${remote.url}/ows?map=a`);
    expect({ status, body }).toMatchObject({ status: 200, body: { sourceKind: kind, serviceType: service } });
    expect(body['candidates']).toEqual([expect.objectContaining(candidate)]);
  });

  it('lists a catalog of GeoServices with its folders, and the layers of a service', async () => {
    const remote = await remoteOf(({ pathname, searchParams }, response) => {
      if (searchParams.get('f') !== 'json') return void response.end('<html>');
      const resources: Record<string, object> = {
        '/rest/services': { folders: ['Water'], services: [{ name: 'Towns', type: 'FeatureServer' }] },
        '/rest/services/Water': { services: [{ name: 'Water/Rivers', type: 'MapServer' }] },
        '/rest/services/Towns/FeatureServer': {
          serviceDescription: 'All towns',
          spatialReference: { wkid: 102100, latestWkid: 3857 },
          layers: [{ id: 0, name: 'Towns', type: 'Feature Layer', geometryType: 'esriGeometryPoint' }],
        },
        '/rest/services/Towns/FeatureServer/0': {
          id: 0,
          name: 'Towns',
          geometryType: 'esriGeometryPoint',
          fields: [{ name: 'KIND', alias: 'Kind', type: 'esriFieldTypeInteger', nullable: true }],
        },
      };
      const refused = { error: { code: 404, message: 'Service not found' } };
      sendJson(response, resources[pathname] ?? refused);
    });
    const catalog = await discover(`${remote.url}/rest/services`);
    expect(catalog.body).toMatchObject({ isCatalog: true, serviceType: 'Catalog' });
    expect(catalog.body['services']).toMatchObject([
      { serviceName: 'Towns', serviceType: 'FeatureServer', folderPath: null },
      { serviceName: 'Water/Rivers', serviceType: 'MapServer', folderPath: 'Water' },
    ]);
    const service = await discover(`${remote.url}/rest/services/Towns/FeatureServer`);
    expect(service.body).toMatchObject({
      isCatalog: false,
      serviceName: 'Towns',
      srid: 3857,
      candidates: [{ layerId: 0, name: 'Towns', geometryType: 'esriGeometryPoint' }],
    });
    const layer = await discover(`${remote.url}/rest/services/Towns/FeatureServer/0`);
    expect(layer.body['candidates']).toMatchObject([
      { fields: [{ name: 'KIND', alias: 'Kind', nullable: true }] },
    ]);
    const missing = await discover(`${remote.url}/rest/services/None/FeatureServer`);
    expect(missing).toMatchObject({
      status: 502,
      body: { detail: expect.stringContaining('Service not found') },
    });
  });

  it('sends credentials as their mode says, to the server that is asked', async () => {
    const heard: (string | undefined)[] = [];
    const remote = await remoteOf((url, response, request) => {
      heard.push(request.headers.authorization ?? url.searchParams.get('token') ?? undefined);
      sendJson(response, { layers: [] });
    });
    const url = `${remote.url}/rest/services/A/FeatureServer`;
    await discover(url, { credentials: { mode: 'basic', username: 'u', password: 'p' } });
    await discover(url, { credentials: { mode: 'token', token: 'abc' } });
    await discover(url, { credentials: { mode: 'arcgis-token', token: 'xyz' } });
    expect(heard).toEqual([`Basic ${Buffer.from('u:p').toString('base64')}`, 'Bearer abc', 'xyz']);
    expect(await discover(url, { credentials: { mode: 'oauth' } })).toMatchObject({ status: 400 });
  });

  it('sends no credentials to another server that a link leads to', async () => {
    const heard: (string | undefined)[] = [];
    const collections = { collections: [{ id: 'a', links: [{ rel: 'items', href: '/a/items' }] }] };
    const elsewhere = await remoteOf((_url, response, request) => {
      heard.push(request.headers.authorization);
      sendJson(response, collections);
    });
    const remote = await remoteOf((_url, response) => {
      const links = [
        { rel: 'data', href: `${elsewhere.url}/collections` },
        { rel: 'conformance', href: '/conformance' },
      ];
      sendJson(response, { title: 'Landing', links });
    });
    const { status } = await discover(remote.url, {
      credentials: { mode: 'basic', username: 'u', password: 'p' },
    });
    expect([status, heard]).toEqual([200, [undefined]]);
  });

  it.each([
    ['a redirection', 502, (_url, response) => void response.writeHead(301, { location: '/' }).end()],
    [
      'HTML',
      502,
      (_url, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    ],
    [
      'an entity',
      502,
      (_url, response) =>
        void response
          .writeHead(200, { 'content-type': 'text/xml' })
          .end('<!DOCTYPE a [<!ENTITY b "c">]><WFS_Capabilities>&b;</WFS_Capabilities>'),
    ],
    ['500', 502, (_url, response) => void response.writeHead(500).end()],
    ['nothing in time', 502, () => {}],
    [
      'deep JSON',
      502,
      (_url, response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end('['.repeat(100_000)),
    ],
  ] as [string, number, Handler][])('says that %s is no service', async (_name, expected, handle) => {
    const remote = await remoteOf(handle);
    const { status, body } = await discover(remote.url, { timeoutSeconds: 1 });
    expect(status).toBe(expected);
    expect(body['detail']).toEqual(expect.any(String));
  });

  it('asks no host that is not allowed', async () => {
    for (const url of ['http://10.1.2.3/', 'http://example.org/wfs', 'file:///etc/passwd', ''])
      expect(await discover(url)).toMatchObject({ status: 400 });
  });
});

it('gives an overview of what the server can do', async () => {
  const { body } = await call(server, 'GET', '/features');
  expect(body).toMatchObject({ success: true, data: { currentEdition: 'community' } });
  const { features } = body['data'] as { features: Json[] };
  expect(features).toContainEqual(
    expect.objectContaining({ key: 'spatial-analytics', isEnabled: true, upgradeMessage: null }),
  );
});
