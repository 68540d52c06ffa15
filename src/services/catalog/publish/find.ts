import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isDataFolder } from '../../../core/files/data-folder.js';
import { isInFolder } from '../../../core/files/folders.js';
import { isPicture } from '../../../core/files/world-files.js';
import { GRID_FOLDER, isSource, isTableFolder, reasonNotRead } from './formats.js';
import { stacRoot } from './stac.js';
import { readStore } from './store-folder.js';

const MAX_DEPTH = 6;
const MAX_FILES = 10_000;
export interface SourceFile {
  path: string;
  /** Changes with what is in a folder that is one source. */
  version?: string;
  /** Set when the path itself cannot be read. */
  problem?: string;
}

/** Every file that can be published below the given files and folders, without the data folder of this or another server. */
export async function findFiles(paths: readonly string[], dataDir?: string): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  const search = { files, dataDir: dataDir === undefined ? undefined : await loadRoot(dataDir) };
  // A folder named twice, or below another one, is published once.
  for (const path of paths) await walk(resolve(path), 0, { ...search, root: await loadRoot(path) });
  if (files.length >= MAX_FILES)
    files.push({
      path: resolve(paths[0]!),
      problem: `Only the first ${MAX_FILES} files are published. Publish some folders as separate sources, or use GeoPackage.`,
    });
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

async function loadRoot(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

interface Search {
  /** Files found. */
  readonly files: SourceFile[];
  /** Real path of the source that is searched. */
  readonly root: string;
  /** Real path of the data folder of this server. */
  readonly dataDir: string | undefined;
}

/** Walks a folder. `within` a STAC catalog, the root document represents all JSON files. */
async function walk(
  path: string,
  depth: number,
  search: Search,
  within = false,
  entry?: Dirent,
): Promise<void> {
  const { files, root, dataDir } = search;
  if (files.length >= MAX_FILES) return;
  // The folder of an entry is a real path, so a file in it that is not a link also is one.
  const isPlain = entry?.isFile() ?? false;
  const real = isPlain ? path : await realpath(path).catch(() => undefined);
  if (!real) {
    files.push({
      path,
      problem: 'The file or link refers to a path that does not exist. Correct the path, or remove the link.',
    });
    return;
  }
  if (!isInFolder(real, root)) {
    files.push({
      path,
      problem:
        'The link refers to a file outside the published folder. Copy the file into the folder, or add its folder to the sources.',
    });
    return;
  }
  const info = isPlain ? entry! : await stat(real);
  if (info.isFile()) {
    const problem = reasonNotRead(real);
    if (problem !== undefined) files.push({ path: real, problem });
    else if (depth === 0 || (isSource(real) && !(within && isOfCatalog(real)))) files.push({ path: real });
  } else if (info.isDirectory() && (real.toLowerCase().endsWith(GRID_FOLDER) || isTableFolder(real))) {
    files.push(await readStore(real));
  } else if (info.isDirectory() && depth === MAX_DEPTH) {
    files.push({
      path: real,
      problem: `Folders more than ${MAX_DEPTH - 1} levels down are not searched. Move the data up, or add the folder to the sources.`,
    });
  } else if (info.isDirectory()) {
    const entries = await readdir(real, { withFileTypes: true }).catch(() => undefined);
    if (!entries) {
      files.push({
        path,
        problem: 'The server has no permission to read the folder. Change its permissions.',
      });
      return;
    }
    entries.sort(({ name: one }, { name: other }) => (one < other ? -1 : 1));
    const names = entries.map(({ name }) => name);
    if (real === dataDir || isDataFolder(names)) {
      files.push({ path: real, problem: 'The folder is the data folder of a server.' });
      return;
    }
    const stac = within ? undefined : await stacRoot(real, names);
    if (stac) files.push({ path: join(real, stac) });
    for (const one of entries) {
      if (!one.name.startsWith('.'))
        await walk(join(real, one.name), depth + 1, search, within || !!stac, one);
    }
  }
}

/** Whether a file is a document of a STAC catalog, or a thumbnail of its items. */
const isOfCatalog = (path: string) => /\.(geo)?json$/i.test(path) || isPicture(path);
