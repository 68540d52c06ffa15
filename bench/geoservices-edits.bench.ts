import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildings } from './support/buildings.js';
import { cpuSeconds } from './support/load.js';
import { option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';

/** 1,000 polygons that are added, changed and deleted, by `applyEdits` and by the batch of OGC API Features. */

const rounds = option('rounds', 5);
const FEATURES = 1000;
const MOST = 1.1;
const KEY = 'key-of-the-bench-1';

interface Feature {
  id: number;
  geometry: { coordinates: number[][][] };
  properties: Record<string, unknown>;
}

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const path = join(folder, 'buildings.gpkg');
copyFileSync(buildings(FEATURES, 4326).path, path);
const server = await startGraticule([path], { port: 18_093, cores: '0', env: { SVC_ADMIN_KEY: KEY } });

async function call(at: string, contentType?: string, body?: string) {
  const headers = { 'x-api-key': KEY, ...(contentType ? { 'content-type': contentType } : {}) };
  const response = await fetch(
    server.origin + at,
    body === undefined ? { headers } : { method: 'POST', headers, body },
  );
  const answer = await response.json();
  if (!response.ok || answer.error) throw new Error(`${at}: ${JSON.stringify(answer).slice(0, 300)}`);
  return answer;
}

const { collections } = await call('/?f=json');
const [{ id: collection, layerId }] = collections;
const items = `/ogc/features/collections/${collection}/items`;
const { features } = (await call(`${items}?f=json&limit=${FEATURES}`)) as { features: Feature[] };

/** Ids of new features in their order. */
type Edit = (kind: 'add' | 'update' | 'delete', ids: readonly number[]) => Promise<number[]>;

const byBatch: Edit = async (kind, ids) => {
  const type = { add: 'CREATE', update: 'UPDATE', delete: 'DELETE' }[kind];
  const operations = features.map(({ geometry, properties }, i) => ({
    ...{ type, ...(kind === 'add' ? {} : { featureId: String(ids[i]) }) },
    ...(kind === 'delete' ? {} : { feature: { type: 'Feature', geometry, properties } }),
  }));
  const { results, hasErrors } = await call(
    `${items}/batch`,
    'application/json',
    JSON.stringify({ operations }),
  );
  if (hasErrors) throw new Error('operations of the batch failed');
  return results.map(({ featureId }: { featureId: string }) => Number(featureId));
};

const layer = `/rest/services/default/FeatureServer/${layerId}`;
const byApplyEdits: Edit = async (kind, ids) => {
  const list = features.map(({ geometry, properties }, i) => ({
    geometry: {
      rings: geometry.coordinates.map((ring) => ring.toReversed()),
      spatialReference: { wkid: 4326 },
    },
    attributes: { ...properties, ...(kind === 'add' ? {} : { fid: ids[i] }) },
  }));
  const form = new URLSearchParams({
    ...{ f: 'json', [`${kind}s`]: kind === 'delete' ? ids.join(',') : JSON.stringify(list) },
  });
  const answer = await call(`${layer}/applyEdits`, 'application/x-www-form-urlencoded', form.toString());
  const results: { success: boolean; objectId: number }[] = answer[`${kind}Results`];
  if (results.length !== FEATURES || results.some(({ success }) => !success)) throw new Error('edits failed');
  return results.map(({ objectId }) => objectId);
};

const CONTENDERS = { 'OGC batch': byBatch, applyEdits: byApplyEdits };
const KINDS = ['add', 'update', 'delete'] as const;
const costs = new Map<string, { 'CPU ms': number[]; 'wall ms': number[] }>();
const serverCpu = () => server.pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0) * 1e3;

try {
  for (let round = 0; round <= rounds; round++)
    for (const [name, edit] of Object.entries(CONTENDERS)) {
      let ids: number[] = [];
      for (const kind of KINDS) {
        const [before, begin] = [serverCpu(), performance.now()];
        ids = await edit(kind, ids);
        const cost = costs.get(`${name}, ${kind}`) ?? { 'CPU ms': [], 'wall ms': [] };
        costs.set(`${name}, ${kind}`, cost);
        // The first round warms up.
        if (round === 0) continue;
        cost['CPU ms'].push(serverCpu() - before);
        cost['wall ms'].push(performance.now() - begin);
      }
    }
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}

const cpuOf = (name: string, round: number) =>
  KINDS.reduce((sum, kind) => sum + costs.get(`${name}, ${kind}`)!['CPU ms'][round]!, 0);
publish({
  bench: 'geoservices-edits',
  command: `./run bench geoservices-edits --rounds ${rounds}`,
  about: `${FEATURES} synthetic buildings of 21 positions in the mean are added to a GeoPackage, changed and deleted, in one request each, which the server with all its threads on core 0 answers when they are on the disk. CPU is that of the processes that answer requests.`,
  figures: [...costs].map(([name, list]) => ({ name, rounds: list })),
  ratios: [
    {
      what: 'CPU of all three, applyEdits / OGC batch',
      rounds: Array.from({ length: rounds }, (_, i) => cpuOf('applyEdits', i) / cpuOf('OGC batch', i)),
      most: MOST,
    },
  ],
});
