import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Json, ProcessClient } from '../processes/support.js';
import { launchBrowser, savePicture, watchedPage } from '../support/browser.js';
import { startServer, type TestServer } from '../support/server.js';
import { smallWorld } from '../support/small-world.js';
import { axeFaults } from './axe.js';
import { layoutFaults } from './walk.js';

/** The pages that processes are executed on, as somebody without a program sees them. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-process-pages-'));
const PROCESSES = '/ogc/processes';

let server: TestServer;
let browser: Browser;
let page: Page;
let problems: string[];

beforeAll(async () => {
  server = await startServer({ sources: [smallWorld(folder)] });
  browser = await launchBrowser();
  ({ page, problems } = await watchedPage(browser, server.url, {
    viewport: { width: 1000, height: 900 },
    bypassCSP: true,
  }));
  await page.setExtraHTTPHeaders({ authorization: `Bearer ${server.adminKey}` });
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const field = (name: string) => page.locator(`[name="${name}"]`);

it('a process is executed by its form, in a box that is drawn, and its job shows what came of it', async () => {
  await page.goto(`${server.url}${PROCESSES}/processes/geometry.buffer?f=html`);
  await page.waitForSelector('[data-map-state="idle"]');
  expect([await axeFaults(page), await layoutFaults(page)]).toEqual([[], []]);
  await field('features').fill('countries');
  await field('features:filter').fill("iso_a2 <> 'AQ'");
  await page.getByRole('button', { name: 'Draw the bounding box on the map' }).click();
  const map = (await page.locator('[data-map]').boundingBox())!;
  const middle = { x: map.x + map.width / 2, y: map.y + map.height / 2 };
  await page.mouse.move(middle.x - 40, middle.y - 40);
  await page.mouse.down();
  await page.mouse.move(middle.x + 40, middle.y + 40, { steps: 4 });
  await page.mouse.up();
  expect(await field('features:box').inputValue()).toMatch(/^-?[\d.]+(,-?[\d.]+){3}$/);
  await field('distance').fill('20');
  await field('unit').selectOption('kilometre');
  await field(':publish').fill('wide');
  await savePicture(page, 'process-form', true);
  await page.getByRole('button', { name: 'Execute' }).click();
  await page.waitForURL(/\/jobs\/[\w-]+\?f=html$/);
  // The page loads itself again at the end.
  await page.getByRole('link', { name: 'features', exact: true }).waitFor();
  expect(await page.locator('[data-job-status]').textContent()).toBe('successful');
  await page.waitForSelector('[data-map-state="idle"]');
  await savePicture(page, 'process-job', true);
  expect([await axeFaults(page), await layoutFaults(page)]).toEqual([[], []]);
  expect(await page.locator('table').last().textContent()).toContain('features were read');
  const inputs = await page.getByRole('region', { name: 'Inputs' }).innerText();
  expect(inputs).toMatch(/Features\s+countries, filter: .*iso_a2 <> 'AQ'/);
  expect(inputs).toMatch(/Distance\s+20/);
  expect(inputs).toMatch(/New collection\s+wide/);
  expect(await page.locator('dd', { hasText: /^\d+\.\d s$|^\d+ s$/ }).count()).toBe(1);
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Buffer');
  const { numberMatched } = (await (
    await fetch(`${server.url}/ogc/features/collections/wide/items?limit=1`)
  ).json()) as Json;
  const { length } = (
    await new ProcessClient(server).json('/ogc/features/collections/countries/items?limit=1000')
  ).features;
  expect(numberMatched).toBeGreaterThan(0);
  expect(numberMatched).toBeLessThan(length);
});

it('a job runs again as it was, or with other inputs', async () => {
  const client = new ProcessClient(server);
  const filter = "iso_a2 = 'CH'";
  const inputs = { features: { collection: 'countries', filter }, distance: 3, unit: 'kilometre' };
  const { jobID } = (await (await client.execute('geometry.buffer', { inputs })).json()) as Json;
  await client.ended(jobID);
  await page.goto(`${server.url}${PROCESSES}/jobs/${jobID}?f=html`);
  await page.getByRole('button', { name: 'Run again' }).click();
  await page.waitForURL((url) => /\/jobs\/[\w-]+$/.test(url.pathname) && !url.pathname.endsWith(jobID));
  await page.getByRole('link', { name: 'Change the inputs' }).click();
  await page.waitForURL(/#request=/);
  await page.getByRole('button', { name: 'Execute' }).waitFor();
  expect(await field('features').inputValue()).toBe('countries');
  expect(await field('features:filter').inputValue()).toBe(filter);
  await field('distance').fill('4');
  await page.getByRole('button', { name: 'Execute' }).click();
  await page.waitForURL(/\/jobs\/[\w-]+\?f=html$/);
  await page.getByRole('link', { name: 'features', exact: true }).waitFor();
  const changed = await page.getByRole('region', { name: 'Inputs' }).innerText();
  expect(changed).toMatch(/Distance\s+4\n/);
  expect(changed).toContain(filter);
  // Nobody else sees the inputs; the features that a request has sent cannot be sent again.
  const point = { type: 'Point', coordinates: [1, 2] };
  const sent = await client.execute('geometry.buffer', { inputs: { features: point, distance: 1 } });
  const other = ((await sent.json()) as Json).jobID;
  await client.ended(other);
  await page.goto(`${server.url}${PROCESSES}/jobs/${other}?f=html`);
  expect(await page.getByRole('region', { name: 'Inputs' }).innerText()).toContain('sent with the request');
  expect(await page.getByRole('button', { name: 'Run again' }).count()).toBe(0);
  await page.goto(`${server.url}${PROCESSES}/jobs?f=html`);
  await page
    .getByRole('row', { name: /Buffer successful 100 %/ })
    .first()
    .waitFor();
});

it('a reader without the permission is told before the form is filled in', async () => {
  await page.setExtraHTTPHeaders({});
  await page.goto(`${server.url}${PROCESSES}/processes/geometry.buffer?f=html`);
  const to = encodeURIComponent(`${PROCESSES}/processes/geometry.buffer?f=html`);
  expect(await page.locator('main a', { hasText: 'Sign in' }).getAttribute('href')).toBe(
    `/account/sign-in?to=${to}`,
  );
  expect(await page.locator('form.process-form').count()).toBe(0);
  await page.setExtraHTTPHeaders({ authorization: `Bearer ${server.adminKey}` });
});

it('what is wrong is said beside the form, with its field', async () => {
  await page.goto(`${server.url}${PROCESSES}/processes/geometry.buffer?f=html`);
  await field('features').fill('nothing');
  await field('distance').fill('20');
  problems.length = 0;
  await page.getByRole('button', { name: 'Execute' }).click();
  const fault = page.locator('[data-fault]');
  await fault.waitFor();
  expect(await fault.textContent()).toContain(
    "inputs.features.collection: 'nothing' is not a collection of features.",
  );
  expect(await field('features').getAttribute('aria-invalid')).toBe('true');
  await page.setExtraHTTPHeaders({});
  await page.getByRole('button', { name: 'Execute' }).click();
  await page.getByRole('link', { name: 'Sign in' }).waitFor();
  await page.setExtraHTTPHeaders({ authorization: `Bearer ${server.adminKey}` });
  // The two refusals, which the browser tells of.
  expect(problems.filter((text) => !/400|401/.test(text))).toEqual([]);
});

it('a job that runs is followed and dismissed on its page', async () => {
  problems.length = 0;
  const client = new ProcessClient(server);
  const features = { collection: 'countries' };
  const inputs = { features, segmentLength: 5 };
  const { jobID } = (await (await client.execute('geometry.densify', { inputs })).json()) as Json;
  await page.goto(`${server.url}${PROCESSES}/jobs/${jobID}?f=html`);
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await page.waitForFunction(() => document.querySelector('[data-job-status]')?.textContent === 'dismissed');
  expect((await client.ended(jobID)).status).toBe('dismissed');
  expect(problems).toEqual([]);
});
