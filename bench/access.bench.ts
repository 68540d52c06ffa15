import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from '../src/native/sqlite.js';
import { buildings, TILE_SIDE, ZOOM } from './support/buildings.js';
import { load, type Sample } from './support/load.js';
import { option, publish } from './support/report.js';
import { type GraticuleServer, startGraticule } from './support/server.js';

/**
 * What it costs to ask who may see what: a tile from the cache for a key against one for a stranger; a tile that no cache
 * holds with a policy for rows against the same CQL2 filter; and both again in a state with 100,000 users, 10,000 keys
 * and 10,000 policies.
 */
const rounds = option('rounds', 7);
const seconds = option('seconds', 3);
const [USERS, KEYS, POLICIES] = [100_000, 10_000, 10_000];
const CORES = { server: '0', load: 1 };
const ADMIN = 'bench-bench-bench-bench';
const FILTER = "kind = 'garage'";

const { path } = buildings(200_000, 3857);
const tiles = Array.from({ length: 16 }, (_, i) => {
  const [column, row] = [8192 + 410 + (i % 4), 8191 - 2490 - (i >> 2)];
  return `/tiles/{layer}/${ZOOM}/${column}/${row}.mvt`;
});

interface World {
  readonly server: GraticuleServer;
  readonly layer: string;
  /** Of a reader, and of one who sees the garages only. */
  readonly keys: { reader: string; limited: string };
}

async function admin(server: GraticuleServer, route: string, body: object): Promise<Record<string, string>> {
  const response = await fetch(`${server.origin}/api/v1/admin${route}`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${route}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: Record<string, string> }).data;
}

async function startWorld(dataDir: string, port: number, env: Record<string, string>): Promise<World> {
  const server = await startGraticule([path], { port, cores: CORES.server, env, dataDir });
  const { collections } = (await (await fetch(`${server.origin}/?f=json`)).json()) as {
    collections: { id: string }[];
  };
  const layer = collections[0]!.id;
  await admin(server, '/roles', { name: 'limited' });
  const scope = { service: 'default', layer, role: 'limited' };
  await admin(server, '/rls-policies', { ...scope, attribute: 'kind', claimType: 'kind' });
  const key = async (...permissions: string[]) =>
    (await admin(server, '/api-keys', { name: 'bench', permissions }))['key']!;
  const keys = {
    reader: await key('role:reader'),
    limited: await key('role:limited', 'claim:kind=garage'),
  };
  return { server, layer, keys };
}

/** Rows as the server writes them; the policies are about layers that come and go. */
function fill(dataDir: string): void {
  const db = new Database(join(dataDir, 'state.db'));
  const now = Date.now();
  const numbers = (count: number) =>
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
  db.exec(`${numbers(USERS)} INSERT INTO users (id, name, display_name, email, password_hash, roles_json, claims_json,
      source, provider_id, subject, tenant_id, is_active, failures, locked_until, created_at, updated_at)
    SELECT 'u' || i, 'user' || i, 'User ' || i, NULL, NULL, '["reader"]', '{}', 'manual', NULL, NULL, NULL, 1, 0, 0,
      ${now}, ${now} FROM n`);
  db.exec(`${numbers(KEYS)} INSERT INTO api_keys (id, name, prefix, hash, permissions_json, created_at, created_by,
      updated_at, expires_at, last_used_at, rotated_at, revoked_at)
    SELECT 'k' || i, 'key', 'grt_', 'hash' || i, '["role:reader"]', ${now}, NULL, ${now}, NULL, NULL, NULL, NULL
    FROM n`);
  db.exec(`${numbers(POLICIES)} INSERT INTO documents (kind, id, version, etag, body_json, created_at, created_by,
      updated_at, updated_by)
    SELECT 'row-level policy', 'p' || i, 1, 'e' || i, json_object('service', 'default', 'layer', 'layer' || i, 'role',
      'limited', 'attribute', 'kind', 'claimType', 'kind' || (i % 100), 'comparison', 'in', 'description', NULL),
      ${now}, NULL, ${now}, NULL FROM n`);
  db.close();
}

interface Contender {
  readonly name: string;
  readonly world: World;
  readonly key?: string;
  readonly query: string;
}

async function measure(contenders: readonly Contender[]): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const { name, world, key, query } of contenders) {
      const sample = await load({
        ...world.server,
        paths: tiles.map((tile) => tile.replace('{layer}', world.layer) + query),
        headers: key === undefined ? {} : { 'X-API-Key': key },
        ...{ seconds, connections: name.startsWith('made') ? 4 : 32, core: CORES.load },
      });
      if (sample.errors > 0) throw new Error(`${name}: ${sample.errors} errors`);
      if (round > 0) samples.get(name)!.push(sample);
    }
  }
  return samples;
}

const folders = ['small', 'large'].map((name) => mkdtempSync(join(tmpdir(), `graticule-bench-${name}-`)));
const worlds: World[] = [];
for (const [i, dataDir] of folders.entries()) {
  // The state is made by a first start.
  if (i === 1) {
    const first = await startGraticule([path], { port: 18_191, cores: CORES.server, dataDir });
    await first.stop();
    fill(dataDir);
  }
  worlds.push(await startWorld(dataDir, 18_192 + i, {}));
}
const [small, large] = worlds as [World, World];
const filter = `?filter=${encodeURIComponent(FILTER)}`;
const samples = await measure([
  { name: 'cached, anonymous', world: small, query: '' },
  { name: 'cached, key', world: small, key: small.keys.reader, query: '' },
  { name: 'cached, key, large state', world: large, key: large.keys.reader, query: '' },
  // What clients select is kept by no cache, with a policy or without.
  { name: 'made, policy', world: small, key: small.keys.limited, query: '?properties=kind,name' },
  {
    name: 'made, policy, large state',
    world: large,
    key: large.keys.limited,
    query: '?properties=kind,name',
  },
  { name: 'made, filter and properties', world: small, query: `${filter}&properties=kind,name` },
]);
for (const { server } of worlds) await server.stop();
for (const folder of folders) rmSync(folder, { recursive: true });

const ratio = (a: string, b: string) =>
  samples.get(a)!.map((sample, i) => sample.requestsPerSecond / samples.get(b)![i]!.requestsPerSecond);
publish({
  bench: 'access',
  command: `./run bench access --rounds ${rounds} --seconds ${seconds}`,
  about: `16 tiles of 5,041 synthetic buildings (${TILE_SIDE.toFixed(0)} m a side), shuffled, 32 connections (4 where tiles are made); server with all its threads on core ${CORES.server}, wrk on core ${CORES.load}. The large state has ${USERS} users, ${KEYS} keys and ${POLICIES} policies.`,
  figures: [...samples].map(([name, list]) => ({
    name,
    rounds: {
      'requests/s': list.map((sample) => sample.requestsPerSecond),
      'CPU us/request': list.map((sample) => sample.cpuMicrosPerRequest),
      'p99 ms': list.map((sample) => sample.p99Ms),
    },
  })),
  ratios: [
    {
      what: 'cached tiles, with a key / anonymous',
      rounds: ratio('cached, key', 'cached, anonymous'),
      goal: 0.97,
    },
    {
      what: 'cached tiles, large state / small',
      rounds: ratio('cached, key, large state', 'cached, key'),
      goal: 0.97,
    },
    {
      what: 'tiles that are made, policy / the same filter',
      rounds: ratio('made, policy', 'made, filter and properties'),
      goal: 0.97,
    },
    {
      what: 'tiles that are made, large state / small',
      rounds: ratio('made, policy, large state', 'made, policy'),
      goal: 0.97,
    },
  ],
});
