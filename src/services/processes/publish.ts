import { copyFile, rm } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { RESULT_TABLE } from '../../core/feature-processes.js';
import type { Derivations } from '../access/derivations.js';
import type { SourceLayer } from '../access/rules.js';
import type { ImportService } from '../import.js';
import type { JobContext } from '../jobs/kinds.js';
import { type Storage, taken } from '../storage/storage.js';
import { writeThrough } from '../write-through.js';

/** Results of processes as collections. */

export interface PublishDeps {
  imports: ImportService;
  storage: Pick<Storage, 'stat' | 'take' | 'isShared'>;
  derivations: Pick<Derivations, 'record' | 'sourcesOf'>;
  /** Shows what was published. */
  reload(reason: string): Promise<void>;
}

/** A file of a job, which stays, and the collection that it becomes. */
export interface Publication {
  path: string;
  mediaType: string;
  /** Of a GeoPackage; absent of a raster and of an archive of tiles. */
  features?: number;
  collection: string;
  title: string;
  /** The layers that it is a copy of. */
  sources: readonly SourceLayer[];
  by: string;
}

/** Makes a result a collection; once for each job and collection. Throws `conflict` for a name that another one has by now. */
export async function publishResult(
  context: JobContext,
  publication: Publication,
  folder: string,
  deps: PublishDeps,
): Promise<void> {
  const { path, features, collection, title, sources, by } = publication;
  if (features === undefined) return publishFile(context, publication, folder, deps);
  // The load removes what it has read.
  const staging = join(folder, 'publish.gpkg');
  await copyFile(path, staging);
  const token = `${context.id}/${collection}`;
  // A run before this one that had the name may have loaded it.
  if (context.saved !== token) {
    deps.imports.refuse({ table: collection });
    await context.checkpoint(token);
  }
  await deps.derivations.record(collection, sources, by);
  const table = { staging, stagingTable: RESULT_TABLE, token, features, collection, title };
  await deps.imports.publishTable(context, table);
  await rm(staging, { force: true });
}

/** The file goes to the published archives, and is named after the collection. */
async function publishFile(
  context: JobContext,
  { path, mediaType, collection, sources, by }: Publication,
  folder: string,
  { imports, storage, reload, derivations }: PublishDeps,
): Promise<void> {
  const ending = extname(path);
  const key = `published/${collection}${ending}`;
  if (context.saved !== key) {
    imports.refuse({ table: collection });
    if (await storage.stat(key)) throw taken();
    await context.checkpoint(key);
  } else if (await storage.stat(key)) return reload(`${collection} was published`);
  await derivations.record(collection, sources, by);
  const copy = join(folder, `publish${ending}`);
  await copyFile(path, copy);
  await writeThrough(copy);
  await storage.take(copy, key, { mediaType, signal: context.signal, isNew: true });
  await reload(`${collection} was published`);
}
