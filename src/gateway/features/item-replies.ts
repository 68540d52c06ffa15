import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { FEATURE_LIMITS } from '../../core/features/limits.js';
import type { Format } from '../../core/http/media.js';
import type { Exchange, Params, Reply } from '../../core/http/operation.js';
import type { DataVersions } from '../../services/catalog/data-versions.js';

/** The last response to a target (path and query), and everything it depends on. */
export interface ItemReply {
  readonly file: string;
  /** Version of the file before it was read. */
  readonly version: number;
  readonly catalog: CatalogSnapshot;
  readonly format: Format;
  readonly baseUrl: string;
  /** Bytes of the response and of what is kept with it. */
  readonly bytes: number;
  /** Undefined after its memory was reused. */
  reply: Reply | undefined;
}

/** A request whose operation keeps the last response to its target. */
type ItemExchange = Pick<Exchange<Params, unknown, ItemReply>, 'memo' | 'format' | 'baseUrl'>;

/** Memory of a kept response in addition to its body. */
const OVERHEAD = 1024;

/**
 * Caches responses from GeoPackage files until any process writes to the file: a client that reads after a write
 * always sees the write.
 */
export class ItemReplies {
  /** The oldest first. */
  readonly #entries = new Set<ItemReply>();
  #bytes = 0;

  constructor(private readonly versions: DataVersions) {}

  /** The last response to this target, if it is still current. */
  find(x: ItemExchange, catalog: CatalogSnapshot): Reply | undefined {
    const hit = x.memo.value;
    if (!hit?.reply || hit.catalog !== catalog || hit.format !== x.format) return undefined;
    if (hit.baseUrl !== x.baseUrl || this.versions.of(hit.file) !== hit.version) return undefined;
    return hit.reply;
  }

  /** Runs `read`, which computes the response from this file, and keeps the response. */
  async fill(
    x: ItemExchange,
    catalog: CatalogSnapshot,
    file: string,
    read: () => Promise<Reply>,
  ): Promise<Reply> {
    const version = this.versions.of(file);
    const reply = await read();
    const { body } = reply;
    if (version === undefined || typeof body !== 'string' || body.length > FEATURE_LIMITS.keptItemBytes)
      return reply;
    const constant = { block: undefined, secondForm: 'any' as const };
    const again = { ...reply, body: Buffer.from(body), constant };
    const { format, baseUrl } = x;
    const bytes = 2 * body.length + OVERHEAD;
    const entry = { file, version, catalog, format, baseUrl, bytes, reply: again };
    this.#add(entry);
    x.memo.value = entry;
    return reply;
  }

  #add(entry: ItemReply): void {
    this.#entries.add(entry);
    this.#bytes += entry.bytes;
    for (const oldest of this.#entries) {
      if (this.#bytes <= FEATURE_LIMITS.keptItemsBytes) break;
      oldest.reply = undefined;
      this.#entries.delete(oldest);
      this.#bytes -= oldest.bytes;
    }
  }
}
