import { createWriteStream } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Entry, ZipFile } from 'yauzl';
import { TaskFailure } from '../../../../core/errors/failure.js';
import { checkedEntries, createSizeFailure, describeZipFailure, openZip } from '../../../files/zip.js';

/** Maximum bytes of a document that describes a package. */
const DOCUMENT_BYTES = 4_194_304;

/** The entries of a ZIP archive, which was checked. */
export class ZippedPackage {
  private constructor(
    private readonly archive: ZipFile,
    private readonly entries: ReadonlyMap<string, Entry>,
    private readonly path: string,
  ) {}

  /** Opens a package for as long as `use` takes. Fails with `source-unreadable`, `invalid-input` and `too-large`. */
  static async reading<T>(path: string, use: (opened: ZippedPackage) => Promise<T>): Promise<T> {
    let archive: ZipFile | undefined;
    try {
      const { size } = await stat(path);
      archive = await openZip(path);
      const entries = await checkedEntries(archive, size);
      const byName = new Map(entries.map((entry) => [entry.fileName, entry]));
      return await use(new ZippedPackage(archive, byName, path));
    } catch (error) {
      throw describeZipFailure(error);
    } finally {
      archive?.close();
    }
  }

  get names(): readonly string[] {
    return [...this.entries.keys()];
  }

  /** Returns a document of the package. Undefined if there is no document of that name. */
  async document(name: string): Promise<Buffer | undefined> {
    if (!this.entries.has(name)) return undefined;
    const bytes = await this.head(name, DOCUMENT_BYTES + 1);
    if (bytes.length > DOCUMENT_BYTES)
      throw createSizeFailure(`${name} has more than ${DOCUMENT_BYTES} bytes.`);
    return bytes;
  }

  /** The first bytes of an entry, at most so many. */
  async head(name: string, most: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let size = 0;
    for await (const part of await this.#stream(name)) {
      parts.push(part as Buffer);
      size += (part as Buffer).length;
      if (size >= most) break;
    }
    return Buffer.concat(parts).subarray(0, most);
  }

  /** Passes an entry to `use` as a file, which exists until `use` has finished. */
  async asFile<T>(name: string, use: (fd: number, size: number) => Promise<T> | T): Promise<T> {
    const path = `${this.path}.entry`;
    await rm(path, { force: true });
    try {
      await pipeline(await this.#stream(name), createWriteStream(path, { flags: 'wx', mode: 0o600 }));
      const file = await open(path, 'r');
      try {
        return await use(file.fd, (await file.stat()).size);
      } finally {
        await file.close();
      }
    } finally {
      await rm(path, { force: true });
    }
  }

  #stream(name: string) {
    const entry = this.entries.get(name);
    if (!entry) throw new TaskFailure('source-unreadable', `The package has no ${name.slice(0, 200)}.`);
    return this.archive.openReadStreamPromise(entry);
  }
}
