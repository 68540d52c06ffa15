import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LicenceIssuer, licence } from '../licensing/support/licence-files.js';
import { launchBrowser } from '../support/browser.js';
import { startServer, type TestServer } from '../support/server.js';
import { axeFaults } from './axe.js';

/** Pages of the licence, its capacity, and compliance. */

const BASE = '/api/v1/admin';
const PAGES = ['compliance/dashboard', 'license', 'license/capacity'];
let server: TestServer;
let issuer: LicenceIssuer;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  issuer = new LicenceIssuer();
  const file = issuer.write(
    'licence.jws',
    issuer.issue(licence({ licensedTo: '<b>Nowhere</b>', terms: { maxSustainedServingUnits: 1000 } })),
  );
  server = await startServer({
    sources: [],
    env: {
      SVC_LICENSING__ENABLED: 'true',
      SVC_LICENSING__KEYS: issuer.keys(),
      SVC_LICENSING__FILE: file,
    },
  });
  browser = await launchBrowser();
  const context = await browser.newContext({
    bypassCSP: true,
    extraHTTPHeaders: { 'x-api-key': server.adminKey },
  });
  page = await context.newPage();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  issuer?.remove();
});

describe('pages of licence and compliance', () => {
  it('are reached from the page of the health, and lead to each other', async () => {
    await page.goto(`${server.url}${BASE}/observability/ops-health?f=html`);
    await page.getByRole('link', { name: 'Compliance', exact: true }).click();
    expect(await page.title()).toContain('Compliance');
    const row = page.getByRole('row', { name: /SC-12/ });
    expect(await row.textContent()).toContain('Not implemented');
    expect(await row.textContent()).toContain('security.stateKey is not set');
    await row.getByText('2 facts').click();
    expect(await row.getByText('setting security.stateKey').isVisible()).toBe(true);
    const href = await page.getByRole('link', { name: 'Report as CSV' }).getAttribute('href');
    const report = await fetch(new URL(href!, server.url), { headers: { 'x-api-key': server.adminKey } });
    expect(report.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    await page.getByRole('link', { name: 'Licence', exact: true }).click();
    expect(await page.locator('.lead').textContent()).toBe('Valid Edition: pro');
    expect(await page.getByRole('definition').allTextContents()).toContain('<b>Nowhere</b>');
    expect(await page.getByRole('row', { name: /Mosaics in time/ }).textContent()).toContain('no');
    await page.getByRole('link', { name: 'Capacity of the licence' }).click();
    expect(await page.locator('.lead').textContent()).toMatch(/^Normal /);
    expect(await page.getByRole('definition').allTextContents()).toContain('1000');
  }, 60_000);

  it.each(PAGES)(
    '%s has no fault that axe finds, and fits narrow and wide windows',
    async (path) => {
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(`${server.url}${BASE}/${path}?f=html`);
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        expect([width, overflow]).toEqual([width, 0]);
        expect(await axeFaults(page)).toEqual([]);
      }
    },
    60_000,
  );
});
