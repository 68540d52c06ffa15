import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Reply } from '../../../core/operation.js';
import { bytes } from '../../../core/reply.js';

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

/**
 * The files below `/assets/`: read, compressed and hashed once. A request names one of these entries or
 * nothing, so no path is ever built from what a client sends.
 */
export class Assets {
  readonly #replies: ReadonlyMap<string, Reply>;

  private constructor(replies: ReadonlyMap<string, Reply>) {
    this.#replies = replies;
  }

  /** Reads the plain files of a directory. Throws when it cannot be read. */
  static read(directory: string): Assets {
    const replies = new Map<string, Reply>();
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const mediaType = MEDIA_TYPES[extname(entry.name)];
      if (!entry.isFile() || !mediaType) continue;
      replies.set(entry.name, assetReply(entry.name, readFileSync(join(directory, entry.name)), mediaType));
    }
    return new Assets(replies);
  }

  /** Undefined for a name that was not there at start. */
  find(name: string): Reply | undefined {
    return this.#replies.get(name);
  }
}

function assetReply(name: string, content: Buffer, mediaType: string): Reply {
  const etag = createHash('sha256').update(content).digest('base64url').slice(0, 22);
  const cacheControl = HASHED.test(name) ? FOREVER : CHECKED;
  if (mediaType === 'image/png') return bytes(content, mediaType, { etag, cacheControl });
  return bytes(gzipSync(content, { level: 9 }), mediaType, { etag, cacheControl, encoding: 'gzip' });
}
