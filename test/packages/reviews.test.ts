import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { isFullRun } from '../support/soak.js';

/** Reviews of packages, compared with what the server does when the same package is executed. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

/** A brief run has each fourth package. */
const STEP = isFullRun(import.meta.url) ? 1 : 4;

const folder = mkdtempSync(join(tmpdir(), 'graticule-packages-'));
let server: TestServer;
/** Reads countries, and executes no process. */
let reader = '';
/** Reads countries, and executes processes. */
let executor = '';

beforeAll(async () => {
  const path = join(folder, 'world.gpkg');
  cpSync('demo/data/world_map.gpkg', path);
  server = await startServer({
    sources: [path],
    env: { SVC_ACCESS__DEFAULT: 'closed', SVC_PROCESSES__APPROVAL: 'geometry.union' },
  });
  reader = await createKey(['admin:packages:write', 'read:countries']);
  executor = await createKey(['admin:packages:write', 'read:countries', 'processes:execute']);
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function createKey(permissions: string[]): Promise<string> {
  const { status, body } = await send('POST', '/api/v1/admin/api-keys', {
    name: permissions[2] ?? 'reader',
    permissions,
  });
  expect(status).toBe(201);
  return body.data.key ?? body.data.plainTextKey ?? body.data.apiKey;
}

async function send(method: string, path: string, sent?: Json, key = server.adminKey) {
  const response = await fetch(server.url + path, {
    method,
    headers: {
      ...{ 'x-api-key': key, accept: 'application/json, application/geo+json' },
      ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

async function review(
  packageFamily: string,
  packagePayload: Json,
  more: Json = {},
  key?: string,
): Promise<Json> {
  const sent = { packageFamily, packagePayload, ...more };
  const { status, body } = await send('POST', '/api/v1/admin/packages/validate', sent, key);
  expect([JSON.stringify(sent), status, body.success]).toEqual([expect.any(String), 200, true]);
  return body.data;
}

/** Executes a package by the operations that its family stands for. Returns whether all of them accepted it. */
async function execute(family: string, payload: Json, key?: string): Promise<boolean> {
  const isDone = async (all: Promise<boolean>[]) => (await Promise.all(all)).every((one) => one);
  switch (family) {
    case 'query':
      return query(payload, key);
    case 'dashboard_report':
      return isDone(payload.widgets.map((one: Json) => query(one, key)));
    case 'gp': {
      const { processId, ...body } = payload;
      return run(processId, body, key);
    }
    case 'analysis_plan':
    case 'workflow':
    case 'etl': {
      const { planId, steps, plan = { planId, steps }, ...body } = payload;
      return run('svc-geoprocessing', { ...body, inputs: { plan } }, key);
    }
    case 'map_package': {
      const { styles: _styles, ...inputs } = payload;
      return run('cartography.map', { inputs }, key);
    }
    case 'form':
      return submit(payload, key);
    default: {
      const { dataBindings = [], maps = [], processes = [], forms = [] } = payload;
      return isDone([
        ...dataBindings.map((one: Json) => execute('query', one, key)),
        ...maps.map((one: Json) => execute('map_package', one, key)),
        ...processes.map((one: Json) => execute('gp', one, key)),
        ...forms.map((one: Json) => execute('form', one, key)),
      ]);
    }
  }
}

async function query({ collection, ...parameters }: Json, key?: string): Promise<boolean> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries<Json>(parameters)) {
    if (name === 'filter' && typeof value === 'object') search.set('filter-lang', 'cql2-json');
    const text = Array.isArray(value)
      ? value.join(',')
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value);
    search.set(name, text);
  }
  const path = `/ogc/features/collections/${encodeURIComponent(collection)}/items?${search}`;
  return isAccepted(await send('GET', path, undefined, key));
}

async function run(process: string, body: Json, key?: string): Promise<boolean> {
  const path = `/ogc/processes/processes/${encodeURIComponent(process)}/execution`;
  const reply = await send('POST', path, body, key);
  if (reply.body?.jobID) await send('DELETE', `/ogc/processes/jobs/${reply.body.jobID}`, undefined, key);
  return isAccepted(reply);
}

async function submit({ collection, fields }: Json, key?: string): Promise<boolean> {
  const names = fields.map((field: Json) => field.name ?? field);
  const feature = {
    ...{ type: 'Feature', geometry: null },
    properties: Object.fromEntries(names.map((name: string) => [name, null])),
  };
  const path = `/ogc/features/collections/${encodeURIComponent(collection)}/items`;
  return isAccepted(await send('POST', path, feature, key));
}

function isAccepted({ status, body }: { status: number; body?: Json }): boolean {
  const isAnswer = status < 500 || status === 501;
  expect([isAnswer, JSON.stringify(body)]).toEqual([true, JSON.stringify(body)]);
  return status < 300;
}

const FILTERS: [unknown, boolean][] = [
  ["NAME = 'France'", true],
  ["NAME LIKE 'F%' AND iso_a2 <> 'FR'", true],
  [{ op: '=', args: [{ property: 'NAME' }, 'France'] }, true],
  ['S_INTERSECTS(geom, POINT(2 48))', true],
  ['NAME IS NULL', true],
  ["NOPE = 'France'", false],
  ['NAME = ', false],
  ['NAME > 5 AND', false],
  [{ op: '=', args: [{ property: 'nope' }, 1] }, false],
  [{ op: 'nope', args: [] }, false],
  ['NAME', false],
];
const PARAMETERS: [Json, boolean][] = [
  [{}, true],
  [{ limit: 3, offset: 2 }, true],
  [{ bbox: [0, 40, 10, 50] }, true],
  [{ bbox: '0,40,10,50', crs: 'http://www.opengis.net/def/crs/EPSG/0/3857' }, true],
  [{ sortby: '-NAME', properties: ['NAME'] }, true],
  [{ NAME: 'France' }, true],
  [{ limit: 0 }, false],
  [{ bbox: [0, 40, 10] }, false],
  [{ crs: 'EPSG:999999' }, false],
  [{ sortby: 'nope' }, false],
  [{ properties: ['nope'] }, false],
  [{ datetime: '2020-02-30' }, false],
  [{ nope: 1 }, false],
];
const france = { collection: 'countries', filter: "NAME = 'France'" };
const buffer = (inputs: Json = {}) => ({
  processId: 'geometry.buffer',
  inputs: { features: france, distance: 1000, ...inputs },
});
const PROCESSES: [Json, boolean][] = [
  [{ processId: 'echo', inputs: { stringInput: 'a' } }, true],
  [buffer(), true],
  [{ ...buffer(), outputs: { features: { publish: { collection: 'made_by_package' } } } }, true],
  [buffer({ distance: 'far' }), false],
  [buffer({ features: { collection: 'nowhere' } }), false],
  [buffer({ features: { ...france, filter: 'NOPE = 1' } }), false],
  [buffer({ nope: 1 }), false],
  [{ processId: 'geometry.buffer', inputs: {} }, false],
  [{ processId: 'nope', inputs: {} }, false],
  [{ ...buffer(), outputs: { nope: {} } }, false],
  [{ ...buffer(), nope: 1 }, false],
  [{ ...buffer(), response: 'nope' }, false],
  [{ processId: 'geometry.union', inputs: { features: france } }, false],
];
const step = (inputs: Json = {}) => ({ kind: 'geoprocess', stepId: 'a', ...buffer(inputs) });
const PLANS: [Json, boolean][] = [
  [{ planId: 'p', steps: [step()] }, true],
  [{ plan: { planId: 'p', steps: [step()] } }, true],
  [{ planId: 'p', steps: [step(), { ...step({ features: 'a' }), stepId: 'b' }] }, true],
  [{ planId: 'p', steps: [] }, false],
  [{ planId: 'p', steps: [step({ distance: 'far' })] }, false],
  [{ planId: 'p', steps: [{ ...step(), dependsOn: ['z'] }] }, false],
  [{ planId: 'p', steps: [{ ...step(), processId: 'nope' }] }, false],
  [{ planId: 'p', steps: [step(), step()] }, false],
  [
    {
      planId: 'p',
      steps: [
        { ...step(), dependsOn: ['b'] },
        { ...step(), stepId: 'b', dependsOn: ['a'] },
      ],
    },
    false,
  ],
  [{ planId: 'p', steps: [step()], outputs: { nope: {} } }, false],
  [
    {
      planId: 'p',
      steps: [{ kind: 'geoprocess', processId: 'geometry.union', inputs: { features: france } }],
    },
    false,
  ],
];
const MAPS: [Json, boolean][] = [
  [{ layers: ['countries'], format: 'png', width: 64, height: 64 }, true],
  [{ layers: ['countries', 'disputed_borders'], bbox: [0, 40, 10, 50] }, true],
  [{ layers: ['countries'], styles: { countries: { version: 8, layers: [] } } }, true],
  [{ layers: ['countries'], styles: { countries: { version: 7 } } }, true],
  [{ layers: ['nowhere'] }, false],
  [{ layers: ['countries'], bbox: [0, 50, 10, 40] }, false],
  [{ layers: ['countries'], crs: 'nope' }, false],
  [{ layers: ['countries'], width: 1 }, false],
  [{ layers: ['countries'], nope: 1 }, false],
];
const FORMS: [Json, boolean][] = [
  [{ collection: 'countries', fields: ['NAME'] }, true],
  [{ collection: 'countries', fields: [{ name: 'NAME' }, { name: 'ISO_A3' }] }, true],
  [{ collection: 'countries', fields: ['nope'] }, false],
  [{ collection: 'nowhere', fields: ['NAME'] }, false],
];

type Package = [family: string, payload: Json, isGood: boolean];

function* packages(): Generator<Package> {
  for (const [filter, isFilter] of FILTERS)
    for (const [parameters, isGood] of PARAMETERS)
      yield ['query', { collection: 'countries', filter, ...parameters }, isFilter && isGood];
  yield ['query', { collection: 'nowhere' }, false];
  for (const [payload, isGood] of PROCESSES) yield ['gp', payload, isGood];
  for (const family of ['analysis_plan', 'workflow', 'etl'])
    for (const [payload, isGood] of PLANS) yield [family, payload, isGood];
  for (const [payload, isGood] of MAPS) yield ['map_package', payload, isGood];
  for (const [payload, isGood] of FORMS) yield ['form', payload, isGood];
  for (const [parameters, isGood] of PARAMETERS)
    for (const [other, isOther] of PARAMETERS.slice(4, 9))
      yield [
        'dashboard_report',
        {
          widgets: [
            { collection: 'countries', ...parameters },
            { collection: 'countries', ...other },
          ],
        },
        isGood && isOther,
      ];
  const bindings = [{ collection: 'countries', limit: 1 }];
  for (const [map, isGood] of MAPS) yield ['app_package', { dataBindings: bindings, maps: [map] }, isGood];
  for (const [form, isGood] of FORMS)
    yield ['app_package', { dataBindings: bindings, forms: [form] }, isGood];
  for (const [process, isGood] of PROCESSES)
    yield ['app_package', { dataBindings: bindings, processes: [process] }, isGood];
  for (const [parameters, isGood] of PARAMETERS)
    yield ['app_package', { dataBindings: [{ collection: 'countries', ...parameters }] }, isGood];
}

describe('reviews', () => {
  it('agree with executions for 300 packages of nine families', async () => {
    const all = [...packages()];
    expect(all.length).toBeGreaterThanOrEqual(300);
    for (const [family, payload, isGood] of all.filter((_, i) => i % STEP === 0)) {
      const { canExecute, findings } = await review(family, payload);
      const isDone = await execute(family, payload);
      const about = JSON.stringify([family, payload, findings]);
      expect([about, canExecute, isDone]).toEqual([about, isGood, isGood]);
    }
  });

  it('agree with executions by callers with fewer rights', async () => {
    const all: Package[] = [
      ...PROCESSES.map(([payload]): Package => ['gp', payload, false]),
      ...PLANS.map(([payload]): Package => ['workflow', payload, false]),
      ...MAPS.map(([payload]): Package => ['map_package', payload, false]),
      ...FORMS.map(([payload]): Package => ['form', payload, false]),
      ['query', { collection: 'countries' }, true],
      ['query', { collection: 'states_provinces' }, false],
      [
        'dashboard_report',
        { widgets: [{ collection: 'countries' }, { collection: 'states_provinces' }] },
        false,
      ],
    ];
    for (const [i, key] of [reader, executor].entries())
      for (const [family, payload, isReadable] of all) {
        const { canExecute, findings } = await review(family, payload, {}, key);
        const about = JSON.stringify([i, family, payload, findings]);
        expect([about, canExecute]).toEqual([about, await execute(family, payload, key)]);
        if (isReadable) expect(canExecute).toBe(true);
      }
  });

  it('call other forms of payloads and unknown families findings', async () => {
    const families = ['query', 'gp', 'workflow', 'map_package', 'dashboard_report', 'form', 'app_package'];
    for (const family of [...families, 'nope', '', '__proto__'])
      for (const payload of [
        undefined,
        null,
        5,
        'a',
        [],
        {},
        { collection: 5 },
        { steps: 5 },
        { widgets: [5] },
      ]) {
        const { status, canExecute, canPublish, findings } = await review(family, payload);
        const about = JSON.stringify([family, payload, findings]);
        const isMap =
          family === 'map_package' && typeof payload === 'object' && !Array.isArray(payload) && payload;
        if (isMap && Object.keys(isMap).length === 0) continue;
        expect([about, status, canExecute, canPublish]).toEqual([about, 'blocked', false, false]);
        expect(findings.some(({ severity }: Json) => severity === 'blocker')).toBe(true);
      }
    const { status, body } = await send('POST', '/api/v1/admin/packages/validate', {});
    expect([status, body.data.findings[0].code]).toEqual([200, 'package.family.unknown']);
    const other = await review(
      'query',
      { collection: 'countries' },
      { contractVersion: 'svc.package_review.v9' },
    );
    expect([other.canExecute, other.findings[0].code]).toEqual([false, 'package.contract.unknown']);
  });

  it('say the same about hidden and missing collections', async () => {
    const payloads = (collection: string): [string, Json][] => [
      ['query', { collection, filter: "name = 'a'" }],
      ['query', { collection, sortby: 'nope' }],
      ['gp', buffer({ features: { collection } })],
      ['map_package', { layers: [collection] }],
      ['map_package', { layers: ['countries'], styles: { [collection]: { version: 8, layers: [] } } }],
      ['form', { collection, fields: ['name'] }],
      ['app_package', { dataBindings: [{ collection }] }],
    ];
    const requirements = (collection: string) => ({
      fields: [{ collection, name: 'name' }],
      dataBindings: [{ collection }],
      geometry: [{ collection, geometryType: 'MultiPolygon' }],
    });
    const readAll = async (collection: string, key: string) => {
      const all = [];
      for (const [family, payload] of payloads(collection)) {
        const { reviewId, checkedAt, ...rest } = await review(
          family,
          payload,
          { requirements: requirements(collection), includePassFindings: true, includePreviewPlan: true },
          key,
        );
        const { planId, ...plan } = rest.previewPlan;
        all.push(JSON.stringify({ ...rest, previewPlan: plan }).replaceAll(collection, 'X'));
      }
      return all;
    };
    for (const key of [reader, executor])
      expect(await readAll('states_provinces', key)).toEqual(await readAll('states_nowhere', key));
    // The collection exists for callers who can read it.
    expect(await readAll('states_provinces', server.adminKey)).not.toEqual(
      await readAll('states_nowhere', server.adminKey),
    );
  });

  it('show the operations of a plan and start none of them', async () => {
    const list = async () => [
      (await send('GET', '/api/v1/admin/jobs')).body,
      (await send('GET', '/api/v1/admin/proposals')).body,
      (await send('GET', '/ogc/features/collections')).body.collections.length,
    ];
    const before = await list();
    const steps = [step(), { ...step({ features: 'a' }), stepId: 'b' }];
    const { body } = await send('POST', '/api/v1/admin/packages/preview', {
      packageFamily: 'etl',
      packagePayload: { planId: 'p', steps, outputs: { b: { publish: { collection: 'made' } } } },
    });
    const { previewPlan, canPublish, canExecute } = body.data;
    expect([canExecute, canPublish, previewPlan.mayMutatePublishedState]).toEqual([true, true, false]);
    expect(previewPlan.operations).toEqual([
      {
        ...{ operationId: 'a', operationKind: 'executeProcess', dependsOn: [], inputRefs: ['countries'] },
        ...{ outputArtifactKinds: ['result'], requiredCapabilities: ['geometry.buffer'] },
        mayMutatePublishedState: false,
      },
      {
        ...{ operationId: 'b', operationKind: 'executeProcess', dependsOn: ['a'], inputRefs: [] },
        ...{ outputArtifactKinds: ['result'], requiredCapabilities: ['geometry.buffer'] },
        mayMutatePublishedState: false,
      },
    ]);
    const gated = await review('gp', PROCESSES.at(-1)![0]);
    expect([gated.status, gated.canExecute, gated.requiresApproval]).toEqual(['blocked', false, true]);
    expect(await list()).toEqual(before);
  });

  it('publish styles that the operation for styles accepts, by callers who may set styles', async () => {
    const { body: catalog } = await send('GET', '/ogc/tiles/collections');
    const layer = catalog.collections.find(({ title }: Json) => /^countries$/i.test(title)).id;
    const fill = (color: unknown) => ({ id: 'a', type: 'fill', paint: { 'fill-color': color } });
    const source = { source: 'x', 'source-layer': 'countries' };
    const styles: [Json, boolean][] = [
      [{ version: 8, sources: {}, layers: [{ ...fill('#ff0000'), ...source }] }, true],
      [{ version: 7, sources: {}, layers: [{ ...fill('#ff0000'), ...source }] }, false],
      [{ version: 8, sources: {}, layers: [{ ...fill(5), ...source }] }, false],
      [{ version: 8, sources: {}, layers: [{ ...fill('#ff0000'), ...source, type: 'nope' }] }, false],
      ['nope', false],
    ];
    for (const [style, isGood] of styles) {
      const payload = { layers: ['countries'], styles: { countries: style } };
      const { canExecute, canPublish } = await review('map_package', payload);
      const put = await send('PUT', `/api/v1/admin/metadata/layers/${layer}/style`, { mapLibreStyle: style });
      expect([style, canExecute, canPublish, put.status < 300]).toEqual([style, true, isGood, isGood]);
      const others = await review('map_package', payload, {}, executor);
      expect([others.canExecute, others.canPublish]).toEqual([true, false]);
    }
  });

  it('judge requirements by the data and the rights of the caller', async () => {
    const cases: [string, Json, string | undefined][] = [
      ['fields', { collection: 'countries', name: 'NAME', type: 'string' }, undefined],
      ['fields', { collection: 'countries', name: 'NAME', type: 'integer' }, 'field'],
      ['fields', { collection: 'countries', name: 'nope' }, 'field'],
      ['fields', { collection: 'nowhere', name: 'NAME' }, 'data_binding'],
      ['fields', {}, 'schema'],
      ['permissions', { permission: 'admin:styles:write' }, 'permission'],
      ['permissions', { permission: 'read:countries' }, undefined],
      ['crs', { collection: 'countries', crs: 'EPSG:3857' }, undefined],
      ['crs', { collection: 'countries', crs: 'EPSG:25832' }, 'crs'],
      ['geometry', { collection: 'countries', geometryType: 'MultiPolygon' }, undefined],
      ['geometry', { collection: 'countries', geometryType: 'Point' }, 'geometry'],
      ['temporal', { collection: 'countries' }, 'temporal'],
      ['formats', { mediaType: 'text/csv' }, undefined],
      ['formats', { mediaType: 'text/nope' }, 'format'],
      ['capabilities', { processId: 'geometry.buffer' }, undefined],
      ['capabilities', { processId: 'nope' }, 'capability'],
    ];
    for (const [kind, requirement, category] of cases) {
      const more = { requirements: { [kind]: [requirement] } };
      const { canExecute, findings } = await review('query', { collection: 'countries' }, more, reader);
      const blockers = findings.filter(({ severity }: Json) => severity === 'blocker');
      const about = JSON.stringify([kind, requirement, findings]);
      expect([about, canExecute, blockers[0]?.category]).toEqual([about, category === undefined, category]);
    }
    const approvals = { requirements: { approvals: [{ by: 'somebody' }], unheard: [{}] } };
    const approved = await review('query', { collection: 'countries' }, approvals);
    expect([approved.status, approved.canExecute, approved.requiresApproval]).toEqual([
      'warning',
      true,
      true,
    ]);
  });
});
