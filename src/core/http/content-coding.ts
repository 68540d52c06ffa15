/** Content codings that are written and read (RFC 9110, 8.4.1; RFC 7932; RFC 8878). */
export const COMPRESSIONS = ['gzip', 'br', 'zstd'] as const;

export type Compression = (typeof COMPRESSIONS)[number];

export const CONTENT_CODINGS = ['identity', ...COMPRESSIONS] as const;

export type ContentCoding = (typeof CONTENT_CODINGS)[number];

/** Compression of a coding; undefined for `identity`. */
export const findCompression = (coding: ContentCoding): Compression | undefined =>
  coding === 'identity' ? undefined : coding;
