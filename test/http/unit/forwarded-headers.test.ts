import { describe, expect, test } from 'vitest';
import { ForwardedHeaders, peerAddress } from '../../../src/gateway/http/requests/forwarded-headers.js';

const FORWARDED = {
  host: 'inside:8080',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'maps.example.org',
  'x-forwarded-prefix': '/geo',
  'x-forwarded-for': '198.51.100.7, 10.0.0.9',
};

const header = (headers: Record<string, string>) => (name: string) => headers[name];

const forwarding = (trustProxy: string[] = [], publicUrl?: string) =>
  new ForwardedHeaders({ publicUrl, trustProxy, fallbackHost: 'localhost:8080' });

describe('headers of a proxy', () => {
  test('count when the peer is trusted', () => {
    const trusting = forwarding(['10.0.0.0/8', 'fd00::/8']);
    for (const peer of ['10.1.2.3', 'fd00::1', '::ffff:10.1.2.3'])
      expect(trusting.baseUrl(header(FORWARDED), peer)).toBe('https://maps.example.org/geo');
  });

  test.each([
    ['x-forwarded-prefix', 'http://inside:8080/geo'],
    ['x-forwarded-host', 'http://maps.example.org'],
    ['x-forwarded-proto', 'https://inside:8080'],
  ] as const)('count alone: %s', (name, url) => {
    const headers = { host: FORWARDED.host, [name]: FORWARDED[name] };
    expect(forwarding(['10.0.0.0/8']).baseUrl(header(headers), '10.1.2.3')).toBe(url);
  });

  test.each([[[]], [['10.0.0.0/8']]])('do not count when the peer is not (trusted: %j)', (trustProxy) => {
    expect(forwarding(trustProxy).baseUrl(header(FORWARDED), '203.0.113.1')).toBe('http://inside:8080');
    expect(forwarding(trustProxy).clientAddress(header(FORWARDED), '203.0.113.1')).toBe('203.0.113.1');
  });

  test('never replace a configured address', () => {
    const fixed = forwarding(['10.0.0.0/8'], 'https://public.example/base/');
    expect(fixed.baseUrl(header(FORWARDED), '10.1.2.3')).toBe('https://public.example/base');
  });

  test('are named in Vary where they count', () => {
    expect(forwarding().vary).toBe('accept');
    expect(forwarding(['10.0.0.0/8'], 'https://public.example').vary).toBe('accept');
    expect(forwarding(['10.0.0.0/8']).vary).toMatch(
      /x-forwarded-proto, x-forwarded-host, x-forwarded-prefix/,
    );
  });
});

describe('the address of a client', () => {
  const trusting = forwarding(['10.0.0.0/8']);
  const through = (hops: string) => trusting.clientAddress(header({ 'x-forwarded-for': hops }), '10.0.0.1');

  test('is the last that is not a trusted proxy', () => {
    expect(through('192.0.2.66, 198.51.100.7, 10.0.0.9')).toBe('198.51.100.7');
    expect(through('198.51.100.7:4711')).toBe('198.51.100.7');
    expect(through('[2001:db8::7]:4711')).toBe('2001:db8::7');
    expect(through('10.0.0.8, 10.0.0.9')).toBe('10.0.0.8');
  });

  test('is that of the nearest proxy where the list makes no sense', () => {
    expect(trusting.clientAddress(header({}), '10.0.0.1')).toBe('10.0.0.1');
    expect(through('unknown')).toBe('10.0.0.1');
    expect(through('198.51.100.7, <script>')).toBe('10.0.0.1');
  });
});

test('addresses of peers are written as people write them', () => {
  expect(peerAddress(Uint8Array.of(192, 0, 2, 7).buffer)).toBe('192.0.2.7');
  const mapped = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 7);
  expect(peerAddress(mapped.buffer)).toBe('192.0.2.7');
  const six = Uint8Array.of(0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7);
  expect(peerAddress(six.buffer)).toBe('2001:db8::7');
  expect(peerAddress(new ArrayBuffer(0))).toBe('');
});
