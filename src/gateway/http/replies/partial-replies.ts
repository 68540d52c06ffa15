import { createHash, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError } from '../../../core/errors/errors.js';
import { HTTP_LIMITS } from '../../../core/http/limits.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { ByteSpool } from '../requests/spool.js';
import { parseByteRange, partHeaders } from './range.js';

/** How long a result is kept after it was last read. */
const KEPT_MS = 60_000;
/** Results older than this are computed again for a reader that starts from the beginning. */
const FRESH_MS = 5000;

interface Result {
  readonly reply: Pick<Reply, 'mediaType' | 'headers' | 'cacheControl'>;
  readonly etag: string;
  readonly size: number;
  readonly bytes: Uint8Array | ByteSpool;
}

interface Entry {
  readonly result: Promise<Result>;
  readonly since: number;
  /** Bytes, once they are there. */
  size: number;
  expiry: NodeJS.Timeout | undefined;
}

/**
 * Serves range requests (RFC 9110, 14) for results that are computed on demand. GDAL sends HEAD, reads the first
 * bytes, and then the ranges that the format requires. The result is therefore computed once and kept for a while,
 * separately for each principal. HEAD, or a range from the first byte, computes it again if it is older than a few
 * seconds.
 */
export class PartialReplies {
  /** The one that was read last stands last. */
  readonly #entries = new Map<string, Entry>();

  /** Replies with the result of `make` (status 200, with a body), whole or in part. Throws 416. */
  async reply(x: Exchange, make: () => Promise<Reply>): Promise<Reply> {
    if (x.method !== 'HEAD' && x.header('range') === undefined) {
      const { headers, ...reply } = await make();
      return { ...reply, headers: { ...headers, 'accept-ranges': 'bytes' } };
    }
    const { reply, etag, size, bytes } = await this.#resultFor(x, make);
    const range = parseByteRange(x, size, etag);
    const [start, end] = range ?? [0, size - 1];
    const length = end - start + 1;
    return {
      ...reply,
      status: range ? 206 : 200,
      etag,
      headers: { ...reply.headers, ...partHeaders(range, size) },
      ...(bytes instanceof ByteSpool
        ? { body: bytes.read(start, length), length }
        : { body: bytes.subarray(start, end + 1) }),
    };
  }

  #resultFor(x: Exchange, make: () => Promise<Reply>): Promise<Result> {
    const key = JSON.stringify([x.principal.id, x.baseUrl, x.path, x.query, x.format.name]);
    let entry = this.#entries.get(key);
    if (entry && begins(x) && Date.now() - entry.since > FRESH_MS) {
      this.#drop(key, entry);
      entry = undefined;
    }
    entry ??= this.#make(key, make);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    clearTimeout(entry.expiry);
    entry.expiry = setTimeout(this.#drop.bind(this), KEPT_MS, key, entry).unref();
    return entry.result;
  }

  #make(key: string, make: () => Promise<Reply>): Entry {
    const entry: Entry = { result: make().then(loadResult), since: Date.now(), size: 0, expiry: undefined };
    entry.result.then(
      ({ size }) => {
        entry.size = size;
        this.#makeRoom(entry);
      },
      () => this.#drop(key, entry),
    );
    return entry;
  }

  #makeRoom(newest: Entry): void {
    let bytes = 0;
    for (const { size } of this.#entries.values()) bytes += size;
    for (const [key, entry] of this.#entries) {
      if (bytes <= HTTP_LIMITS.partialBytes && this.#entries.size <= HTTP_LIMITS.partialReplies) return;
      if (entry === newest) continue;
      bytes -= entry.size;
      this.#drop(key, entry);
    }
  }

  #drop(key: string, entry: Entry): void {
    clearTimeout(entry.expiry);
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    entry.result.then(
      ({ bytes }) => {
        if (bytes instanceof ByteSpool) bytes.drop();
      },
      () => {},
    );
  }
}

/** Whether a reader starts from the beginning. */
function begins(x: Exchange): boolean {
  return x.method === 'HEAD' || /^bytes=0-/.test(x.header('range') ?? '');
}

async function loadResult({ body, etag, sent, mediaType, headers, cacheControl }: Reply): Promise<Result> {
  const reply = { mediaType, headers, cacheControl };
  if (body === undefined || typeof body === 'string') throw new Error('only bytes have parts');
  if (!(body instanceof Uint8Array)) return { reply, ...(await spooled(body)) };
  // The borrowed bytes are returned after the copy, because their owner will overwrite them.
  const bytes = Buffer.from(body);
  sent?.();
  return { reply, bytes, size: bytes.length, etag: etag ?? buildTag(bytes) };
}

async function spooled(parts: AsyncIterable<Uint8Array>): Promise<Pick<Result, 'bytes' | 'size' | 'etag'>> {
  const hash = createHash('sha1');
  const path = join(tmpdir(), `graticule-parts-${randomUUID()}`);
  try {
    const bytes = await ByteSpool.write(path, parts, (part) => hash.update(part));
    return { bytes, size: bytes.size, etag: hash.digest('base64url').slice(0, 20) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    throw new ApiError(
      'insufficient-storage',
      'The server has no space to store the result for range requests. Request it without Range.',
    );
  }
}

function buildTag(bytes: Uint8Array): string {
  return createHash('sha1').update(bytes).digest('base64url').slice(0, 20);
}
