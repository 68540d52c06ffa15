import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { credentialsFor } from '../../src/workers/storage/remote/credentials.js';
import { DEM, fileRaster, LANDSAT, suiteEngine } from '../engine/support.js';
import { freePort } from '../support/ports.js';
import { startServer } from '../support/server.js';

const suite = suiteEngine({ GRATICULE_REMOTE_ALLOW: '["127.0.0.1"]' });

/** A host of one file, which may answer in other ways. */
let host: Server;
let origin: string;
let bytes: Buffer;
let etag: string;
let asked: string[] = [];
let odd: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;

function serve(request: IncomingMessage, response: ServerResponse): void {
  asked.push(`${request.url} ${request.headers.range}`);
  if (odd?.(request, response)) return;
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range!)!;
  const part = bytes.subarray(Number(first), Number(last) + 1);
  const range = `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}`;
  response.writeHead(206, { etag, 'content-range': range }).end(part);
}

let cog: Buffer;
beforeAll(async () => {
  const path = join(suite.scratch.path, 'cog.tif');
  // Large enough that not all of it is read when it is opened.
  const size = ['-outsize', '1400', '1400', '-r', 'cubic'];
  execFileSync('gdal_translate', ['-q', '-of', 'COG', ...size, '-co', 'BLOCKSIZE=128', LANDSAT, path]);
  cog = readFileSync(path);
  host = createServer(serve).listen(0, '127.0.0.1');
  await once(host, 'listening');
  origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
});
afterAll(() => {
  host.close();
  host.closeAllConnections();
});

let count = 0;
let source: { kind: 'remote'; url: string };
beforeEach(() => {
  bytes = cog;
  count += 1;
  etag = `"${count}"`;
  source = { kind: 'remote', url: `${origin}/${count}.tif` };
  asked = [];
  odd = undefined;
});

const window = {
  bbox: [-3884000, -893000, -3880000, -889000] as const,
  crs: 'EPSG:3857',
  width: 128,
  height: 128,
};
const image = () => suite.pool.run('raster.image', { source, ...window, format: 'raw' });

describe('a GeoTIFF over HTTP', () => {
  it('shows what the file shows, by ranges', async () => {
    const local = fileRaster(join(suite.scratch.path, 'cog.tif'));
    const expected = await suite.pool.run('raster.image', { source: local, ...window, format: 'raw' });
    expect(Buffer.compare((await image()).data, expected.data)).toBe(0);
    const lengths = asked.map((line) => {
      const [, first, last] = /bytes=(\d+)-(\d+)/.exec(line)!;
      return Number(last) - Number(first) + 1;
    });
    expect(lengths.reduce((sum, length) => sum + length)).toBeLessThan(bytes.length / 3);
  });

  it('asks nothing twice for what it has in memory', async () => {
    await image();
    const before = asked.length;
    await image();
    expect(asked.length).toBe(before);
  });

  it.each([
    // Some 25 blocks of the raster in five rows, and nine of an overview, which lie close together.
    ['a row of blocks', 512, 4000, 6],
    ['blocks of an overview', 256, 8000, 2],
  ])('asks once for %s', async (_, side, metres, most) => {
    const [x, y] = [-3882000, -891000];
    const bbox = [x - metres / 2, y - metres / 2, x + metres / 2, y + metres / 2] as const;
    const task = { source, crs: 'EPSG:3857', bbox, width: side, height: side, format: 'raw' as const };
    await suite.pool.run('raster.image', task);
    expect(asked.length).toBeGreaterThan(1);
    expect(asked.length).toBeLessThanOrEqual(most);
  });

  it('is described as the file is', async () => {
    const info = await suite.pool.run('raster.inspect', { source });
    expect(info).toMatchObject({
      source,
      driver: 'GTiff',
      width: 1400,
      height: 1400,
      epsg: 31985,
      revision: etag,
    });
  });

  it('is read anew when it changed', async () => {
    await image();
    bytes = Buffer.from(cog);
    etag = '"changed"';
    const before = asked.length;
    const elsewhere = { ...window, bbox: [-3883000, -895000, -3879000, -891000] as const };
    await suite.pool.run('raster.image', { source, ...elsewhere, format: 'raw' });
    // The head is asked for again.
    expect(asked.slice(before).some((line) => line.includes('bytes=0-'))).toBe(true);
  });

  it.each([
    ['http://169.254.169.254/latest.tif', 'source-unreadable'],
    ['http://localhost:1/a.tif', 'source-unreadable'],
    ['http://[::1]/a.tif', 'source-unreadable'],
    ['ftp://127.0.0.1/a.tif', 'source-unreadable'],
    ['http://user:pass@127.0.0.1/a.tif', 'source-unreadable'],
    ['/etc/passwd', 'invalid-input'],
  ])('at %s is refused', async (url, code) => {
    const task = suite.pool.run('raster.inspect', { source: { kind: 'remote', url } });
    await expect(task).rejects.toMatchObject({ code });
  });

  it('that leads elsewhere is not followed there', async () => {
    let canary = 0;
    const elsewhere = createServer((_request, response) => {
      canary += 1;
      response.end();
    }).listen(0, '127.0.0.2');
    await once(elsewhere, 'listening');
    const { port } = elsewhere.address() as AddressInfo;
    odd = (_request, response) => {
      response.writeHead(302, { location: `http://127.0.0.2:${port}/a.tif` }).end();
      return true;
    };
    await expect(suite.pool.run('raster.inspect', { source })).rejects.toMatchObject({
      code: 'source-unreadable',
    });
    expect(canary).toBe(0);
    elsewhere.close();
  });

  it.each<[string, string, (response: ServerResponse) => void]>([
    ['is gone', 'source-missing', (response) => response.writeHead(404).end()],
    ['comes whole', 'source-unreadable', (response) => response.writeHead(200).end(bytes)],
    [
      'is a page',
      'source-unreadable',
      (response) => response.writeHead(206, { 'content-range': 'bytes 0-3/4' }).end('<htm'),
    ],
    ['has a host in trouble', 'store-unavailable', (response) => response.writeHead(503).end()],
  ])('that %s is %s', async (_what, code, answer) => {
    odd = (_request, response) => {
      answer(response);
      return true;
    };
    await expect(suite.pool.run('raster.inspect', { source })).rejects.toMatchObject({ code });
  });

  it('says that the host is down, and goes on when it is back', async () => {
    await expect
      .poll(
        () =>
          image().then(
            () => 'shown',
            () => 'failed',
          ),
        { timeout: 10_000 },
      )
      .toBe('shown');
    odd = (request, response) => {
      request.socket.destroy();
      response.destroy();
      return true;
    };
    const elsewhere = { ...window, bbox: [-3886000, -897000, -3882000, -893000] as const };
    const task = () => suite.pool.run('raster.image', { source, ...elsewhere, format: 'raw' });
    await expect(task()).rejects.toMatchObject({ code: 'store-unavailable' });
    odd = undefined;
    await expect
      .poll(
        () =>
          task().then(
            () => 'shown',
            () => 'failed',
          ),
        { timeout: 10_000 },
      )
      .toBe('shown');
  });

  it('keeps nobody waiting when its host does not answer', async () => {
    await expect
      .poll(
        () =>
          image().then(
            () => 'shown',
            () => 'failed',
          ),
        { timeout: 10_000 },
      )
      .toBe('shown');
    odd = () => true;
    const stuck = Array.from({ length: 12 }, (_, index) =>
      suite.pool
        .run(
          'raster.inspect',
          { source: { kind: 'remote', url: `${origin}/stuck-${index}.tif` } },
          { deadlineMs: 3000 },
        )
        .catch((error) => error.code),
    );
    const local = suite.pool.run('raster.inspect', { source: fileRaster(DEM) }, { deadlineMs: 2500 });
    await expect(local).resolves.toMatchObject({ width: 111 });
    expect(new Set(await Promise.all(stuck))).toEqual(new Set(['deadline-exceeded']));
  });
});

describe('a published URL', () => {
  it('is a collection; one that is down answers 503 with Retry-After, and comes back', async () => {
    const [port, later] = [await freePort(), await freePort()];
    const own = createServer(serve).listen(port, '127.0.0.1');
    await once(own, 'listening');
    const server = await startServer({
      sources: [`http://127.0.0.1:${port}/scene.tif`, `http://127.0.0.1:${later}/late.tif`],
      env: { SVC_REMOTE__ALLOW: '127.0.0.1' },
    });
    const late = createServer(serve);
    const coverage = (id: string, left: number) =>
      fetch(
        `${server.url}/ogc/coverages/collections/${id}/coverage?f=geotiff&bbox=${left},-8,${left + 0.005},-7.99`,
      );
    try {
      expect((await coverage('scene', -34.9)).status).toBe(200);
      expect(server.log()).toMatch(/late\.tif.*does not respond/);
      odd = (request, response) => {
        request.socket.destroy();
        response.destroy();
        return true;
      };
      const refused = await coverage('scene', -34.86);
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      odd = undefined;
      late.listen(later, '127.0.0.1');
      const status = async (id: string) => (await coverage(id, -34.85)).status;
      await expect.poll(() => status('scene'), { timeout: 10_000 }).toBe(200);
      await expect.poll(() => status('late'), { timeout: 40_000 }).toBe(200);
    } finally {
      await server.stop();
      for (const one of [own, late]) {
        one.close();
        one.closeAllConnections();
      }
    }
  });
});

describe('credentials of object stores', () => {
  const env = {
    AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  };

  it('sign a request to S3', () => {
    const now = new Date('2013-05-24T00:00:00Z');
    const url = new URL('https://examplebucket.s3.amazonaws.com/test%24file.text');
    expect(credentialsFor(url, 'bytes=0-9', env, now).authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/20130524\/us-east-1\/s3\/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=[0-9a-f]{64}$/,
    );
  });

  it.each([
    'https://example.org/a.tif',
    'http://examplebucket.s3.amazonaws.com/a',
    'https://s3.amazonaws.com.example.org/a',
    'https://evil-s3.amazonaws.com.cn/a',
  ])('are not sent to %s', (url) => {
    expect(credentialsFor(new URL(url), 'bytes=0-9', env)).toEqual({});
  });

  it('go to the endpoint that is named, and nowhere else', () => {
    const own = { ...env, AWS_ENDPOINT_URL: 'http://minio:9000' };
    expect(credentialsFor(new URL('http://minio:9000/bucket/a.tif'), 'bytes=0-9', own)).toHaveProperty(
      'authorization',
    );
    expect(credentialsFor(new URL('https://bucket.s3.amazonaws.com/a.tif'), 'bytes=0-9', own)).toEqual({});
  });

  it('sign a request for an Azure blob', () => {
    const azure = { AZURE_STORAGE_ACCOUNT: 'maps', AZURE_STORAGE_KEY: Buffer.from('key').toString('base64') };
    const url = new URL('https://maps.blob.core.windows.net/tiles/a.tif');
    expect(credentialsFor(url, 'bytes=0-9', azure).authorization).toMatch(/^SharedKey maps:[\w+/]{43}=$/);
  });
});
