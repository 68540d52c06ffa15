import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
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

/** Files that the build has compressed carry this after their name. */
const GZIP = '.gz';

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
    const replies = new Map<string, Reply>();
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const name = basename(entry.name, GZIP);
      const mediaType = MEDIA_TYPES[extname(name)];
      if (!entry.isFile() || !mediaType) continue;
      const content = readFileSync(join(directory, entry.name));
      replies.set(name, assetReply(name, content, mediaType, entry.name !== name));
    }
    return new Assets(replies);
  }

  /** Undefined for a name that was not there at start. */
  find(name: string): Reply | undefined {
    return this.#replies.get(name);
  }
}

function assetReply(name: string, content: Buffer, mediaType: string, gzipped: boolean): Reply {
  const etag = createHash('sha256').update(content).digest('base64url').slice(0, 22);
  const cacheControl = HASHED.test(name) ? FOREVER : CHECKED;
  return bytes(content, mediaType, { etag, cacheControl, encoding: gzipped ? 'gzip' : undefined });
}
