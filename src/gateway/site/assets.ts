import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { COMPRESSIONS, type Compression, type ContentCoding } from '../../core/http/content-coding.js';
import type { Reply } from '../../core/http/operation.js';
import { bytes } from '../../core/http/reply.js';

const MEDIA_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.txt': 'text/plain; charset=utf-8',
};

/** Names with a content hash never change their bytes; the others are checked at each use, which costs a 304. */
const HASHED = /-[A-Z0-9]{8}\.\w+$/;
const FOREVER = 'public, max-age=31536000, immutable';
const CHECKED = 'public, no-cache';

/** Files that the build has compressed carry one of these after their name. */
const ENDINGS: Readonly<Record<string, Compression>> = { '.gz': 'gzip', '.br': 'br', '.zst': 'zstd' };

type Forms = Partial<Record<ContentCoding, Buffer>>;

/**
 * The files below `/assets/`: read and hashed once. A request names one of these entries or
 * nothing, so no path is ever built from what a client sends.
 */
export class Assets {
  readonly #replies: ReadonlyMap<string, Reply>;

  private constructor(replies: ReadonlyMap<string, Reply>) {
    this.#replies = replies;
  }

  /** Reads the plain files of a directory. Throws when it cannot be read. */
  static read(directory: string): Assets {
    const files = new Map<string, Forms>();
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const coding = ENDINGS[extname(entry.name)] ?? 'identity';
      const name = coding === 'identity' ? entry.name : basename(entry.name, extname(entry.name));
      if (!entry.isFile() || !MEDIA_TYPES[extname(name)]) continue;
      files.set(name, { ...files.get(name), [coding]: readFileSync(join(directory, entry.name)) });
    }
    const replies = new Map<string, Reply>();
    for (const [name, forms] of files) replies.set(name, assetReply(name, forms));
    return new Assets(replies);
  }

  /** Undefined for a name that was not there at start. */
  find(name: string): Reply | undefined {
    return this.#replies.get(name);
  }
}

function assetReply(name: string, { identity, ...forms }: Forms): Reply {
  const encoding = identity ? undefined : COMPRESSIONS.find((coding) => forms[coding]);
  const content = identity ?? forms[encoding!]!;
  const etag = createHash('sha256').update(content).digest('base64url').slice(0, 22);
  const cacheControl = HASHED.test(name) ? FOREVER : CHECKED;
  const constant = { block: undefined, forms, isStatic: true };
  return bytes(content, MEDIA_TYPES[extname(name)]!, { etag, cacheControl, encoding, constant });
}
