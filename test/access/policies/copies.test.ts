import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** What is published of a layer is never more open than the layer. */

let server: TestServer;
const keys: Record<string, string> = {};
const layerIds: Record<string, number> = {};

beforeAll(async () => {
  server = await startServer({ sources: ['demo/data/world_map.gpkg'] });
  const home = (await (await fetch(`${server.url}/?f=json`)).json()) as {
    collections: { id: string; layerId: number }[];
  };
  for (const { id, layerId } of home.collections) layerIds[id] = layerId;
  for (const name of ['clerk', 'all']) expect((await admin('POST', '/roles', { name })).status).toBe(201);
  const work = ['processes:execute', 'processes:read', 'admin:import:write', 'admin:tile-operations:write'];
  for (const [name, permissions] of [
    ['clerk', ['role:clerk', 'claim:country=CH', ...work]],
    ['all', ['role:all', 'read:*', ...work]],
  ] as const)
    keys[name] = ((await admin('POST', '/api-keys', { name, permissions })).data as { key: string }).key;
  keys['admin'] = server.adminKey;
});
afterAll(() => server?.stop());

async function send(caller: string, method: string, path: string, body?: unknown) {
  const key = keys[caller];
  const response = await fetch(server.url + path, {
    method,
    headers: {
      accept: 'application/json',
      ...(key === undefined ? {} : { 'x-api-key': key }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text };
}
async function admin(method: string, path: string, body?: unknown) {
  keys['admin'] = server.adminKey;
  const { status, text } = await send('admin', method, `/api/v1/admin${path}`, body);
  const json = (text === '' ? {} : JSON.parse(text)) as { data?: unknown };
  return { status, text, ...json };
}

/** Executes a process that publishes, and waits for it. */
async function publish(caller: string, process: string, inputs: object, output: string, collection: string) {
  const body = { inputs, outputs: { [output]: { publish: { collection } } } };
  const began = await send(caller, 'POST', `/ogc/processes/processes/${process}/execution`, body);
  if (began.status !== 201) return began.status;
  const { jobID } = JSON.parse(began.text) as { jobID: string };
  return jobEnd(caller, `/ogc/processes/jobs/${jobID}`);
}

async function jobEnd(caller: string, path: string): Promise<string> {
  for (;;) {
    const { text } = await send(caller, 'GET', path);
    const job = JSON.parse(text) as { status?: string; state?: string };
    const state = (job.status ?? job.state ?? text).toLowerCase();
    if (!['accepted', 'running', 'queued'].includes(state))
      return state === 'succeeded' ? 'successful' : state;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

/** Status of the items or tiles of a collection, for callers. */
async function statuses(collection: string, kind: 'items' | 'tiles' = 'items') {
  const path =
    kind === 'items'
      ? `/ogc/features/collections/${collection}/items?limit=1`
      : `/tiles/${collection}/0/0/0.mvt`;
  const all = ['nobody', 'clerk', 'all', 'admin'].map(
    async (caller) => (await send(caller, 'GET', path)).status,
  );
  return Promise.all(all);
}

const close = (layer: string, allowAnonymous: boolean) =>
  admin('PUT', `/services/default/layers/${layerIds[layer]}/metadata`, { accessPolicy: { allowAnonymous } });

describe('copies of a closed layer', () => {
  it('are open to those alone who read the layer, before and after its policy changes', async () => {
    await close('countries', false);
    const countries = { collection: 'countries' };
    expect(
      await publish('all', 'conversion.feature-select', { features: countries }, 'features', 'chosen'),
    ).toBe('successful');
    expect(await statuses('chosen')).toEqual([401, 403, 200, 200]);
    // A copy of a copy is one of the layer.
    const chosen = { collection: 'chosen' };
    expect(await publish('all', 'geometry.envelope', { features: chosen }, 'features', 'boxes')).toBe(
      'successful',
    );
    expect(await statuses('boxes')).toEqual([401, 403, 200, 200]);
    // So is what another job has made of it.
    const body = { inputs: { features: countries } };
    const first = await send('all', 'POST', '/ogc/processes/processes/geometry.centroid/execution', body);
    const { jobID } = JSON.parse(first.text) as { jobID: string };
    await jobEnd('all', `/ogc/processes/jobs/${jobID}`);
    const href = `${server.url}/ogc/processes/jobs/${jobID}/results/features`;
    expect(await publish('all', 'geometry.envelope', { features: { href } }, 'features', 'points')).toBe(
      'successful',
    );
    expect(await statuses('points')).toEqual([401, 403, 200, 200]);

    await close('countries', true);
    for (const id of ['chosen', 'boxes', 'points']) expect(await statuses(id)).toEqual([200, 200, 200, 200]);
    await close('countries', false);
    for (const id of ['chosen', 'boxes', 'points']) expect(await statuses(id)).toEqual([401, 403, 200, 200]);
    await close('countries', true);
  });

  it('are tile archives too, by a process and by a tile job, and delete removes those', async () => {
    await close('countries', false);
    const inputs = { collections: ['countries'], maxZoom: 1 };
    expect(await publish('all', 'conversion.tile-archive', inputs, 'archive', 'archived')).toBe('successful');
    expect(await statuses('archived', 'tiles')).toEqual([401, 403, 200, 200]);
    const work = async (caller: string, operation: string) => {
      const about = { operation, layerId: layerIds['countries'], minZoom: 0, maxZoom: 1 };
      const { status, text } = await send(caller, 'POST', '/api/v1/admin/tile-operations/jobs', about);
      if (status !== 202) return status;
      const { JobId } = JSON.parse(text) as { JobId: string };
      return jobEnd('admin', `/api/v1/admin/jobs/${JobId}`);
    };
    for (const operation of ['seed', 'archive', 'publish', 'delete']) {
      expect(await work('clerk', operation), operation).toBe(400);
    }
    expect(await work('all', 'publish')).toBe('successful');
    expect(await statuses('countries-tiles', 'tiles')).toEqual([401, 403, 200, 200]);
    expect(await work('all', 'delete')).toBe('successful');
    expect(await statuses('countries-tiles', 'tiles')).toEqual([404, 404, 404, 404]);
    await close('countries', true);
  });

  it('follow what the settings of the layer hide, and its service', async () => {
    const layer = `/metadata/layers/${layerIds['countries']}`;
    const open = [200, 200, 200, 200];
    expect(await statuses('chosen')).toEqual(open);
    for (const [path, hiding, showing] of [
      [
        'fields',
        { fields: [{ name: 'FIPS_10_', hidden: true }] },
        { fields: [{ name: 'FIPS_10_', hidden: false }] },
      ],
      ['filter', { permanentFilter: { expression: "iso_a2 = 'CH'" } }, null],
    ] as const) {
      expect((await admin('PUT', `${layer}/${path}`, hiding)).status).toBe(200);
      expect(await statuses('chosen'), path).toEqual([401, 403, 403, 200]);
      expect((await admin('PUT', `${layer}/${path}`, showing)).status).toBe(200);
      expect(await statuses('chosen'), path).toEqual(open);
    }
  });

  it('stay open where the layer shows more than when they were made', async () => {
    const layer = `/metadata/layers/${layerIds['countries']}`;
    const open = [200, 200, 200, 200];
    const closed = [401, 403, 403, 200];
    const setHidden = (names: string[]) =>
      admin('PUT', `${layer}/fields`, {
        fields: ['FIPS_10_', 'NAME'].map((name) => ({ name, hidden: names.includes(name) })),
      });
    const setFilter = (expression: string | undefined) =>
      admin('PUT', `${layer}/filter`, expression === undefined ? null : { permanentFilter: { expression } });
    expect((await setHidden(['FIPS_10_'])).status).toBe(200);
    expect((await setFilter("iso_a2 = 'CH'")).status).toBe(200);
    const inputs = { features: { collection: 'countries' } };
    expect(await publish('all', 'conversion.feature-select', inputs, 'features', 'less')).toBe('successful');
    expect(await statuses('less')).toEqual(open);
    await setHidden([]);
    expect(await statuses('less')).toEqual(open);
    await setFilter(undefined);
    expect(await statuses('less')).toEqual(open);
    // What the copy holds is hidden now.
    await setHidden(['FIPS_10_', 'NAME']);
    expect(await statuses('less')).toEqual(closed);
    await setHidden([]);
    await setFilter("iso_a2 = 'FR'");
    expect(await statuses('less')).toEqual(closed);
    await setFilter(undefined);
    expect(await statuses('less')).toEqual(open);
  });

  it('cannot be made of what a style suggestion or the manifest shows', async () => {
    await close('countries', false);
    const suggest = `/api/v1/admin/metadata/layers/${layerIds['countries']}/suggest-style`;
    const layers = [layerIds['rivers'] === undefined ? Object.keys(layerIds)[0]! : 'rivers'];
    expect((await admin('POST', '/tenants', { tenantId: 'small', layers })).status).toBe(201);
    const work = ['admin:styles:write', 'admin:manifest:read', 'admin:audit:read'];
    for (const [name, permissions] of [
      ['painter', work],
      ['painter who reads', [...work, 'read:*']],
      ['tenant', [...work, 'tenant:small']],
    ] as const)
      keys[name] = ((await admin('POST', '/api-keys', { name, permissions })).data as { key: string }).key;
    const status = async (caller: string, method: string, path: string) =>
      (await send(caller, method, path)).status;
    expect(await status('painter', 'POST', suggest)).toBe(403);
    expect(await status('painter who reads', 'POST', suggest)).toBe(200);
    for (const path of ['metadata/manifest', 'observability/audit', 'observability/audit/export']) {
      expect(await status('painter', 'GET', `/api/v1/admin/${path}`), path).toBe(200);
      expect(await status('tenant', 'GET', `/api/v1/admin/${path}`), path).toBe(403);
    }
  });

  it('stay closed after a restart of the processes', async () => {
    await close('countries', false);
    server.reload();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await statuses('chosen')).toEqual([401, 403, 200, 200]);
    await close('countries', true);
  });
});

describe('copies of a layer of which callers read a part', () => {
  it('are published by those alone who read all of it, and are open to no others', async () => {
    const about = { service: 'default', layer: 'countries', role: 'clerk' };
    await admin('POST', '/rls-policies', { ...about, attribute: 'iso_a2', claimType: 'country' });
    const countries = { features: { collection: 'countries' } };
    expect(await publish('clerk', 'conversion.feature-select', countries, 'features', 'mine')).toBe(403);
    const tiles = { collections: ['countries'], maxZoom: 1 };
    expect(await publish('clerk', 'conversion.tile-archive', tiles, 'archive', 'own_tiles')).toBe(403);
    const { status, text } = await send('clerk', 'POST', '/api/v1/admin/tile-operations/jobs', {
      ...{ operation: 'archive', layerId: layerIds['countries'], minZoom: 0, maxZoom: 1 },
    });
    expect([status, JSON.parse(text).detail ?? text]).toEqual([
      403,
      'Publishing a copy requires the right to read all of countries.',
    ]);
    expect(await publish('all', 'conversion.feature-select', countries, 'features', 'every')).toBe(
      'successful',
    );
    expect(await statuses('every')).toEqual([200, 403, 200, 200]);
    await admin('POST', '/field-mask-policies', { ...about, role: 'anonymous', attribute: 'NAME' });
    expect(await statuses('every')).toEqual([401, 403, 200, 200]);
  });

  it('name their sources to those who see them', async () => {
    const { text } = await send('all', 'GET', '/ogc/features/collections/every?f=json');
    const { links } = JSON.parse(text) as { links: { rel: string; href: string }[] };
    expect(links.filter(({ rel }) => rel === 'via').map(({ href }) => href)).toEqual([
      `${server.url}/ogc/features/collections/countries`,
    ]);
  });
});

describe('a caller of a tenant', () => {
  it('learns of no layer outside of the tenant: not of its events, rules, tables and place in the catalog', async () => {
    const [inside, outside] = ['chosen', 'countries'];
    const tenant = { tenantId: 'riverside', layers: [inside] };
    expect((await admin('POST', '/tenants', tenant)).status).toBe(201);
    const permissions = ['tenant:riverside', 'admin:*'];
    keys['tenant'] = (
      (await admin('POST', '/api-keys', { name: 'riverside', permissions })).data as { key: string }
    ).key;
    for (const layer of [inside, outside, '*']) {
      const policy = { service: 'default', layer, role: 'clerk', filter: 'TRUE' };
      const { status, text } = await admin('POST', '/rls-policies', policy);
      expect([layer, status, status === 201 ? '' : text]).toEqual([layer, 201, '']);
    }
    const get = async (path: string) => {
      const { status, text } = await send('tenant', 'GET', `/api/v1/admin${path}`);
      expect([path, status]).toEqual([path, 200]);
      return JSON.parse(text).data as Record<string, string>[];
    };
    expect((await get('/rls-policies')).map(({ layer }) => layer)).toEqual([inside]);
    const all = (await admin('GET', '/rls-policies')).data as { policyId: string; layer: string }[];
    for (const { policyId, layer } of all) {
      const { status } = await send('tenant', 'GET', `/api/v1/admin/rls-policies/${policyId}`);
      expect([layer, status]).toEqual([layer, layer === inside ? 200 : 404]);
    }
    const refusals = await Promise.all(
      [outside, 'nonexistent'].map(async (layer) => {
        const rule = { service: 'default', layer, role: 'clerk', filter: 'TRUE' };
        const { status, text } = await send('tenant', 'POST', '/api/v1/admin/rls-policies', rule);
        return [status, JSON.parse(text).detail.replace(layer, '…')];
      }),
    );
    expect(refusals[0]).toEqual([400, "layer: must be a published layer; received '…'."]);
    expect(refusals[1]).toEqual(refusals[0]);
    const [{ connectionId }] = (await get('/connections')) as [{ connectionId: string }];
    const layers = await get(`/connections/${connectionId}/layers`);
    expect(layers).toEqual([]);
    const { text } = await send('tenant', 'GET', `/api/v1/admin/connections/${connectionId}/tables`);
    expect(JSON.parse(text).tables).toEqual([]);
    for (const { policyId } of all) await admin('DELETE', `/rls-policies/${policyId}`);
  });
});
