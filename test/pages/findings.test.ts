import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAsker } from '../operate/asker.js';
import { launchBrowser } from '../support/browser.js';
import { startServer, type TestServer } from '../support/server.js';
import { axeFaults } from './axe.js';
import { layoutFaults } from './walk.js';

/** Pages on which people read findings and propose their actions. */

const LIST = '/api/v1/admin/observability/findings';
const PICTURES = process.env['FINDING_PICTURES'];
let folder: string;
let server: TestServer;
let browser: Browser;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-findings-'));
  copyFileSync('demo/data/world_map.gpkg', join(folder, 'world.gpkg'));
  writeFileSync(join(folder, '<b>broken.geojson'), '{"type": "FeatureCollection", "features": [');
  server = await startServer({ sources: [folder] });
  browser = await launchBrowser();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('pages of findings', () => {
  it.each([1280, 390])('show a finding with its facts and notes, at %i pixels', async (width) => {
    const ask = createAsker(server.url, server.adminKey);
    const { body } = await ask('GET', '/observability/findings');
    const { id } = body.findings.find(({ rule }: { rule: string }) => rule === 'source-quarantined');
    const text = 'The file was cut. <script>alert(1)</script>';
    await ask('POST', `/observability/findings/${id}/notes`, { text, agent: 'model' });
    const context = await browser.newContext({
      extraHTTPHeaders: { 'x-api-key': server.adminKey },
      viewport: { width, height: 900 },
      bypassCSP: true,
    });
    const page = await context.newPage();
    const check = async (name: string) => {
      expect(await axeFaults(page)).toEqual([]);
      expect(await layoutFaults(page)).toEqual([]);
      if (!PICTURES) return;
      mkdirSync(PICTURES, { recursive: true });
      await page.screenshot({ path: `${PICTURES}/${name}-${width}.png`, fullPage: true });
    };
    await page.goto(`${server.url}${LIST}?f=html`);
    await check('findings');
    await page.getByRole('button', { name: /^Propose this/ }).click();
    // The finding is younger than a minute.
    await page.getByText('The action cannot be proposed now.').waitFor();
    await page.getByRole('link', { name: /broken\.geojson is not published/ }).click();
    expect(await page.getByLabel('Facts').textContent()).toContain('"collections": []');
    expect(await page.getByText('<script>alert(1)</script>').count()).toBeGreaterThan(0);
    await check('finding');
    await context.close();
  });
});
