import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENTITLEMENTS } from '../../src/core/licensing/entitlements.js';
import { startServer, type TestServer } from '../support/server.js';
import { LicenceIssuer, licence } from './support/licence-files.js';

const SERIES = 'bcsd_obs_1999';
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

describe('operations without an entitlement', () => {
  let server: TestServer;
  let issuer: LicenceIssuer;
  /** Requests of the listed operations by their ids. */
  let listed: Record<string, () => Promise<Response>>;
  let headers: Record<string, string>;

  beforeAll(async () => {
    issuer = new LicenceIssuer();
    server = await startServer({
      env: { SVC_LICENSING__ENABLED: 'true', SVC_LICENSING__KEYS: issuer.keys() },
    });
    headers = { 'x-api-key': server.adminKey };
    const { collections } = (await (await fetch(`${server.url}/?f=json`, { headers })).json()) as {
      collections: { id: string; layerId: number }[];
    };
    const numberOf = (id: string) => collections.find((one) => one.id === id)!.layerId;
    const features = `/ogc/features/collections/countries`;
    const layer = `/rest/services/default/FeatureServer/${numberOf('countries')}`;
    const other = numberOf('states_provinces');
    const raster = numberOf(SERIES);
    const box = '-130,25,-60,50';
    const time = `${Date.UTC(1999, 0, 1)},${Date.UTC(1999, 5, 1)}`;
    const bodies = {
      clusters: { eps: 100_000, minPoints: 2 },
      spatialJoin: { joinLayerId: other, predicate: 'within' },
      bufferAggregate: { distance: 1000 },
      density: { cellSize: 100_000 },
    };
    const send = (path: string, body: object | string) =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': typeof body === 'string' ? FORM_TYPE : JSON_TYPE },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
    const get = (path: string) => fetch(`${server.url}${path}`, { headers });
    const where = { where: "NAME LIKE 'L%'" };
    const image = `bbox=${box}&bboxSR=4326&imageSR=4326&size=64,64&format=png&f=image&time=${time}`;
    const exported = `/rest/services/default/MapServer/export`;
    const rasterExport = `/rest/services/${SERIES}/ImageServer/exportImage`;
    const layers = `layers=show:${raster}`;
    const datetime = 'f=png&width=32&datetime=1999-01-01/..';
    listed = {
      'features.clusters': () => send(`${features}/clusters`, { ...bodies.clusters, ...where }),
      'features.spatialJoin': () => send(`${features}/spatial-join`, { ...bodies.spatialJoin, ...where }),
      'features.bufferAggregate': () =>
        send(`${features}/buffer-aggregate`, { ...bodies.bufferAggregate, ...where }),
      'features.density': () => send(`${features}/density`, { ...bodies.density, ...where }),
      'geoservices.queryClusters': () => send(`${layer}/queryClusters`, { ...bodies.clusters, ...where }),
      'geoservices.spatialJoin': () => send(`${layer}/spatialJoin`, { ...bodies.spatialJoin, ...where }),
      'geoservices.queryBufferAggregate': () =>
        send(`${layer}/queryBufferAggregate`, { ...bodies.bufferAggregate, ...where }),
      'geoservices.queryDensity': () => send(`${layer}/queryDensity`, { ...bodies.density, ...where }),
      'maps.getDatasetMap': () => get(`/ogc/maps/map?collections=${SERIES}&${datetime}`),
      'maps.getCollectionMap': () => get(`/ogc/maps/collections/${raster}/map?${datetime}`),
      'maps.getStyledMap': () => get(`/ogc/maps/collections/${raster}/styles/default/map?${datetime}`),
      'geoservices.mapExport': () => get(`${exported}?${image}&${layers}`),
      'geoservices.postMapExport': () => send(exported, `${image}&${layers}`),
      'geoservices.exportImage': () => get(`${rasterExport}?${image}`),
      'geoservices.postExportImage': () => send(rasterExport, image),
    };
  }, 120_000);
  afterAll(async () => {
    await server?.stop();
    issuer?.remove();
  });

  /** The status, also of errors that GeoServices send with status 200. */
  async function statusOf(response: Response): Promise<number> {
    if (!/json/.test(response.headers.get('content-type') ?? '')) return response.status;
    const text = await response.text();
    const inBand = /"error"\s*:\s*\{\s*"code"\s*:\s*(\d+)/.exec(text);
    return inBand ? Number(inBand[1]) : response.status;
  }
  const statuses = async () =>
    Object.fromEntries(
      await Promise.all(Object.entries(listed).map(async ([id, send]) => [id, await statusOf(await send())])),
    ) as Record<string, number>;
  const upload = (members: object, path = '/license') =>
    fetch(`${server.url}/api/v1/admin${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/octet-stream' },
      body: issuer.issue(licence(members)),
    });
  const analytics = ENTITLEMENTS['spatial-analytics'].operations as readonly string[];
  const mosaics = ENTITLEMENTS['raster.temporal-mosaic'].operations as readonly string[];

  it('return 402, and no other operation does', async () => {
    expect(Object.keys(listed).sort()).toEqual([...analytics, ...mosaics].sort());
    expect(await statuses()).toEqual(Object.fromEntries(Object.keys(listed).map((id) => [id, 402])));
    const problem = await (await listed['features.density']!()).json();
    expect(problem).toMatchObject({ code: 'entitlement-missing', status: 402 });
    const documents = [
      ...['features/api', 'tiles/openapi.json', 'maps/openapi.json', 'coverages/openapi.json'].map(
        (one) => `/ogc/${one}`,
      ),
      ...['/ogc/processes/openapi.json', '/stac/openapi.json', '/api/v1/admin/openapi.json'],
    ];
    const paths = new Set<string>();
    for (const path of documents) {
      const response = await fetch(`${server.url}${path}`, { headers });
      if (!response.ok) continue;
      const document = (await response.json()) as { paths: Record<string, Record<string, unknown>> };
      for (const [template, methods] of Object.entries(document.paths))
        if ('get' in methods && !template.includes('{')) paths.add(template);
    }
    expect(paths.size).toBeGreaterThan(100);
    for (const path of [
      ...paths,
      '/healthz/ready',
      '/healthz/live',
      '/metrics',
      '/ogc/maps/map?collections=countries&width=32',
    ]) {
      if (/stream|\/maps\/map$/.test(path)) continue;
      const { status, body } = await fetch(`${server.url}${path}`, {
        headers,
        signal: AbortSignal.timeout(60_000),
      });
      await body?.cancel();
      expect([path, status === 402]).toEqual([path, false]);
    }
    const h3 = await fetch(`${server.url}/ogc/features/collections/countries/h3?resolution=2`);
    expect(h3.status).toBe(200);
  }, 240_000);

  it('serve once the licence includes them, without a restart', async () => {
    expect(await (await upload({ entitlements: ['spatial-analytics'] })).json()).toMatchObject({
      success: true,
    });
    const some = await statuses();
    expect(
      Object.keys(some)
        .filter((id) => some[id] === 402)
        .sort(),
    ).toEqual([...mosaics].sort());
    expect(Object.keys(some).filter((id) => some[id] !== 402 && some[id] !== 200)).toEqual([]);
    expect((await upload({ entitlements: Object.keys(ENTITLEMENTS) }, '/license/upload')).status).toBe(200);
    expect(await statuses()).toEqual(Object.fromEntries(Object.keys(listed).map((id) => [id, 200])));
  }, 120_000);

  it('are listed with their licence in the management API', async () => {
    const call = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`${server.url}/api/v1/admin${path}`, {
        ...init,
        headers: { ...headers, ...init.headers },
      });
      return { status: response.status, body: await response.json() };
    };
    await upload({ terms: { maxSustainedServingUnits: 1000 } });
    for (const path of ['/license', '/license/status'])
      expect((await call(path)).body).toEqual({
        success: true,
        timestamp: expect.any(String),
        data: {
          ...{ edition: 'pro', isValid: true, validationState: 'Valid', licenseId: 'L-1' },
          ...{
            licensedTo: 'Ordnance Survey of Nowhere',
            issuedAt: expect.any(String),
            expiresAt: expect.any(String),
          },
          ...{ daysUntilExpiry: 364, expiryWarning: false },
          entitlements: [
            { key: 'spatial-analytics', name: 'Spatial analytics', isActive: true },
            { key: 'raster.temporal-mosaic', name: 'Mosaics in time', isActive: false },
          ],
        },
      });
    expect((await call('/license/entitlements')).body.data).toHaveLength(2);
    expect((await call('/license/features')).body.data).toMatchObject({
      edition: 'pro',
      features: expect.arrayContaining([
        {
          ...{ key: 'raster.temporal-mosaic', displayName: 'Mosaics in time', category: 'analytics' },
          ...{ minimumEdition: 'pro', isEnabled: false, upgradeRequired: true },
        },
      ]),
    });
    const refused = await call('/license', {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: issuer.issue(licence({ edition: 'gold' })),
    });
    expect(refused).toMatchObject({
      status: 400,
      body: { success: false, data: { validationState: 'Malformed', isValid: false } },
    });
    expect(refused.body.message).toMatch(/^The licence file is not accepted \(Malformed\): .*edition/);
    expect((await call('/license')).body.data.isValid).toBe(true);
    const capacity = (await call('/license/capacity')).body.data;
    expect(capacity).toMatchObject({
      state: 2,
      localDeploymentRole: 0,
      localTopology: 0,
      liveInstanceCount: 1,
    });
    expect(capacity.terms).toEqual({
      maxSustainedServingUnits: 1000,
      annualSurgeDays: null,
      surgeAllowance: 'unlimited',
    });
    const surge = await call('/license/capacity/surge', {
      method: 'POST',
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify({ enabled: true, reason: 'a fair' }),
    });
    expect(surge.body.data).toMatchObject({ state: 7, surge: { isActive: true, reason: 'a fair' } });
    const audit = await call('/observability/audit?action=admin.license.uploadLicense');
    expect(audit.body.items.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      ...['Failure', 'Success', 'Success'],
    ]);
    const snapshot = await (await fetch(`${server.url}/healthz/metrics`, { headers })).json();
    expect(snapshot).toMatchObject({
      license: { validation_state: 'Valid', active_entitlements: ['spatial-analytics'] },
    });
  });
});
