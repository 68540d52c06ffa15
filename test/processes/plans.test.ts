import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServerProcess, type TestServer } from '../support/server.js';
import { type Json, ProcessClient } from './support.js';

/** Several processes as the steps of one job. */

const PLAN = 'svc-geoprocessing';
const SPOOL = 1_048_576;
const folder = mkdtempSync(join(tmpdir(), 'graticule-plans-'));

let server: TestServer;
let client: ProcessClient;

async function start(spool = 1_000_000_000) {
  const env = {
    SVC_PROCESSES__SPOOL: String(spool),
    SVC_PROCESSES__APPROVAL: 'geometry.union',
    SVC_REMOTE__ALLOW: '127.0.0.1',
  };
  server = await startServerProcess({
    sources: ['demo/data/world_map.gpkg', 'demo/data/olinda_dem_utm25s.tif'],
    dataDir: folder,
    env,
  });
  client = new ProcessClient(server);
}

beforeAll(() => start());
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const france = { collection: 'countries', filter: "iso_a2 = 'FR'" };
const planOf = (steps: Json[], more: Json = {}) => ({ inputs: { plan: { planId: 'p', steps, ...more } } });
const geoprocess = (stepId: string, processId: string, inputs: Json, more: Json = {}) => ({
  ...{ kind: 'geoprocess', stepId, processId, inputs },
  ...more,
});
async function logOf(id: string): Promise<string[]> {
  const { items } = await client.json(`/api/v1/admin/jobs/${id}/logs`);
  return items.map(({ message }: Json) => message);
}
const jobFolder = (id: string) => join(folder, 'processes', id);
const filesOf = (id: string) =>
  readdirSync(jobFolder(id), { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name));

describe('steps', () => {
  it('read what others make, and come to the same as one job after the other', async () => {
    const { collections } = await client.json('/ogc/tiles/collections');
    const layerId = collections.find(({ title }: Json) => /^countries$/i.test(title)).id;
    const steps = [
      // In any order: a step waits for what it reads.
      geoprocess('parts', 'geometry.multipart-to-singlepart', { features: 'wide.features' }),
      geoprocess('wide', 'geometry.buffer', { distance: '10', unit: 'kilometre' }, { dependsOn: ['rows'] }),
      {
        ...{ kind: 'queryFeatures', stepId: 'rows' },
        inputs: { layerId: String(layerId), where: "iso_a2 = 'FR'", fields: ['NAME', 'iso_a2'] },
      },
    ];
    const { jobID } = await client.run(PLAN, planOf(steps, { outputs: ['featureLayer'] }));
    const result = await client.json(`/ogc/processes/jobs/${jobID}/results`);
    expect(Object.keys(result)).toEqual(['parts']);
    const single = await client.run('geometry.buffer', {
      inputs: { features: france, distance: 10, unit: 'kilometre' },
    });
    const href = `${server.url}/ogc/processes/jobs/${single.jobID}/results/features`;
    const parts = await client.results('geometry.multipart-to-singlepart', {
      inputs: { features: { href } },
    });
    const shapes = (list: Json[]) => list.map(({ geometry }) => JSON.stringify(geometry)).sort();
    expect(result.parts.features.length).toBeGreaterThan(2);
    expect(shapes(result.parts.features)).toEqual(shapes(parts.features.features));
    expect(Object.keys(result.parts.features[0].properties).sort()).toEqual(['NAME', 'fid', 'iso_a2']);
    expect(filesOf(jobID)).toEqual([expect.stringMatching(/^step-\w+\/features\.gpkg$/)]);
  });

  it('may branch, and each end is an output, by reference, published, or with others', async () => {
    const steps = [
      geoprocess('rows', 'conversion.feature-select', { features: france }),
      geoprocess('middle', 'geometry.centroid', { features: { step: 'rows' } }),
      geoprocess('box', 'geometry.envelope', { queryResultId: 'rows' }),
      geoprocess('same', 'echo', { doubleInput: 3, stringInput: 'Value1' }),
    ];
    const outputs = {
      middle: { publish: { collection: 'middles' } },
      box: { publish: { collection: 'boxes', title: 'Boxes' } },
      'same.doubleOutput': {},
    };
    const result = await client.results(PLAN, { ...planOf(steps), outputs });
    expect(result).toEqual({
      middle: expect.objectContaining({ href: `${server.url}/ogc/features/collections/middles` }),
      box: expect.objectContaining({ href: `${server.url}/ogc/features/collections/boxes` }),
      'same.doubleOutput': 3,
    });
    const items = async (id: string) =>
      (await client.json(`/ogc/features/collections/${id}/items`)).features.map(
        ({ geometry }: Json) => geometry.type,
      );
    expect([await items('middles'), await items('boxes')]).toEqual([['Point'], ['Polygon']]);
  });

  it('summarize, and write files of formats', async () => {
    const rows = { collection: 'countries', filter: "NAME LIKE 'S%'" };
    const steps = [
      geoprocess('areas', 'geometry.area', { features: rows }),
      {
        kind: 'aggregate',
        stepId: 'sum',
        inputs: { features: 'areas', statistics: [{ type: 'sum', field: 'area' }] },
      },
      { kind: 'export', stepId: 'table', inputs: { features: 'sum', format: 'csv' } },
      {
        kind: 'export',
        stepId: 'shapes',
        inputs: { features: 'areas', format: 'shapefile', targetCrs: 'EPSG:3857' },
      },
    ];
    const { jobID } = await client.run(PLAN, planOf(steps, { outputs: ['file'] }));
    const results = await client.json(`/ogc/processes/jobs/${jobID}/results`);
    expect(results.table).toMatchObject({ type: 'text/csv' });
    const [head, line] = (await (await client.get(results.table.href)).text()).trim().split(/\r?\n/);
    expect(head!.split(',')).toContain('sum_area');
    const { features } = (await client.results('geometry.area', { inputs: { features: rows } })).features;
    const sum = features.reduce((total: number, { properties }: Json) => total + properties.area, 0);
    expect(Number(line!.split(',')[head!.split(',').indexOf('sum_area')])).toBeCloseTo(sum, 0);
    const file = join(folder, 'shapes.shz');
    writeFileSync(file, Buffer.from(await (await client.get(results.shapes.href)).arrayBuffer()));
    const info = execFileSync('ogrinfo', ['-so', '-al', file], { encoding: 'utf8' });
    expect(info).toContain('WGS 84 / Pseudo-Mercator');
    expect(info).toContain(`Feature Count: ${features.length}`);
  });

  it('take lists of rasters, whose members other steps make', async () => {
    const dem = { collection: 'olinda_dem_utm25s' };
    const steps = [
      geoprocess('slope', 'surface.slope', { raster: dem }),
      geoprocess('s1', 'raster.map-algebra', { sources: [dem, 'slope'], expression: 'b1 + b2' }),
    ];
    const { s1 } = await client.results(PLAN, planOf(steps, { outputs: ['raster'] }));
    expect(s1.type).toContain('tiff');
  });

  it('pass on the columns that tables of results have', async () => {
    const steps = [
      geoprocess('parts', 'geometry.multipart-to-singlepart', { features: france }),
      geoprocess('sum', 'analytics.summary-statistics', {
        features: 'parts',
        groupBy: ['fid'],
        statistics: [],
      }),
    ];
    expect((await client.results(PLAN, planOf(steps))).sum.features).toHaveLength(1);
  });

  it('are estimated before the first of them begins', async () => {
    const steps = [
      { kind: 'queryFeatures', stepId: 'rows', inputs: { features: { collection: 'countries' } } },
      geoprocess('near', 'analytics.nearest', { features: 'rows', near: france, count: 3 }),
      geoprocess('parts', 'geometry.multipart-to-singlepart', { features: 'near' }),
    ];
    const { jobID } = await client.run(PLAN, planOf(steps));
    const size = (text: string) =>
      /about (\d+) features at most \((\d+) bytes/.exec(text)?.slice(1).map(Number);
    const [rows, near, parts] = (await logOf(jobID)).filter((line) => line.includes(': reads '));
    const [features, bytes] = size(rows!.slice(rows!.indexOf('makes')))!;
    const { numberMatched } = await client.json('/ogc/features/collections/countries/items?limit=1');
    const whole = await (await client.get('/ogc/features/collections/countries/items?limit=1000')).text();
    expect(features).toBe(numberMatched);
    expect(bytes! / whole.length).toBeGreaterThan(0.5);
    expect(bytes! / whole.length).toBeLessThan(2);
    expect(size(near!.slice(near!.indexOf('reads')))![0]).toBe(numberMatched + 1);
    expect(size(near!.slice(near!.indexOf('makes')))![0]).toBe(numberMatched * 3);
    expect(parts).toMatch(/^parts: .*makes what is not known yet\.$/);
  });

  it('that only come before others are outputs as well', async () => {
    const steps = [
      geoprocess('first', 'echo', { doubleInput: 1 }),
      geoprocess('second', 'geometry.centroid', { features: france }, { dependsOn: ['first'] }),
    ];
    expect(Object.keys(await client.results(PLAN, planOf(steps))).sort()).toEqual([
      'first.doubleOutput',
      'second',
    ]);
  });

  it('go out raw as the parts of one answer, each as it is', async () => {
    const steps = [
      geoprocess('rows', 'geometry.centroid', { features: france }),
      { kind: 'export', stepId: 'table', inputs: { features: france, format: 'csv' } },
    ];
    const outputs = { rows: {}, table: { transmissionMode: 'value' } };
    const { jobID } = await client.run(PLAN, { ...planOf(steps), outputs, response: 'raw' });
    const text = await (await client.get(`/ogc/processes/jobs/${jobID}/results`)).text();
    expect(text).toMatch(
      /Content-Type: application\/geo\+json[\s\S]*Content-ID: <table>\r\nContent-Type: text\/csv\r\n\r\n[\s\S]*iso_a2/,
    );
  });

  it('without an id are numbered, and a plan may be text', async () => {
    const { inputs } = planOf([{ kind: 'queryFeatures', inputs: { features: france } }]);
    const result = await client.results(PLAN, { inputs: { plan: JSON.stringify(inputs.plan) } });
    expect(result.s1.features).toHaveLength(1);
  });

  it('fail the job with the name of the step, and leave nothing', async () => {
    const line = {
      type: 'LineString',
      coordinates: [
        [0, 0],
        [1, 1],
      ],
    };
    const steps = [
      geoprocess('good', 'geometry.centroid', { features: line }),
      geoprocess(
        'bad',
        'geometry.centroid',
        { features: { href: `${server.url}/none.geojson` } },
        { dependsOn: ['good'] },
      ),
    ];
    const status = await client.run(PLAN, planOf(steps));
    expect([status.status, existsSync(jobFolder(status.jobID))]).toEqual(['failed', false]);
    expect(await logOf(status.jobID)).toContain('bad: Reading the inputs');
  });
});

it('all that is wrong is told at once, by the codes that clients of plans know', async () => {
  const steps = [
    { kind: 'geoprocess', inputs: {} },
    geoprocess('b', 'geometry.nothing', {}),
    geoprocess('c', 'geometry.buffer', { features: france, other: 1 }),
    geoprocess('d', 'geometry.buffer', { features: france, distance: 'far' }, { dependsOn: ['none'] }),
    geoprocess('e', 'geometry.buffer', { features: 'f', distance: 1 }),
    geoprocess('f', 'echo', {}),
  ];
  const response = await client.execute(PLAN, planOf(steps));
  const { errors } = (await response.json()) as Json;
  const at = '/inputs/plan/steps';
  expect([response.status, errors.map(({ name, code }: Json) => [name, code])]).toEqual([
    400,
    [
      [`${at}/0/processId`, 'MISSING_PROCESS_ID'],
      [`${at}/1/processId`, 'UNKNOWN_PROCESS'],
      [`${at}/2/inputs/other`, 'UNKNOWN_PARAMETER'],
      [`${at}/2/inputs/distance`, 'MISSING_REQUIRED_PARAMETER'],
      [`${at}/3/dependsOn`, 'INVALID_PARAMETER_VALUE'],
      [`${at}/3/inputs/distance`, 'INVALID_PARAMETER_VALUE'],
      [`${at}/4/inputs/features`, 'INVALID_PARAMETER_VALUE'],
    ],
  ]);
});

it.each([
  [
    'a cycle',
    [
      geoprocess('a', 'geometry.centroid', { features: 'b' }),
      geoprocess('b', 'geometry.centroid', { features: 'a' }),
    ],
    {},
    'inputs.plan.steps: must not form a cycle, as a, b do',
  ],
  [
    'an id that is no part of an address',
    [geoprocess('a/b', 'echo', {})],
    {},
    'inputs.plan.steps[0].stepId: must be ',
  ],
  [
    'two steps of one id',
    [geoprocess('a', 'echo', {}), geoprocess('a', 'echo', {})],
    {},
    'inputs.plan.steps: have the same stepId twice',
  ],
  ['no steps', [], {}, 'inputs.plan.steps: must have '],
  ['another kind', [{ kind: 'paint' }], {}, 'inputs.plan.steps[0].kind: must be one of '],
  [
    'a plan as a step',
    [geoprocess('a', PLAN, {})],
    {},
    "'svc-geoprocessing' cannot be a step. Execute it directly",
  ],
  [
    'a kind of output that nothing makes',
    [geoprocess('a', 'echo', {})],
    { outputs: ['raster'] },
    "no final step has an output of the kind 'raster'",
  ],
  [
    'a collection that is not there',
    [geoprocess('a', 'geometry.centroid', { features: { collection: 'none' } })],
    {},
    'inputs.plan.steps[0].inputs.features',
  ],
  [
    'a field that an earlier step drops',
    [
      geoprocess('a', 'conversion.feature-select', { features: france, fields: ['NAME'] }),
      geoprocess('b', 'geometry.centroid', { features: 'a' }),
      geoprocess('c', 'geometry.dissolve', { features: 'b', groupBy: ['iso_a2'] }),
    ],
    {},
    "inputs.plan.steps[2].inputs.groupBy: 'iso_a2' is not a field of the features",
  ],
])('%s is refused before anything runs', async (_what, steps, more, detail) => {
  const response = await client.execute(PLAN, planOf(steps, more));
  expect([response.status, ((await response.json()) as Json).detail]).toEqual([
    400,
    expect.stringContaining(detail),
  ]);
});

it('a plan as text is bounded as a body is, and two outputs do not become one collection', async () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const text = `{"planId":"p","steps":[{"kind":"queryFeatures","inputs":{"features":{"type":"Feature","a":${deep}}}}]}`;
  expect((await client.execute(PLAN, { inputs: { plan: text } })).status).toBe(400);
  const steps = [
    geoprocess('a', 'geometry.centroid', { features: france }),
    geoprocess('b', 'geometry.envelope', { features: france }),
  ];
  const publish = { collection: 'both' };
  const response = await client.execute(PLAN, {
    ...planOf(steps),
    outputs: { a: { publish }, b: { publish } },
  });
  expect([response.status, ((await response.json()) as Json).errors[0].name]).toEqual([
    400,
    '/outputs/b/publish/collection',
  ]);
});

it('a process that needs approval needs it as a step, too', async () => {
  const steps = [geoprocess('a', 'geometry.union', { features: france })];
  expect((await client.execute(PLAN, planOf(steps))).status).toBe(403);
});

describe('graticule process', () => {
  // Not by spawnSync: while it holds the event loop, connections end unseen, and the next request fails on one.
  const graticule = async (...args: string[]) => {
    const env = { ...process.env, SVC_ADMIN_KEY: server.adminKey };
    const all = ['dist/cli/main.js', 'process', ...args, '--url', server.url];
    const child = spawn(process.execPath, all, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
    const [code] = await once(child, 'close');
    return [code, output] as const;
  };

  it('executes a process, shows how it goes, and writes what comes of it', async () => {
    const file = join(folder, 'france.gpkg');
    const input = `features=${JSON.stringify(france)}`;
    const [code, output] = await graticule('geometry.centroid', '--input', input, '--output', file);
    expect([code, output]).toEqual([0, `written to ${file}\n`]);
    expect(execFileSync('ogrinfo', ['-so', file, 'features'], { encoding: 'utf8' })).toContain(
      'Feature Count: 1',
    );
    expect(
      (
        await graticule(
          'geometry.envelope',
          '--input',
          'features=countries',
          'invalidGeometries=skip',
          '--publish',
          'frames',
        )
      )[0],
    ).toBe(0);
    writeFileSync(
      join(folder, 'plan.json'),
      JSON.stringify(planOf([geoprocess('a', 'echo', { doubleInput: 2 })]).inputs.plan),
    );
    expect((await graticule(PLAN, '--input', `plan=@${join(folder, 'plan.json')}`))[1]).toContain(
      '{"a.doubleOutput":2}',
    );
  });

  it('lists and describes processes, and says what is wrong', async () => {
    expect((await graticule())[1]).toMatch(/^geometry\.buffer +Buffer$/m);
    const [, inputs] = await graticule('geometry.buffer', '--describe');
    expect(inputs).toMatch(
      /--input features=\.\.\. {2}\(collection, @file or URL\)[\s\S]*--input unit=\.\.\. {2}\(metre \| .*optional\)/,
    );
    expect(await graticule('geometry.buffer', '--input', 'way=1')).toEqual([
      64,
      expect.stringContaining("no input 'way'"),
    ]);
    expect(await graticule('geometry.buffer', '--input', 'features=none', 'distance=1')).toEqual([
      64,
      expect.stringContaining("inputs.features.collection: 'none' is not a collection of features."),
    ]);
    expect(await graticule('geometry.centroid', '--input', `features=http://192.0.2.1/a.geojson`)).toEqual([
      1,
      expect.stringContaining('failed'),
    ]);
  });
});

it('kill -9 in the middle: what has ended is not done again, and what it may leave on disk is bounded', async () => {
  // The second step reads a file that comes when the test says so: no speed of the machine decides where it is killed.
  const overlay = {
    type: 'Polygon',
    coordinates: [
      [
        [-125, 25],
        [-65, 25],
        [-65, 50],
        [-125, 50],
        [-125, 25],
      ],
    ],
  };
  const document = JSON.stringify({ type: 'Feature', properties: {}, geometry: overlay });
  let isHeld = true;
  const held = createServer((_request, response) => {
    if (!isHeld) response.setHeader('content-type', 'application/geo+json').end(document);
  }).listen(0, '127.0.0.1');
  await once(held, 'listening');
  const asked = once(held, 'request');
  const href = `http://127.0.0.1:${(held.address() as AddressInfo).port}/overlay.geojson`;
  const steps = [
    geoprocess('rows', 'geometry.densify', {
      features: { collection: 'states_provinces' },
      segmentLength: 5,
      unit: 'kilometre',
    }),
    geoprocess('pieces', 'geometry.intersect', { features: 'rows', overlay: { href } }),
  ];
  const { jobID } = (await (await client.execute(PLAN, planOf(steps))).json()) as Json;
  await asked;
  await server.kill();
  isHeld = false;
  held.closeAllConnections();
  await start(SPOOL);
  expect((await client.ended(jobID)).status).toBe('failed');
  held.close();
  const log = await logOf(jobID);
  const times = (text: string) => log.filter((message) => message === text).length;
  expect([times('rows: Reading the inputs'), times('pieces: Reading the inputs')]).toEqual([1, 2]);
  expect(log.at(-1)).toContain(`The limit is ${SPOOL} bytes.`);
  expect(existsSync(jobFolder(jobID))).toBe(false);
});
