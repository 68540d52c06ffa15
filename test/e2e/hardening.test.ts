import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../support/browser.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { dial } from './support/http.js';

/** Loaded by every process of the server: gateways get a rejection that nobody waits for. */
const STRAY = `
import { isMainThread } from 'node:worker_threads';
if (process.env.GRATICULE_GATEWAY && isMainThread)
  setTimeout(() => void Promise.reject(new Error('a stray rejection of the test')), 3000);
`;

let server: TestServer;

beforeAll(async () => {
  const module = join(tmpdir(), `graticule-stray-${process.pid}.mjs`);
  writeFileSync(module, STRAY);
  server = await startServerProcess({
    sources: ['demo/data/world_map.gpkg'],
    env: { NODE_OPTIONS: `--import=${module}` },
  });
});

afterAll(() => server?.stop());

function ask(path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(`${server.url}${path}`, { headers }, (response) => {
      response.resume();
      response.once('end', () => resolve(response));
    }).once('error', reject);
  });
}

/** The environments of the processes of this server, by their titles. */
function environments(title: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === server.process.pid)
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith(title))
    .map((pid) => readFileSync(`/proc/${pid}/environ`, 'latin1'));
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

describe('what the server keeps to itself', () => {
  it('is closed to other users of the machine', () => {
    expect(statSync(server.dataDir).mode & 0o777).toBe(0o700);
    const files = readdirSync(server.dataDir).filter((name) => name.startsWith('state.db'));
    expect(files).toContain('state.db-wal');
    for (const name of files) expect(statSync(join(server.dataDir, name)).mode & 0o777).toBe(0o600);
  });

  it('holds the first key in no environment of an engine', () => {
    const engines = environments('graticule: engine');
    expect(engines.length).toBeGreaterThan(0);
    for (const environment of engines) expect(environment).not.toContain(server.adminKey);
    expect(environments('graticule: gateway').join()).toContain(server.adminKey);
  });
});

describe('a client that never reads', () => {
  it('is disconnected when it sends more requests', async () => {
    const path = '/ogc/tiles/collections/1/tiles/WebMercatorQuad/0/0/0';
    expect((await ask(path)).statusCode).toBe(200);
    const socket = await dial(server.url);
    socket.pause();
    socket.on('error', () => undefined);
    let sent = 0;
    const request = `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`;
    // Far more than the buffers of both ends hold.
    while (!socket.destroyed && sent < 5000) {
      socket.write(request);
      sent++;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(sent).toBeLessThan(5000);
  });
});

describe('a stranger', () => {
  it('does not write the host of links', async () => {
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
    const page = await (await fetch(`${server.url}/ogc/features/`, { headers })).text();
    expect(page).not.toContain('evil.example');
  });

  it('reads header names in their usual case', async () => {
    const { rawHeaders } = await ask('/ogc/features/collections?f=json', {});
    const names = rawHeaders.filter((_, i) => i % 2 === 0);
    expect(names).toEqual(
      expect.arrayContaining([
        'ETag',
        'Content-Type',
        'Cache-Control',
        'X-Request-Id',
        'Access-Control-Allow-Origin',
      ]),
    );
    // The library itself writes these.
    const own = names.filter((name) => !['date', 'content-length'].includes(name));
    expect(own.filter((name) => /(^|-)[a-z]/.test(name))).toEqual([]);
  });

  it('is told that a connection ends which it asked to end', async () => {
    const closing = async (path: string) => {
      const { rawHeaders } = await ask(path, { connection: 'close' });
      return rawHeaders.flatMap((text, i) => (/^connection$/i.test(text) ? [rawHeaders[i + 1]] : []));
    };
    for (const path of ['/healthz/live', '/ogc/features/collections?f=json', '/nothing'])
      expect([path, await closing(path)]).toEqual([path, ['close']]);
  });

  it('is offered Basic and Bearer, each by a line of its own', async () => {
    for (const headers of [{}, { authorization: 'Bearer wrong' }] as Record<string, string>[]) {
      const { rawHeaders, statusCode } = await ask('/healthz/metrics', headers);
      expect(statusCode).toBe(401);
      const lines = rawHeaders.filter((_, i) => rawHeaders[i - 1]?.toLowerCase() === 'www-authenticate');
      expect(lines).toEqual(['Basic realm="graticule", charset="UTF-8"', 'Bearer realm="graticule"']);
    }
  });

  it('can sign in with a browser', async () => {
    const browser = await launchBrowser();
    try {
      const user = { name: 'boss', password: 'correct horse battery', roles: ['administrator'] };
      const made = await fetch(`${server.url}/api/v1/users`, {
        method: 'POST',
        headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
        body: JSON.stringify(user),
      });
      expect(made.status).toBe(201);
      const page = await browser.newPage();
      expect((await page.goto(`${server.url}/healthz/metrics`))?.status()).toBe(401);
      await page.goto(`${server.url}/account/sign-in`);
      await page.getByLabel('User name').first().fill(user.name);
      await page.getByLabel('Password', { exact: true }).first().fill(user.password);
      const signedIn = page.waitForResponse(
        (response) => response.request().method() === 'POST' && response.url().endsWith('/account/sign-in'),
      );
      await page.getByRole('button', { name: 'Sign in' }).first().click();
      expect((await signedIn).status()).toBe(204);
      // The page goes to the front by itself; a second navigation before that would be cut off.
      await page.waitForURL(`${server.url}/`);
      expect((await page.goto(`${server.url}/healthz/metrics`))?.status()).toBe(200);
    } finally {
      await browser.close();
    }
  });
});

it('a rejection that nobody handles is logged with its stack, and the server goes on', async () => {
  await expect.poll(() => server.log(), { timeout: 20_000 }).toContain('a stray rejection of the test');
  const line = server
    .log()
    .split('\n')
    .find((text) => text.includes('a stray rejection of the test'))!;
  expect(JSON.parse(line)).toMatchObject({
    '@l': 'Error',
    '@x': expect.stringContaining('graticule-stray'),
  });
  expect((await ask('/healthz/live')).statusCode).toBe(200);
});
