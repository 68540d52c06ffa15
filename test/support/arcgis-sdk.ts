import { once } from 'node:events';
import { createReadStream, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Page } from 'playwright-core';
import { launchBrowser } from './browser.js';
import { linkPackages } from './saved-page.js';

/** Packages of test/browser-clients.txt that the page is made of. */
const PACKAGES = ['@arcgis/core', '@arcgis/toolkit', '@esri/arcgis-html-sanitizer', 'luxon', 'tslib'];

const TYPES: Record<string, string> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};
const PAGE = `<!doctype html><meta charset="utf-8"><style>html, body, #map { height: 100%; margin: 0 }</style>
  <div id="map"></div><script type="module" src="/arcgis.js"></script>`;

/** A page of Esri's own library (ArcGIS Maps SDK for JavaScript), from an origin of its own. */
export interface ArcgisSdk {
  /** Calls a function of test/geoservices/pages/arcgis.js. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into
  call(name: string, ...parameters: unknown[]): Promise<any>;
  readonly page: Page;
  /** What the page asked servers for; members of forms are among the parameters. */
  readonly requests: URL[];
  /** Errors, failed requests, and requests to other hosts. */
  readonly problems: string[];
  close(): Promise<void>;
}

export async function openArcgisSdk(): Promise<ArcgisSdk> {
  const home = mkdtempSync(join(tmpdir(), 'graticule-arcgis-'));
  linkPackages(PACKAGES, join(home, 'packages'));
  await build({
    entryPoints: ['test/geoservices/pages/arcgis.js'],
    ...{ outdir: home, bundle: true, splitting: true, format: 'esm', logLevel: 'error' },
    plugins: [absent],
    nodePaths: [join(home, 'packages')],
  });
  const files = serveFiles(home);
  await once(files.listen(0, '127.0.0.1'), 'listening');
  const browser = await launchBrowser();
  const page = await (await browser.newContext({ viewport: { width: 400, height: 300 } })).newPage();
  const origin = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
  const watch = await watchPage(page, origin);
  await page.goto(origin);
  await page.waitForFunction('window.draw');
  return {
    ...watch,
    page,
    call: (name, ...parameters) =>
      page.evaluate(`window.${name}(...${JSON.stringify(parameters)}).catch((error) => {
        throw Error(error.message + JSON.stringify(error.details?.messages ?? ''));
      })`),
    async close() {
      await browser.close();
      files.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function watchPage(page: Page, origin: string): Promise<{ requests: URL[]; problems: string[] }> {
  const requests: URL[] = [];
  const problems: string[] = [];
  page.on('pageerror', ({ message, stack }) => problems.push(stack ?? message));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (!url.protocol.startsWith('http') || url.origin === origin) return;
    for (const [name, value] of new URLSearchParams(request.postData() ?? ''))
      url.searchParams.set(name, value);
    requests.push(url);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
  });
  await page.context().route(/^https:/, (route) => {
    problems.push(`asked for: ${route.request().url()}`);
    return route.abort();
  });
  return { requests, problems };
}

function serveFiles(home: string) {
  return createServer(({ url }, response) => {
    const path = new URL(url!, 'http://localhost').pathname;
    if (path === '/') return response.setHeader('content-type', 'text/html').end(PAGE);
    const file = join(path.startsWith('/assets/') ? join(home, 'packages/@arcgis/core') : home, path);
    if (!existsSync(file)) return response.writeHead(404).end();
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
    return createReadStream(file).pipe(response);
  });
}

/** All other packages: those of widgets and charts, which the page has none of. */
const absent: Plugin = {
  name: 'absent',
  setup(bundle) {
    bundle.onResolve({ filter: /^[@\w]/ }, ({ path, kind }) => {
      const isHere = PACKAGES.some((name) => path === name || path.startsWith(`${name}/`));
      return kind === 'entry-point' || isHere ? undefined : { path, namespace: 'absent' };
    });
    bundle.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({
      contents: 'module.exports = Object.create(new Proxy({}, { get: () => function Absent() {} }));',
    }));
  },
};
