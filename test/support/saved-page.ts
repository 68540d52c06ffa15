import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';

/** A page of somebody else, opened as the file that was saved. */
export interface SavedPage {
  page: Page;
  /** Media types of the tiles that came. */
  tiles: string[];
  problems: string[];
}

const LIBRARY = /^https:\/\/unpkg\.com\/([\w-]+)@([\d.]+)\/(.+)$/;

/** Opens a file in a browser; what it loads from a network of packages comes from node_modules. */
export async function openSavedPage(browser: Browser, file: string): Promise<SavedPage> {
  const page = await (await browser.newContext({ viewport: { width: 800, height: 600 } })).newPage();
  const problems: string[] = [];
  const tiles: string[] = [];
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
    const [, name, version, path] = LIBRARY.exec(route.request().url().split('?')[0]!) ?? [];
    if (!name) return route.abort();
    const installed = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')).version;
    if (version !== installed) problems.push(`${name} is ${version} in the page and ${installed} here`);
    return route.fulfill({
      path: `node_modules/${name}/${path}`,
      headers: { 'access-control-allow-origin': '*' },
    });
  });
  await page.goto(pathToFileURL(file).href);
  return { page, tiles, problems };
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
