import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { errorLines, gateways, residentBytes } from '../../support/processes.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { isFullRun, repetitions } from '../../support/soak.js';
import { dial, eventually, exchange, raw } from '../support/http.js';

const IS_FULL = isFullRun(import.meta.url);
let server: TestServer;
let gatewayPid: number;
let known = 0;
/** A client that begins a request and says nothing more while the other tests run. Resolves when it is cut off. */
let silence: Promise<unknown>;

beforeAll(async () => {
  server = await startServerProcess();
  [gatewayPid] = gateways(server.process.pid!) as [number];
  const socket = await dial(server.url);
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n');
  socket.resume();
  silence = once(socket, 'close');
});

afterAll(() => server?.stop());

/** Whatever a test sent: the same process still serves, and nothing was logged as a fault of ours. */
afterEach(async () => {
  expect((await raw(`${server.url}/healthz/ready`)).status).toBe(200);
  expect(gateways(server.process.pid!)).toEqual([gatewayPid]);
  const errors = errorLines(server.log()).slice(known);
  known += errors.length;
  expect(errors).toEqual([]);
});

const TILES = '/ogc/tiles/collections/3/tiles/WebMercatorQuad';
const ITEMS = '/ogc/features/collections/countries/items';
const COVERAGE = '/ogc/coverages/collections/l7_etms/coverage';
const KEYS = '/api/v1/admin/api-keys';
const MAP = '/ogc/maps/collections/3/map';

async function status(
  path: string,
  method = 'GET',
  body?: string | Buffer,
  headers: Record<string, string> = {},
): Promise<number> {
  return (await raw(`${server.url}${path}`, { method, body, headers })).status;
}

describe('a path that does not exist', () => {
  it.each([
    '/nothing',
    '/ogc',
    '/ogc/features/collections/nothing',
    '/ogc/features/collections/nothing/items',
    '/ogc/features/collections/countries/items/99999',
    '/ogc/features/collections/countries/items/no-number',
    '/ogc/features/collections/l7_etms/items',
    '/ogc/coverages/collections/countries/coverage',
    '/ogc/coverages/collections/nothing',
    '/ogc/tiles/collections/999',
    '/ogc/tiles/tileMatrixSets/Nothing',
    '/ogc/tiles/collections/3/tiles/Nothing/0/0/0',
    '/ogc/maps/collections/999/map',
    '/ogc/maps/map?collections=nothing',
    '/stac/collections/nothing',
    '/docs/nothing',
    '/assets/nothing.js',
    '/api/v1/admin/nothing',
  ])('%s is answered 404', async (path) => {
    const answer = await raw(`${server.url}${path}`);
    expect(answer.status).toBe(404);
    expect(answer.headers['content-type']).toBe('application/problem+json');
  });
});

describe('a path that tries to leave its place', () => {
  // Sent as they are: a client library would tidy them up first.
  it.each([
    '/assets/../../package.json',
    '/assets/..%2f..%2fpackage.json',
    '/assets/..%2F..%2F..%2F..%2Fetc%2Fpasswd',
    '/assets/%2e%2e/%2e%2e/etc/passwd',
    '/assets/....//....//etc/passwd',
    '/assets/..%5c..%5cpackage.json',
    '/assets/%00',
    '/assets/site.css%00.png',
    '/assets/%c0%ae%c0%ae/%c0%ae%c0%ae/etc/passwd',
    '/assets/%c0%af%c0%afetc/passwd',
    '/assets/%e0%80%af',
    '/ogc/features/collections/%00/items',
    '/ogc/features/collections/..%2f..%2f/items',
    '/ogc/features/collections/%ff%fe/items',
    '/ogc/features/collections/countries%00/items',
    '/ogc/features/collections/%F0%82%82%AC',
    '/ogc/features/collections/%',
    '/ogc/features/collections/%zz/items',
    '//etc/passwd',
    '/ogc/features/collections/countries/items/1%20OR%201=1',
    "/ogc/features/collections/countries/items/1';DROP%20TABLE%20countries;--",
    '/ogc/coverages/collections/%2Fetc%2Fpasswd/coverage',
    '/ogc/coverages/collections/%2Fvsicurl%2Fhttp:%2F%2F127.0.0.1%2F/coverage',
  ])('%s is refused', async (path) => {
    const text = await exchange(
      server.url,
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 40[04] /);
    expect(text).not.toContain('root:');
    expect(text).not.toContain('"dependencies"');
  });
});

describe('a tile that does not exist', () => {
  it.each([
    '/0/0/1',
    '/0/1/0',
    '/1/2/0',
    '/1/0/-1',
    '/1/-1/0',
    '/-1/0/0',
    '/5/1000000000/0',
    '/5/0/1000000000',
    '/5/0/99999999999999999999',
    '/5/a/0',
    '/5/0/b',
    '/x/0/0',
    '/30/0/0',
    '/25/0/0',
    '/1e1/0/0',
    '/1.0/0/0',
    '/0/0.5/0',
    '/NaN/0/0',
    '/0/Infinity/0',
    '/0/%20/0',
    '/00/0/0',
    '/0x1/0/0',
  ])('%s is answered 400', async (address) => {
    for (const f of ['mvt', 'png']) expect(await status(`${TILES}${address}?f=${f}`)).toBe(400);
    expect(await status(`/ogc/tiles/tiles/WebMercatorQuad${address}`)).toBe(400);
  });

  it('at the largest zoom is answered 204, a tile, or 404 outside of the limits', async () => {
    const last = 2 ** 24 - 1;
    for (const [row, column] of [
      [0, 0],
      [last, last],
      [last, 0],
    ])
      expect([200, 204, 404]).toContain(await status(`${TILES}/24/${row}/${column}`));
  });

  it('of a collection that is not there is answered 400 or 404', async () => {
    for (const id of ['no-such', '-1', '1.5', '99999999999999'])
      expect([400, 404]).toContain(await status(`/ogc/tiles/collections/${id}`));
  });
});

describe('a wrong parameter', () => {
  const boxes = [
    '',
    '1',
    '1,2,3',
    '1,2,3,4,5',
    '1,2,3,4,5,6,7',
    'a,b,c,d',
    '1,2,3,',
    '1,,2,3',
    'inf,inf,inf,inf',
    '-inf,-inf,inf,inf',
    'NaN,NaN,NaN,NaN',
    '1e308,1e308,1e308,1e309',
    '0x1,0,1,1',
    '10,10,20,5',
    '0,-91,10,10',
    '0,0,10,1e308',
    '1;2;3;4',
    '0,0,10,10 OR 1=1',
    `${'1'.repeat(500)},0,1,1`,
  ];

  it.each(boxes)('bbox=%s of features is answered 400', async (box) => {
    expect(await status(`${ITEMS}?bbox=${encodeURIComponent(box)}`)).toBe(400);
  });

  it.each(boxes)('bbox=%s of maps and coverages is answered 400', async (box) => {
    expect(await status(`${MAP}?bbox=${encodeURIComponent(box)}`)).toBe(400);
    expect(await status(`${COVERAGE}?bbox=${encodeURIComponent(box)}`)).toBe(400);
  });

  it.each([
    'bbox=-1e308,-90,1e308,90',
    'bbox=170,-10,-170,10',
    'bbox=10,10,10,10',
    'bbox=1e-300,1e-300,2e-300,2e-300',
    'bbox=-1e20,0,1e20,10&bbox-crs=http://www.opengis.net/def/crs/EPSG/0/3857',
  ])('%s, which is odd but possible, is answered without a fault', async (query) => {
    expect([200, 400]).toContain(await status(`${ITEMS}?${query}`));
    expect([200, 400, 404]).toContain(await status(`${COVERAGE}?${query}`));
    expect([200, 400]).toContain(await status(`${MAP}?${query}&width=32&height=32`));
  });

  it.each([
    'limit=0',
    'limit=2001',
    'limit=-1',
    'limit=abc',
    'limit=1.5',
    'limit=1e3',
    'limit=',
    'limit=99999999999999999999',
    'limit=5&limit=6',
    'offset=-1',
    'offset=x',
    'offset=99999999999999',
    'crs=',
    'crs=nonsense',
    'crs=http://www.opengis.net/def/crs/EPSG/0/999999',
    'crs=http://evil.example/crs',
    'bbox-crs=EPSG:0',
    'datetime=yesterday',
    'datetime=2020-13-45',
    'datetime=2021-01-01/2020-01-01',
    'f=exe',
    'f=',
    'unknown=1',
    '%ff=1',
    'limit=%ff',
    '=1',
    '__proto__=1',
    'constructor=1',
  ])('%s of features is answered 400', async (query) => {
    const answer = await raw(`${server.url}${ITEMS}?${query}`);
    expect(answer.status, answer.body.toString('utf8').slice(0, 200)).toBe(400);
    expect(answer.headers['content-type']).toBe('application/problem+json');
  });

  it.each([
    'width=0',
    'width=4097',
    'height=-5',
    'width=abc',
    'quality=0',
    'quality=101',
    'bgcolor=reddish',
    'transparent=maybe',
    'crs=EPSG:999999',
    'bbox=0,0,10,10&bbox-crs=http://www.opengis.net/def/crs/EPSG/0/4326&crs=nonsense',
  ])('%s of maps is answered 400', async (query) => {
    expect(await status(`${MAP}?${query}`)).toBe(400);
  });

  it.each([
    'properties=band_0',
    'properties=band_7',
    'properties=band_99999999999',
    'properties=band_1,band_1',
    'properties=',
    'properties=red',
    'scale-size=0,10',
    'scale-size=8193,1',
    'scale-size=1,8193',
    'scale-size=10',
    'scale-size=x(10),x(10)',
    'scale-size=999999999,999999999',
    'scale-factor=0',
    'scale-factor=-1',
    'scale-factor=nan',
    'scale-factor=1e-300',
    'scale-factor=0.000001',
    'resolution=0',
    'resolution=-1',
    'resolution=1,2,3',
    'resolution=1e-9',
    'resolution=inf',
    'scale-factor=2&scale-size=10,10',
    'crs=http://www.opengis.net/def/crs/EPSG/0/25832',
  ])('%s of coverages is answered 400', async (query) => {
    expect(await status(`${COVERAGE}?${query}`)).toBe(400);
  });

  it('of a window beside the coverage is answered 4xx', async () => {
    expect([400, 404]).toContain(await status(`${COVERAGE}?bbox=10,10,11,11`));
  });
});

describe('a request that is too large', () => {
  it('by a header of 100 KB that comes in pieces is answered 431', async () => {
    const socket = await dial(server.url);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    const closed = once(socket, 'close');
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ');
    for (let i = 0; i < 20 && !socket.destroyed; i++) {
      socket.write('a'.repeat(5000));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await closed;
    expect(text).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('by a header of 1 MB is answered 431 however it comes', async () => {
    const text = await exchange(
      server.url,
      `GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'a'.repeat(1_000_000)}\r\n\r\n`,
    );
    expect(text).toMatch(/^(HTTP\/1\.1 431 |$)/);
  });

  it('by a thousand headers is refused or answered', async () => {
    const headers = Array.from({ length: 1000 }, (_, i) => `X-H${i}: 1\r\n`).join('');
    const text = await exchange(
      server.url,
      `GET /healthz/live HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`,
      2000,
    );
    expect(text).toMatch(/^(HTTP\/1\.1 (200|431|400) |$)/);
  });

  it('by an address of 20 KB is refused', async () => {
    const text = await exchange(
      server.url,
      `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    expect(text).toMatch(/^(HTTP\/1\.1 (414|431|400) |$)/);
  });

  it('by an address of 10 KB is answered 414', async () => {
    expect(await status(`/${'a'.repeat(10_000)}`)).toBe(414);
    expect(await status(`/?${'a'.repeat(10_000)}`)).toBe(414);
  });

  it('by its body is answered 413, declared or not', async () => {
    const head = `POST ${KEYS} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${server.adminKey}\r\nContent-Type: application/json\r\n`;
    const declared = await exchange(server.url, `${head}Content-Length: 30000000\r\n\r\n{`);
    expect(declared).toMatch(/^HTTP\/1\.1 413 /);
    const chunk = `100000\r\n${' '.repeat(0x100000)}\r\n`;
    const chunked = await exchange(
      server.url,
      `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(28)}0\r\n\r\n`,
    );
    expect(chunked).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('by its body is answered also to a client that sends it all before it reads', async () => {
    const socket = await dial(server.url);
    let text = '';
    let fault: Error | undefined;
    socket.on('error', (error) => {
      fault = error;
    });
    socket.write(
      `POST ${KEYS} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${server.adminKey}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = `100000\r\n${' '.repeat(0x100000)}\r\n`;
    // The client does not read until it has written six times what is accepted.
    for (let i = 0; i < 6; i++) await new Promise((resolve) => socket.write(chunk, resolve));
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
    });
    await eventually(async () => expect(text).toMatch(/\r\n\r\n\{.*\}$/s));
    socket.destroy();
    expect(fault).toBeUndefined();
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
  });

  it.each([
    '{',
    'null',
    '[]',
    '"text"',
    '{"name":',
    '\u0000',
    '['.repeat(100_000),
    '{"__proto__":{"a":1}}',
    '{"name":5}',
    '',
  ])('or not JSON of the schema (%#) is answered 400', async (body) => {
    const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' };
    expect(await status(KEYS, 'POST', body, headers)).toBe(400);
  });

  it('or of another media type is answered 415', async () => {
    const headers = { 'x-api-key': server.adminKey, 'content-type': 'text/plain' };
    expect(await status(KEYS, 'POST', '{"name":"a"}', headers)).toBe(415);
  });
});

describe('bytes that are not HTTP', () => {
  it.each([
    ['nothing but noise', '\x00\x01\x02\xff\xfe\r\n\r\n'],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a request line only', 'GET /\r\n\r\n'],
    ['an HTTP version of the future', 'GET / HTTP/9.9\r\nHost: localhost\r\n\r\n'],
    ['no Host', 'GET /healthz/live HTTP/1.1\r\n\r\n'],
    ['a bad length', 'POST /ogc/features/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n'],
    [
      'a length that is no number',
      'POST /ogc/features/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: abc\r\n\r\n',
    ],
    [
      'two lengths',
      'POST /ogc/features/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
    ],
    [
      'a length and chunks',
      'POST /ogc/features/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'chunks of garbage',
      'POST /ogc/features/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n',
    ],
    [
      'a huge chunk',
      'POST /ogc/features/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhello\r\n',
    ],
    ['a header with a line feed', 'GET / HTTP/1.1\r\nHost: localhost\r\nX-A: b\nX-B: c\r\n\r\n'],
    ['a header name with a space', 'GET / HTTP/1.1\r\nHost : localhost\r\n\r\n'],
    [
      'two requests at once',
      'GET /healthz/live HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n',
    ],
    ['fifty requests at once, of slow answers', `GET ${MAP} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(50)],
  ])('%s does no harm', async (_, bytes) => {
    const text = await exchange(server.url, Buffer.from(bytes, 'latin1'), 1000);
    expect(text).not.toMatch(/^HTTP\/1\.1 500/m);
    expect(text).toMatch(/^(HTTP\/1\.1 ([234]\d\d|505) |$)/);
  });

  it('in a body whose client vanishes half way make nothing', async () => {
    const names = async () => {
      const answer = await raw(`${server.url}${KEYS}`, { headers: { 'x-api-key': server.adminKey } });
      return [...answer.body.toString().matchAll(/"name":"([^"]*)"/g)].map(([, name]) => name);
    };
    const before = await names();
    for (let i = 0; i < 20; i++) {
      const socket = await dial(server.url);
      socket.write(
        `POST ${KEYS} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${server.adminKey}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"name":`,
      );
      await new Promise((resolve) => setTimeout(resolve, 5));
      socket.resetAndDestroy();
    }
    expect(before).not.toEqual([]);
    expect(await names()).toEqual(before);
  });
});

describe('clients that misbehave', () => {
  const WAVES = IS_FULL ? 20 : 4;
  const rss = () => residentBytes(gatewayPid);
  const active = async () => {
    const { body } = await raw(`${server.url}/metrics`, { headers: { 'x-api-key': server.adminKey } });
    const lines = body
      .toString()
      .split('\n')
      .filter((line) => /^\w*active\w*requests?\w*(\{| )|^\w*requests?_active\w*(\{| )/.test(line));
    return lines.map((line) => Number(line.split(' ').at(-1))).reduce((a, b) => a + b, 0);
  };

  it(`by going away ${50 * WAVES} times leave no request behind`, async () => {
    const paths = [`${ITEMS}?limit=240`, `${MAP}?width=400`, `${TILES}/3/2/4?f=png`, COVERAGE, '/'];
    for (let wave = 0; wave < WAVES; wave++) {
      const sockets = await Promise.all(Array.from({ length: 50 }, () => dial(server.url)));
      for (const [i, socket] of sockets.entries()) {
        socket.on('error', () => undefined);
        socket.write(`GET ${paths[i % paths.length]} HTTP/1.1\r\nHost: a\r\n\r\n`);
      }
      // Some go before the server has read, some while it works, some while it sends.
      await new Promise((resolve) => setTimeout(resolve, wave % 4 === 0 ? 0 : wave * 3));
      for (const socket of sockets) socket.resetAndDestroy();
    }
    expect(await status(`${ITEMS}?limit=1`)).toBe(200);
    // The scrape counts itself.
    await eventually(async () => expect(await active()).toBe(1));
  });

  it('by never reading what they asked for do not fill the memory', async () => {
    const before = rss();
    const page = `/ogc/features/collections/states_provinces/items?limit=2000`;
    const size = (await raw(`${server.url}${page}`)).body.length;
    expect(size).toBeGreaterThan(5_000_000);
    const sockets: Socket[] = [];
    let peak = 0;
    for (let i = 0; i < 200; i++) {
      const socket = await dial(server.url);
      socket.on('error', () => undefined);
      socket.pause();
      socket.write(`GET ${page} HTTP/1.1\r\nHost: a\r\n\r\n`);
      sockets.push(socket);
      peak = Math.max(peak, rss());
    }
    for (let i = 0; i < repetitions(import.meta.url, 40, IS_FULL ? 12 : 4); i++) {
      await new Promise((resolve) => setTimeout(resolve, 250));
      peak = Math.max(peak, rss());
    }
    expect(await status(`${ITEMS}?limit=1`)).toBe(200);
    for (const socket of sockets) socket.destroy();
    // Held whole, the answers would be 200 times their size: over 1 GB.
    expect(peak - before).toBeLessThan(size * 120);
    await eventually(async () => expect(await active()).toBe(1));
  }, 90_000);

  it('by sending their headers byte by byte are cut off or wait alone', async () => {
    const sockets = await Promise.all(Array.from({ length: 100 }, () => dial(server.url)));
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.write('GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    }
    for (let i = 0; i < 10; i++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      for (const socket of sockets) if (!socket.destroyed) socket.write('a');
      expect(await status('/healthz/live')).toBe(200);
    }
    for (const socket of sockets) socket.destroy();
  });

  it('by saying nothing are cut off after a while', () => silence, 60_000);

  it('by closing only their side get their answer or none, and leave nothing behind', async () => {
    for (let i = 0; i < 20; i++) {
      const socket = await dial(server.url);
      socket.end(`GET ${ITEMS}?limit=3 HTTP/1.1\r\nHost: a\r\n\r\n`);
      socket.resume();
      await once(socket, 'close');
    }
    await eventually(async () => expect(await active()).toBe(1));
  });
});
