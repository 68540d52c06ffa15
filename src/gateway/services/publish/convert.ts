import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isCsv } from '../../../core/csv.js';
import { TaskFailure } from '../../../core/tasks.js';
import { titleOf } from './collections.js';
import { slug } from './names.js';
import { INSPECT_DEADLINE_MS, type PublishDeps } from './source.js';

const IMPORT_DEADLINE_MS = 600_000;

/** Part of the names of copies: changes with how they are made. */
const MAKE = 4;

/**
 * Other vector files become a GeoPackage once; the copy is used until the file changes. It has the coordinates of the file,
 * and no CRS where the file names none: so one that is stated later needs no other copy.
 */
export async function convert(path: string, version: string, deps: PublishDeps): Promise<string> {
  const folder = join(deps.dataDir, 'converted');
  const store = join(folder, `${version}-${MAKE}.gpkg`);
  if (existsSync(store)) return store;
  await mkdir(folder, { recursive: true });
  const layers = await deps.pools.run('ogr.inspect', { path }, { deadlineMs: INSPECT_DEADLINE_MS });
  const spatial = layers.filter((layer) => layer.featureCount !== 0);
  if (spatial.length === 0)
    throw new TaskFailure('source-unreadable', 'The file has no features with a geometry.');
  const partial = `${store}.${process.pid}.partial`;
  try {
    deps.onConversion?.(path, 0);
    const tables = tableNames(spatial.map(({ name }) => name));
    for (const [i, { name }] of spatial.entries()) {
      const onProgress = (part: number) => deps.onConversion?.(path, (i + part) / spatial.length);
      const table = tables[i]!;
      await convertLayer({ path, layer: name, store: partial, table }, deps, onProgress);
    }
    // Renaming publishes the copy at once; a crash before leaves only the partial file.
    await rename(partial, store);
  } finally {
    deps.onConversion?.(path, 1);
    for (const suffix of ['', '-wal', '-shm', '.staging.gpkg']) await rm(partial + suffix, { force: true });
  }
  return store;
}

/** Longest name of a table, with room for a number. */
const NAME_LENGTH = 56;

/** Names of tables for layers: alike and foreign ones are told apart by numbers. */
function tableNames(layers: readonly string[]): string[] {
  const taken = new Set<string>();
  return layers.map((layer) => {
    const plain = slug(layer).replace(/-/g, '_').slice(0, NAME_LENGTH);
    let name = plain;
    for (let n = 2; taken.has(name); n++) name = `${plain}_${n}`;
    taken.add(name);
    return name;
  });
}

/** Part of a conversion that is done when all is read. */
const READ = 0.7;

async function convertLayer(
  { path, layer, store, table }: { path: string; layer: string; store: string; table: string },
  deps: PublishDeps,
  onProgress: (fraction: number) => void,
): Promise<void> {
  const staging = `${store}.staging.gpkg`;
  await rm(staging, { force: true });
  const deadline = { deadlineMs: IMPORT_DEADLINE_MS };
  await deps.pools.run(
    'ogr.translate',
    { path, layer, output: staging, table, mayLackCrs: true },
    { ...deadline, onProgress: (part) => onProgress(part * READ) },
  );
  await deps.pools.run(
    'vector.load',
    {
      staging,
      stagingTable: table,
      store,
      table,
      title: titleOf(layer),
      untyped: isCsv(path),
      keepIds: true,
    },
    { ...deadline, onProgress: (part) => onProgress(READ + part * (1 - READ)) },
  );
}
