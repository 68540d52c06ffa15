import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startPostgres } from '../test/support/postgres.js';
import { CoverageProbe } from './support/coverage.js';
import { loadBuildings } from './support/postgis.js';
import { publish } from './support/report.js';
import { startGraticule } from './support/server.js';

/**
 * How many files of src a request enters, in all threads and processes: those in which a function ran, by the coverage of
 * V8. Each request was made twice before. Files that also run on an idle server are omitted.
 */
const PORT = 18_095;
const KEY = 'bench-bench-bench-bench';
const ROWS = 2000;
/** Longer than the intervals of most timers. */
const IDLE_MS = 12_000;
const JOB_MS = 60_000;

interface Way {
  readonly name: string;
  /** Most files by the issue that asked for this bench. */
  readonly most: number;
  /** `n` is another number each time. */
  request(n: number): Promise<unknown>;
}

const postgres = await startPostgres();
const dataDir = mkdtempSync(join(tmpdir(), 'graticule-ways-data-'));
const probe = new CoverageProbe();
loadBuildings(postgres.url, 'buildings', ROWS, 3857);
const server = await startGraticule(['demo/data/world_map.gpkg', postgres.url], {
  port: PORT,
  cores: '0,1',
  dataDir,
  env: { ...probe.env, SVC_ADMIN_KEY: KEY },
});

async function send(method: string, path: string, body?: unknown, key = KEY): Promise<Response> {
  const response = await fetch(server.origin + path, {
    method,
    headers: {
      ...(key ? { 'x-api-key': key } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}

async function json<T>(method: string, path: string, body?: unknown): Promise<T> {
  return (await send(method, path, body)).json() as Promise<T>;
}

const read = async (path: string, key?: string) => (await send('GET', path, undefined, key)).arrayBuffer();

interface Listed {
  readonly id: string | number;
  readonly title?: string;
  readonly name?: string;
}

interface Feature {
  readonly id: number;
  readonly geometry: { readonly coordinates: number[][][][] };
}

/** The table of the database, which is published some time after the start. */
async function untilListed(path: string, list: string, member: 'id' | 'title' | 'name'): Promise<Listed> {
  for (const end = Date.now() + JOB_MS; Date.now() < end; await pause(200)) {
    const entry = (await json<Record<string, Listed[]>>('GET', path))[list]!.find((one) =>
      `${one[member]}`.toLowerCase().includes('buildings'),
    );
    if (entry) return entry;
  }
  throw new Error(`${path} does not list the buildings`);
}

/** Waits for a job of a process. */
async function execute(inputs: object, collection: string): Promise<void> {
  const response = await fetch(`${server.origin}/ogc/processes/processes/geometry.buffer/execution`, {
    method: 'POST',
    headers: { 'x-api-key': KEY, 'content-type': 'application/json', prefer: 'respond-async' },
    body: JSON.stringify({ inputs, outputs: { features: { publish: { collection } } } }),
  });
  if (response.status !== 201) throw new Error(`execution: ${response.status} ${await response.text()}`);
  const job = response.headers.get('location')!;
  const path = job.startsWith('http') ? new URL(job).pathname : job;
  for (const end = Date.now() + JOB_MS; Date.now() < end; await pause(200)) {
    const { status, message } = await json<{ status: string; message: string }>('GET', path);
    if (status === 'successful') return;
    if (status === 'failed') throw new Error(message);
  }
  throw new Error('the job takes too long');
}

try {
  const { id: buildings } = await untilListed('/ogc/features/collections?f=json', 'collections', 'id');
  const { features } = await json<{ features: Feature[] }>(
    'GET',
    `/ogc/features/collections/${buildings}/items?limit=3&f=json`,
  );
  const layer = await untilListed('/ogc/tiles/collections?f=json', 'collections', 'title');
  await json('POST', '/api/v1/admin/rls-policies', {
    ...{ service: '*', layer: buildings, role: 'reader', attribute: 'kind', claimType: 'kind' },
  }).catch(() => undefined);
  const [longitude, latitude] = features[0]!.geometry.coordinates.flat(3) as unknown as [number, number];
  /** Requests a tile of another zoom level each time, because a repeated one would be cached. */
  const tile = (n: number) => {
    const zoom = 12 + (n % 8);
    const radians = (latitude * Math.PI) / 180;
    const x = Math.floor(((longitude + 180) / 360) * 2 ** zoom);
    const y = Math.floor(((1 - Math.asinh(Math.tan(radians)) / Math.PI) / 2) * 2 ** zoom);
    return read(`/ogc/tiles/collections/${layer.id}/tiles/WebMercatorQuad/${zoom}/${y}/${x}`);
  };
  const service = '/rest/services/default/FeatureServer';
  const esri = await untilListed(`${service}?f=json`, 'layers', 'name');
  const ways: Way[] = [
    {
      name: 'a cached tile, without a key',
      most: 20,
      request: () => read('/ogc/tiles/collections/countries/tiles/WebMercatorQuad/2/1/2', ''),
    },
    { name: 'a tile of PostGIS', most: 70, request: tile },
    {
      name: 'items of PostGIS, with CQL2',
      most: 75,
      request: (n) =>
        read(
          `/ogc/features/collections/${buildings}/items?limit=10&filter=${encodeURIComponent(`levels > ${n % 5} AND height < ${1000 + n}`)}`,
        ),
    },
    {
      name: 'applyEdits of three rows',
      most: 90,
      request: (n) =>
        postForm(`${service}/${esri.id}/applyEdits`, {
          f: 'json',
          updates: JSON.stringify(
            features.map(({ id }) => ({ attributes: { fid: id, levels: 1 + (n % 7) } })),
          ),
        }),
    },
    {
      name: 'a process to its published result',
      most: 130,
      request: (n) => execute({ features: { collection: 'countries' }, distance: 1000 }, `buffered_${n}`),
    },
    {
      name: 'POST of a rate limit',
      most: 45,
      request: (n) =>
        json('POST', '/api/v1/admin/rate-limits', {
          ...{ name: `limit ${n}`, scope: 'api-key', key: `nobody-${n}` },
          ...{ requestsPerWindow: 1000, windowDurationSeconds: 60 },
        }),
    },
  ];
  const figures = [];
  const notes: string[] = [];
  let n = 0;
  for (const { name, most, request } of ways) {
    for (let i = 0; i < 2; i++) await request(n++);
    await probe.take();
    await pause(IDLE_MS);
    const idle = await probe.take();
    await request(n++);
    const files = [...(await probe.take())].filter((path) => !idle.has(path)).sort();
    figures.push({ name, rounds: { files: [files.length], 'at most': [most] } });
    if (process.argv.includes('--list'))
      console.log(`\n${name}\n${files.map((path) => `  ${path}`).join('\n')}`);
    notes.push(
      `${name}: ${files.length} files (at most ${most}: ${files.length <= most ? 'met' : 'MISSED'})`,
    );
  }
  publish({
    bench: 'ways',
    command: './run bench ways',
    about:
      'Files of src in which a function runs for one request, in all threads and processes, by the coverage of V8. Files that also run on an idle server are omitted. Each request was made twice before. `--list` prints the files.',
    figures,
    ratios: [],
    notes,
  });
} finally {
  await server.stop();
  await postgres.stop();
  probe.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function postForm(path: string, fields: Record<string, string>): Promise<void> {
  const response = await fetch(server.origin + path, {
    method: 'POST',
    headers: { 'x-api-key': KEY },
    body: new URLSearchParams(fields),
  });
  const { error } = (await response.json()) as { error?: object };
  if (error) throw new Error(JSON.stringify(error));
}
