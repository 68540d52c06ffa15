import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore, sender } from '../edits/support.js';
import { launchBrowser, savePicture } from '../support/browser.js';
import { gateways } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { smallWorld } from '../support/small-world.js';

let folder: string;
let store: EditableStore;
let server: TestServer;
let browser: Browser;
let page: Page;
const problems: string[] = [];

beforeAll(async () => {
  store = geoPackageStore();
  folder = mkdtempSync(join(tmpdir(), 'graticule-live-'));
  server = await startServerProcess({ sources: [...store.sources, smallWorld(folder)] });
  const send = sender(server.url, server.adminKey);
  for (const [x, y] of [
    [2, 48],
    [13, 52],
    [-3, 40],
    [24, 60],
  ])
    await send('POST', `${await spots()}/items`, spot(x!, y!, 'old'));
  browser = await launchBrowser();
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/WebSocket|GPU stall/.test(message.text()))
      problems.push(message.text());
  });
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await store?.release();
  rmSync(folder, { recursive: true, force: true });
});

const spot = (x: number, y: number, name: string) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [x, y, 0] },
  properties: { name },
});
let id: string | undefined;

async function spots(): Promise<string> {
  if (id) return id;
  const answer = await fetch(`${server.url}/ogc/features/collections?f=json`);
  const { collections } = (await answer.json()) as { collections: { id: string }[] };
  id = collections.find((one) => one.id.endsWith('spots'))!.id;
  return id;
}
const state = (name: string) => page.locator(`[data-live-state="${name}"]`).waitFor({ timeout: 30_000 });
const counted = (name: string, value: number) =>
  page
    .locator(`[data-live-count="${name}"]`, { hasText: new RegExp(`^${value}$`) })
    .waitFor({ timeout: 30_000 });

it('is found from the start page and from the page of a collection', async () => {
  await page.goto(`${server.url}/`);
  await page.getByRole('link', { name: 'Live changes' }).click();
  expect(new URL(page.url()).pathname).toBe('/live');
  await page.goto(`${server.url}/ogc/features/collections/${await spots()}?f=html`);
  await page.getByRole('link', { name: 'Live changes' }).click();
  expect(new URL(page.url()).pathname).toBe(`/live/${await spots()}`);
  expect((await fetch(`${server.url}/live/nothing`)).status).toBe(404);
});

it('follows the collections that are chosen, which the address names', async () => {
  await page.goto(`${server.url}/live`);
  // There are too many to follow all of them.
  expect(await page.locator('[data-live-state]').count()).toBe(0);
  await page.getByRole('link', { name: 'Follow Spots' }).click();
  const choice = page.locator('details.live-choice');
  await choice.locator('summary').click();
  await choice.getByRole('link', { name: 'Follow Countries' }).click();
  await choice.locator('summary').click();
  await choice.getByRole('link', { name: 'Remove Spots' }).click();
  expect(new URL(page.url()).searchParams.get('collections')).toBe('countries');
  await choice.locator('summary').click();
  await choice.getByRole('searchbox').fill('spots');
  await choice.getByRole('button', { name: 'Search' }).click();
  await choice.getByRole('link', { name: 'Follow Spots' }).click();
  expect(new URL(page.url()).searchParams.get('collections')).toBe(`countries,${await spots()}`);
  await state('open');
  const before = Number(await page.locator('[data-live-count="insert"]').innerText());
  const made = await sender(server.url, server.adminKey)(
    'POST',
    `${await spots()}/items`,
    spot(5, 45, 'chosen'),
  );
  await counted('insert', before + 1);
  await sender(server.url, server.adminKey)('DELETE', `${await spots()}/items/${made.body.id}`);
  await counted('delete', 1);
  expect((await fetch(`${server.url}/live?collections=nothing`)).status).toBe(404);
});

it('shows edits without a reload, on the map and in the list', async () => {
  await page.goto(`${server.url}/live/${await spots()}`);
  await state('open');
  await page.locator('[data-map-state="idle"]').waitFor({ timeout: 60_000 });
  const before = await page.locator('[data-map]').screenshot();
  // Not the one that the browser has kept.
  const tile = page.waitForResponse(async (response) => {
    if (!response.url().includes('/tiles/') || response.status() !== 200) return false;
    return (await response.body()).includes('<b>new</b>');
  });
  const send = sender(server.url, server.adminKey);
  const items = `${await spots()}/items`;
  const made = await send('POST', items, spot(10, 50, '<b>new</b>'));
  const place = `${items}/${made.body.id}`;
  await counted('insert', 1);
  await tile;
  expect(await page.locator('[data-map]').screenshot()).not.toEqual(before);
  await send('PUT', place, spot(11, 51, 'moved'));
  await counted('update', 1);
  await savePicture(page, 'live', true);
  await send('DELETE', place);
  await counted('delete', 1);
  // A change is counted before it is listed.
  await page.locator('[data-live-list] li').nth(2).waitFor();
  const rows = await page.locator('[data-live-list] li').allInnerTexts();
  expect(rows.map((row) => row.replace(/^\S+( [AP]M)? /, '').replace(/\s+/g, ' '))).toEqual([
    `Spots ${made.body.id} deleted Show`,
    `Spots ${made.body.id} updated (geometry, name) Show`,
    `Spots ${made.body.id} inserted Show`,
  ]);
});

/** Resolves when the page that is opened next has begun to follow: what changes from then on is not to be missed. */
async function subscribed(): Promise<void> {
  const socket = await page.waitForEvent('websocket');
  await socket.waitForEvent('framereceived', ({ payload }) => String(payload).includes('"subscribed"'));
}

it('comes back when the server was killed, and misses nothing', async () => {
  const following = subscribed();
  await page.goto(`${server.url}/live/${await spots()}`);
  await state('open');
  await following;
  // The browser reports each tile that it requests while no gateway listens.
  await page.locator('[data-map-state="idle"]').waitFor({ timeout: 60_000 });
  for (const pid of gateways(server.process.pid!)) process.kill(pid, 'SIGKILL');
  const send = sender(server.url, server.adminKey);
  const insert = () =>
    send('POST', `${id}/items`, spot(1, 1, 'later')).then(
      ({ status }) => status,
      () => 0,
    );
  while ((await insert()) !== 201) await new Promise((resolve) => setTimeout(resolve, 100));
  await counted('insert', 1);
  await counted('reconnect', 1);
  await counted('gap', 0);
});

it('works by keyboard, and holds the list still', async () => {
  // A change is counted before it is listed.
  await page.locator('[data-live-list] li').first().waitFor();
  const hold = page.getByRole('button', { name: 'Pause' });
  await hold.focus();
  await page.keyboard.press('Enter');
  expect(await hold.getAttribute('aria-pressed')).toBe('true');
  const rows = await page.locator('[data-live-list] li').count();
  await sender(server.url, server.adminKey)('POST', `${id}/items`, spot(2, 2, 'unseen'));
  await counted('insert', 2);
  expect(await page.locator('[data-live-list] li').count()).toBe(rows);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toMatch(/^Show feature/);
  await page.keyboard.press('Enter');
});

it('fits a narrow screen', async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(`${server.url}/live?collections=countries,${await spots()}`);
  await state('open');
  await sender(server.url, server.adminKey)('POST', `${id}/items`, spot(5, 45, 'narrow'));
  await counted('insert', 1);
  await page.locator('[data-map-state="idle"]').waitFor({ timeout: 60_000 });
  await savePicture(page, 'live-360', true);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
  expect(problems).toEqual([]);
});
