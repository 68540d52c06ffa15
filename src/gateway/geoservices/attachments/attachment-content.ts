import type { ApiError } from '../../../core/errors/errors.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import type { StoredContent } from '../../../services/attachments/service.js';
import { parseByteRange, partHeaders } from '../../http/replies/range.js';

type Failure = (error: ApiError) => Reply;

/**
 * Replies with the bytes of an attachment or one range of them (RFC 9110, 14), as a download that browsers do not
 * display, because the content is not trusted.
 */
export function contentReply(
  x: Exchange,
  { attachment, object }: StoredContent,
  read: (start: number, length: number) => AsyncIterable<Uint8Array>,
): Reply {
  const etag = /[0-9a-f]{64}/.exec(attachment.contentKey)![0].slice(0, 32);
  const range = parseByteRange(x, object.bytes, etag);
  const [start, end] = range ?? [0, object.bytes - 1];
  const length = end - start + 1;
  return {
    status: range ? 206 : 200,
    mediaType: attachment.mediaType,
    etag,
    cacheControl: 'private, no-cache',
    length,
    body: read(start, length),
    headers: {
      'content-disposition': formatDisposition(attachment.name),
      'content-security-policy': "sandbox; default-src 'none'",
      ...partHeaders(range, object.bytes),
    },
  };
}

/** The name in ASCII for old clients, and unchanged for others (RFC 6266). */
function formatDisposition(name: string): string {
  const plain = name.replace(/[^\w.-]/g, '_');
  const full = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${full}`;
}

/** An unsatisfiable range is reported by the status code, because clients that request bytes do not parse JSON. */
export function downloadFailure(inBand: Failure): Failure {
  return (error) =>
    error.status === 416
      ? { status: 416, ...(error.headers ? { headers: error.headers } : {}), cacheControl: 'no-store' }
      : inBand(error);
}
