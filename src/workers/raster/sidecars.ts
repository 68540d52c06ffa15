/** Files that lie beside another one, and belong to it by their name. */

import { open, readdir } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { TaskFailure } from '../../core/failure.js';
import { namesFile } from '../../native/index.js';

/** Longest coordinate reference system that is looked at. */
const MAX_PRJ_BYTES = 1 << 20;

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
  if (prj !== undefined && namesFile(await readFirstMiB(prj)))
    throw new TaskFailure(
      'invalid-input',
      'The .prj file names a file of a grid, which is not read: write its coordinate reference system without grids.',
    );
}

/** The first MiB of a file as text. */
export async function readFirstMiB(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_PRJ_BYTES), 0, MAX_PRJ_BYTES, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}
