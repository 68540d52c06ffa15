import pg from 'pg';
import type { FeatureOutput, ItemsTask } from '../../../src/core/features/features.js';
import type { PostgisSource } from '../../../src/core/sources/vector-source.js';
import type { VectorLayerInfo } from '../../../src/core/tasks/vector-tasks.js';
import { discoverTables } from '../../../src/workers/providers/postgis/schema/discover.js';
import { postgisStore } from '../../../src/workers/providers/postgis/store.js';

/** A feature as the stores write it. */
export interface Feature {
  id: number | string;
  geometry: unknown;
  properties: Record<string, unknown>;
}

export const CRS84: FeatureOutput = { format: 'geojson', crs: 'OGC:CRS84', swapAxes: false, precision: 7 };

export function featuresOf(bytes: Uint8Array): Feature[] {
  return JSON.parse(`[${Buffer.from(bytes).toString('utf8')}]`) as Feature[];
}

/** Runs SQL as the owner of the database. */
export async function run(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

export async function layerOf(url: string, table: string, column?: string): Promise<VectorLayerInfo> {
  const { layers, problems } = await discoverTables({ database: url });
  const found = layers.find(({ source }) => {
    const { geometryColumn } = source as PostgisSource;
    return source.table === table && (column === undefined || geometryColumn === column);
  });
  if (!found) throw new Error(`${table} was not found: ${JSON.stringify(problems)}`);
  return found;
}

/** A page of features, whole. */
export async function page(source: PostgisSource, task: Partial<ItemsTask> = {}) {
  const result = await postgisStore.items({
    filter: undefined,
    ...CRS84,
    source,
    limit: 1000,
    offset: 0,
    ...task,
  });
  const features = featuresOf(result.features);
  return { ...result, list: features, ids: features.map(({ id }) => id) };
}
