import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median, publishPart } from './report.js';
import { startGraticule } from './server.js';

const SOURCE_PORT = 18_093;
const TARGET_PORT = 18_094;
const KEY = 'bench-bench-bench-bench';
const HEADERS = { 'x-api-key': KEY, 'content-type': 'application/json' };
/** Layers at each end whose cost is compared. */
const END = 50;
/** Milliseconds between looks, which read all layers of the batch. */
const POLL_MS = 1000;

interface Batch {
  batchId: string;
  status: string;
  succeededChildren: number;
  failedChildren: number;
}

async function call(url: string, body?: unknown): Promise<Batch> {
  const options = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(url, { headers: HEADERS, ...options });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text) as Batch;
}

async function layerOf(origin: string, name: string): Promise<number> {
  const response = await fetch(`${origin}/rest/services/default/FeatureServer?f=json`);
  const { layers } = (await response.json()) as { layers: { id: number; name: string }[] };
  return layers.find((layer) => layer.name.toLowerCase().startsWith(name))!.id;
}

/** Seconds after the start at which each layer was seen to be there. */
async function migrate(layers: number): Promise<number[]> {
  const work = mkdtempSync(join(tmpdir(), 'graticule-migration-'));
  const source = await startGraticule(['demo/data/world_map.gpkg'], { port: SOURCE_PORT, cores: '0-1' });
  const target = await startGraticule([], {
    ...{ port: TARGET_PORT, cores: '0-1', dataDir: work },
    env: { SVC_REMOTE__ALLOW: '["127.0.0.1"]' },
  });
  try {
    const serviceUrl = `${source.origin}/rest/services/default/FeatureServer`;
    const layerId = await layerOf(source.origin, 'disputed');
    const migrations = `${target.origin}/api/v1/admin/import/migrations`;
    const began = performance.now();
    const { batchId } = await call(migrations, {
      sourceKind: 'geoservices',
      layers: Array.from({ length: layers }, (_, i) => ({
        ...{ sourceResourceId: `layer-${i}`, serviceUrl, layerId },
        tableName: `migrated_${i}`,
      })),
    });
    const times: number[] = [];
    for (;;) {
      const batch = await call(`${migrations}/${batchId}`);
      while (times.length < batch.succeededChildren) times.push((performance.now() - began) / 1000);
      if (batch.failedChildren > 0) throw new Error(JSON.stringify(batch).slice(0, 1000));
      if (times.length >= layers) return times;
      await sleep(POLL_MS);
    }
  } finally {
    await target.stop();
    await source.stop();
    rmSync(work, { recursive: true });
  }
}

/** Measures the cost of a layer at the start and at the end of a large migration. */
export async function measureMigration(layers: number, rounds: number): Promise<void> {
  const first: number[] = [];
  const last: number[] = [];
  const all: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const times = await migrate(layers);
    // The first layer starts the processes that read and write.
    first.push((times[END]! - times[0]!) / END);
    last.push((times.at(-1)! - times[layers - 1 - END]!) / END);
    all.push(times.at(-1)!);
  }
  publishPart('migration', {
    bench: 'catalog',
    command: `./run bench catalog --part migration --rounds ${rounds}`,
    about: `A migration of ${layers} layers (46 lines each) from another Graticule server over GeoServices into an empty server: milliseconds per layer of the first and of the last ${END} layers, the first one aside; seconds of the migration.`,
    figures: [
      {
        name: `${layers} layers`,
        rounds: {
          'first ms': first.map((s) => s * 1000),
          'last ms': last.map((s) => s * 1000),
          'all s': all,
        },
      },
    ],
    ratios: [
      {
        what: `a layer of the last ${END} / of the first ${END}`,
        rounds: last.map((s, i) => s / first[i]!),
        most: 1.2,
      },
    ],
    notes: [`Median of a layer, of the whole migration: ${((median(all) * 1000) / layers).toFixed(0)} ms.`],
  });
}
