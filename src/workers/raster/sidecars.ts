/** Files that lie beside another one, and belong to it by their name. */

import { readdir } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { TaskFailure } from '../../core/failure.js';
import { namesFile } from '../../native/index.js';
import { readStart } from './start-of-file.js';

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
      'The .prj file names a file of a grid, which is not read: write its coordinate reference system without grids.',
    );
}

/** The text of a sidecar, up to one MiB. */
export const readSidecar = async (path: string): Promise<string> =>
  (await readStart(path, MAX_BYTES)).toString('latin1');
