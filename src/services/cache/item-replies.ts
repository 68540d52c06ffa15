import type { CatalogSnapshot } from '../../core/collection.js';
import { LIMITS } from '../../core/limits.js';
import type { Format } from '../../core/media.js';
import type { Exchange, Reply } from '../../core/operation.js';
import type { DataVersions } from './data-versions.js';

/** The answer that a target (path and query) got last, and all that it hangs on. */
interface Kept {
  readonly file: string;
  /** Of the file, before it was read. */
  readonly version: number;
  readonly catalog: CatalogSnapshot;
  readonly format: Format;
  readonly baseUrl: string;
  /** Undefined once its room was given to others. */
  reply: Reply | undefined;
}

/** What a kept answer costs beyond its body. */
const OVERHEAD = 1024;

/**
 * Answers out of GeoPackage files that are given again while nobody has written to the file, whoever that may be: a
 * client that reads after a write always sees it.
 */
export class ItemReplies {
  #kept: Kept[] = [];
  #bytes = 0;

  constructor(private readonly versions: DataVersions) {}

  /** The answer that this target got last, if it would be the same now. */
  find(x: Exchange, catalog: CatalogSnapshot): Reply | undefined {
    const kept = x.memo.value as Kept | undefined;
    if (!kept?.reply || kept.catalog !== catalog || kept.format !== x.format) return undefined;
    if (kept.baseUrl !== x.baseUrl || this.versions.of(kept.file) !== kept.version) return undefined;
    return kept.reply;
  }

  /** Runs `read`, which makes the answer from this file, and keeps what it gives. */
  async fill(
    x: Exchange,
    catalog: CatalogSnapshot,
    file: string,
    read: () => Promise<Reply>,
  ): Promise<Reply> {
    const version = this.versions.of(file);
    const reply = await read();
    const { body } = reply;
    if (version === undefined || typeof body !== 'string' || body.length > LIMITS.keptItemBytes) return reply;
    const constant = { block: undefined };
    const again = { ...reply, body: Buffer.from(body), constant };
    const kept = { file, version, catalog, format: x.format, baseUrl: x.baseUrl, reply: again };
    this.#add(kept, body.length + OVERHEAD);
    x.memo.value = kept;
    return reply;
  }

  /** Everything is forgotten at once when there is no room: what is asked for often is soon back. */
  #add(kept: Kept, bytes: number): void {
    if (this.#bytes + bytes > LIMITS.keptItemsBytes) {
      for (const old of this.#kept) old.reply = undefined;
      this.#kept = [];
      this.#bytes = 0;
    }
    this.#kept.push(kept);
    this.#bytes += bytes;
  }
}
