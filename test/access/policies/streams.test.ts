import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Audience, TREATED } from './support/oracle.js';
import { openEvents, openSocket, type Told, until } from './support/streams.js';
import { startWorld, type World } from './support/world.js';

/** What streams tell to callers of different rights while features come, go and change, and while rules do. */

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

const AUDIENCES: readonly Audience[] = [
  ...(['administrator', 'reader', 'anonymous', 'masked', 'limited', 'both'] as const),
  ...TREATED,
];
const isLimited = (audience: Audience) => audience === 'limited' || audience === 'both';
const isHidden = (audience: Audience) => audience === 'masked' || audience === 'both';

const optionsOf = (audience: Audience, query: string) => ({
  ...{ url: world.url, audience, key: world.keyOf(audience), query },
});

/** All who listen to a layer, over both transports. */
async function listenAll(query: string, transports = [openSocket, openEvents]): Promise<Told[]> {
  return Promise.all(
    AUDIENCES.flatMap((audience) => transports.map((open) => open(optionsOf(audience, query)))),
  );
}

const itemsOf = (id: string) => `/ogc/features/collections/${id}/items`;

let next = 1000;

async function insert(id: string, properties: Record<string, unknown>): Promise<string> {
  next += 1;
  // The table of the database has ids that clients give.
  const own = id.startsWith('pg') ? { id: next } : {};
  const body = { type: 'Feature', ...own, geometry: { type: 'Point', coordinates: [6, 46] }, properties };
  const response = await world.fetch('administrator', itemsOf(id), { method: 'POST', body });
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  return response.headers.get('location')!.split('/').at(-1)!;
}

async function change(id: string, feature: string, properties: Record<string, unknown>): Promise<void> {
  const response = await world.fetch('administrator', `${itemsOf(id)}/${feature}`, {
    ...{ method: 'PATCH', body: { properties } },
  });
  expect(response.status).toBe(200);
}

/** Features that come, go, and move in and out of sight, with texts that begin with `mark`; the last is seen by all. */
async function edit(id: string, mark: string): Promise<void> {
  const add = (country: string, name: string) => {
    const hidden = { hidden_note: `${mark}note${name}`, hidden_amount: 800_000 };
    return insert(id, {
      ...(id.startsWith('pg') ? {} : {}),
      country,
      level: 1,
      token: `${mark}${name}`,
      ...hidden,
    });
  };
  const seen = await add('CHE', 'seen');
  const unseen = await add('ITA', 'unseen');
  await change(id, seen, { country: 'ITA', token: `${mark}left` });
  await change(id, unseen, { country: 'FRA', token: `${mark}entered` });
  await change(id, seen, { token: `${mark}away` });
  await change(id, unseen, { hidden_note: `${mark}noteagain` });
  await add('CHE', 'last');
}

/** What of the edits one may hear of. */
function expectEdits(told: Told, mark: string): void {
  const { audience, by } = told;
  const text = told.text();
  const about = `${by} of ${audience}: ${text.slice(-1500)}`;
  for (const name of ['seen', 'entered', 'last']) expect(text, about).toContain(`"${mark}${name}"`);
  for (const name of ['unseen', 'left', 'away'])
    expect(text.includes(`"${mark}${name}"`), about).toBe(!isLimited(audience));
  expect(text.includes(`${mark}note`), about).toBe(!isHidden(audience) && !TREATED.includes(audience));
  expect(text.includes('hidden_'), about).toBe(!isHidden(audience));
}

describe('streams', () => {
  it('tell what may be seen, live, in snapshots and again', async () => {
    for (const store of world.stores) {
      const { id, layerId } = world.layer(`${store}_sites`);
      const snapshots = await listenAll(`layers=${layerId}&mode=snapshot-then-delta`);
      for (const told of snapshots) {
        await until('the end of a snapshot', () => told.text().includes('snapshot-end'));
        const { rows, hidden } = world.oracle.known(told.audience, 'sites');
        for (const { token } of rows) expect(told.text()).toContain(token);
        expect(hidden.filter((secret) => told.text().includes(secret))).toEqual([]);
      }
      const wholes = await listenAll(`layers=${layerId}&mode=snapshot`, [openSocket]);
      for (const told of wholes) {
        await until('a snapshot', () => told.text().includes('"features":['));
        const { rows, hidden } = world.oracle.known(told.audience, 'sites');
        expect(rows.filter(({ token }) => !told.text().includes(token))).toEqual([]);
        expect(hidden.filter((secret) => told.text().includes(secret))).toEqual([]);
      }
      const live = await listenAll(`layers=${layerId}&mode=delta`);
      for (const told of live)
        await until('a subscription', () => told.text().includes('subscription is active'));
      const cursor = /"cursor":(\d+)/.exec(live[0]!.text())![1];
      const mark = `${store}mk`;
      await edit(id, mark);
      const again = await listenAll(`layers=${layerId}&mode=delta&cursor=${cursor}`);
      for (const told of [...live, ...again]) {
        await until(`the last edit for ${told.audience}`, () => told.text().includes(`${mark}last`));
        expectEdits(told, mark);
      }
      for (const told of [...snapshots, ...wholes, ...live, ...again]) told.close();
    }
  });

  it('are judged anew when rules change, and end with the rights of their roles', async () => {
    const { id, layerId } = world.layer('gp_sites');
    const query = `layers=${layerId}&mode=delta`;
    const reader = await openSocket(optionsOf('reader', query));
    const administrator = await openSocket(optionsOf('administrator', query));
    for (const told of [reader, administrator])
      await until('a subscription', () => told.text().includes('subscription is active'));
    const policy = { service: '*', layer: id, role: 'reader', attribute: 'country', claimType: 'country' };
    const { policyId } = await world.admin<{ policyId: string }>('POST', '/rls-policies', policy);
    const add = (token: string) => insert(id, { country: 'CHE', level: 1, token });
    await add('narrowed');
    await until('the edit', () => administrator.text().includes('narrowed'));
    await world.admin('DELETE', `/rls-policies/${policyId}`);
    await add('widened');
    await until('the next edit', () => reader.text().includes('widened'));
    expect(reader.text()).not.toContain('narrowed');

    const limited = await openSocket(optionsOf('limited', query));
    const { roleId } = (await world.admin<{ name: string; roleId: string }[]>('GET', '/roles')).find(
      ({ name }) => name === 'limited',
    )!;
    const permissions = [{ service: 'default', layer: 'gp_others', operation: 'write' }];
    await world.admin('PUT', `/roles/${roleId}/permissions`, { permissions });
    await until('the end of the stream', () => limited.isClosed);
    expect(reader.isClosed || administrator.isClosed).toBe(false);
    for (const told of [reader, administrator]) told.close();
  });

  it('of users end when these are changed', async () => {
    const password = 'correct horse battery';
    const body = { name: 'ursula', password, roles: ['reader'] };
    const made = await world.fetch('administrator', '/api/v1/users', { method: 'POST', body });
    const { userId } = (await made.json()) as { userId: string };
    const { layerId } = world.layer('pg_sites');
    const authorization = `Basic ${Buffer.from(`ursula:${password}`).toString('base64')}`;
    const open = async (): Promise<boolean[]> => {
      const response = await fetch(`${world.url}/api/v1/streaming/features?layers=${layerId}`, {
        headers: { accept: 'text/event-stream', authorization },
      });
      const isClosed = [false];
      void (async () => {
        for await (const _ of response.body!);
        isClosed[0] = true;
      })();
      return isClosed;
    };
    const first = await open();
    await world.admin('PUT', `/users/${userId}/roles`, { roles: ['editor'] });
    await until('the end with the old roles', () => first[0]!);
    const second = await open();
    await world.admin('DELETE', `/users/${userId}`);
    await until('the end with the user', () => second[0]!);
  });
});
