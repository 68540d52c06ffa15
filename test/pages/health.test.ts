import { copyFileSync, mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../support/browser.js';
import { startServer, type TestServer } from '../support/server.js';

/** Pages of the health, errors, events and log, as an operator follows them from a problem to its cause. */

const BASE = '/api/v1/admin';
let folder: string;
let server: TestServer;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-health-'));
  copyFileSync('demo/data/world_map.gpkg', join(folder, 'world_map.gpkg'));
  server = await startServer({ sources: [folder] });
  browser = await launchBrowser();
  const context = await browser.newContext({ extraHTTPHeaders: { 'x-api-key': server.adminKey } });
  page = await context.newPage();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true });
});

describe('pages of the health', () => {
  it('lead from the start page to the lines of a failed request', async () => {
    truncateSync(join(folder, 'world_map.gpkg'), 5000);
    const failed = await fetch(`${server.url}/ogc/features/collections/countries/items?limit=500`);
    expect(failed.status).toBeGreaterThanOrEqual(500);
    const id = failed.headers.get('x-request-id')!;
    await page.goto(server.url);
    await page.getByRole('link', { name: 'Health', exact: true }).click();
    expect(await page.title()).toContain('Health of the server');
    expect(await page.getByRole('row', { name: /state-database/ }).textContent()).toContain('Healthy');
    await page.getByRole('link', { name: 'Errors', exact: true }).click();
    const row = page.getByRole('row', { name: new RegExp(id) });
    expect(await row.textContent()).toContain('/ogc/features/collections/countries/items');
    expect(await row.textContent()).toContain('127.0.0.1');
    await row.getByRole('link', { name: id }).click();
    expect(
      await page
        .getByRole('table', { name: 'Failures' })
        .or(page.getByRole('region', { name: 'Failures' }))
        .first()
        .textContent(),
    ).toContain(String(failed.status));
    await page.getByRole('link', { name: 'Log lines and audit entries' }).click();
    expect(await page.getByLabel('Request').inputValue()).toBe(id);
    const events = page.getByRole('table').getByRole('row');
    expect(await events.count()).toBe(2);
    expect(await events.nth(1).textContent()).toMatch(/log(warning|error)/);
    await page.getByRole('link', { name: 'Warnings and errors of the log' }).click();
    expect(await page.getByRole('row', { name: new RegExp(id) }).count()).toBe(1);
  });

  it('select events with the form', async () => {
    await page.goto(`${server.url}${BASE}/observability/events?f=html`);
    await page.getByLabel('Kind').selectOption('audit');
    await page.getByRole('button', { name: 'Show' }).click();
    expect(await page.getByLabel('Kind').inputValue()).toBe('audit');
    const kinds = await page.locator('td[data-label="Kind"]').allTextContents();
    expect(kinds.length).toBeGreaterThan(0);
    expect(new Set(kinds)).toEqual(new Set(['audit']));
  });

  it.each([
    'observability/ops-health',
    'observability/logs',
    'observability/requests',
    'performance/enhanced/database/slow-queries',
  ])('%s is a page for browsers, and JSON for others', async (path) => {
    const get = (accept: string) =>
      fetch(`${server.url}${BASE}/${path}`, { headers: { accept, 'x-api-key': server.adminKey } });
    const html = await get('text/html');
    expect(html.headers.get('content-type')).toContain('text/html');
    expect(await html.text()).toContain('<h1>');
    expect((await get('application/json')).headers.get('content-type')).toContain('application/json');
  });

  it('show nothing that could run', async () => {
    const script = encodeURIComponent('<script>alert(1)</script>');
    const answer = await fetch(`${server.url}${BASE}/observability/events?f=html&requestId=${script}`, {
      headers: { 'x-api-key': server.adminKey },
    });
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain('<script>alert');
  });
});
