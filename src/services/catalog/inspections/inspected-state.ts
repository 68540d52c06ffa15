import { accessSync, constants, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { isWritableStore } from '../../../core/files/file-state.js';
import { ARCHIVE, TABLES } from '../publish/formats.js';

/** State of an inspected file and of the files that are read with it. */
export interface InspectedState {
  /** Changes with every write to one of the files, and with the permission to write. */
  readonly text: string;
  /** Time of the newest write or change of attributes, in milliseconds since 1970. */
  readonly newestMs: number;
}

/**
 * Minimum milliseconds between a change of a file and an inspection that can be kept. A later write within one step
 * of the file system's clock does not change the times. The steps are 2 s in FAT, and milliseconds in other file
 * systems.
 */
const RACY_MS = 2000;

/** Returns true if a file can have changed after an inspection and still have this state. */
export function isRacy({ newestMs }: InspectedState, inspectedAt: number): boolean {
  return newestMs + RACY_MS > inspectedAt;
}

const NS_PER_MS = 1e6;
/** Suffixes of the files that SQLite reads with a database, and that GDAL reads with its tables of tiles. */
const BESIDE_DATABASES = ['-wal', '-journal', '.aux.xml'];

interface Listing {
  readonly mtimeNs: bigint;
  /** Lower-case names and names, in the order of the former. */
  readonly names: readonly (readonly [lower: string, name: string])[];
}

/** Reads states of files. Folder listings are cached while the folder is unchanged. */
export class InspectedStates {
  readonly #listings = new Map<string, Listing>();

  /** Returns undefined for folders and for a file that does not exist or cannot be read. */
  async read(path: string): Promise<InspectedState | undefined> {
    try {
      return await this.#read(path);
    } catch {
      return undefined;
    }
  }

  async #read(path: string): Promise<InspectedState | undefined> {
    const main = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (!main?.isFile()) return undefined;
    accessSync(path, constants.R_OK);
    let newest = 0n;
    const lines: string[] = [];
    for (const one of [path, ...(await this.#findBeside(path))]) {
      const stats = one === path ? main : statSync(one, { bigint: true, throwIfNoEntry: false });
      // SQLite creates an empty log when it reads.
      if (!stats?.isFile() || (stats.size === 0n && one !== path)) continue;
      const { dev, ino, size, mtimeNs, ctimeNs } = stats;
      lines.push(`${one}\0${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`);
      for (const time of [mtimeNs, ctimeNs]) if (time > newest) newest = time;
    }
    lines.push(isWritableStore(path) ? 'writable' : 'read-only');
    return { text: lines.join('\0'), newestMs: Number(newest) / NS_PER_MS };
  }

  forget(): void {
    this.#listings.clear();
  }

  async #findBeside(path: string): Promise<string[]> {
    const extension = extname(path).toLowerCase();
    if (TABLES.has(extension) || ARCHIVE.has(extension)) return BESIDE_DATABASES.map((end) => path + end);
    return this.#findOfStem(path);
  }

  /** GDAL finds world files, overviews, masks and metadata of a raster by its name without the extension. */
  async #findOfStem(path: string): Promise<string[]> {
    const folder = dirname(path);
    const own = basename(path);
    const stem = basename(own, extname(own)).toLowerCase();
    const names = await this.#list(folder);
    const beside: string[] = [];
    for (let i = firstFrom(names, stem); i < names.length && names[i]![0].startsWith(stem); i++) {
      const [lower, name] = names[i]!;
      if (name !== own && /^[._]/.test(lower.slice(stem.length))) beside.push(join(folder, name));
    }
    return beside;
  }

  async #list(folder: string): Promise<Listing['names']> {
    const { mtimeNs } = statSync(folder, { bigint: true });
    const listing = this.#listings.get(folder);
    if (listing?.mtimeNs === mtimeNs) return listing.names;
    const names = (await readdir(folder)).map((name) => [name.toLowerCase(), name] as const);
    names.sort(([one, first], [other, second]) => compare(one, other) || compare(first, second));
    this.#listings.set(folder, { mtimeNs, names });
    return names;
  }
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

/** Index of the first name that does not come before the stem. */
function firstFrom(names: Listing['names'], stem: string): number {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (names[middle]![0] < stem) low = middle + 1;
    else high = middle;
  }
  return low;
}
