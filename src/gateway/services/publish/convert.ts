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
const MAKE = 3;

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
    for (const layer of spatial) await convertLayer(path, layer.name, partial, deps);
    // Renaming publishes the copy at once; a crash before leaves only the partial file.
    await rename(partial, store);
  } finally {
    for (const suffix of ['', '-wal', '-shm', '.staging.gpkg']) await rm(partial + suffix, { force: true });
  }
  return store;
}

async function convertLayer(path: string, layer: string, store: string, deps: PublishDeps): Promise<void> {
  const staging = `${store}.staging.gpkg`;
  const table = slug(layer).replace(/-/g, '_');
  await rm(staging, { force: true });
  const options = { deadlineMs: IMPORT_DEADLINE_MS };
  await deps.pools.run('ogr.translate', { path, layer, output: staging, table, mayLackCrs: true }, options);
  await deps.pools.run(
    'vector.load',
    { staging, stagingTable: table, store, table, title: titleOf(layer), untyped: isCsv(path) },
    options,
  );
}
