import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomNumbers } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';
import { isFullRun, repetitions } from '../support/soak.js';
import { cut, example, formOf, NONSENSE, pick, type Random, spoilt } from './bodies.js';
import {
  fault,
  faults,
  filled,
  type Json,
  type OperationDescription,
  type OperationRequest,
  operationsOf,
  readDocuments,
  requiredQuery,
  withQuery,
} from './documents.js';
import { rightBodies } from './right-bodies.js';

/**
 * Every operation of the interface documents that changes something, with bodies out of its schema, spoilt ones and
 * nonsense, for things that exist: each answer is one that the document tells of, and none is a fault of the server.
 */

const folder = mkdtempSync(join(tmpdir(), 'graticule-writes-'));
const IS_FULL = isFullRun(import.meta.url);
/** Bodies that fit, and bodies that are spoilt, for each right one. */
const FITTING = repetitions(import.meta.url, 6, IS_FULL ? 3 : 1);
const SPOILT = repetitions(import.meta.url, 20, IS_FULL ? 8 : 2);
/** Nonsense that each operation gets; a brief run gives each a few, in turns. */
let turn = 0;
const nonsense = () => (IS_FULL ? NONSENSE : [0, 1, 2].map(() => NONSENSE[turn++ % NONSENSE.length]!));

let server: TestServer;
let operations: OperationDescription[];
let writes: OperationDescription[];
let ids: Record<string, string>;
let features: string[];

beforeAll(async () => {
  cpSync('demo/data/world_map.gpkg', join(folder, 'world_map.gpkg'));
  cpSync('demo/data/L7_ETMs.tif', join(folder, 'L7_ETMs.tif'));
  // Without a declared release, convergence responds with 503, which is a fault here.
  server = await startServer({ sources: [folder], env: { SVC_DEPLOY__RELEASE: '2099.1.0' } });
  operations = [...operationsOf(await readDocuments(server))];
  writes = operations.filter(({ method }) => method !== 'GET');
  ids = await makeThings();
  const page = await call('GET', '/ogc/features/collections/countries/items?properties=NAME');
  features = page.features.map(({ id }: Json) => String(id));
}, 120_000);

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function call(method: string, path: string, body?: object): Promise<Json> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return response.json();
}

const ADMIN = '/api/v1/admin';
const SPOTS = {
  name: 'spots.geojson',
  data: JSON.stringify({
    type: 'FeatureCollection',
    features: [
      { type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: { name: 'a' } },
    ],
  }),
};

async function upload(
  path: string,
  fields: Record<string, string>,
  file: { name: string; data: Buffer | string },
) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob([file.data as BlobPart]), file.name);
  const headers = { 'x-api-key': server.adminKey };
  const response = await fetch(`${server.url}${ADMIN}${path}`, { method: 'POST', headers, body: form });
  return (await response.json()) as Json;
}

/** Makes what can be made, and tells its ids by the path below which they are. */
async function makeThings(): Promise<Record<string, string>> {
  const key = await call('POST', `${ADMIN}/api-keys`, { name: 'written about', permissions: ['admin:read'] });
  const seeding = { operation: 'seed', layerId: 2, minZoom: 0, maxZoom: 1 };
  const job = await call('POST', `${ADMIN}/tile-operations/jobs`, seeding);
  const table = await upload('/import/upload', { TableName: 'spots' }, SPOTS);
  const data = readFileSync('demo/data/olinda_dem_utm25s.tif');
  const raster = await upload('/import/raster', { layerId: '600', name: 'dem' }, { name: 'dem.tif', data });
  return {
    [`${ADMIN}/api-keys`]: key.data.apiKey.id,
    [`${ADMIN}/tile-operations/jobs`]: job.JobId,
    [`${ADMIN}/import/jobs`]: table.jobId,
    [`${ADMIN}/jobs`]: table.jobId,
    [`${ADMIN}/import/raster`]: String(raster.rasterId),
  };
}

/** A path with ids of things that exist; now and then of none. */
function targetOf(described: OperationDescription, random: Random): string {
  const { path } = described;
  const below = Object.entries(ids).find(([prefix]) => path.startsWith(`${prefix}/{`));
  const strange = random() < 0.1;
  const values: Record<string, string> = { featureId: pick(random, features) };
  if (below) values[/\{(\w+)\}/.exec(path)![1]!] = below[1];
  if (path.includes('{layerId}')) values['layerId'] = pick(random, ['1', '2', '3', '4']);
  if (strange)
    for (const [, name] of path.matchAll(/\{(\w+)\}/g))
      values[name!] = pick(random, ['0', '-1', 'x', '99999999999', '%00', '../..', 'ü']);
  return withQuery(filled(path, values), requiredQuery(described));
}

/** The requests that an operation is tried with. */
function* requestsFor(described: OperationDescription, random: Random): Generator<OperationRequest> {
  const content: Record<string, Json> = described.operation.requestBody?.content ?? {};
  const media = Object.entries(content);
  yield {};
  if (media.length === 0) {
    for (let i = 0; i < 4; i++) yield {};
    yield { headers: { 'content-type': 'application/json' }, body: pick(random, NONSENSE) };
    return;
  }
  for (const [type, { schema }] of media) {
    const ask = (value: unknown): OperationRequest => written(type, value, random);
    for (let i = 0; i < FITTING; i++) yield ask(example(schema, random));
    for (let i = 0; i < SPOILT; i++) yield ask(spoilt(example(schema, random), random));
    for (const right of rightBodies(described.path)) {
      yield ask(right);
      for (let i = 0; i < SPOILT; i++)
        yield ask(typeof right === 'string' ? cut(right, random) : spoilt(right, random));
    }
    for (const body of nonsense()) yield { headers: { 'content-type': type }, body };
  }
  yield { headers: { 'content-type': 'application/x-nothing' }, body: '{}' };
  yield { headers: { 'content-type': media[0]![0], 'content-encoding': 'deflate' }, body: '{}' };
  const key = `write-${described.operation.operationId}`;
  for (const body of ['{}', '{}', '[]'])
    yield { headers: { 'content-type': media[0]![0], 'idempotency-key': key }, body };
}

function written(type: string, value: unknown, random: Random): OperationRequest {
  if (type !== 'multipart/form-data') {
    const body = typeof value === 'string' && !type.includes('json') ? value : (JSON.stringify(value) ?? '');
    return { headers: { 'content-type': type }, body };
  }
  const fields = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const { file: _, ...others } = fields;
  const form = formOf(others, random() < 0.8 ? SPOTS : undefined);
  return { headers: { 'content-type': form.type }, body: form.body };
}

/** The same for an operation in each run. */
function seedOf(text: string): number {
  let seed = 7;
  for (const letter of text) seed = (Math.imul(seed, 31) + letter.codePointAt(0)!) & 0x7fffffff;
  return seed;
}

function* requests(those: (described: OperationDescription) => boolean) {
  for (const described of writes.filter(those)) {
    const random = randomNumbers(seedOf(described.operation.operationId));
    for (const asked of requestsFor(described, random)) {
      const target = targetOf(described, random);
      yield () => fault(server, described, target, asked);
    }
  }
}

describe('writes, as the documents describe them', () => {
  const isBuilt = ({ operation }: OperationDescription) => !operation['x-not-implemented'];

  it('are all there, and things to write about', () => {
    expect(writes.filter(isBuilt).length).toBeGreaterThan(40);
    expect(Object.values(ids).every((id) => /^[\w-]+$/.test(id) && id !== 'undefined')).toBe(true);
  });

  it('answer what they say to what fits, what is spoilt, and nonsense', async () => {
    expect(await faults(requests(isBuilt))).toEqual([]);
  }, 120_000);

  it('leave behind what reads answer as they say', async () => {
    const asked = function* () {
      for (const described of operations.filter((one) => isBuilt(one) && one.method === 'GET'))
        yield () =>
          fault(
            server,
            described,
            targetOf(described, () => 0.5),
          );
    };
    expect(await faults(asked())).toEqual([]);
  }, 60_000);

  it('answer 501 where they are not built', async () => {
    const asked = function* () {
      for (const described of writes.filter((one) => !isBuilt(one)))
        yield () =>
          fault(server, described, filled(described.path), {
            headers: { 'content-type': 'application/json' },
            body: '{}',
          });
    };
    expect(await faults(asked())).toEqual([]);
  }, 120_000);

  it('leave a server that is well', async () => {
    expect((await fetch(`${server.url}/healthz/ready`)).status).toBe(200);
    expect(server.log()).not.toMatch(/"unhandled|Unhandled|FATAL/);
  });
});
