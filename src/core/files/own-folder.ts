import { mkdirSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { isInFolder } from './folders.js';

/** Data folders of the servers of this thread, mostly one. */
const folders = new Set<string>();

/**
 * Registers a data folder: this thread then never recreates it if it is missing, and rejects links in place of
 * published files.
 */
export function keepOwnFolder(dataDir: string): void {
  folders.add(dataDir);
}

export const ownFolders = (): ReadonlySet<string> => folders;

/**
 * Creates a folder and its parents, except a deleted data folder, for which it throws `ENOENT`. Otherwise the server
 * would use the new folder as if another program had provided it.
 */
export function makeFolderSync(path: string, mode?: number): void {
  requireDataFolder(path);
  mkdirSync(path, buildOptions(mode));
}

/** See `makeFolderSync`. */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  requireDataFolder(path);
  await mkdir(path, buildOptions(mode));
}

function requireDataFolder(path: string): void {
  for (const folder of folders) if (isInFolder(path, folder)) statSync(folder);
}

const buildOptions = (mode: number | undefined) => ({
  recursive: true,
  ...(mode === undefined ? {} : { mode }),
});
