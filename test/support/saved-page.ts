import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';

/** A page of somebody else, opened as the file that was saved. */
export interface SavedPage {
  page: Page;
  /** Media types of the tiles that came. */
  tiles: string[];
  /** All that it asked for. */
  requests: string[];
  problems: string[];
}

const LIBRARY = /^https:\/\/unpkg\.com\/((?:@[\w.-]+\/)?[\w.-]+)@([\d.]+)\/([^?]+)/;

/**
 * The file of a package that a page asks a network of packages for: of node_modules, or of the libraries that
 * `./run test` fetches for browsers (test/browser-clients.txt). Undefined for a package, or a version, that is not here.
 */
function packageFile(url: string): string | undefined {
  const [, name, version, path] = LIBRARY.exec(url) ?? [];
  if (!name) return undefined;
  const folder = `node_modules/${name}`;
  if (existsSync(folder))
    return JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')).version === version
      ? `${folder}/${path}`
      : undefined;
  const file = join(browserClients(), `${name}@${version}`, path!);
  return existsSync(file) ? file : undefined;
}

/** The folder of the libraries of test/browser-clients.txt, each in one of its name and version. */
export function browserClients(): string {
  const cache = process.env.GRATICULE_CACHE ?? join(homedir(), '.cache/graticule');
  const key = createHash('sha256')
    .update(readFileSync('test/browser-clients.txt'))
    .digest('hex')
    .slice(0, 16);
  return join(cache, `browser-${key}`);
}

/** Opens a file in a browser; what it loads from a network of packages comes from node_modules. */
export async function openSavedPage(browser: Browser, file: string): Promise<SavedPage> {
  const page = await (await browser.newContext({ viewport: { width: 800, height: 600 } })).newPage();
  const problems: string[] = [];
  const tiles: string[] = [];
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('response', (response) => {
    const url = response.url();
    if (response.status() >= 400) problems.push(`${response.status()} ${url}`);
    if (/\/tiles\/[\w,]+\/\d+\/\d+\/\d+/.test(url) && response.status() === 200)
      tiles.push(response.headers()['content-type']!);
  });
  await page.route(/^https:/, (route) => {
    const url = route.request().url();
    const file = packageFile(url);
    if (file) return route.fulfill({ path: file, headers: { 'access-control-allow-origin': '*' } });
    problems.push(`not here: ${url}`);
    return route.abort();
  });
  await page.goto(pathToFileURL(file).href);
  return { page, tiles, requests, problems };
}

/** Colours of the middle of a page, each channel in 16 steps. */
export async function middleColours(page: Page): Promise<Set<string>> {
  const { data } = await sharp(await page.screenshot())
    .extract({ left: 200, top: 150, width: 400, height: 300 })
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const colours = new Set<string>();
  for (let i = 0; i < data.length; i += 3)
    colours.add(`${data[i]! >> 4},${data[i + 1]! >> 4},${data[i + 2]! >> 4}`);
  return colours;
}

/** Links to packages of test/browser-clients.txt, in a folder where they are looked for. */
export function linkPackages(packages: readonly string[], folder: string): void {
  for (const name of packages) {
    const scope = join(browserClients(), dirname(name));
    const entry = readdirSync(scope).find((one) => one.startsWith(`${basename(name)}@`))!;
    mkdirSync(join(folder, dirname(name)), { recursive: true });
    symlinkSync(join(scope, entry), join(folder, name));
  }
}
