import { copyFile, link, rm } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { RESULT_TABLE } from '../../core/processes/feature-processes.js';
import type { Derivations } from '../access/rules/derivations.js';
import type { CopySourceLayer } from '../access/rules/rules.js';
import type { FolderNames } from '../catalog/folder-names.js';
import { writeThrough } from '../edits/write-through.js';
import type { ImportService } from '../exchange/import.js';
import type { JobContext } from '../jobs/kinds.js';
import { type Storage, taken } from '../storage/storage.js';

/** Results of processes as collections. */

export interface ResultPublishDeps {
  imports: ImportService;
  storage: Pick<Storage, 'publishes' | 'stat' | 'take'>;
  derivations: Pick<Derivations, 'record' | 'sourcesOf'>;
  /** Names of collections in the data folders of several servers. Undefined if files are not in data folders. */
  names?: Pick<FolderNames, 'during'>;
  /** Publishes the stored files. */
  reload(reason: string): Promise<void>;
}

/** A file of a job, which is kept, and the collection created from it. */
export interface Publication {
  path: string;
  mediaType: string;
  /** Number of features of a GeoPackage. Undefined for a raster and for a tile archive. */
  features?: number;
  collection: string;
  title: string;
  /** The layers that it is a copy of. */
  sources: readonly CopySourceLayer[];
  by: string;
}

/**
 * Publishes a result as a collection, once for each job and collection. Throws `conflict` if the name was taken in
 * between.
 */
export async function publishResult(
  context: JobContext,
  publication: Publication,
  folder: string,
  deps: ResultPublishDeps,
): Promise<void> {
  const { path, features, collection, title, sources, by } = publication;
  if (features === undefined) return publishFile(context, publication, folder, deps);
  const token = `${context.id}/${collection}`;
  // A run before this one that had the name may have loaded it.
  if (context.saved !== token) {
    deps.imports.refuse({ table: collection });
    await context.checkpoint(token);
  }
  await deps.derivations.record(collection, sources, by);
  const table = { staging: path, stagingTable: RESULT_TABLE, token, features, collection, title };
  await deps.imports.publishTable(context, table);
}

/** Publishes the file as an archive with the name of the collection. */
async function publishFile(
  context: JobContext,
  { path, mediaType, collection, sources, by }: Publication,
  folder: string,
  { imports, storage, reload, derivations, names }: ResultPublishDeps,
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
  await rm(copy, { force: true });
  await duplicate(path, copy);
  const take = () => storage.take(copy, key, { mediaType, signal: context.signal, isNew: true });
  await (names ? names.during(collection, context.id, take) : take());
  await reload(`${collection} was published`);
}

/** Gives a completed file a second name. It is copied if the file system does not support links. */
async function duplicate(path: string, other: string): Promise<void> {
  try {
    await link(path, other);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error;
    await copyFile(path, other);
    await writeThrough(other);
  }
}
