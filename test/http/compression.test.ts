import { describe, expect, it } from 'vitest';
import { acceptsGzip, chooseEncoding } from '../../src/gateway/http/compression.js';

describe('Accept-Encoding (RFC 9110, 12.5.3)', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['deflate, gzip;q=0.8', 'gzip'],
    ['br;q=0.5, gzip', 'gzip'],
    ['gzip;q=0.5, br;q=0.50', 'br'],
    ['br;q=0, gzip;q=0.001', 'gzip'],
    ['gzip;q=0', 'identity'],
    ['gzip;q=0.000, br ; q=0', 'identity'],
    ['*', 'br'],
    ['*, br;q=0', 'gzip'],
    ['*;q=0, gzip', 'gzip'],
    ['identity, gzip;q=0.5', 'identity'],
    ['x-gzip-like', 'identity'],
    ['deflate', 'identity'],
  ])('of %s asks for %s', (header, encoding) => {
    expect(chooseEncoding('application/json', 5000, header)).toBe(encoding);
  });

  it('decides whether what is kept as gzip is sent as it is', () => {
    expect(['gzip', 'br, *;q=0.1', 'gzip;q=0', 'br', undefined].map(acceptsGzip)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it('does not matter for small bodies and for what is compressed already', () => {
    expect(chooseEncoding('application/json', 1023, 'gzip')).toBe('identity');
    expect(chooseEncoding('image/png', 5000, 'gzip')).toBe('identity');
    expect(chooseEncoding('application/json', 1024, 'gzip')).toBe('gzip');
  });
});
