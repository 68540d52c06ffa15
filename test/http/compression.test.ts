import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Reply } from '../../src/core/http/operation.js';
import { acceptsCoding, chooseCoding, isNegotiable } from '../../src/gateway/http/replies/compression.js';
import { compress, decompress } from '../../src/services/uploads/compression.js';

const reply = (mediaType: string, bytes: number, more: Partial<Reply> = {}): Reply => ({
  ...{ status: 200, mediaType, body: 'x'.repeat(bytes) },
  ...more,
});
const BROWSER = 'gzip, deflate, br, zstd';
const parts = { async *[Symbol.asyncIterator]() {} };

describe('Accept-Encoding (RFC 9110, 12.5.3)', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    [BROWSER, 'zstd'],
    ['gzip, deflate, br', 'gzip'],
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['GZIP', 'gzip'],
    ['deflate, gzip;q=0.8', 'gzip'],
    ['br;q=0.9, gzip;q=0.5, zstd;q=0.1', 'br'],
    ['gzip;q=0.5, br;q=0.50', 'gzip'],
    ['br;q=0, gzip;q=0.001', 'gzip'],
    ['gzip;q=0', 'identity'],
    ['gzip;q=0.000, br ; q=0', 'identity'],
    ['*', 'zstd'],
    ['*, zstd;q=0', 'gzip'],
    ['*;q=0, gzip', 'gzip'],
    ['identity, gzip;q=0.5', 'identity'],
    ['identity;q=0', 'identity'],
    ['identity;q=0, br;q=0.1', 'br'],
    ['*;q=0', 'identity'],
    ['x-gzip-like', 'identity'],
    ['deflate', 'identity'],
    ['gzip;q=nothing, br;', 'br'],
  ])('of %s asks for %s', (header, coding) => {
    expect(chooseCoding(reply('application/json', 5000), header)).toBe(coding);
  });

  it('is not read when it is longer than 1 KiB', () => {
    const header = (length: number) => 'gzip'.padEnd(length, ', x');
    const codings = [1024, 1025].map((length) => chooseCoding(reply('text/csv', 5000), header(length)));
    expect(codings).toEqual(['gzip', 'identity']);
  });

  it('takes what is compressed already as it is, whatever else a client would take', () => {
    const tile = reply('application/vnd.mapbox-vector-tile', 5000, { encoding: 'gzip' });
    const headers = [BROWSER, 'br, *;q=0.1', 'gzip;q=0', 'br', undefined];
    expect(headers.map((header) => chooseCoding(tile, header))).toEqual([
      ...['gzip', 'gzip', 'identity', 'br', 'identity'],
    ]);
    expect(acceptsCoding('br, *;q=0.1', 'gzip')).toBe(true);
  });

  it('has an order for each kind of content', () => {
    const codings = [
      reply('application/vnd.maplibre-tile', 5000),
      reply('application/geo+json', 0, { body: parts }),
      reply('text/javascript', 5000, { encoding: 'gzip', constant: { block: undefined, isStatic: true } }),
    ].map((one) => ['gzip, br', BROWSER].map((header) => chooseCoding(one, header)));
    expect(codings).toEqual([
      ['gzip', 'gzip'],
      ['br', 'zstd'],
      ['br', 'br'],
    ]);
  });

  it('does not matter for small bodies, unless they are refused as they are', () => {
    expect(chooseCoding(reply('application/json', 1023), BROWSER)).toBe('identity');
    expect(chooseCoding(reply('application/json', 1024), BROWSER)).toBe('zstd');
    expect(chooseCoding(reply('application/json', 1023), 'gzip, identity;q=0')).toBe('gzip');
  });

  it.each([
    'image/png',
    'image/tiff; application=geotiff',
    'application/geopackage+sqlite3',
    'application/zip',
    'text/event-stream',
  ])('does not matter for %s', (mediaType) => {
    expect(isNegotiable(reply(mediaType, 5000))).toBe(false);
    expect(chooseCoding(reply(mediaType, 5000), BROWSER)).toBe('identity');
  });

  it('does not matter for parts of files and files of known length', () => {
    const range = reply('text/csv', 5000, { status: 206 });
    const file = reply('text/csv', 0, { body: parts, length: 5000 });
    expect([range, file].map((one) => chooseCoding(one, BROWSER))).toEqual(['identity', 'identity']);
    expect([range, file].map(isNegotiable)).toEqual([true, false]);
  });

  it.each([
    'application/x-protobuf',
    'application/problem+json',
    'application/vnd.ogc.sld+xml;version=1.1',
    'application/gml+xml;version=3.2',
    'application/vnd.google-earth.kml+xml',
    'image/svg+xml',
    'text/csv; charset=utf-8',
  ])('matters for %s', (mediaType) => {
    expect(chooseCoding(reply(mediaType, 5000), BROWSER)).toBe('zstd');
  });
});

it.each(['gzip', 'br', 'zstd'] as const)(
  '%s holds what was compressed, and no more than is allowed',
  async (coding) => {
    const text = 'Grüße '.repeat(5000);
    for (const effort of ['fresh', 'static'] as const) {
      const bytes = await compress(text, coding, effort);
      expect(bytes.length).toBeLessThan(1000);
      expect((await decompress(bytes, coding)).toString()).toBe(text);
      await expect(decompress(bytes, coding, 20_000)).rejects.toMatchObject({
        code: 'ERR_BUFFER_TOO_LARGE',
      });
      for (const rest of [Buffer.from('rest'), Buffer.alloc(9)])
        await expect(decompress(Buffer.concat([bytes, rest]), coding)).rejects.toThrow();
      if (coding === 'gzip') expect(gunzipSync(bytes).toString()).toBe(text);
    }
  },
);
