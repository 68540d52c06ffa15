import { createHash } from 'node:crypto';
import { existsSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import { makeFolderSync } from '../../../core/files/own-folder.js';
import { version } from '../../../core/kit/version.js';
import type { StacIngest, StacIngestTask } from '../../../core/stac/stac.js';
import { getJsonObject, parseStacItem } from './item.js';
import { readCatalog, type StacItemEntry } from './read.js';
import { readIngestOutcome, StacStore } from './store.js';

const MAX_STAMPED = 300_000;

/** Task `vector.stacIngest`: converts a catalog on disk to a store, once for each state of its files. */
export function stacIngest({ path, folder, name, local }: StacIngestTask): StacIngest {
  const stamp = computeStamp(path);
  const store = join(folder, `${name ?? stamp}.gpkg`);
  if (!existsSync(store)) {
    makeFolderSync(folder);
    const partial = `${store}.${process.pid}.partial`;
    rmSync(partial, { force: true });
    try {
      make(path, partial, local);
      renameSync(partial, store);
    } finally {
      rmSync(partial, { force: true });
    }
  } else if (name !== undefined) {
    throw new TaskFailure('invalid-input', `The store ${name} already exists.`);
  }
  return { store, stamp, ...readIngestOutcome(store) };
}

function make(path: string, output: string, local: boolean): void {
  const root = local ? dirname(realpathSync(path)) : undefined;
  const store = new StacStore(output);
  const unnamed = basename(path, extname(path));
  const take = (read: StacItemEntry) => {
    try {
      const item = parseStacItem(read, root);
      store.add(chooseCollection(read, unnamed), item);
    } catch (error) {
      if (error instanceof TaskFailure) throw error;
      store.refuse(read.place, `The item was omitted: ${(error as Error).message}.`);
    }
  };
  try {
    readCatalog(path, {
      collection: (document) => store.document(document),
      item: take,
      refuse: (place, reason) => store.refuse(place, reason),
    });
    if (store.finish() === 0) throw new TaskFailure('source-unreadable', 'The STAC document has no items.');
  } finally {
    store.close();
  }
}

/**
 * Returns the collection that an item names, otherwise the collection in which it was found, otherwise the name of
 * the file.
 */
function chooseCollection({ value, collection }: StacItemEntry, unnamed: string): string {
  const named = getJsonObject(value)['collection'];
  return typeof named === 'string' && named !== '' ? named.slice(0, 256) : (collection ?? unnamed);
}

/** Changes with the document, and for a tree with any JSON file of its folder. */
function computeStamp(path: string): string {
  const hash = createHash('sha1').update(version());
  let count = 0;
  const add = (file: string) => {
    const { ino, size, mtimeMs } = statSync(file);
    hash.update(`${file}\u0000${ino} ${size} ${mtimeMs}\n`);
    count++;
  };
  const visit = (folder: string, depth: number) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (count >= MAX_STAMPED) return;
      const inner = join(folder, entry.name);
      if (entry.isDirectory() && depth > 0) visit(inner, depth - 1);
      else if (entry.isFile() && /\.(geo)?json$/i.test(entry.name)) add(inner);
    }
  };
  add(path);
  if (/^(catalog|collection)\.json$/i.test(basename(path))) visit(dirname(path), 16);
  return hash.digest('hex').slice(0, 12);
}
