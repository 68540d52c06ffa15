import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { startServer, type TestServer } from '../support/server.js';

/** The state as one document: exported from one server, applied to another one, which then answers the same. */

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

const folder = mkdtempSync(join(tmpdir(), 'graticule-manifest-'));
const file = join(folder, 'state.yaml');
let one: TestServer;
let two: TestServer;

beforeAll(async () => {
  [one, two] = await Promise.all([startServer(), startServer()]);
});
afterAll(async () => {
  await Promise.all([one?.stop(), two?.stop()]);
  rmSync(folder, { recursive: true });
});

async function admin(
  server: TestServer,
  method: string,
  path: string,
  body?: unknown,
  key = server.adminKey,
) {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, ...((await response.json()) as Json) } as Json;
}

async function graticule(
  server: TestServer,
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> {
  const command = ['dist/cli/main.js', ...args, '--url', server.url, '--key', server.adminKey];
  return promisify(execFile)(process.execPath, command).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout, stderr }) => ({ code, out: stdout, err: stderr }),
  );
}

async function layerOf(server: TestServer, name: string): Promise<number> {
  const { collections } = (await (await fetch(`${server.url}/ogc/tiles/collections?f=json`)).json()) as Json;
  return Number(collections.find((found: Json) => found.name === name).id);
}

async function configure(server: TestServer): Promise<void> {
  const layer = await layerOf(server, 'countries');
  const { data: role } = await admin(server, 'POST', '/roles', {
    name: 'clerk',
    description: 'Sees a part.',
  });
  await admin(server, 'PUT', `/roles/${role.roleId}/permissions`, {
    permissions: [{ service: 'default', layer: 'countries', operation: 'read' }],
  });
  const rows = {
    service: 'default',
    layer: 'countries',
    role: 'clerk',
    attribute: 'ISO_A3',
    claimType: 'country',
  };
  await admin(server, 'POST', '/rls-policies', rows);
  const mask = { service: 'default', layer: 'countries', role: 'clerk', attribute: 'WB_A3' };
  await admin(server, 'POST', '/field-mask-policies', mask);
  const limit = {
    name: 'all',
    scope: 'tenant',
    key: '*',
    requestsPerWindow: 50_000,
    windowDurationSeconds: 60,
  };
  await admin(server, 'POST', '/rate-limits', limit);
  await admin(server, 'PUT', `/services/default/layers/${layer}/metadata`, {
    ...{ title: 'Countries of the world', license: 'CC0-1.0', accessPolicy: { allowAnonymousWrite: false } },
  });
  await admin(server, 'PUT', `/metadata/layers/${layer}/fields`, {
    fields: [
      { name: 'FIPS_10_', hidden: true },
      { name: 'NAME', alias: 'Name' },
    ],
  });
  await admin(server, 'PUT', `/metadata/layers/${layer}/filter`, {
    permanentFilter: { expression: "ISO_A3 <> 'ATA'" },
  });
  await admin(server, 'PUT', '/services/default/mapserver', { maxImageWidth: 2000 });
  const style = { mapLibreStyle: await styleOf(server, layer) };
  expect((await admin(server, 'PUT', `/metadata/layers/${layer}/style`, style)).status).toBe(200);
}

async function styleOf(server: TestServer, layer: number): Promise<Json> {
  const { data } = await admin(server, 'GET', `/metadata/layers/${layer}/style`);
  const style = structuredClone(data.mapLibreStyle);
  const fill = style.layers.find(({ type }: Json) => type === 'fill');
  fill.paint = { 'fill-color': '#112233' };
  return style;
}

/** What both servers must answer alike, without times, versions and where they are. */
async function answers(server: TestServer): Promise<Json> {
  const get = async (path: string) => {
    const text = await (await fetch(server.url + path)).text();
    return JSON.parse(text.replaceAll(server.url, '')) as Json;
  };
  const { timeStamp: _, ...items } = await get('/ogc/features/collections/countries/items?f=json&limit=3');
  const { data } = await admin(server, 'GET', '/services/default/settings');
  return {
    collection: await get('/ogc/features/collections/countries?f=json'),
    schema: await get('/ogc/features/collections/countries/schema?f=json'),
    items,
    style: await get(`/ogc/maps/collections/${await layerOf(server, 'countries')}/styles/default?f=mapbox`),
    settings: data,
  };
}

describe('manifests', () => {
  it('are what the state holds, and make another server answer the same', async () => {
    await configure(one);
    expect(await graticule(one, 'manifest', file)).toMatchObject({ code: 0, err: '' });
    const { apiVersion, resources } = parse(readFileSync(file, 'utf8')) as Json;
    expect(apiVersion).toBe('graticule/v1');
    expect(resources.map(({ kind }: Json) => kind)).toEqual([
      ...['Role', 'Service', 'Layer', 'Style', 'AccessPolicy', 'RowPolicy', 'FieldMask', 'RateLimit'],
    ]);
    expect(await answers(two)).not.toEqual(await answers(one));

    const planned = await graticule(two, 'plan', file);
    expect(planned.out).toContain('+ Role clerk\n');
    expect(planned.out).toContain('8 to be created, 0 to be updated, 0 to be deleted, 0 unchanged');
    expect((await admin(two, 'GET', '/metadata/manifest')).data.resources).toEqual([]);

    const applied = await graticule(two, 'apply', file);
    expect(applied).toMatchObject({ code: 0, err: '' });
    // What a filter leaves is counted when somebody asks, which a busy machine may do later.
    const isEqual = async () => isDeepStrictEqual(await answers(two), await answers(one));
    await expect.poll(isEqual, { timeout: 60_000 }).toBe(true);
    const manifests = await Promise.all(
      [one, two].map((server) => admin(server, 'GET', '/metadata/manifest')),
    );
    expect(manifests[1].data.manifestHash).toBe(manifests[0].data.manifestHash);
    const { data: policies } = await admin(two, 'GET', '/rls-policies');
    expect(policies).toMatchObject([{ layer: 'countries', role: 'clerk', attribute: 'ISO_A3' }]);
  });

  it('change nothing the second time, and tell what was changed otherwise', async () => {
    expect((await graticule(two, 'apply', file)).out).toContain(
      '0 created, 0 updated, 0 deleted, 8 unchanged',
    );
    await admin(two, 'PUT', '/services/default/mapserver', { maxImageWidth: 1000 });
    const { err } = await graticule(two, 'manifest');
    expect(err).toBe('Service default was changed since it was applied\n');
    expect((await graticule(two, 'plan', file)).out).toContain('~ Service default');
    expect((await graticule(two, 'apply', file)).out).toContain('1 updated');
    expect((await graticule(two, 'manifest')).err).toBe('');
  });

  it('remove what they made and hold no more, and nothing else', async () => {
    await admin(two, 'POST', '/roles', { name: 'own', description: null });
    const { resources } = parse(readFileSync(file, 'utf8')) as Json;
    const fewer = resources.filter(({ kind }: Json) => kind !== 'RateLimit');
    const smaller = join(folder, 'smaller.yaml');
    writeFileSync(smaller, stringify({ resources: fewer }));
    expect((await graticule(two, 'plan', smaller)).out).toContain('0 to be deleted');
    expect((await graticule(two, 'plan', smaller, '--prune')).out).toContain('- RateLimit ');
    expect((await graticule(two, 'apply', smaller, '--prune')).out).toContain('1 deleted');
    expect((await admin(two, 'GET', '/rate-limits')).data).toEqual([]);
    const { data: roles } = await admin(two, 'GET', '/roles');
    expect(roles.map(({ name }: Json) => name)).toContain('own');
  });

  it('change all or nothing, and name all that is wrong', async () => {
    const { data: before } = await admin(two, 'GET', '/metadata/manifest');
    const role = { kind: 'Role', metadata: { name: 'new' }, spec: { permissions: [] } };
    const rows = {
      ...{ service: 'default', layer: 'countries', attribute: 'ISO_A3', claimType: 'x' },
      ...{ comparison: 'in', filter: null, description: null },
    };
    const policy = (name: string, spec: object) => ({
      ...{ kind: 'RowPolicy', metadata: { name }, spec: { ...rows, ...spec } },
    });
    const apply = (...all: object[]) => admin(two, 'POST', '/metadata/manifest/apply', { resources: all });
    const wrong = await apply(
      role,
      policy('good', { role: 'new' }),
      policy('lost', { role: 'new', attribute: 'nothing' }),
      policy('nobody', { role: 'nobody' }),
      policy('broken', { role: 'new', filter: 'nothing = 1' }),
      {
        kind: 'Layer',
        metadata: { name: 'countries' },
        spec: { filter: { expression: 'a = 1', language: 'cql2-text' } },
      },
    );
    expect(wrong.status).toBe(400);
    expect(wrong.errors.map(({ name }: Json) => name).sort()).toEqual([
      '/resources/2/attribute',
      '/resources/4/filter',
      '/resources/5/spec',
    ]);
    const formless = await apply(
      role,
      role,
      { kind: 'Fish', metadata: { name: 'x' }, spec: {} },
      {
        ...{ kind: 'Layer', metadata: { name: 'countries' }, spec: { titel: 'x' } },
      },
    );
    expect(formless.errors.map(({ name }: Json) => name)).toEqual([
      '/resources/1/metadata/name',
      '/resources/2/kind',
      '/resources/3/spec',
    ]);
    expect((await admin(two, 'GET', '/metadata/manifest')).data.manifestHash).toBe(before.manifestHash);
    expect((await apply(role, policy('good', { role: 'new' }))).data.summary).toMatchObject({ created: 2 });
  });

  it('contain zones and rules of alerts by their names', async () => {
    const zone = { zoneName: 'Depot', serviceId: 'default', wkt: 'POLYGON ((0 0, 1 0, 1 1, 0 0))' };
    const zoneIds: number[] = [];
    for (const more of [{}, {}, { zoneName: 'Yard', metadata: { owner: 'ops' } }])
      zoneIds.push((await admin(one, 'POST', '/alerts/zones', { ...zone, ...more })).data.zoneId);
    const layerId = await layerOf(one, 'countries');
    const rule = { ruleName: 'Left', serviceId: 'default', layerId, triggerType: 'exit', zoneId: zoneIds[2] };
    const conditionsJson = '{"exitBuffer":0.1234567890123456789}';
    const made = await admin(one, 'POST', '/alerts/rules', { ...rule, conditionsJson, channels: ['slack'] });
    expect(made.status).toBe(400);
    expect(made.detail).toContain('exitBuffer');
    const { status } = await admin(one, 'POST', '/alerts/rules', {
      ...{ ...rule, conditionsJson: '{"exitBuffer":50}', channels: ['slack'] },
    });
    expect(status).toBe(200);
    const { resources } = (await admin(one, 'GET', '/metadata/manifest')).data;
    const alerts = resources.filter(({ kind }: Json) => kind.startsWith('Alert'));
    const wkt = 'MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)))';
    expect(alerts.map(({ kind, metadata, spec }: Json) => [kind, metadata.name, spec])).toEqual([
      ['AlertZone', `Depot #${zoneIds[0]}`, { wkt }],
      ['AlertZone', `Depot #${zoneIds[1]}`, { wkt }],
      ['AlertZone', 'Yard', { wkt, metadata: { owner: 'ops' } }],
      [
        ...['AlertRule', 'Left'],
        {
          layer: 'countries',
          trigger: 'exit',
          zone: 'Yard',
          conditions: { exitBuffer: 50 },
          channels: ['slack'],
        },
      ],
    ]);
    const apply = (...all: Json[]) =>
      admin(two, 'POST', '/metadata/manifest/apply', { resources: all, prune: true });
    expect((await apply(...alerts.reverse())).data.summary).toMatchObject({ created: 4 });
    expect((await apply(...alerts)).data.summary).toMatchObject({ skipped: 4 });
    const [copy] = (await admin(two, 'GET', '/alerts/rules')).data;
    expect(copy).toMatchObject({ ruleName: 'Left', isActive: true, channels: ['slack'] });
    const [left, yard] = alerts;
    const explicit = { ...left, spec: { ...left.spec, isActive: true, severity: 'warning' } };
    const changed = { ...yard, spec: { ...yard.spec, isActive: false } };
    expect((await apply(explicit, changed)).data.summary).toMatchObject({
      updated: 1,
      deleted: 2,
      skipped: 1,
    });
    expect((await apply(left)).errors).toMatchObject([{ detail: expect.stringContaining("rule 'Left'") }]);
    const wrong = await apply({ ...left, spec: { ...left.spec, zone: 'none', layer: 'nothing' } });
    expect(wrong.errors.map(({ name }: Json) => name)).toEqual(['/resources/0/spec/layer']);
    const emptied = await apply();
    expect([emptied.detail, emptied.data?.summary]).toEqual([
      undefined,
      expect.objectContaining({ deleted: 2 }),
    ]);
    for (const { ruleId } of (await admin(one, 'GET', '/alerts/rules')).data)
      await admin(one, 'DELETE', `/alerts/rules/${ruleId}`);
    for (const id of zoneIds) await admin(one, 'DELETE', `/alerts/zones/${id}`);
  });

  it('contain the CRSs that operators chose for files', async () => {
    const { sources } = (await admin(one, 'GET', '/sources?q=olinda')).data;
    const [{ sourceId, source }] = sources;
    const path = `/sources/${sourceId}/crs`;
    expect((await admin(one, 'PUT', path, { crs: 'EPSG:31985' })).status).toBe(200);
    const { resources } = (await admin(one, 'GET', '/metadata/manifest')).data;
    const chosen = resources.filter(({ kind }: Json) => kind === 'SourceCrs');
    expect(chosen).toMatchObject([
      { metadata: { name: source }, spec: { file: source, layer: '', crs: 'EPSG:31985' } },
    ]);
    const apply = (...all: Json[]) =>
      admin(two, 'POST', '/metadata/manifest/apply', { resources: all, prune: true });
    expect((await apply(...chosen)).data.summary).toMatchObject({ created: 1 });
    expect((await admin(two, 'GET', path)).data).toMatchObject({
      origin: 'chosen',
      chosen: { crs: 'EPSG:31985' },
    });
    const [right] = chosen;
    const wrong = await apply(
      { ...right, metadata: { name: 'other' } },
      { ...right, spec: { ...right.spec, crs: 'EPSG:99' } },
    );
    expect(wrong.errors.map(({ name }: Json) => name)).toEqual([
      '/resources/0/metadata/name',
      '/resources/1/spec/crs',
    ]);
    expect((await apply()).data.summary).toMatchObject({ deleted: 1 });
    expect((await admin(two, 'GET', path)).data).toMatchObject({ chosen: null });
    await fetch(`${one.url}/api/v1/admin${path}`, {
      method: 'DELETE',
      headers: { 'x-api-key': one.adminKey },
    });
  });

  it('are applied by nobody who could not do it otherwise', async () => {
    const keyOf = async (...permissions: string[]) =>
      (await admin(two, 'POST', '/api-keys', { name: 'k', permissions })).data.key as string;
    const role = (operation: string) => ({
      ...{ kind: 'Role', metadata: { name: 'mine' } },
      spec: { permissions: [{ service: '*', layer: '*', operation }] },
    });
    const apply = async (key: string, operation: string) =>
      (await admin(two, 'POST', '/metadata/manifest/apply', { resources: [role(operation)] }, key)).status;
    expect(await apply(await keyOf('admin:manifest:write'), 'read')).toBe(403);
    const roles = await keyOf('admin:manifest:write', 'admin:roles:write');
    expect(await apply(roles, '*')).toBe(403);
    expect(await apply(await keyOf('admin:read'), 'read')).toBe(403);
    expect(await apply(two.adminKey, 'read')).toBe(200);
  });

  it('say what keeps a command from working', async () => {
    expect((await graticule(two, 'apply', join(folder, 'none.yaml'))).err).toContain(
      'none.yaml: cannot be read',
    );
    writeFileSync(join(folder, 'no.yaml'), 'a: 1');
    expect((await graticule(two, 'plan', join(folder, 'no.yaml'))).err).toContain(
      'no.yaml: is not a manifest. It has no resources.',
    );
    writeFileSync(join(folder, 'big.yaml'), 'resources:\n  - spec: { size: 9007199254740993 }\n');
    expect((await graticule(two, 'plan', join(folder, 'big.yaml'))).err).toContain(
      'resources[0].spec.size: the server would round 9007199254740993 to 9007199254740992.',
    );
    const { code, err } = await graticule({ ...two, adminKey: 'wrong-wrong-wrong' }, 'plan', file);
    expect(code).not.toBe(0);
    expect(err).toContain('401');
  });
});
