import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore, sender } from '../edits/support.js';
import { launchBrowser, leaveMapsBlank, savePicture } from '../support/browser.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { layerNumbers } from '../support/shared-server.js';
import { SECRET, startReceiver, type TestReceiver } from '../webhooks/receiver.js';
import { axeFaults } from './axe.js';

const ADMIN = '/api/v1/admin';
const HOSTILE = '<img src=x onerror="window.hacked=1">';

let store: EditableStore;
let server: TestServer;
let receiver: TestReceiver;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let spots: number;
const problems: string[] = [];

beforeAll(async () => {
  store = geoPackageStore();
  receiver = await startReceiver();
  receiver.answer = (response) => response.writeHead(400).end();
  server = await startServerProcess({
    sources: store.sources,
    env: {
      ...store.env,
      SVC_ALERTS__CHANNELS__WEBHOOK__URL: `${receiver.url}/alerts`,
      SVC_ALERTS__CHANNELS__WEBHOOK__SECRET: SECRET,
      SVC_REMOTE__ALLOW: '127.0.0.1',
    },
  });
  spots = (await layerNumbers(server))['spots']!;
  browser = await launchBrowser();
  context = await open(server.adminKey);
  page = await openPage(context);
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await receiver?.close();
  await store?.release();
});

async function open(key: string, options: object = {}): Promise<BrowserContext> {
  const made = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    extraHTTPHeaders: { authorization: `Bearer ${key}` },
    ...options,
  });
  await leaveMapsBlank(made);
  return made;
}

async function openPage(of: BrowserContext): Promise<Page> {
  const made = await of.newPage();
  made.on('pageerror', ({ message }) => problems.push(message));
  made.on('console', (message) => {
    if (message.type() === 'error' && !/GPU stall|status of (400|404|409|412)/.test(message.text()))
      problems.push(message.text());
  });
  return made;
}

async function call(method: string, path: string, body?: unknown, key = server.adminKey) {
  const response = await fetch(`${server.url}${ADMIN}${path}`, {
    method,
    headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const document = await response.json();
  // biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
  return { status: response.status, body: document as any, data: (document as any).data };
}

const send: ReturnType<typeof sender> = (...request) => sender(server.url, server.adminKey)(...request);
const point = (x: number, y: number, name = 'van') => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [x, y, 0] },
  properties: { name },
});
const field = (role: 'textbox' | 'combobox' | 'spinbutton', name: string) =>
  page.getByRole(role, { name, exact: true });
const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
const ready = () => page.locator('form[data-state="ready"]').waitFor();
const mapReady = (of = page) =>
  of.locator('[data-map-state="ready"], [data-map-state="idle"]').waitFor({ timeout: 60_000 });
const live = () => page.locator('[data-live-state="open"]').waitFor({ timeout: 30_000 });

let van: string;

it('is found from the start page, and starts empty', async () => {
  van = String((await send('POST', 'spots/items', point(0, 0))).body.id);
  await page.goto(`${server.url}/`);
  await page.getByRole('link', { name: 'Alerts', exact: true }).click();
  expect(new URL(page.url()).pathname).toBe('/alerts');
  await page.getByText('There are no open incidents.').waitFor();
  await page.getByText('There are no rules.').waitFor();
  await live();
});

it('draws a zone with the mouse, and tests the rule with the last hour before it is saved', async () => {
  await page.getByRole('link', { name: 'New rule' }).click();
  await ready();
  await mapReady();
  await field('textbox', 'Name').fill(HOSTILE);
  await field('combobox', 'Layer').selectOption({ label: 'Spots' });
  await field('textbox', 'Name of the zone').fill(`Depot ${HOSTILE}`);
  await press('Draw on the map');
  await page.locator('.crosshair').waitFor();
  const canvas = page.locator('.maplibregl-canvas');
  const box = (await canvas.boundingBox())!;
  const click = (x: number, y: number) => page.mouse.click(box.x + box.width * x, box.y + box.height * y);
  await click(0.3, 0.3);
  await press('Finish');
  await page.getByText('An area has at least three corners.').waitFor();
  await click(0.7, 0.3);
  await click(0.1, 0.9);
  await press('Undo the last point');
  await click(0.7, 0.7);
  await click(0.3, 0.7);
  await press('Finish');
  const drawn = await field('textbox', 'Area').inputValue();
  const positions = /^POLYGON \(\((.*)\)\)$/.exec(drawn)![1]!.split(', ');
  expect([positions.length, positions.at(-1)]).toEqual([5, positions[0]]);
  // The middle of the map is inside of what was drawn.
  const [west, north] = positions[0]!.split(' ').map(Number) as [number, number];
  const [east, south] = positions[2]!.split(' ').map(Number) as [number, number];
  expect(west < east && south < north).toBe(true);

  // An area around the equator, so that the edits of the test are in it.
  await field('textbox', 'Area').fill('POLYGON ((10 10, 11 10, 11 11, 10 11, 10 10))');
  for (const [x, y] of [
    [10.5, 10.5],
    [0, 0],
    [10.6, 10.6],
    [0, 0],
  ])
    await send('PUT', `spots/items/${van}`, point(x!, y!));
  // The test reads edits from the change feed, which follows the edits.
  const result = page.locator('[data-result]');
  await expect
    .poll(async () => {
      await press('Test with the last hour');
      await result.locator('p').first().waitFor();
      return result.innerText();
    })
    .toContain('The rule would have triggered 2 alerts in');
  expect(await result.locator('li').count()).toBe(2);
  expect(await result.locator('a').first().getAttribute('href')).toContain(`/spots/items/${van}`);
  expect(await page.locator('[data-incidents]').getAttribute('data-incidents')).toBe('2');
  expect((await call('GET', '/alerts/rules')).data).toEqual([]);
  expect((await call('GET', '/alerts/zones')).data).toEqual([]);

  await page.getByLabel('Webhook').check();
  await press('Create the rule');
  await page.waitForURL(/\/alerts$/);
  const [rule] = (await call('GET', '/alerts/rules')).data;
  const [zone] = (await call('GET', '/alerts/zones')).data;
  expect(rule).toMatchObject({
    ...{
      ruleName: HOSTILE,
      layerId: spots,
      zoneId: zone.zoneId,
      triggerType: 'enter',
      channels: ['webhook'],
    },
  });
  expect(zone).toMatchObject({
    zoneName: `Depot ${HOSTILE}`,
    wkt: 'MULTIPOLYGON (((10 10, 11 10, 11 11, 10 11, 10 10)))',
  });
});

it('shows an incident without a reload, and acknowledges it with a note', async () => {
  await live();
  await mapReady();
  await page.evaluate('window.isSame = true');
  expect(await page.locator('tr[data-event]').count()).toBe(0);
  await page.locator('[data-incidents="0"]').waitFor();
  await send('PUT', `spots/items/${van}`, point(10.5, 10.5, HOSTILE));
  const row = page.locator('tr[data-event]');
  await row.waitFor({ timeout: 30_000 });
  await page.getByText('1 open incident.').waitFor();
  await page.locator('[data-incidents="1"]').waitFor();
  expect(await row.innerText()).toContain(HOSTILE);
  await savePicture(page, 'alerts', true);

  const button = row.getByRole('button', { name: /^Acknowledge/ });
  await button.focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('Note (optional)').waitFor();
  await page.keyboard.type('on my way');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('Acknowledged by').waitFor();
  expect(await page.evaluate("document.activeElement.closest('tr').dataset.event")).toBe('1');
  const { body } = await call('GET', '/observability/alerts/1');
  expect(body).toMatchObject({
    lifecycleStatus: 'acknowledged',
    note: 'on my way',
    incidentStatus: 'started',
  });

  // Another person resolves it, and the vehicle leaves.
  await call('POST', '/observability/alerts/1/resolve', { note: 'done' });
  await page.getByText('Resolved by').waitFor({ timeout: 30_000 });
  await send('PUT', `spots/items/${van}`, point(0, 0));
  await page.getByText('There are no open incidents.').waitFor({ timeout: 30_000 });
  await page.locator('[data-incidents="0"]').waitFor();
  expect(await page.evaluate('window.isSame')).toBe(true);
  expect(await page.evaluate('window.hacked')).toBeUndefined();
  expect(await page.locator('[data-alerts] img').count()).toBe(0);
});

it('suppresses an event until a time in the future', async () => {
  await send('PUT', `spots/items/${van}`, point(10.5, 10.5));
  const row = page.locator('tr[data-event="2"]');
  await row.waitFor({ timeout: 30_000 });
  await row.getByRole('button', { name: /^Suppress/ }).click();
  const until = page.getByLabel('Suppress until (your local time)');
  await until.fill('2020-01-01T00:00');
  await page.locator('[data-confirm]').click();
  await page.getByText('suppressUntil: must be a time in the future').waitFor();
  await until.fill('2099-01-01T00:00');
  await page.locator('[data-confirm]').click();
  await row.getByText('Suppressed until').waitFor();
  expect((await call('GET', '/observability/alerts/2')).body.lifecycleStatus).toBe('suppressed');
});

it('filters and pages the events, also without JavaScript', async () => {
  const plain = await open(server.adminKey, { javaScriptEnabled: false });
  const static_ = await plain.newPage();
  await static_.goto(`${server.url}/alerts`);
  const rows = static_.locator('tr[data-event]');
  expect(await rows.count()).toBe(2);
  expect(await static_.getByRole('button', { name: /^Resolve/ }).count()).toBe(0);
  await static_.getByRole('combobox', { name: 'Status' }).selectOption('resolved');
  await static_.getByRole('button', { name: 'Show', exact: true }).click();
  expect(await rows.count()).toBe(1);
  expect(await rows.first().getAttribute('data-event')).toBe('1');
  await static_.goto(`${server.url}/alerts?incident=open&rule=1`);
  expect(await rows.first().getAttribute('data-event')).toBe('2');
  await static_.goto(`${server.url}/alerts?severity=critical`);
  await static_.getByText('No alert event matches.').waitFor();
  await static_.goto(`${server.url}/alerts?before=2`);
  expect(await rows.first().getAttribute('data-event')).toBe('1');
  await static_.getByRole('link', { name: 'Newest events' }).click();
  expect(await rows.count()).toBe(2);
  await plain.close();
  const wrong = await fetch(`${server.url}/alerts?severity=loud`, {
    headers: { 'x-api-key': server.adminKey, accept: '*/*' },
  });
  expect([wrong.status, await wrong.text()]).toEqual([
    400,
    expect.stringContaining("severity: must be one of info, warning, critical; received 'loud'"),
  ]);
});

it('shows refusals at their fields, and writes zones by keyboard', async () => {
  await page.goto(`${server.url}/alerts/rules/new`);
  await ready();
  await press('Create the rule');
  await page.getByText('Enter a name.').waitFor();
  expect(await page.evaluate('document.activeElement.name')).toBe('ruleName');
  await field('textbox', 'Name').fill('Too many');
  await field('combobox', 'Layer').selectOption({ label: 'Parcels' });
  await field('textbox', 'Name of the zone').fill('Crossed');
  await field('textbox', 'Area').fill('POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))');
  await press('Create the rule');
  await page.locator('.field-fault').waitFor();
  expect(await page.evaluate('document.activeElement.name')).toBe('wkt');
  expect((await call('GET', '/alerts/zones')).data.length).toBe(1);

  await field('combobox', 'Alert if a feature').selectOption('threshold');
  await field('combobox', 'Field').selectOption('floors');
  await field('textbox', 'Value').fill('many');
  await press('Create the rule');
  await page.getByText('Enter a number.').waitFor();
  await field('textbox', 'Value').fill('3');
  await page.getByText('More conditions').click();
  await page.getByLabel('Other conditions (JSON)').fill('{"exitBuffer": 20}');
  await press('Create the rule');
  await page.locator('.field-fault', { hasText: 'exitBuffer' }).waitFor();
  await page.getByLabel('Other conditions (JSON)').fill('{"notifyEnd": true}');
  await press('Create the rule');
  await page.waitForURL(/\/alerts$/);
  await page.getByText('A feature of Parcels: floors > 3').waitFor();
  const rules = (await call('GET', '/alerts/rules')).data;
  expect(JSON.parse(rules[1].conditionsJson)).toEqual({
    ...{ notifyEnd: true, field: 'floors', operator: '>', value: 3 },
  });
});

it('draws a zone without a mouse', async () => {
  await page.goto(`${server.url}/alerts/rules/new`);
  await ready();
  await mapReady();
  const draw = page.getByRole('button', { name: 'Draw on the map' });
  await draw.focus();
  await page.keyboard.press('Enter');
  await page.locator('.crosshair').waitFor();
  const corner = async (key?: string) => {
    if (key) {
      await page.keyboard.press(key);
      await page.evaluate('new Promise((resolve) => setTimeout(resolve, 800))');
    }
    await page.keyboard.press('Enter');
  };
  await corner();
  await corner('ArrowRight');
  await corner('ArrowDown');
  await page.getByRole('button', { name: 'Finish' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('The zone has 3 corners.').waitFor();
  const text = await field('textbox', 'Area').inputValue();
  const [a, b, c] = /\(\((.*)\)\)/
    .exec(text)![1]!
    .split(', ')
    .map((one) => one.split(' ').map(Number));
  expect([b![0]! > a![0]!, b![1] === a![1], c![1]! < b![1]!]).toEqual([true, true, true]);
  await draw.focus();
  await page.keyboard.press('Enter');
  await page.locator('.crosshair').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('The drawing was cancelled.').waitFor();
  expect(await field('textbox', 'Area').inputValue()).toBe(text);
});

it('takes the area of a feature', async () => {
  const square = [
    [
      [5, 5],
      [6, 5],
      [6, 6],
      [5, 5],
    ],
  ];
  const made = await send('POST', 'anything/items', {
    ...{ type: 'Feature', properties: {}, geometry: { type: 'Polygon', coordinates: square } },
  });
  await page.getByText('Area of a feature').click();
  await page.getByRole('combobox', { name: 'Layer of the feature' }).selectOption({ label: 'Anything' });
  await field('textbox', 'Feature id').fill('4711');
  await press('Use its area');
  await page.locator('[data-draw-status]', { hasText: '4711' }).waitFor();
  await field('textbox', 'Feature id').fill(String(made.body.id));
  await press('Use its area');
  await page.getByText(`The zone is the area of feature ${made.body.id}.`).waitFor();
  expect(await field('textbox', 'Area').inputValue()).toBe('MULTIPOLYGON (((5 5, 6 5, 6 6, 5 5)))');
});

it('changes, disables and deletes rules and zones, and keeps what another person changed', async () => {
  await page.goto(`${server.url}/alerts/rules/1`);
  await ready();
  expect(await field('textbox', 'Name').inputValue()).toBe(HOSTILE);
  await page.locator('[name="wkt"]').evaluate((one) => (one as unknown as { value: string }).value);
  await expect.poll(() => field('textbox', 'Area').inputValue()).toContain('MULTIPOLYGON (((10 10');
  await field('spinbutton', 'Cooldown (seconds)').fill('30');
  await field('combobox', 'Severity').selectOption('critical');
  const [before] = (await call('GET', '/alerts/rules')).data;
  await call('PUT', '/alerts/rules/1', { ...before, ruleId: undefined, ruleName: 'Renamed' });
  await press('Save');
  await page.getByText('Another person changed it in the meantime.').waitFor();
  expect((await call('GET', '/alerts/rules/1')).data).toMatchObject({
    ruleName: 'Renamed',
    severity: 'warning',
  });
  await page.reload();
  await ready();
  await expect.poll(() => field('textbox', 'Area').inputValue()).toContain('MULTIPOLYGON (((10 10');
  await field('spinbutton', 'Cooldown (seconds)').fill('30');
  await press('Save');
  await page.waitForURL(/\/alerts$/);
  expect((await call('GET', '/alerts/rules/1')).data).toMatchObject({
    ruleName: 'Renamed',
    cooldownSeconds: 30,
  });

  const rule = page.locator('tr[data-rule="1"]');
  await rule.getByRole('button', { name: /^Disable/ }).click();
  await rule.getByText('Disabled').waitFor();
  await page
    .locator('tr[data-zone="1"]')
    .getByRole('button', { name: /^Delete/ })
    .click();
  await page.locator('[data-confirm]').click();
  await page.getByText("Rules use the zone: 'Renamed'").waitFor();
  await page.keyboard.press('Escape');
  await rule.getByRole('button', { name: /^Delete/ }).click();
  await page.locator('[data-confirm]').click();
  await rule.waitFor({ state: 'detached' });
  await page
    .locator('tr[data-zone="1"]')
    .getByRole('button', { name: /^Delete/ })
    .click();
  await page.locator('[data-confirm]').click();
  await page.getByText('There are no zones.').waitFor();
  expect((await call('GET', '/alerts/zones')).data).toEqual([]);
});

it('shows dead letters, and pauses, resumes and redrives channels', async () => {
  const channel = page.locator('tr[data-channel="webhook"]');
  await expect
    .poll(async () => {
      await page.reload();
      return channel.innerText();
    })
    .toMatch(/Sending\s+0\s+0\s+[12]/);
  await channel.getByRole('button', { name: /^Pause/ }).click();
  await channel.getByText('Paused').waitFor();
  expect((await call('GET', '/alerts/channels')).data).toContainEqual(
    expect.objectContaining({ channel: 'webhook', paused: true }),
  );
  receiver.answer = undefined;
  await press('Send the dead letters again');
  await expect.poll(() => channel.innerText()).toMatch(/Paused\s+[12]\s+0\s+0/);
  await channel.getByRole('button', { name: /^Resume/ }).click();
  await expect
    .poll(async () => {
      await page.reload();
      return channel.innerText();
    })
    .toMatch(/Sending\s+0\s+0\s+0/);
});

it('offers readers what they may, and hides it from others', async () => {
  const addKey = async (name: string, permissions: string[]) =>
    (await call('POST', '/api-keys', { name, permissions })).data.key as string;
  const reader = await open(await addKey('reader', ['admin:observability:read', 'read:default']));
  const own = await openPage(reader);
  await own.goto(`${server.url}/alerts`);
  await own.locator('tr[data-event]').first().waitFor();
  expect(await own.getByRole('button', { name: /^(Acknowledge|Resolve|Delete|Pause)/ }).count()).toBe(0);
  for (const name of ['Rules', 'Zones', 'Channels'])
    expect(await own.getByRole('heading', { name, exact: true }).count()).toBe(0);
  expect(await own.getByRole('link', { name: 'New rule' }).count()).toBe(0);
  expect(await own.locator('[data-live]').count()).toBe(0);
  const closed = { accessPolicy: { allowAnonymous: false, allowedRoles: ['administrator'] } };
  expect((await call('PUT', `/services/default/layers/${spots}/metadata`, closed)).status).toBe(200);
  await own.reload();
  await own.getByText('There are no alert events.').waitFor();
  await reader.close();

  const statusOf = async (path: string, key?: string) => {
    const headers = { accept: 'text/html', ...(key === undefined ? {} : { 'x-api-key': key }) };
    return (await fetch(`${server.url}${path}`, { headers, redirect: 'manual' })).status;
  };
  const plain = await addKey('plain', ['read:default']);
  const watcher = await addKey('watcher', ['admin:read']);
  expect([await statusOf('/alerts'), await statusOf('/alerts', plain)]).toEqual([401, 403]);
  expect([await statusOf('/alerts', watcher), await statusOf('/alerts/rules/new', watcher)]).toEqual([
    200, 403,
  ]);
  expect(await statusOf('/alerts/rules/4711', server.adminKey)).toBe(404);
  const start = await (await fetch(`${server.url}/`, { headers: { accept: 'text/html' } })).text();
  expect(start).not.toContain(`href="${server.url}/alerts"`);
});

it.each([
  ['light', 1280],
  ['light', 390],
  ['dark', 1280],
  ['dark', 390],
] as const)('is readable in %s at %i pixels', async (colorScheme, width) => {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 850 });
  for (const path of ['/alerts', '/alerts/rules/2']) {
    await page.goto(`${server.url}${path}`);
    await mapReady();
    await savePicture(page, `alerts${path.length > 10 ? '-rule' : ''}-${width}-${colorScheme}`, true);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  }
  expect(problems).toEqual([]);
});

it('has no fault that axe finds', async () => {
  const bare = await open(server.adminKey, { bypassCSP: true });
  const seen = await openPage(bare);
  for (const path of ['/alerts', '/alerts/rules/2', '/alerts/rules/new']) {
    await seen.goto(`${server.url}${path}`);
    await mapReady(seen);
    expect(await axeFaults(seen)).toEqual([]);
  }
  await bare.close();
});
