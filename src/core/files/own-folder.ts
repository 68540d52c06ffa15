import { mkdirSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { isInFolder } from './folders.js';

/** Data folders of the servers of this thread, mostly one. */
const folders = new Set<string>();

/** From now on this thread makes no data folder anew that is gone, and refuses links where a plain file was published. */
export function keepOwnFolder(dataDir: string): void {
  folders.add(dataDir);
}

export const ownFolders = (): ReadonlySet<string> => folders;

/**
 * Makes a folder with those above it, except a data folder that was deleted: the server would take the new one for
 * a folder that others put in its place. Throws `ENOENT` then.
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
