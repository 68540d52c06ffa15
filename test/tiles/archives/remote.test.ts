import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { allowHosts } from '../../../src/workers/providers/archive/remote.js';
import { AllowedHosts } from '../../../src/workers/storage/remote/allowed-hosts.js';
import { archive } from '../../../src/workers/tiles/archive.js';
import { archiveTile } from '../../support/archive-tile.js';
import { type TileRecord, writePMTiles } from '../../support/archives.js';
import { startServer } from '../../support/server.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-remote-'));
const tiles: TileRecord[] = Array.from({ length: 64 }, (_, i) => ({
  zoom: 3,
  row: i >> 3,
  column: i & 7,
  data: Buffer.from(`tile ${i}`),
}));

/** A host of one file, which may answer in other ways. */
let server: Server;
let bytes: Buffer;
let etag: string;
let asked: { path: string; range: string | undefined }[];
let odd: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;

function archiveOf(change = ''): Buffer {
  const path = join(folder, 'x.pmtiles');
  const changed = tiles.map((tile) => ({ ...tile, data: Buffer.from(tile.data + change) }));
  writePMTiles(path, changed, {
    leafSize: 10,
    tileType: 2,
    tileCompression: 1,
    metadata: { name: 'Far away' },
  });
  return readFileSync(path);
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const { range } = request.headers;
    asked.push({ path: request.url!, range });
    if (odd?.(request, response)) return;
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range!)!;
    const part = bytes.subarray(Number(first), Number(last) + 1);
    const end = Number(first) + part.length - 1;
    response.writeHead(206, { etag, 'content-range': `bytes ${first}-${end}/${bytes.length}` }).end(part);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});
let n = 0;
beforeEach(() => {
  bytes = archiveOf();
  etag = `"${++n}"`;
  asked = [];
  allowHosts(['127.0.0.1']);
});
afterEach(() => {
  odd = undefined;
});

const port = () => (server.address() as { port: number }).port;
// A name of its own for each test: what was read of one URL is kept.
const url = (host = '127.0.0.1') => `http://${host}:${port()}/${n}.pmtiles`;
const inspect = (path = url()) => archive({ path, container: 'pmtiles' });
const tile = (row: number, column: number, path = url()) =>
  archiveTile({ path, container: 'pmtiles', zoom: 3, row, column });
const text = async (row: number, column: number) => Buffer.from((await tile(row, column)).data).toString();

describe('an archive over HTTP', () => {
  it('is read by ranges, directories once', async () => {
    expect(await inspect()).toMatchObject({ title: 'Far away', format: 'png', revision: etag });
    for (const { row, column, data } of tiles) expect(await text(row, column)).toBe(data.toString());
    // Head and metadata, 7 leaves, 64 tiles.
    expect(asked).toHaveLength(2 + 7 + 64);
    expect(await tile(0, 0)).toMatchObject({ encoding: 'identity' });
    expect(
      (await archiveTile({ path: url(), container: 'pmtiles', zoom: 4, row: 0, column: 0 })).data,
    ).toHaveLength(0);
  });

  it('is asked once for a directory that several tiles wait for', async () => {
    await inspect();
    const read = await Promise.all(tiles.map(({ row, column }) => text(row, column)));
    expect(read).toEqual(tiles.map(({ data }) => data.toString()));
    expect(asked).toHaveLength(2 + 7 + 64);
  });

  it('that changes is read anew', async () => {
    expect(await text(1, 1)).toBe('tile 9');
    bytes = archiveOf(' changed');
    etag = '"other"';
    expect(await text(1, 1)).toBe('tile 9 changed');
  });

  it('that changes all the time is refused', async () => {
    odd = () => {
      etag = `"${Math.random()}"`;
      return false;
    };
    await expect(text(1, 1)).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringMatching(/changes/),
    });
  });

  it('is tried again after a failure', async () => {
    odd = (_, response) => Boolean(response.writeHead(503).end());
    await expect(inspect()).rejects.toMatchObject({ code: 'store-unavailable' });
    odd = undefined;
    expect(await inspect()).toMatchObject({ title: 'Far away' });
  });

  const answers: [string, number, Record<string, string>, string, string, RegExp][] = [
    ['that is not there', 404, {}, '', 'source-missing', /no longer exists/],
    ['whose host knows no ranges', 200, {}, 'x'.repeat(100_000), 'source-unreadable', /range requests/],
    ['whose host forbids it', 403, {}, '', 'source-unreadable', /403/],
    [
      'of another range',
      206,
      { 'content-range': 'bytes 5-9/100000' },
      'hello',
      'source-unreadable',
      /another range/,
    ],
    ['without a range', 206, {}, 'hello', 'source-unreadable', /another range/],
    [
      'of a compressed range',
      206,
      { 'content-encoding': 'gzip' },
      'hello',
      'source-unreadable',
      /compresses/,
    ],
  ];
  it.each(answers)('%s is refused', async (_, status, headers, body, code, message) => {
    odd = (__, response) => Boolean(response.writeHead(status, headers).end(body));
    await expect(inspect()).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('that sends more than was asked for, or less, is cut off', async () => {
    const range = { 'content-range': `bytes 0-16383/100000` };
    odd = (_, response) => Boolean(response.writeHead(206, range).end(Buffer.alloc(1_000_000)));
    await expect(inspect()).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringMatching(/more than/),
    });
    odd = (_, response) => Boolean(response.writeHead(206, range).end(Buffer.alloc(10)));
    await expect(inspect()).rejects.toMatchObject({ code: 'store-unavailable' });
    odd = (request) => Boolean(request.destroy());
    await expect(inspect()).rejects.toMatchObject({ code: 'store-unavailable' });
  });
});

describe('the allow-list', () => {
  const refused = { code: 'source-unreadable' };

  it('refuses hosts that are not on it, without asking them', async () => {
    allowHosts(['example.org', '10.0.0.0/8']);
    await expect(inspect()).rejects.toMatchObject({
      ...refused,
      message: expect.stringMatching(/127\.0\.0\.1:\d+ is not in remote\.allow/),
    });
    await expect(inspect(url('localhost'))).rejects.toMatchObject({
      ...refused,
      message: expect.stringMatching(/localhost/),
    });
    expect(asked).toEqual([]);
  });

  it('refuses a name on it that leads to an address that is not public, unless that is listed too', async () => {
    allowHosts(['localhost']);
    await expect(inspect(url('localhost'))).rejects.toMatchObject({
      ...refused,
      message: expect.stringMatching(/not public/),
    });
    expect(asked).toEqual([]);
    allowHosts(['localhost', '127.0.0.0/8']);
    expect(await inspect(url('localhost'))).toMatchObject({ title: 'Far away' });
  });

  it('holds for redirects', async () => {
    const to = (location: string) => (request: IncomingMessage, response: ServerResponse) =>
      request.url!.startsWith('/from') && Boolean(response.writeHead(302, { location }).end());
    const from = `http://127.0.0.1:${port()}/from/${n}.pmtiles`;
    odd = to(url('localhost'));
    await expect(inspect(from)).rejects.toMatchObject({
      ...refused,
      message: expect.stringMatching(/localhost/),
    });
    odd = to('file:///etc/passwd');
    await expect(inspect(from)).rejects.toMatchObject({
      ...refused,
      message: expect.stringMatching(/file:/),
    });
    odd = to(from);
    await expect(inspect(from)).rejects.toMatchObject({
      ...refused,
      message: expect.stringMatching(/too often/),
    });
    odd = to(url());
    expect(await inspect(from)).toMatchObject({ title: 'Far away' });
  });

  const cases: [string[], string, boolean][] = [
    [['tiles.example.org'], 'https://tiles.example.org/a', true],
    [['tiles.example.org'], 'https://TILES.example.org/a', true],
    [['tiles.example.org'], 'https://example.org/a', false],
    [['tiles.example.org'], 'https://tiles.example.org.evil.test/a', false],
    [['*.example.org'], 'https://a.b.example.org/a', true],
    [['*.example.org'], 'https://example.org/a', false],
    [['*.example.org'], 'https://badexample.org/a', false],
    [['tiles.example.org:8443'], 'https://tiles.example.org/a', false],
    [['tiles.example.org:8443'], 'https://tiles.example.org:8443/a', true],
    [['192.168.1.0/24'], 'http://192.168.1.7/a', true],
    [['192.168.1.0/24'], 'http://192.168.2.7/a', false],
    [['8.8.8.8'], 'http://134744072/a', true],
    [['example.org'], 'http://2130706433/a', false],
    [['example.org'], 'http://0x7f.1/a', false],
    [['::1'], 'http://[::1]:9/a', true],
    [['127.0.0.1:9000'], 'http://127.0.0.1:9000/a', true],
    [['127.0.0.1:9000'], 'http://127.0.0.1:9001/a', false],
    [['127.0.0.1:80'], 'http://127.0.0.1/a', true],
    [['127.0.0.1:443'], 'http://127.0.0.1/a', false],
    [['127.0.0.1:443'], 'https://127.0.0.1/a', true],
    [['10.0.0.0/8:8080'], 'http://10.1.2.3:8080/a', true],
    [['10.0.0.0/8:8080'], 'http://10.1.2.3/a', false],
    [['10.0.0.0/8:8080', '10.1.0.0/16'], 'http://10.1.2.3/a', true],
    [['[::1]:9000'], 'http://[::1]:9000/a', true],
    [['[::1]:9000'], 'http://[::1]:9/a', false],
    [['[::1]'], 'http://[::1]:9/a', true],
    [['[fd00::]/8:9000'], 'http://[fd12::7]:9000/a', true],
    [['[fd00::]/8:9000'], 'http://[fd12::7]:9/a', false],
    [['fd00::/8'], 'http://[fd12::7]:9/a', true],
    [['localhost:80'], 'http://localhost/a', true],
    [['localhost:80'], 'http://localhost:80/a', true],
    [['localhost:443'], 'https://localhost/a', true],
    [['localhost:80'], 'https://localhost/a', false],
    [['*.example.org:80'], 'http://a.example.org/a', true],
    [['example.org'], 'http://[::ffff:127.0.0.1]/a', false],
    [['example.org'], 'https://user:secret@example.org/a', false],
    [['example.org'], 'ftp://example.org/a', false],
    [[], 'https://example.org/a', false],
  ];
  it.each(cases)('%j: %s %s', (entries, address, passes) => {
    const check = () => new AllowedHosts(entries).check(new URL(address));
    if (passes) expect(check).not.toThrow();
    else expect(check).toThrow(/cannot be read/);
  });
});

it('leads names to addresses on the port that these are listed with', async () => {
  const found = (entries: string[], url: string) =>
    new Promise((resolve) => {
      const at = new URL(url);
      new AllowedHosts(entries).lookupOf(at)(at.hostname, {}, (error, address) =>
        resolve(error ? 'refused' : address),
      );
    });
  const both = ['localhost', '127.0.0.1:9000', '[::1]:9000'];
  expect(await found(both, 'http://localhost:9000/')).not.toBe('refused');
  expect(await found(both, 'http://localhost:9001/')).toBe('refused');
  expect(await found(['localhost'], 'http://localhost:9000/')).toBe('refused');
  // Receivers over HTTPS may be anywhere in public, and elsewhere where they are listed.
  const receiver = (entries: string[], url: string) =>
    new AllowedHosts(entries).problemOfReceiver(new URL(url));
  expect(receiver([], 'https://8.8.8.8/')).toBeUndefined();
  expect(receiver(['10.0.0.1:8443'], 'https://10.0.0.1:8443/')).toBeUndefined();
  expect(receiver(['10.0.0.1:8443'], 'https://10.0.0.1/')).toContain('not in remote.allow');
});

it.each([
  [['10.0.0.1:8443', '10.0.0.1:80'], 'https://10.0.0.1/', '10.0.0.1:443', '8443, 80'],
  [['[fd00::]/8:9000'], 'http://[fd00::1]:9001/', '[fd00::1]:9001', '9000'],
  [['*.example.org:8080'], 'https://a.example.org/', 'a.example.org:443', '8080'],
  [['example.org', 'localhost:80'], 'http://localhost:81/', 'localhost:81', '80'],
])('names the address that %j lacks, and the ports of its host', (entries, url, address, ports) => {
  const problem = new AllowedHosts(entries).problemOf(new URL(url));
  expect(problem).toBe(`${address} is not in remote.allow, which has this host with port ${ports} only`);
  const none = new AllowedHosts(['example.net:80']).problemOf(new URL(url));
  expect(none).toBe(`${address} is not in remote.allow`);
});

it('is a source of a server like a file', async () => {
  const allowed = await startServer({ sources: [url()], env: { SVC_REMOTE__ALLOW: '127.0.0.1' } });
  try {
    const answer = await fetch(`${allowed.url}/ogc/tiles/collections?f=json`);
    const [collection] = ((await answer.json()) as { collections: { id: string; title: string }[] })
      .collections;
    expect(collection).toMatchObject({ title: 'Far away' });
    const base = `${allowed.url}/ogc/tiles/collections/${collection!.id}/tiles/WebMercatorQuad`;
    const tile = await fetch(`${base}/3/1/1`);
    expect([tile.status, await tile.text()]).toEqual([200, 'tile 9']);
    expect((await fetch(`${base}/2/1/1`)).status).toBe(404);
    odd = (_, response) => Boolean(response.writeHead(500).end());
    expect((await fetch(`${base}/3/2/2`)).status).toBe(503);
  } finally {
    await allowed.stop();
  }
  asked = [];
  odd = undefined;
  const closed = await startServer({ sources: [url(), 'demo/data/world_map.gpkg'] });
  try {
    expect(closed.log()).toContain('not in remote.allow');
    expect(asked).toEqual([]);
  } finally {
    await closed.stop();
  }
});
