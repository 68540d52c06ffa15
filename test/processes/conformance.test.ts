import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { type Json, ProcessClient } from './support.js';

/** OGC API Processes, part 1 (OGC 18-062r2); tests are named after its requirements. */

const PROCESSES = '/ogc/processes';
const EXCEPTIONS = 'http://www.opengis.net/def/exceptions/ogcapi-processes-1/1.0';
const SQUARE = {
  type: 'Polygon',
  coordinates: [
    [
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 1],
      [0, 0],
    ],
  ],
};

let server: TestServer;
let client: ProcessClient;
/** Another server, with features in a file. */
let other: Server;
let otherUrl: string;
/** What that server was told. */
const calls: { url: string; body: Json }[] = [];

beforeAll(async () => {
  other = createServer((request, response) => {
    if (request.url === '/points.geojson')
      response.end(JSON.stringify({ type: 'FeatureCollection', features: [feature({ n: 7 })] }));
    else if (request.url === '/borders.gpkg')
      response.end(readFileSync(join(server.dataDir, 'borders.gpkg')));
    else if (request.url!.startsWith('/calls/')) {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        calls.push({ url: request.url!, body: JSON.parse(Buffer.concat(chunks).toString()) });
        response.writeHead(request.url === '/calls/unwilling' && calls.length === 1 ? 503 : 204).end();
      });
    } else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  otherUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  server = await startServer({
    sources: ['demo/data/world_map.gpkg'],
    env: { SVC_REMOTE__ALLOW: '127.0.0.1', SVC_PROCESSES__APPROVAL: 'geometry.union' },
  });
  client = new ProcessClient(server);
});
afterAll(async () => {
  await server?.stop();
  other?.close();
});

function feature(properties: Record<string, unknown>, geometry: unknown = SQUARE) {
  return { type: 'Feature', properties, geometry };
}

const collection = (...features: unknown[]) => ({ type: 'FeatureCollection', features });
const rels = (document: Json, rel: string) => document.links.filter((link: Json) => link.rel.endsWith(rel));

it('/req/core/{landingpage-op,landingpage-success,api-definition-op,api-definition-success,conformance-op,conformance-success}: the landing page leads to everything', async () => {
  const landing = await client.json(PROCESSES);
  for (const rel of [
    'self',
    'alternate',
    'service-desc',
    'service-doc',
    'conformance',
    '/processes',
    '/job-list',
  ])
    expect(rels(landing, rel), rel).not.toEqual([]);
  for (const { href } of landing.links) expect([href, (await client.get(href)).status]).toEqual([href, 200]);
  const [definition] = rels(landing, 'service-desc');
  expect((await client.json(definition.href)).openapi).toMatch(/^3\.0/);
  const { conformsTo } = await client.json(`${PROCESSES}/conformance`);
  expect(conformsTo).toContain('http://www.opengis.net/spec/ogcapi-processes-1/1.0/conf/core');
});

it('/req/core/http and /req/oas30/{exception-codes,security}: failures are problems, and jobs are for who has a key', async () => {
  const bare = await fetch(`${server.url}${PROCESSES}/jobs`);
  expect([bare.status, bare.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringContaining('Bearer'),
  ]);
  expect(bare.headers.get('content-type')).toContain('application/problem+json');
  const anonymous = await fetch(`${server.url}${PROCESSES}/processes/echo/execution`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"inputs":{}}',
  });
  expect(anonymous.status).toBe(401);
  expect((await client.get(`${PROCESSES}/processes/echo/execution`)).status).toBe(405);
});

it('/req/oas30/{oas-definition-1,oas-definition-2,oas-impl,completeness}: the API definition has every operation', async () => {
  const { paths, openapi } = await client.json(`${PROCESSES}/openapi.json`);
  expect(openapi).toMatch(/^3\.0/);
  const operations = Object.entries(paths as Json).flatMap(([path, item]) =>
    Object.keys(item as Json).map((method) => `${method} ${path}`),
  );
  expect(operations.sort()).toEqual([
    'delete /ogc/processes/jobs/{jobId}',
    'get /ogc/processes',
    'get /ogc/processes/conformance',
    'get /ogc/processes/jobs',
    'get /ogc/processes/jobs/{jobId}',
    'get /ogc/processes/jobs/{jobId}/results',
    'get /ogc/processes/jobs/{jobId}/results/{outputId}',
    'get /ogc/processes/openapi.json',
    'get /ogc/processes/processes',
    'get /ogc/processes/processes/{processId}',
    'post /ogc/processes/processes/{processId}/execution',
  ]);
});

it('/req/core/{process-list,process-list-success,pl-limit-definition,pl-limit-response,pl-links}: the list has summaries', async () => {
  const list = await client.json(`${PROCESSES}/processes`);
  expect(list.processes.length).toBeGreaterThan(20);
  for (const one of list.processes)
    expect(one).toMatchObject({
      ...{
        id: expect.any(String),
        version: expect.any(String),
        jobControlOptions: ['async-execute', 'sync-execute', 'dismiss'],
      },
      links: expect.arrayContaining([expect.objectContaining({ rel: 'process' })]),
    });
  expect(rels(list, 'self')).toHaveLength(1);
  expect(rels(list, 'alternate')).toHaveLength(1);
  expect((await client.json(`${PROCESSES}/processes?limit=3`)).processes).toHaveLength(3);
  expect((await client.get(`${PROCESSES}/processes?limit=0`)).status).toBe(400);
});

it('/req/core/{process,process-success,process-exception-no-such-process} and /req/ogc-process-description/{json-encoding,inputs-def,input-def,input-mixed-type,outputs-def,output-def,output-mixed-type}: each process is described', async () => {
  for (const { id } of (await client.json(`${PROCESSES}/processes`)).processes) {
    const { inputs, outputs } = await client.json(`${PROCESSES}/processes/${id}`);
    for (const one of [...Object.values(inputs), ...Object.values(outputs)])
      expect(one).toMatchObject({ title: expect.any(String), schema: expect.any(Object) });
  }
  const { inputs } = await client.json(`${PROCESSES}/processes/echo`);
  expect(inputs.mixedInput.schema.anyOf.map(({ type }: Json) => type)).toEqual(['number', 'string']);
  const missing = await client.get(`${PROCESSES}/processes/nothing`);
  expect([missing.status, (await missing.json()).type]).toEqual([404, `${EXCEPTIONS}/no-such-process`]);
});

it('/req/core/{job-creation-op,job-creation-request,job-creation-success-async,job-creation-default-execution-mode,job-creation-auto-execution-mode}: an execution makes a job, whatever is preferred', async () => {
  for (const prefer of [undefined, 'respond-async']) {
    const response = await client.execute('echo', { inputs: { doubleInput: 3 } }, prefer ? { prefer } : {});
    const status = (await response.json()) as Json;
    expect(response.status).toBe(201);
    expect(response.headers.get('preference-applied')).toBe('respond-async');
    expect(response.headers.get('location')).toBe(`${server.url}${PROCESSES}/jobs/${status.jobID}`);
    expect(status).toMatchObject({ processID: 'echo', type: 'process', status: 'accepted' });
    expect((await client.ended(status.jobID)).status).toBe('successful');
  }
});

it('/req/core/job-creation-request: members that an execution does not have are refused by their names', async () => {
  for (const [body, name] of [
    [{ inputs: {}, output: {} }, 'output'],
    [{ input: { doubleInput: 3 } }, 'input'],
    [{ inputs: {}, outputs: { doubleOutput: { transmision: 'value' } } }, 'transmision'],
  ] as const) {
    const response = await client.execute('echo', body as never);
    expect([name, response.status]).toEqual([name, 400]);
    expect(JSON.stringify(await response.json())).toContain(name);
  }
});

it('/req/core/job-creation-inputs: strings of any kind come back, as the suite of the standard sends them', async () => {
  const inputs = {
    stringInput: 'teststring',
    dateInput: 'teststring',
    binaryInput: 'teststring',
    mixedInput: 'teststring',
  };
  const answer = await client.execute('echo', { inputs }, { prefer: 'wait=50' });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({
    ...{ stringOutput: 'teststring', dateOutput: 'teststring' },
    ...{ binaryOutput: 'teststring', mixedOutput: 'teststring' },
  });
});

it('who waits gets the results at once, or the job when its time is over', async () => {
  const quick = await client.execute('echo', { inputs: { doubleInput: 3 } }, { prefer: 'wait=50' });
  expect([quick.status, quick.headers.get('preference-applied')]).toEqual([200, 'wait=50']);
  expect(await quick.json()).toEqual({ doubleOutput: 3 });
});

it('/req/core/{job-creation-inputs,job-creation-input-inline,job-creation-input-array,job-creation-input-inline-object,job-creation-input-inline-mixed,job-creation-input-inline-bbox,job-creation-input-binary} and /req/json/definition: inputs of every sort come back', async () => {
  const inputs = {
    stringInput: 'Value2',
    measureInput: { measurement: 1.5, uom: 'm' },
    dateInput: '2026-11-25T00:00:00Z',
    doubleInput: 2.5,
    arrayInput: [1, 2, 3],
    complexObjectInput: { property1: 'a', property5: true },
    binaryInput: 'AAEC',
    mixedInput: 'text',
    boundingBoxInput: { bbox: [1, 2, 3, 4] },
  };
  const outputs = Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [name.replace('Input', 'Output'), value]),
  );
  expect(await client.results('echo', { inputs })).toEqual(outputs);
  const qualified = {
    complexObjectInput: { value: inputs.complexObjectInput, mediaType: 'application/json' },
  };
  expect(await client.results('echo', { inputs: qualified })).toEqual({
    complexObjectOutput: inputs.complexObjectInput,
  });
});

it('/req/core/job-creation-input-ref: features come from a link', async () => {
  const inputs = { features: { href: `${otherUrl}/points.geojson`, type: 'application/geo+json' } };
  const { features } = (await client.results('geometry.centroid', { inputs })).features;
  expect(features).toMatchObject([
    { properties: { n: 7 }, geometry: { type: 'Point', coordinates: [0.5, 0.5] } },
  ]);
  const refused = await client.run('geometry.centroid', {
    inputs: { features: { href: 'http://192.0.2.1/a.geojson' } },
  });
  expect([refused.status, refused.message]).toEqual(['failed', expect.stringContaining('192.0.2.1')]);
});

it('/req/core/job-creation-input-ref: a link may lead to a file of another format', async () => {
  const file = join(server.dataDir, 'borders.gpkg');
  execFileSync('ogr2ogr', ['-f', 'GPKG', file, 'demo/data/world_map.gpkg', 'disputed_borders']);
  const inputs = { features: { href: `${otherUrl}/borders.gpkg`, type: 'application/geopackage+sqlite3' } };
  const { features } = (await client.results('geometry.centroid', { inputs })).features;
  expect(features).toHaveLength(46);
});

it('/req/core/job-creation-input-validation: all that is wrong is named at once', async () => {
  const inputs = { doubleInput: 11, arrayInput: [1], nothing: 1 };
  const response = await client.execute('echo', { inputs, outputs: { nothing: {} } });
  const problem = (await response.json()) as Json;
  expect([response.status, problem.code]).toEqual([400, 'invalid-body']);
  expect(problem.errors.map(({ name }: Json) => name).sort()).toEqual([
    '/inputs/arrayInput',
    '/inputs/doubleInput',
    '/inputs/nothing',
    '/outputs/nothing',
  ]);
});

it('/req/core/job-creation-default-outputs: all outputs come where none is named, else those that are', async () => {
  const inputs = { doubleInput: 1, stringInput: 'Value1' };
  expect(await client.results('echo', { inputs })).toEqual({ doubleOutput: 1, stringOutput: 'Value1' });
  expect(await client.results('echo', { inputs, outputs: { doubleOutput: {} } })).toEqual({
    doubleOutput: 1,
  });
});

it('/req/core/{job,job-success,job-exception-no-such-job}: a job says how it is', async () => {
  const status = await client.run('echo', { inputs: {} });
  expect(status).toMatchObject({ processID: 'echo', status: 'successful', progress: 100 });
  for (const time of [status.created, status.started, status.finished, status.updated])
    expect(Date.parse(time)).toBeGreaterThan(0);
  expect(rels(status, '/results')).toHaveLength(1);
  const missing = await client.get(`${PROCESSES}/jobs/nothing`);
  expect([missing.status, (await missing.json()).type]).toEqual([404, `${EXCEPTIONS}/no-such-job`]);
});

it('/req/core/{job-results,job-results-async-document,job-results-exception-no-such-job}: results are a document', async () => {
  const inputs = { features: collection(feature({ name: 'a' }), feature({ name: 'b' })) };
  const document = await client.results('geometry.centroid', { inputs });
  expect(document.features.features.map(({ properties }: Json) => properties.name)).toEqual(['a', 'b']);
  const missing = await client.get(`${PROCESSES}/jobs/nothing/results`);
  expect([missing.status, (await missing.json()).type]).toEqual([404, `${EXCEPTIONS}/no-such-job`]);
});

it('/req/core/job-results-exception-results-not-ready and /req/dismiss/{job-dismiss-op,job-dismiss-success}: a job that runs has no results; dismissed, it is gone', async () => {
  const inputs = { features: { collection: 'countries' }, overlay: { collection: 'states_provinces' } };
  const { jobID } = (await (await client.execute('geometry.union-overlay', { inputs })).json()) as Json;
  const early = await client.get(`${PROCESSES}/jobs/${jobID}/results`);
  expect([early.status, (await early.json()).type]).toEqual([404, `${EXCEPTIONS}/result-not-ready`]);
  for (const _ of [1, 2]) {
    const dismissal = await client.dismiss(jobID);
    expect([dismissal.status, (await dismissal.json()).status]).toEqual([200, 'dismissed']);
  }
  expect((await client.ended(jobID)).status).toBe('dismissed');
  expect((await client.get(`${PROCESSES}/jobs/${jobID}/results`)).status).toBe(410);
  const { jobID: done } = await client.run('echo', { inputs: {} });
  expect((await client.dismiss(done)).status).toBe(409);
});

it('/req/core/job-results-failed: results of a job that failed are a problem that says why', async () => {
  const bad = {
    type: 'Polygon',
    coordinates: [
      [
        [0, 0],
        [1, 0],
      ],
    ],
  };
  const status = await client.run('geometry.centroid', {
    inputs: { features: collection(feature({}, bad)) },
  });
  expect([status.status, status.message]).toEqual(['failed', expect.stringContaining('feature 0')]);
  const results = await client.get(`${PROCESSES}/jobs/${status.jobID}/results`);
  expect([results.status, (await results.json()).detail]).toEqual([
    500,
    expect.stringContaining('feature 0'),
  ]);
});

it('/req/core/{job-results-async-raw-value-one,job-results-async-raw-ref,job-results-async-raw-value-multi,job-results-async-raw-mixed-multi}: outputs come raw', async () => {
  const raw = async (process: string, body: Json) => {
    const { jobID } = await client.run(process, { response: 'raw', ...body });
    return client.get(`${PROCESSES}/jobs/${jobID}/results`);
  };
  const one = await raw('geometry.centroid', { inputs: { features: SQUARE } });
  expect(one.headers.get('content-type')).toBe('application/geo+json');
  expect((await one.json()).features).toHaveLength(1);
  const outputs = { features: { transmissionMode: 'reference' } };
  const link = await raw('geometry.centroid', { inputs: { features: SQUARE }, outputs });
  expect(link.status).toBe(204);
  const href = /<([^>]+)>/.exec(link.headers.get('link')!)![1]!;
  expect((await client.json(href)).features).toHaveLength(1);
  const several = await raw('echo', { inputs: { doubleInput: 1, stringInput: 'Value1' } });
  const boundary = /^multipart\/related; boundary=(.+)$/.exec(several.headers.get('content-type')!)![1]!;
  const parts = (await several.text()).split(`--${boundary}`);
  expect(parts.at(-1)).toBe('--\r\n');
  expect(
    parts
      .slice(1, -1)
      .map((part) => part.split('\r\n\r\n')[1]!.trim())
      .sort(),
  ).toEqual(['"Value1"', '1']);
  expect((await client.execute('echo', { inputs: {}, response: 'other' })).status).toBe(501);
});

it('/req/job-list/{job-list-op,job-list-success,limit-definition,limit-response,links,processID-definition,processID-mandatory,processID-response,status-definition,status-response,type-definition,type-response,datetime-definition,datetime-response,duration-definition,duration-response}: jobs are listed by what is asked', async () => {
  const { jobID, created } = await client.run('geometry.envelope', { inputs: { features: SQUARE } });
  const ids = async (query: string) =>
    (await client.json(`${PROCESSES}/jobs?${query}`)).jobs.map((job: Json) => job.jobID) as string[];
  expect((await ids(''))[0]).toBe(jobID);
  const list = await client.json(`${PROCESSES}/jobs`);
  expect([rels(list, 'self').length, rels(list, 'alternate').length]).toEqual([1, 1]);
  expect(await ids('limit=1')).toEqual([jobID]);
  expect(await ids('processID=geometry.envelope')).toEqual([jobID]);
  expect(await ids('type=process&limit=1')).toEqual([jobID]);
  expect(await ids('status=failed')).not.toContain(jobID);
  expect(await ids('status=successful,failed')).toContain(jobID);
  expect(await ids(`datetime=${created}/..`)).toEqual([jobID]);
  expect(await ids(`datetime=../${new Date(Date.parse(created) - 1).toISOString()}`)).not.toContain(jobID);
  expect(await ids('maxDuration=600')).toContain(jobID);
  expect(await ids('minDuration=600')).not.toContain(jobID);
  for (const wrong of ['limit=0', 'limit=x', 'status=none', 'type=other', 'datetime=x', 'minDuration=-1'])
    expect([wrong, (await client.get(`${PROCESSES}/jobs?${wrong}`)).status]).toEqual([wrong, 400]);
});

it('/req/callback/job-callback: who subscribes is told of the job and of its results', async () => {
  calls.length = 0;
  const subscriber = Object.fromEntries(
    ['successUri', 'inProgressUri', 'failedUri'].map((name) => [name, `${otherUrl}/calls/${name}`]),
  );
  const features = { collection: 'countries', filter: "iso_a2 IN ('CH', 'FR', 'IT')" };
  const inputs = { features, distance: 10, unit: 'kilometre' };
  const { jobID } = await client.run('geometry.buffer', { inputs, subscriber });
  await vi.waitFor(() => expect(calls.map(({ url }) => url)).toContain('/calls/successUri'), {
    timeout: 30_000,
  });
  const [first] = calls;
  expect([first!.url, first!.body]).toEqual([
    '/calls/inProgressUri',
    expect.objectContaining({ jobID, status: expect.stringMatching(/accepted|running/) }),
  ]);
  const href = `${server.url}${PROCESSES}/jobs/${jobID}/results/features`;
  expect(calls.at(-1)!.body).toEqual({ features: { href, type: 'application/geo+json' } });
  const failure = { features: { href: `${otherUrl}/none.geojson` } };
  const { jobID: failed } = await client.run('geometry.centroid', { inputs: failure, subscriber });
  await vi.waitFor(
    () =>
      expect(calls.at(-1)).toMatchObject({
        url: '/calls/failedUri',
        body: { jobID: failed, status: 'failed' },
      }),
    { timeout: 30_000 },
  );
  for (const successUri of [
    'nowhere',
    'ftp://127.0.0.1/',
    'http://192.0.2.1/',
    'https://user:secret@example.org/',
  ]) {
    const response = await client.execute('echo', { inputs: {}, subscriber: { successUri } });
    expect([successUri, response.status]).toEqual([successUri, 400]);
  }
});

it('a subscriber that does not answer is asked again', async () => {
  calls.length = 0;
  const subscriber = { successUri: `${otherUrl}/calls/unwilling` };
  await client.run('echo', { inputs: { doubleInput: 3 }, subscriber });
  await vi.waitFor(() => expect(calls).toHaveLength(2), { timeout: 30_000 });
  expect(calls.map(({ body }) => body)).toEqual([{ doubleOutput: 3 }, { doubleOutput: 3 }]);
  const { items } = await client.json('/api/v1/admin/jobs?status=Succeeded');
  expect(items.some(({ workloadName }: Json) => workloadName === 'Tell the subscriber of a process')).toBe(
    true,
  );
});

it('/req/html/{definition,content}: documents are pages, too', async () => {
  const { jobID } = await client.run('echo', { inputs: {} });
  for (const path of [
    '',
    '/conformance',
    '/processes',
    '/processes/geometry.buffer',
    '/jobs',
    `/jobs/${jobID}`,
  ]) {
    const page = await client.get(PROCESSES + path, { accept: 'text/html' });
    expect([path, page.status, page.headers.get('content-type')]).toEqual([
      path,
      200,
      expect.stringContaining('html'),
    ]);
    expect(await page.text()).toContain('</html>');
  }
});

it('a process that needs approval is not executed without', async () => {
  const response = await client.execute('geometry.union', { inputs: { features: SQUARE } });
  expect([response.status, (await response.json()).detail]).toEqual([
    403,
    expect.stringContaining('Approval required'),
  ]);
});
