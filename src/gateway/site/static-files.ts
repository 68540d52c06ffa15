import { createHash } from 'node:crypto';
import { basename, dirname, extname, join } from 'node:path';
import { COMPRESSIONS, type Compression, type ContentCoding } from '../../core/http/content-coding.js';
import type { Reply } from '../../core/http/operation.js';
import { bytes } from '../../core/http/reply.js';

const MEDIA_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.txt': 'text/plain; charset=utf-8',
  '.webp': 'image/webp',
};

/** Names with a content hash never change their bytes; all other files are checked at each use, which costs a 304. */
const HASHED = /-[A-Z0-9]{8}\.\w+$/;
const FOREVER = 'public, max-age=31536000, immutable';
const CHECKED = 'public, no-cache';

/** Files that the build has compressed carry one of these after their name. */
const ENDINGS: Readonly<Record<string, Compression>> = { '.gz': 'gzip', '.br': 'br', '.zst': 'zstd' };

/** Content of a file that the build wrote, by content coding. */
export type Forms<T> = Partial<Record<ContentCoding, T>>;

/** Paths of files by the names that they are served under, each in its codings. Files of other types are omitted. */
export function groupForms(directory: string, names: readonly string[]): Map<string, Forms<string>> {
  const files = new Map<string, Forms<string>>();
  for (const written of names) {
    const coding = ENDINGS[extname(written)] ?? 'identity';
    const name =
      coding === 'identity' ? written : join(dirname(written), basename(written, extname(written)));
    if (!MEDIA_TYPES[extname(name)]) continue;
    files.set(name, { ...files.get(name), [coding]: join(directory, written) });
  }
  return files;
}

/** The reply for one file, the same object for every request. */
export function createStaticReply(
  name: string,
  { identity, ...forms }: Forms<Buffer>,
  headers?: Reply['headers'],
): Reply {
  const encoding = identity ? undefined : COMPRESSIONS.find((coding) => forms[coding]);
  const content = identity ?? forms[encoding!]!;
  const etag = createHash('sha256').update(content).digest('base64url').slice(0, 22);
  const cacheControl = HASHED.test(name) ? FOREVER : CHECKED;
  const constant = { block: undefined, forms, isStatic: true };
  return bytes(content, MEDIA_TYPES[extname(name)]!, {
    etag,
    cacheControl,
    encoding,
    constant,
    ...(headers && { headers }),
  });
}
