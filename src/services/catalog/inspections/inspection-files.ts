import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { makeFolder } from '../../../core/files/own-folder.js';
import type { InspectedState } from './inspected-state.js';

/** Result of one inspection. */
export interface KeptInspection {
  /** State of the file before and after it. */
  readonly state: InspectedState;
  /** When it started, in milliseconds since 1970. */
  readonly at: number;
  readonly output: unknown;
}

/** Inspections of one source, by task and input. */
export type SourceInspections = ReadonlyMap<string, KeptInspection>;

interface Contents {
  readonly code: string;
  readonly source: string;
  readonly inspections: SourceInspections;
}

/** Folder of inspections in the data folder. */
export const INSPECTIONS_FOLDER = 'inspections';
const HASH = 'sha256';
const HASH_BYTES = 32;
const EXTENSION = '.inspection';
/** Files that this code makes: an inspection, or a draft with the id of its process. */
const OWN_NAME = /^[0-9a-f]{64}\.inspection(\.\d+)?$/;
/** Milliseconds after which another process has finished or given up a draft. */
const MAX_DRAFT_MS = 60_000;

/**
 * Inspections of earlier starts in the data folder, a file for each source: a hash, then structured-clone data, because
 * inspections contain NaN. Files that are damaged, of another source or by other code are ignored.
 */
export class InspectionFiles {
  constructor(
    private readonly folder: string,
    /** Names the code that inspects: another build can find something else. */
    private readonly code: string,
  ) {}

  async read(source: string): Promise<SourceInspections> {
    const bytes = await readFile(this.#pathOf(source)).catch(() => undefined);
    const contents = bytes && decode(bytes);
    if (contents?.code !== this.code || contents.source !== source) return new Map();
    return contents.inspections;
  }

  /** A reader finds the former file or the new one. A file that a crash cuts off has another hash. */
  async write(source: string, inspections: SourceInspections): Promise<void> {
    const path = this.#pathOf(source);
    const draft = `${path}.${process.pid}`;
    await makeFolder(this.folder, 0o700);
    try {
      await writeFile(draft, encode({ code: this.code, source, inspections }), { mode: 0o600 });
      await rename(draft, path);
    } finally {
      await rm(draft, { force: true });
    }
  }

  async remove(source: string): Promise<void> {
    await rm(this.#pathOf(source), { force: true });
  }

  /** Removes the files of all other sources, and drafts of processes that were killed. */
  async keepOnly(sources: Iterable<string>): Promise<void> {
    const names = new Set([...sources].map(nameFile));
    const now = Date.now();
    for (const name of await readdir(this.folder).catch(() => [])) {
      const match = OWN_NAME.exec(name);
      if (!match || names.has(name)) continue;
      const path = join(this.folder, name);
      const isDraft = match[1] !== undefined;
      if (!isDraft || now - (await readWriteTime(path)) > MAX_DRAFT_MS) await rm(path, { force: true });
    }
  }

  #pathOf(source: string): string {
    return join(this.folder, nameFile(source));
  }
}

const nameFile = (source: string) => createHash(HASH).update(source).digest('hex') + EXTENSION;

/** Modification time in milliseconds since 1970. 0 for a deleted file. */
const readWriteTime = (path: string) =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

function encode(contents: Contents): Buffer {
  const bytes = serialize(contents);
  return Buffer.concat([createHash(HASH).update(bytes).digest(), bytes]);
}

/** Returns undefined for bytes that `encode` did not write. */
function decode(bytes: Buffer): Contents | undefined {
  const body = bytes.subarray(HASH_BYTES);
  const hash = createHash(HASH).update(body).digest();
  if (!hash.equals(bytes.subarray(0, HASH_BYTES))) return undefined;
  try {
    return deserialize(body) as Contents;
  } catch {
    // Another version of Node.js wrote it.
    return undefined;
  }
}
