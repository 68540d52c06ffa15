import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';
import { call, type Json, REMOTE_HOST, sendJson, startRemote } from '../remote/support.js';
import { type GeoServer, PASSWORD, startGeoServer, USER } from './geoserver.js';

/** Discovery of a GeoServer, and scans of sources of migrations. */

let server: TestServer;
let source: GeoServer;
let documents: Record<string, unknown>;

beforeAll(async () => {
  source = await startGeoServer();
  documents = { ...source.documents };
  server = await startServer({ sources: [], env: { SVC_REMOTE__ALLOW: `["${REMOTE_HOST}"]` } });
}, 180_000);

afterEach(() => {
  source.breaking = undefined;
  Object.assign(source.documents, documents);
});

afterAll(async () => {
  await server?.stop();
  await source?.close();
});

const discover = (body: object = {}) =>
  call(server, 'POST', '/import/platform-b/discover', {
    ...{ geoServerRestUrl: source.restUrl, username: USER, password: PASSWORD },
    ...body,
  });

const scan = (body: object = {}, query = '') =>
  call(server, 'POST', `/import/scan${query}`, {
    ...{ sourceKind: 'geoserver', sourceUrl: source.restUrl, username: USER, password: PASSWORD },
    ...body,
  });

interface Item extends Json {
  id: string;
  compatibility: { level: string; code: string | null; warnings: string[] };
}
interface Dependency extends Item {
  kind: string;
  name: string;
  metadata: Record<string, string>;
}
const codes = (items: unknown) =>
  Object.fromEntries(
    (items as Item[]).map(({ id, compatibility }) => [id, compatibility.code ?? compatibility.level]),
  );

describe('discovery of a GeoServer', () => {
  it('tells what it holds, whatever the way of its JSON, and follows no link', async () => {
    const from = source.asked.length;
    const { status, body } = await discover();
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        ...{ geoServerRestUrl: source.restUrl, version: '2.27.0', gitRevision: 'abc123', warnings: [] },
        workspaces: [
          { name: 'topp', isDefault: true, isIsolated: false },
          { name: 'a b/ü', isDefault: false, isIsolated: true },
          { name: '2020', isDefault: false, isIsolated: false },
        ],
        dataStores: [
          {
            ...{ id: 'data:topp:pg', type: 'PostGIS' },
            connectionParameters: { host: 'db.example.org', port: '5432', database: 'gis' },
          },
          { id: 'data:topp:schemas', connectionParameters: { url: 'http://x.example.org/m.xml' } },
        ],
        coverageStores: [{ id: 'coverage:topp:dem', type: 'GeoTIFF' }],
        layerGroups: [
          {
            id: 'topp:world',
            members: [
              { kind: 'layer', id: 'topp:countries', style: null },
              { kind: 'layer', id: 'topp:Geology', style: 'topp:polygon' },
            ],
          },
        ],
        globalSettings: { charset: 'UTF-8', numDecimals: 8, globalServices: true },
      },
    });
    expect((body['layers'] as Json[])[0]).toMatchObject({
      ...{ id: 'topp:countries', title: 'Countries', keywords: ['world', 'borders'], srs: 'EPSG:4326' },
      ...{ geometryType: 'MultiPolygon', latLonBoundingBox: [-180, -90, 180, 84] },
      ...{ defaultStyle: 'topp:polygon', styles: ['broken'], attribution: 'Natural Earth' },
    });
    expect((body['serviceEndpoints'] as Json[])[1]).toEqual({
      ...{ service: 'wms', url: source.restUrl.replace('rest', 'wms'), enabled: false, title: null },
    });
    const text = JSON.stringify(body);
    for (const secret of ['secret-of-the-store', 'hunter2', 't0ken', 'x@example.org'])
      expect(text).not.toContain(secret);
    const asked = source.asked.slice(from);
    expect(asked.every((path) => /^\/geoserver\/(gwc\/)?rest\//.test(path))).toBe(true);
    // Names are encoded: a slash does not lead into another folder.
    expect(asked).toContain('/geoserver/rest/workspaces/a%20b%2F%C3%BC.json');
    expect(asked.some((path) => path.endsWith('.sld'))).toBe(false);
  });

  it('assesses stores, layers, groups and styles, with the content of SLD where it is asked for', async () => {
    const { body } = await discover({ includeStyleContent: true });
    const assessment = body['compatibilityAssessment'] as Json;
    expect({
      stores: codes(assessment['stores']),
      layers: codes(assessment['layers']),
      groups: codes(assessment['layerGroups']),
      styles: codes(assessment['styles']),
    }).toEqual({
      stores: {
        'data:topp:pg': 'compatible',
        'data:topp:schemas': 'complex-features',
        'coverage:topp:dem': 'compatible',
      },
      layers: {
        'topp:countries': 'compatible',
        'topp:names': 'no-geometry',
        'topp:Geology': 'complex-features',
        'topp:heights': 'compatible',
        'topp:base map?': 'cascaded',
      },
      groups: { 'topp:world': 'group' },
      styles: { broken: 'style-unreadable', themed: 'style-format', 'topp:polygon': 'style-reduced' },
    });
    const polygon = (body['styles'] as Json[]).find(({ id }) => id === 'topp:polygon')!;
    expect(polygon['content']).toBe(source.texts['workspaces/topp/styles/polygon.sld']);
    expect((await discover()).body).toMatchObject({
      compatibilityAssessment: { summary: { compatibleCount: 2, partiallyCompatibleCount: 3 } },
    });
    expect((await discover({ includeCompatibilityAnalysis: false })).body).toMatchObject({
      compatibilityAssessment: null,
    });
  });

  it('tells the gridsets of the tile cache, and which sets of this server have their tiles', async () => {
    const { body } = await discover();
    expect(body['gridsets']).toHaveLength(5);
    expect((body['gridsets'] as Json[])[0]).toMatchObject({
      ...{ name: 'EPSG:4326', srid: 4326, box: [-180, -90, 180, 90], alignTopLeft: false },
      levels: expect.arrayContaining([{ name: 'EPSG:4326:0', cellSize: 0.703125 }]),
    });
    expect((body['tileLayers'] as Json[])[0]).toEqual({
      ...{ id: 'topp:countries', enabled: true, formats: ['image/png'] },
      gridsets: ['EPSG:900913', 'EPSG:4326', 'Alps 25832'],
    });
    const { gridsets } = body['compatibilityAssessment'] as {
      gridsets: (Item & { tileMatrixSetId: string })[];
    };
    expect(
      gridsets.map(({ id, tileMatrixSetId, compatibility: { code } }) => [id, tileMatrixSetId, code]),
    ).toEqual([
      ['EPSG:4326', 'WGS1984Quad', null],
      ['EPSG:900913', 'WebMercatorQuad', 'gridset-levels'],
      ['Europe', 'EuropeanETRS89_LAEAQuad', null],
      ['Alps 25832', null, 'gridset-custom'],
      ['Nowhere', null, 'gridset-unusable'],
    ]);
  });

  it('needs no tile cache, and tells what of it cannot be read', async () => {
    source.breaking = (path, response) => path.startsWith('gwc/') && sent(response.writeHead(404).end());
    expect((await discover()).body).toMatchObject({ gridsets: [], tileLayers: [], warnings: [] });
    const broken: Record<string, string> = {
      'gwc/gridsets/EPSG:4326.xml': '<gridSet><name>EPSG:4326</name></gridSet>',
      'gwc/gridsets/Europe.xml': '<html>Sign in</html>',
      'gwc/layers/topp:world.xml': '<ServiceException/>',
    };
    source.breaking = (path, response) =>
      broken[path] !== undefined && sent(response.writeHead(200).end(broken[path]));
    const { body } = await discover();
    expect((body['gridsets'] as Json[]).map(({ name }) => name)).toEqual([
      'EPSG:900913',
      'Alps 25832',
      'Nowhere',
    ]);
    expect((body['warnings'] as string[]).map((text) => text.replace(/: .*/, ''))).toEqual([
      'gwc/gridsets/EPSG:4326',
      'gwc/gridsets/Europe',
      'gwc/layers/topp:world',
    ]);
  });

  it('takes the address of the GeoServer itself', async () => {
    const { body } = await discover({ geoServerRestUrl: source.restUrl.replace(/rest$/, '') });
    expect(body).toMatchObject({ geoServerRestUrl: source.restUrl, version: '2.27.0' });
  });

  it.each<[object, string]>([
    [{ geoServerRestUrl: 'ftp://127.0.0.2/rest' }, 'geoServerRestUrl'],
    [{ geoServerRestUrl: 'http://10.0.0.1/rest' }, 'geoServerRestUrl'],
    [{ geoServerRestUrl: 'http://u:p@127.0.0.2/rest' }, 'geoServerRestUrl'],
    [{ timeoutSeconds: 0 }, '/timeoutSeconds'],
  ])('%j is 400', async (body, name) => {
    expect(await discover(body)).toMatchObject({ status: 400, body: { errors: [{ name }] } });
  });

  it('says that the password is wrong', async () => {
    const { status, body } = await discover({ password: 'wrong' });
    expect({ status, body }).toMatchObject({ status: 400, body: { errors: [{ name: 'password' }] } });
    expect(body['detail']).toMatch(/127\.0\.0\.2:\d+ does not accept the user name and password\./);
  });

  it.each<[string, (path: string, response: ServerResponse) => boolean]>([
    ['answers HTML', (_path, response) => html(response)],
    ['is redirected', (_path, response) => sent(response.writeHead(302, { location: 'http://127.0.0.3/' }))],
    ['is another product', (_path, response) => sent(sendJson(response, { about: { resource: [] } }))],
    ['answers 500', (_path, response) => sent(response.writeHead(500))],
    ['breaks off', (path, response) => path === 'layers.json' && sent(void response.destroy())],
    ['is huge', (_path, response) => sent(response.writeHead(200).end(Buffer.alloc(9 << 20, 32)))],
  ])('is 502 where the server %s', async (_name, breaking) => {
    source.breaking = (path, response) => {
      const isBroken = breaking(path, response);
      if (isBroken && !response.writableEnded) response.end();
      return isBroken;
    };
    expect(await discover()).toMatchObject({ status: 502 });
  });

  it('is 502 where nobody answers, and 504 where the server is late', async () => {
    const gone = await startRemote(() => {});
    await gone.close();
    expect(await discover({ geoServerRestUrl: gone.url })).toMatchObject({ status: 502 });
    source.breaking = (path) => path === 'settings.json';
    expect(await discover({ timeoutSeconds: 1 })).toMatchObject({ status: 504 });
  });

  it('tells of parts that cannot be read, and reads the others', async () => {
    source.breaking = (path, response) => {
      if (path === 'settings.json') return html(response);
      if (path === 'layers/topp:countries.json') return sent(response.writeHead(500).end());
      if (path === 'styles/broken.json') return sent(response.writeHead(200).end(Buffer.alloc(9 << 20, 32)));
      if (path === 'workspaces/default.json') return sent(response.writeHead(403).end());
      return false;
    };
    const { status, body } = await discover();
    expect({ status, body }).toMatchObject({ status: 200, body: { globalSettings: null } });
    expect((body['layers'] as Json[]).map(({ id }) => id)).not.toContain('topp:countries');
    expect((body['warnings'] as string[]).map((text) => text.replace(/:(?! |c).*|: .*/, ''))).toEqual([
      'layers/topp:countries',
      'settings',
      'styles/broken',
      'workspaces/default',
    ]);
  });

  it('does not climb by names of dots', async () => {
    source.documents['workspaces'] = { workspaces: { workspace: [{ name: '..' }] } };
    const from = source.asked.length;
    const { body } = await discover();
    expect(body['warnings']).toContainEqual(expect.stringMatching(/name cannot be part of a URL/));
    expect(source.asked.slice(from).every((path) => /^\/geoserver\/(gwc\/)?rest\//.test(path))).toBe(true);
  });
});

describe('a scan of a GeoServer', () => {
  it('is an inventory, by itself or as an attachment', async () => {
    const { status, body } = await scan();
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        ...{ artifactKind: 'svc.migration.source-inventory', artifactVersion: '1.0' },
        ...{
          sourceKind: 'geoserver-rest',
          source: { product: 'GeoServer', version: '2.27.0', build: 'abc123' },
        },
        authPosture: { mode: 'basic', credentialsSupplied: true, accessConfirmed: true },
        scanCompleteness: { status: 'complete', warnings: [], missingArtifacts: [] },
        summary: {
          ...{ containerCount: 4, resourceCount: 6, styleCount: 3, externalDependencyCount: 8 },
          ...{ compatibleCount: 2, partiallyCompatibleCount: 3, incompatibleCount: 4 },
        },
        overallCompatibility: { level: 'partial' },
      },
    });
    const [countries] = body['resources'] as Json[];
    expect(countries).toMatchObject({
      ...{
        id: 'topp:countries',
        containerId: 'workspace:topp',
        kind: 'featureType',
        geometryType: 'MultiPolygon',
      },
      fields: [
        { name: 'geom', fieldType: 'MultiPolygon' },
        { name: 'name', fieldType: 'String' },
      ],
      spatialReferences: [{ srid: 4326 }],
      styleIds: ['topp:polygon', 'broken'],
      externalDependencyIds: [
        ...['data:topp:pg', 'gridset:EPSG:900913', 'gridset:EPSG:4326', 'gridset:Alps 25832'],
      ],
    });
    expect((body['resources'] as Json[]).find(({ id }) => id === 'group:topp:world')).toMatchObject({
      externalDependencyIds: ['gridset:Europe'],
    });
    const gridsets = (body['externalDependencies'] as Dependency[]).filter(({ kind }) => kind === 'gridset');
    expect(
      gridsets.map(({ name, metadata, compatibility }) => [
        ...[name, metadata['tileMatrixSetId'], compatibility.level],
      ]),
    ).toEqual([
      ['EPSG:4326', 'WGS1984Quad', 'compatible'],
      ['EPSG:900913', 'WebMercatorQuad', 'partial'],
      ['Europe', 'EuropeanETRS89_LAEAQuad', 'compatible'],
      ['Alps 25832', undefined, 'partial'],
      ['Nowhere', undefined, 'incompatible'],
    ]);
    expect(gridsets[3]).toMatchObject({
      ...{ containerId: 'global', spatialReferences: [{ srid: 25832 }] },
      metadata: { tileWidth: '512', levelCount: '2', configuration: expect.stringContaining('matrixSets') },
    });
    const answer = await fetch(`${server.url}/api/v1/admin/import/scan?export=json`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
      body: JSON.stringify({
        sourceKind: 'geoserver-rest',
        sourceUrl: source.restUrl,
        username: USER,
        password: PASSWORD,
      }),
    });
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="source-inventory.json"');
    expect(((await answer.json()) as Json)['resources']).toEqual(body['resources']);
  });

  it('fails as a scan where the password is wrong, and is partial where a part cannot be read', async () => {
    expect(await scan({ password: 'wrong' })).toMatchObject({
      status: 200,
      body: {
        authPosture: {
          accessConfirmed: false,
          notes: [expect.stringMatching(/does not accept the user name and password/)],
        },
        scanCompleteness: { status: 'failed', missingArtifacts: ['source'] },
        overallCompatibility: { level: 'incompatible' },
        resources: [],
      },
    });
    source.breaking = (path, response) => path === 'styles.json' && html(response);
    expect(await scan()).toMatchObject({
      status: 200,
      body: { scanCompleteness: { status: 'partial', missingArtifacts: ['styles'] } },
    });
  });

  it('is 400, 502 or 504 where there is nothing to scan', async () => {
    expect(await scan({ sourceKind: 'other' })).toMatchObject({ status: 400 });
    expect(await scan({ sourceUrl: 'http://10.0.0.1/rest' })).toMatchObject({ status: 400 });
    source.breaking = (_path, response) => html(response);
    expect(await scan()).toMatchObject({ status: 502 });
    source.breaking = () => true;
    expect(await scan({ timeoutSeconds: 1 })).toMatchObject({ status: 504 });
  });
});

describe('a scan of GeoServices', () => {
  const services = '/arcgis/rest/services';
  const layer = {
    id: 0,
    name: 'towns',
    type: 'Feature Layer',
    geometryType: 'esriGeometryPoint',
    hasAttachments: true,
  };
  const resources: Record<string, Json> = {
    [services]: {
      folders: [],
      services: [
        { name: 'Towns', type: 'FeatureServer' },
        { name: 'Stopped', type: 'MapServer' },
        { name: 'Relief', type: 'ImageServer' },
      ],
    },
    [`${services}/Towns/FeatureServer`]: {
      layers: [{ id: 0, name: 'towns' }],
      tables: [{ id: 1, name: 'mayors' }],
    },
    [`${services}/Towns/FeatureServer/0`]: {
      ...layer,
      fields: [{ name: 'pop', type: 'esriFieldTypeInteger' }],
    },
    [`${services}/Towns/FeatureServer/0/query`]: { count: 7 },
    [`${services}/Towns/FeatureServer/1`]: { id: 1, name: 'mayors', type: 'Table' },
    [`${services}/Towns/FeatureServer/1/query`]: { count: 3 },
  };

  it('reads a service, or all of a catalog that answer', async () => {
    const remote = await startRemote(({ pathname }, response) =>
      sendJson(response, resources[pathname] ?? { error: { code: 500, message: 'Service not started' } }),
    );
    const one = await scan({
      sourceKind: 'geoservices',
      sourceUrl: `${remote.url}${services}/Towns/FeatureServer/0`,
    });
    const all = await scan({ sourceKind: 'arcgis-geoservices-rest', sourceUrl: remote.url + services });
    await remote.close();
    expect(one).toMatchObject({
      status: 200,
      body: {
        ...{ sourceKind: 'arcgis-geoservices-rest', scanCompleteness: { status: 'complete' } },
        summary: { containerCount: 1, resourceCount: 2, partiallyCompatibleCount: 0, incompatibleCount: 0 },
        resources: [
          {
            featureCount: 7,
            hasAttachments: true,
            compatibility: { code: null },
            fields: [{ name: 'pop' }],
          },
          { kind: 'Table', compatibility: { code: null } },
        ],
      },
    });
    const stopped = `${remote.url}${services}/Stopped/MapServer`;
    expect(all).toMatchObject({
      status: 200,
      body: {
        scanCompleteness: { status: 'partial', missingArtifacts: [stopped] },
        summary: { containerCount: 3 },
      },
    });
    expect((all.body['containers'] as Item[]).map(({ compatibility }) => compatibility.level)).toEqual([
      'compatible',
      'compatible',
      'incompatible',
    ]);
  });
});

// The last of all: this process is busy with the bytes, and connections that it holds end unseen meanwhile.
describe('a source without an end', () => {
  it('reads no more bytes of all answers together than it may, and says so', async () => {
    const names = Array.from({ length: 30 }, (_, i) => ({ name: `style ${i}` }));
    source.documents['styles'] = { styles: { style: names } };
    const large = JSON.stringify({ style: { format: 'css', filename: 'x'.repeat(7 << 20) } });
    source.breaking = (path, response) => {
      if (!path.startsWith('styles/style ')) return false;
      response.writeHead(200, { 'content-type': 'application/json' }).end(large);
      return true;
    };
    const from = source.asked.length;
    const { status, body } = await scan();
    expect({ status, completeness: body['scanCompleteness'] }).toMatchObject({
      status: 200,
      completeness: {
        status: 'partial',
        warnings: [expect.stringMatching(/more than is read in one run/)],
      },
    });
    const asked = source.asked.slice(from).filter((path) => path.includes('/styles/style%20'));
    // 128 MiB by 7, and the few that were under way.
    expect(asked.length).toBeGreaterThanOrEqual(19);
    expect(asked.length).toBeLessThanOrEqual(23);
    // Workspaces have styles too: none of them is asked for any more.
    expect(source.asked.at(-1)).toContain('/styles/style%20');
  }, 60_000);
});

function sent(_: unknown): true {
  return true;
}

function html(response: ServerResponse): true {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
  return true;
}
