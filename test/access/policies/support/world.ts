import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../../support/postgres.js';
import { startServer } from '../../../support/server.js';
import { query } from './database.js';
import { type Audience, type Layer, Oracle, TREATED } from './oracle.js';
import { CLOSED_RASTER, RASTER_FILE } from './processes.js';

/** Tables of both stores with the same rows, rules about them, and a key for each kind of caller. */
export interface World {
  readonly url: string;
  readonly oracle: Oracle;
  readonly stores: readonly string[];
  layer(id: string): Layer;
  /** Undefined for callers without one. */
  keyOf(audience: Audience): string | undefined;
  /** What a management operation answers; rejects when that is no success. */
  admin<T = Record<string, never>>(method: string, path: string, body?: unknown): Promise<T>;
  fetch(
    audience: Audience,
    path: string,
    init?: { method?: string; body?: unknown; headers?: object },
  ): Promise<Response>;
  /** Runs SQL in the database. */
  sql(text: string): Promise<void>;
  /** Has the server read its sources again. */
  reload(): void;
  log(): string;
  stop(): Promise<void>;
}

const TABLES = ['sites', 'closed', 'others'];
const STORES = ['gp', 'pg'];

const ROWS = `SELECT i AS id, (ARRAY['CHE','FRA','ITA'])[1 + i % 3] AS country,
    CASE WHEN i IN (1, 24) THEN 4 ELSE 1 + i % 4 END AS level,
    'tkn' || lpad(i::text, 2, '0') || 'q7' AS token,
    'snt' || lpad(i::text, 2, '0') || 'z4' AS hidden_note, 700000 + i * 1013 AS hidden_amount,
    ST_SetSRID(ST_MakePoint(5 + i * 0.7310123, 45 + i * 0.2930457), 4326) AS geom
  FROM generate_series(1, 24) i`;

export async function startWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-matrix-'));
  const postgres = await startPostgres();
  const sql = (text: string) => query(postgres.url, text);
  await sql(STORES.flatMap((store) => TABLES.map((table) => tableOf(`${store}_${table}`))).join('\n'));
  const oracle = await Oracle.read(sql, 'pg_sites');
  const file = join(folder, 'gp.gpkg');
  const raster = join(folder, RASTER_FILE);
  const covering = ['-outsize', '60', '40', '-a_ullr', '0', '60', '30', '40', '-a_srs', 'EPSG:4326'];
  execFileSync('gdal_create', ['-q', ...covering, '-burn', '7', raster]);
  const tables = TABLES.map((table) => `gp_${table}`);
  execFileSync('ogr2ogr', ['-f', 'GPKG', file, `PG:${postgres.url}`, ...tables]);
  await sql(tables.map((table) => `DROP TABLE ${table};`).join('\n'));
  const server = await startServer({
    sources: [file, postgres.url, raster, 'demo/data/L7_ETMs.tif'],
  });
  const keys = new Map<Audience, string | undefined>();
  const { collections } = (await (await fetch(`${server.url}/?f=json`)).json()) as { collections: Layer[] };
  const world: World = {
    url: server.url,
    oracle,
    stores: STORES,
    layer: (id) => collections.find((one) => one.id === id)!,
    keyOf: (audience) => keys.get(audience),
    async admin<T>(method: string, path: string, body?: unknown): Promise<T> {
      const response = await world.fetch('administrator', `/api/v1/admin${path}`, { method, body });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return (JSON.parse(text) as { data: T }).data;
    },
    fetch(audience, path, { method = 'GET', body, headers = {} } = {}) {
      const key = keys.get(audience);
      return fetch(server.url + path, {
        method,
        headers: {
          ...(key === undefined ? {} : { 'x-api-key': key }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    },
    sql: async (text) => void (await sql(text)),
    reload: () => void server.reload(),
    log: () => server.log(),
    async stop() {
      await server.stop();
      await postgres.stop();
      rmSync(folder, { recursive: true });
    },
  };
  keys.set('administrator', server.adminKey);
  await addRules(world);
  await addKeys(world, keys);
  return world;
}

const tableOf = (name: string) => `CREATE TABLE ${name} AS ${ROWS};
  ALTER TABLE ${name} ADD PRIMARY KEY (id);
  ALTER TABLE ${name} ALTER geom TYPE geometry(Point, 4326);`;

async function addRules({ admin, layer }: World): Promise<void> {
  for (const name of ['limited', 'masked', 'both', ...TREATED]) await admin('POST', '/roles', { name });
  await admin('PUT', `/services/default/layers/${layer(CLOSED_RASTER).layerId}/metadata`, {
    accessPolicy: { allowAnonymous: false },
  });
  for (const store of STORES) {
    const sites = `${store}_sites`;
    const of = (role: string, attribute: string) => ({ service: 'default', layer: sites, role, attribute });
    for (const role of ['limited', 'both'])
      for (const attribute of ['country', 'level'])
        await admin('POST', '/rls-policies', { ...of(role, attribute), claimType: attribute });
    for (const role of ['masked', 'both'])
      for (const attribute of ['hidden_note', 'hidden_amount'])
        await admin('POST', '/field-mask-policies', of(role, attribute));
    for (const attribute of ['hidden_note', 'hidden_amount'])
      for (const [role, treatment] of treatmentsOf(attribute))
        await admin('POST', '/field-mask-policies', { ...of(role, attribute), ...treatment });
    await admin('PUT', `/services/default/layers/${layer(`${store}_closed`).layerId}/metadata`, {
      accessPolicy: { allowAnonymous: false },
    });
    const { layerId } = layer(sites);
    await admin('PUT', `/metadata/layers/${layerId}/style`, { mapLibreStyle: styleOf(sites) });
    await admin('PUT', `/metadata/layers/${layerId}/popup-info`, {
      title: '{hidden_note}',
      fieldInfos: [{ fieldName: 'hidden_amount' }, { fieldName: 'token' }],
    });
  }
}

/** Numbers are not cut short. */
const treatmentsOf = (attribute: string): [Audience, object][] => [
  ['nulled', { treatment: 'null' }],
  ['hashed', { treatment: 'hash' }],
  ['truncated', attribute === 'hidden_note' ? { treatment: 'truncate', length: 3 } : { treatment: 'null' }],
];

/** To execute processes, to read their jobs, and to export layers. */
const WORK = ['processes:execute', 'processes:read', 'admin:services:read'];

async function addKeys({ admin }: World, keys: Map<Audience, string | undefined>): Promise<void> {
  const issue = (...permissions: string[]) =>
    admin<{ apiKey: { id: string }; key: string }>('POST', '/api-keys', {
      name: 'matrix',
      permissions: [...permissions, ...WORK],
    });
  // So many that PostgreSQL takes a filter of the caller for cheaper than the rule.
  const others = Array.from({ length: 40 }, (_, i) => `claim:country=X${i}`);
  const claims = ['claim:country=CHE', 'claim:country=FRA', ...others, 'claim:level=1', 'claim:level=2'];
  keys.set('reader', (await issue('role:reader')).key);
  keys.set('limited', (await issue('role:limited', ...claims)).key);
  keys.set('claimless', (await issue('role:limited')).key);
  keys.set('unfit', (await issue('role:limited', 'claim:country=CHE', 'claim:level=none')).key);
  keys.set('masked', (await issue('role:masked')).key);
  for (const role of TREATED) keys.set(role, (await issue(`role:${role}`)).key);
  keys.set('both', (await issue('role:both', ...claims)).key);
  const { apiKey, key } = await issue('role:reader');
  await admin('POST', `/api-keys/${apiKey.id}/revoke`);
  keys.set('revoked', key);
}

/** A style that tells of what masks hide, and of nothing else. */
const styleOf = (id: string) => ({
  version: 8,
  sources: { collection: { type: 'vector' } },
  layers: [
    {
      id: 'sites',
      type: 'circle',
      source: 'collection',
      'source-layer': id,
      paint: {
        'circle-radius': 5,
        'circle-color': ['case', ['==', ['get', 'hidden_note'], 'none'], '#ff0000', '#00ff00'],
      },
    },
  ],
});
