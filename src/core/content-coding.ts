/** Content codings that are written and read (RFC 9110, 8.4.1; RFC 7932; RFC 8878). */
export const COMPRESSIONS = ['gzip', 'br', 'zstd'] as const;

export type Compression = (typeof COMPRESSIONS)[number];

export type ContentCoding = Compression | 'identity';
