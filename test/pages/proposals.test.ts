import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Asker, createAsker } from '../operate/asker.js';
import { launchBrowser } from '../support/browser.js';
import { startServer, type TestServer } from '../support/server.js';
import { axeFaults } from './axe.js';
import { layoutFaults } from './walk.js';

/** Pages on which people inspect proposals, approve and reject them. */

const LIST = '/api/v1/admin/proposals?f=html';
const PICTURES = process.env['PROPOSAL_PICTURES'];
let server: TestServer;
let browser: Browser;
let clerk: Asker;
let chiefKey: string;
beforeAll(async () => {
  server = await startServer();
  const admin = createAsker(server.url, server.adminKey);
  const keyOf = async (name: string, permissions: string[]): Promise<string> =>
    (await admin('POST', '/api-keys', { name, permissions })).body.data.key;
  clerk = createAsker(server.url, await keyOf('clerk', ['admin:read', 'admin:proposals:write']));
  chiefKey = await keyOf('chief', ['admin:write']);
  browser = await launchBrowser();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const open = async (width: number): Promise<Page> => {
  const context = await browser.newContext({
    extraHTTPHeaders: { 'x-api-key': chiefKey },
    viewport: { width, height: 900 },
    bypassCSP: true,
  });
  return context.newPage();
};
const propose = async (channel: string): Promise<void> => {
  const asked = { actuator: 'alert.channel.pause', parameters: { channel } };
  expect((await clerk('POST', '/proposals', asked)).status).toBe(201);
};
const check = async (page: Page, name: string) => {
  expect(await axeFaults(page)).toEqual([]);
  expect(await layoutFaults(page)).toEqual([]);
  if (!PICTURES) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true });
};

describe('pages of proposals', () => {
  it.each([
    [1280, 'slack'],
    [390, 'email'],
  ] as const)('approve an action and show its receipt, at %i pixels', async (width, channel) => {
    await propose(channel);
    const page = await open(width);
    await page.goto(`${server.url}${LIST}`);
    await check(page, `proposals-${width}`);
    await page.getByRole('link', { name: `Pause the alert channel ${channel}.` }).click();
    expect(await page.getByText(`${channel}: sending -> paused`).count()).toBe(1);
    const approve = page.getByRole('button', { name: 'Approve and execute' });
    await approve.waitFor();
    await check(page, `proposal-waiting-${width}`);
    await approve.click();
    await page.locator('[data-proposal-status]', { hasText: 'Succeeded' }).waitFor();
    await page.getByRole('heading', { name: 'Evidence and seals' }).waitFor();
    expect(await page.getByLabel('Receipt', { exact: true }).textContent()).toContain(
      `${channel} is paused on all servers.`,
    );
    expect(await page.getByRole('button', { name: 'Approve and execute' }).count()).toBe(0);
    await check(page, `proposal-${width}`);
    await page.context().close();
  });

  it('reject with a reason, and report a refused approval', async () => {
    await propose('aws_sns');
    const page = await open(1280);
    await page.goto(`${server.url}${LIST}&status=AwaitingApproval`);
    await page.getByRole('link', { name: 'Pause the alert channel aws_sns.' }).click();
    const shown = page.url();
    await page.getByLabel('Reason').fill('It is healthy <b>now</b>');
    await page.getByRole('button', { name: 'Reject' }).click();
    await page.locator('[data-proposal-status]', { hasText: 'Rejected' }).waitFor();
    expect(await page.getByText('It is healthy <b>now</b>').count()).toBe(1);
    await page.context().close();
    // The proposer sees the proposal, and cannot approve it.
    await propose('azure_eventgrid');
    const { proposals } = (await clerk('GET', '/proposals?status=AwaitingApproval')).body;
    const context = await browser.newContext({ extraHTTPHeaders: { 'x-api-key': server.adminKey } });
    const other = await context.newPage();
    await other.goto(shown.replace(/[0-9a-f]{64}/, proposals[0].proposalId));
    expect(await other.getByText('azure_eventgrid: sending -> paused').count()).toBe(1);
    await context.close();
  });
});
