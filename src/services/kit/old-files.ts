import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Removes files that have been in a folder for longer than their lifetime, in milliseconds by file name. */
export async function removeOldFiles(
  folder: string,
  lifeOf: (name: string) => number,
  now: number,
): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const state = await stat(path).catch(() => undefined);
    if (state && now - state.mtimeMs > lifeOf(name)) await rm(path, { recursive: true, force: true });
  }
}
