/** Files next to another file that belong to it by their name. */

import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { TaskFailure } from '../../core/errors/failure.js';
import { namesFile } from '../../native/index.js';
import { readFileStart } from '../files/start-of-file.js';

/** Longest text of a sidecar that is read. */
const MAX_BYTES = 1 << 20;

/** Path of the file of the same name with another extension, in any case. */
export async function findSidecar(path: string, extension: string): Promise<string | undefined> {
  const name = basename(path, extname(path)) + extension;
  const names = await readdir(dirname(path));
  const found = names.includes(name)
    ? name
    : names.find((other) => other.toLowerCase() === name.toLowerCase());
  return found === undefined ? undefined : join(dirname(path), found);
}

/** Fails with `invalid-input` for a .prj file that names another file: PROJ opens that one as soon as a driver reads the .prj. */
export async function requirePlainPrj(path: string): Promise<void> {
  const prj = await findSidecar(path, '.prj');
  if (prj !== undefined && namesFile(await readSidecar(prj)))
    throw new TaskFailure(
      'invalid-input',
      'The .prj file refers to a grid file, which is not supported. Write its coordinate reference system without grids.',
    );
}

/** The text of a sidecar, up to one MiB. */
export const readSidecar = async (path: string): Promise<string> =>
  (await readFileStart(path, MAX_BYTES)).toString('latin1');

/** Names of the links in folders, by path. Folders with many rasters are read once. */
const linksByFolder = new LRUCache<string, { state: string; links: readonly string[] }>({ max: 64 });
/** Milliseconds after which another change of a folder has another time. */
const TIME_STEP = 2000;

async function linksIn(folder: string): Promise<readonly string[]> {
  const { ino, mtimeMs } = await stat(folder);
  const state = `${ino} ${mtimeMs}`;
  const known = linksByFolder.get(folder);
  if (known?.state === state) return known.links;
  const entries = await readdir(folder, { withFileTypes: true });
  const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name);
  if (Date.now() - mtimeMs > TIME_STEP) linksByFolder.set(folder, { state, links });
  return links;
}

/**
 * Fails with `source-unreadable` if a sidecar file is a link to another folder. Drivers read such files
 * automatically: attributes, overviews, masks, metadata.
 */
export async function requireOwnSidecars(path: string): Promise<void> {
  const folder = await realpath(dirname(path));
  // All files of a source may be links to one place, as volumes of Kubernetes mount them.
  const home = dirname(await realpath(path).catch(() => path));
  const name = basename(path).toLowerCase();
  const stem = basename(name, extname(name));
  for (const link of await linksIn(folder)) {
    const other = link.toLowerCase();
    // `roads.dbf` and `dem.tif.ovr`; `scene_rpc.txt`.
    if (other === name || ![`${stem}.`, `${stem}_`, `${name}.`].some((start) => other.startsWith(start)))
      continue;
    const target = await realpath(join(folder, link)).catch(() => undefined);
    if (target === undefined || [folder, home].includes(dirname(target))) continue;
    throw new TaskFailure(
      'source-unreadable',
      `${link}: the link refers to another folder. All files of a source must be in one folder.`,
    );
  }
}

/** Fails with `source-unreadable` if anything in a folder that is one source is neither a file nor a folder, such as a link. */
export async function requireOwnFiles(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await requireOwnFiles(join(folder, entry.name));
    else if (!entry.isFile()) throw notFile(entry);
  }
}

const notFile = ({ name }: Dirent) =>
  new TaskFailure(
    'source-unreadable',
    `${name}: a link, or something else that is not a file, in the folder of the source. Replace it with the file.`,
  );
