import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

export const STATE_FILE = 'state.db';

/**
 * Creates the data folder of a server, accessible only to its user, because it contains keys, audit rows and uploads.
 * If a folder readable by other users contains a server state, their access is removed. A folder with other contents
 * is unchanged.
 */
export function makeDataFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (existsSync(join(path, STATE_FILE))) chmodSync(path, 0o700);
}

/** Makes sure that a SQLite database and its folder exist and that only their user can read them. */
export function makeStateFile(path: string): void {
  makeDataFolder(dirname(path));
  // SQLite gives its journals the mode of the database, so it must be right before the first write.
  closeSync(openSync(path, 'a', 0o600));
  for (const name of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(name)) chmodSync(name, 0o600);
}

const NAME_FILE = 'folder.id';

/**
 * Name of a data folder, unique among all servers of a state. Servers that share a folder find the same name in it.
 */
export function folderName(path: string): string {
  const file = join(path, NAME_FILE);
  if (!existsSync(file)) {
    const draft = `${file}-${randomUUID()}`;
    writeFileSync(draft, randomUUID(), { mode: 0o600 });
    try {
      // The file appears with all its bytes or not at all, because another process can create it at the same time.
      linkSync(draft, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(draft);
    }
  }
  return readFileSync(file, 'utf8');
}
