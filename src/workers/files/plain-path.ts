import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { TaskFailure } from '../../core/errors/failure.js';
import { isBelow } from '../../core/files/folders.js';
import { keepOwnFolder, ownFolders } from '../../core/files/own-folder.js';
import { OWN_FOLDER_VARIABLE } from '../engine/settings.js';

const fromEnvironment = process.env[OWN_FOLDER_VARIABLE];
if (fromEnvironment) keepOwnFolder(fromEnvironment);

/**
 * Throws `source-missing` if a link is in a path: published files are named by their real paths, so the link replaced a file or
 * folder. Operators may link the data folder itself, and the folders and files directly in it, to other places.
 */
export function requirePlainPath(path: string): void {
  // Other programs open the files that their users name.
  if (ownFolders().size === 0) return;
  const absolute = resolve(path);
  const real = findReal(absolute);
  if (real === undefined || real === absolute) return;
  const hasNoLinkBelow = (home: string) =>
    absolute.startsWith(home) && real === `${findReal(home)}${absolute.slice(home.length)}`;
  if (listLinkableFolders(absolute).some(hasNoLinkBelow)) return;
  throw new TaskFailure(
    'source-missing',
    'The file of this collection, or its folder, was replaced by a link.',
    `${absolute} leads to ${real}`,
  );
}

/** Folders that may be reached through links: the temporary folder, and the own folders that contain the path. */
function listLinkableFolders(path: string): string[] {
  const homes = [tmpdir()];
  for (const folder of ownFolders()) {
    if (!isBelow(path, folder)) continue;
    const [first] = path.slice(folder.length + 1).split('/');
    homes.push(folder, `${folder}/${first}`);
  }
  return homes;
}

/** Returns the real path. Undefined if it does not exist. */
function findReal(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}
