import { existsSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { COMMAND_LINE } from '../services/access/identity/submitter.js';
import { FolderNames } from '../services/catalog/folder-names.js';
import { ARCHIVE, GRIDDED, getFileStem, RASTER, reasonNotRead } from '../services/catalog/publish/formats.js';
import { isStac } from '../services/catalog/publish/stac.js';
import { tableName } from '../services/catalog/table-name.js';
import { ImportService } from '../services/exchange/import.js';
import { JobEngine } from '../services/jobs/engine.js';
import { folderName } from '../stores/database/private-files.js';
import { openConfiguredState } from '../stores/state/state.js';
import { CommandError } from './command-error.js';
import { followJob } from './follow-job.js';
import { notifyServer, withPools } from './local.js';
import { type MergeOptions, mergeFile } from './merge.js';
import { resolveConfig } from './settings.js';

export interface ImportOptions extends MergeOptions {
  layer?: string;
  name?: string;
  title?: string;
  crs?: string;
  /** Collection that the rows go into. */
  into?: string;
}

/** `graticule import FILE`: loads a vector file into the store as a durable job, with a progress bar. */
export async function runFileImport(file: string, options: ImportOptions): Promise<void> {
  const path = resolve(file);
  if (!existsSync(path)) throw new CommandError(`${file}: the file does not exist.`);
  const refusal = findRefusal(path);
  if (refusal !== undefined) throw new CommandError(`${file}: cannot be imported. ${refusal}`);
  if (options.into !== undefined) return mergeFile(path, options.into, options);
  if (options.mode ?? options.key ?? options.rejectRows)
    throw new CommandError(
      '--mode, --key and --reject-rows: are only for imports into a collection. Add --into COLLECTION.',
    );
  const { config } = resolveConfig({ 'data.directory': options.dataDir }, options.config);
  const dataDir = resolve(config.data.directory);
  if (await isStac(path)) return importStac(path, options, dataDir);
  const state = await openConfiguredState(config);
  const folder = config.state.url === '' ? undefined : folderName(dataDir);
  const jobs = new JobEngine(state.jobs, {
    folder,
    owner: COMMAND_LINE,
    onError: (error: unknown) => process.stderr.write(`${String(error)}\n`),
  });
  try {
    await withPools(async (pools) => {
      const slugs = new Set((await state.collections.list()).map((collection) => collection.slug));
      const imports = new ImportService({
        pools,
        jobs,
        dataDir,
        publish: async () => void notifyServer(dataDir),
        isPublished: (id) => slugs.has(id),
        names: new FolderNames({ documents: state.documents, folder }),
      });
      jobs.start();
      const table = tableName(options.name ?? getFileStem(path));
      const input = { file: path, layer: options.layer, table, title: options.title, sourceCrs: options.crs };
      const job = await imports.submit(input, { owner: COMMAND_LINE });
      await followJob(jobs, job.id);
      process.stdout.write(`imported into the collection ${table}\n`);
    });
  } finally {
    await jobs.stop();
    await state.close();
  }
}

/** Reason why a file cannot be imported, by its extension; undefined if GDAL must open it first. */
function findRefusal(path: string): string | undefined {
  const reason = reasonNotRead(path);
  if (reason !== undefined) return reason;
  const extension = extname(path).toLowerCase();
  if (RASTER.has(extension) || GRIDDED.has(extension))
    return 'Rasters need no import. Publish the file: graticule serve FILE.';
  if (ARCHIVE.has(extension)) return 'Tile archives need no import. Publish the file: graticule serve FILE.';
  return undefined;
}

/** Imports a STAC catalog into a new store with a table of footprints for each collection. */
async function importStac(path: string, options: ImportOptions, dataDir: string): Promise<void> {
  const name = tableName(options.name ?? basename(path, extname(path)));
  const folder = join(dataDir, 'stores');
  // The import publishes no other files in the folder of the catalog.
  const task = { path, folder, name, local: false };
  const { items, refused, refusedCount } = await withPools((pools) => pools.run('vector.stacIngest', task));
  for (const { path: part, reason } of refused) process.stderr.write(`${part}: ${reason}\n`);
  process.stdout.write(`imported ${items} STAC items into ${join(folder, `${name}.gpkg`)}`);
  process.stdout.write(refusedCount > 0 ? `; ${refusedCount} invalid documents were skipped\n` : '\n');
  notifyServer(dataDir);
}
