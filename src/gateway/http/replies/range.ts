import { ApiError } from '../../../core/errors/errors.js';
import type { Exchange } from '../../../core/http/operation.js';

/** First and last byte. */
export type ByteRange = readonly [first: number, last: number];

/**
 * The requested byte range of a representation (RFC 9110, 14.2). Undefined if the whole representation is sent:
 * without a range, for several ranges, and for conditional requests. Throws 416.
 */
export function parseByteRange(x: Exchange, size: number, etag: string): ByteRange | undefined {
  if (x.header('if-none-match') !== undefined) return undefined;
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(x.header('range')?.trim() ?? '') ?? [];
  if (from === undefined || to === undefined || (from === '' && to === '')) return undefined;
  const condition = x.header('if-range');
  if (condition !== undefined && condition.trim() !== `"${etag}"`) return undefined;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== '' && from !== '' && Number(from) > Number(to)) return undefined;
  if (start >= size || (from === '' && Number(to) === 0)) {
    throw new ApiError(
      'range-not-satisfiable',
      `Range: the requested range starts after the end of the file. The file has ${size} bytes.`,
      {
        headers: { 'content-range': `bytes */${size}`, 'accept-ranges': 'bytes' },
      },
    );
  }
  return [start, end];
}

export function partHeaders(range: ByteRange | undefined, size: number): Record<string, string> {
  const ranges = { 'accept-ranges': 'bytes' };
  return range ? { ...ranges, 'content-range': `bytes ${range[0]}-${range[1]}/${size}` } : ranges;
}
