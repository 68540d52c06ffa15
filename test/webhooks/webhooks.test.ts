import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CatalogSnapshot } from '../../src/core/catalog/collection.js';
import type { Notice } from '../../src/core/cluster/notes.js';
import { ConfigError } from '../../src/core/config/config.js';
import type { Webhook } from '../../src/core/config/config-schema.js';
import type { FeatureEvent } from '../../src/core/edits/edits.js';
import type { Pools } from '../../src/core/tasks/tasks.js';
import { Feed } from '../../src/services/streams/feed.js';
import type { Log } from '../../src/services/telemetry/log.js';
import { startWebhooks, type Webhooks } from '../../src/services/webhooks/index.js';
import type { State } from '../../src/stores/state/state.js';
import { isFullRun } from '../support/soak.js';
import { describeStates, type TemporaryState } from '../support/state.js';
import { type Delivery, isSigned, SECRET, startReceiver, type TestReceiver, until } from './receiver.js';

/** A brief run has all of it with SQLite, but no long wait, and with PostgreSQL what one process tells another. */
const IS_FULL = isFullRun(import.meta.url);
const EMPTY = new CatalogSnapshot([], [], 1);
const QUIET = { write() {} } as unknown as Log;
const NO_POOLS = {} as Pools;

describeStates('webhooks', (open, database) => {
  const full = it.runIf(IS_FULL);
  const inFile = it.runIf(IS_FULL || database === 'SQLite');
  let temporary: TemporaryState;
  let state: State;
  let feed: Feed;
  let receiver: TestReceiver;
  let running: Webhooks[];
  let cursor: number;

  beforeEach(async () => {
    temporary = await open();
    state = temporary.state;
    feed = await Feed.open(state.feed);
    receiver = await startReceiver();
    running = [];
    notices.length = 0;
    cursor = 0;
    await state.feed.claim('a store', 'test', 0, 1e9);
  });
  afterEach(async () => {
    await Promise.all(running.map((one) => one.close()));
    await receiver.close();
    await temporary.close();
  });

  const notices: Notice[] = [];

  function start(members: Partial<Webhook> = {}, allow = ['127.0.0.1']): Webhooks {
    const webhooks = startWebhooks({
      webhooks: [{ name: 'hook', url: `${receiver.url}/events`, secret: SECRET, ...members }],
      ...{ allow, pools: NO_POOLS, store: state.deliveries, feed, log: QUIET },
      ...{ instance: randomUUID(), catalog: () => EMPTY, firstBackoffMs: 1 },
      notices: { notify: (notice) => void notices.push(notice) },
    });
    running.push(webhooks);
    return webhooks;
  }

  /** Appends events to the feed; returns their ids. */
  async function happen(count: number, collection = 'spots'): Promise<string[]> {
    const events = Array.from(
      { length: count },
      (): FeatureEvent => ({
        ...{
          cursor: ++cursor,
          eventId: randomUUID(),
          time: new Date().toISOString(),
          collection,
          layerId: 1,
        },
        ...{ table: collection, featureId: String(cursor), operation: 'insert', protocol: 'OGC-Features' },
        ...{ requestId: 'r', actor: 'a', attributes: '{"name":"x"}', changedAttributes: ['name'] },
        geometryChanged: false,
      }),
    );
    const last = events.at(-1)!;
    const entries = events.map((event) => ({ kind: 'event', event }) as const);
    await state.feed.append('a store', 'test', entries, { cursor: last.cursor, eventId: last.eventId });
    await feed.catchUp();
    return events.map(({ eventId }) => eventId);
  }
  const idOf = ({ headers }: Delivery) => headers['x-svc-event-id'] as string;
  const ids = () => receiver.received.map(idOf);
  const sink = () =>
    state.jobs.db.selectFrom('sinks').select('owner').where('name', '=', 'hook').executeTakeFirst();
  const begun = () => until(async () => typeof (await sink())?.owner === 'string');
  const dead = async () => (await state.deliveries.counts(['hook'])).dead;

  it('sends events in order, signed, as frames have them', async () => {
    start();
    await begun();
    const happened = await happen(50);
    await until(() => receiver.received.length === 50);
    expect(ids()).toEqual(happened);
    const [first] = receiver.received;
    expect(receiver.received.every(isSigned)).toBe(true);
    expect(first).toMatchObject({ path: '/events' });
    expect(first!.headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': happened[0],
    });
    expect(JSON.parse(first!.body)).toMatchObject({
      ...{ type: 'feature-change', eventId: happened[0], layerId: 1, featureId: '1', operation: 'insert' },
      ...{ protocol: 'OGC-Features', attributes: { name: 'x' }, changedAttributes: ['name'] },
    });
  });

  inFile('tries again what is answered 500 or not at all, before anything later', async () => {
    let failures = 0;
    receiver.answer = (response) => {
      failures++;
      if (failures === 2) response.destroy();
      else response.writeHead(failures < 4 ? 500 : 200).end();
    };
    start();
    await begun();
    const [a, b] = await happen(2);
    await until(() => receiver.received.length === 5);
    expect(ids()).toEqual([a, a, a, a, b]);
    expect(await dead()).toBe(0);
  });

  inFile('gives up after five attempts, goes on, and sends it again when told to', async () => {
    receiver.answer = (response, { body }) =>
      response.writeHead(JSON.parse(body).featureId === '1' ? 500 : 204).end();
    start();
    await begun();
    const [a, b] = await happen(2);
    await until(() => receiver.received.length === 6);
    expect(ids()).toEqual([a, a, a, a, a, b]);
    await until(async () => (await dead()) === 1);
    expect(notices).toMatchObject([{ kind: 'delivery-failing', subject: 'hook' }]);
    receiver.answer = undefined;
    expect(await state.deliveries.redrive(['another'], 10)).toBe(0);
    expect(await state.deliveries.redrive(undefined, 10)).toBe(1);
    const [c] = await happen(1);
    await until(() => receiver.received.length === 8);
    expect(ids().slice(6)).toEqual([a, c]);
    await until(async () => (await state.deliveries.counts(['hook'])).pending === 0);
    expect(await dead()).toBe(0);
  });

  inFile('does not follow redirections', async () => {
    receiver.answer = (response) => response.writeHead(307, { location: '/elsewhere' }).end();
    start();
    await begun();
    await happen(1);
    await until(() => receiver.received.length === 6);
    expect(receiver.received.map(({ path }) => path)).toEqual(Array(6).fill('/events'));
    expect(await dead()).toBe(0);
  });

  full('waits ten seconds for an answer, and no longer', async () => {
    let asked = 0;
    receiver.answer = (response) => {
      if (++asked > 1) response.writeHead(200).end();
    };
    start();
    await begun();
    const [a] = await happen(1);
    await until(() => receiver.received.length === 2);
    expect(ids()).toEqual([a, a]);
  });

  inFile('goes on after a stop where it was, and sends what happened meanwhile', async () => {
    const first = start();
    await begun();
    const before = await happen(3);
    await until(() => receiver.received.length === 3);
    // What was received but not yet answered would be sent again.
    await until(async () => (await state.deliveries.counts(['hook'])).pending === 0);
    await first.close();
    const during = await happen(3);
    start();
    await until(() => receiver.received.length === 6);
    expect(ids()).toEqual([...before, ...during]);
  });

  it('takes over what another process had claimed when its lease ends', async () => {
    await state.deliveries.claim('hook', 'dead', feed.head, 100);
    await state.deliveries.add('hook', 'dead', [{ eventId: 'claimed', body: '{}' }], feed.head);
    await state.deliveries.take('hook', 'dead', { limit: 10, probesAfter: 5 });
    await new Promise((resolve) => setTimeout(resolve, 150));
    start();
    await until(() => receiver.received.length === 1);
    expect(ids()).toEqual(['claimed']);
  });

  inFile('sends events of the collections that are asked for, and no others', async () => {
    start({ collections: ['roads'] });
    await begun();
    await happen(3, 'spots');
    const roads = await happen(2, 'roads');
    await until(() => receiver.received.length === 2);
    expect(ids()).toEqual(roads);
  });

  inFile.each([
    ['a private address over https', { url: 'https://127.0.0.1/' }, []],
    ['http to a host that is not listed', { url: 'http://example.org/' }, ['127.0.0.1']],
    ['another protocol', { url: 'file:///etc/passwd' }, []],
    ['credentials', { url: 'https://user:secret@example.org/' }, []],
    ['no URL', { url: 'example' }, []],
    ['a broken filter', { filter: 'name =' }, ['127.0.0.1']],
  ])('refuses %s', (_what, members, allow) => {
    expect(() => start(members, allow)).toThrow(ConfigError);
    try {
      start(members, allow);
    } catch (error) {
      expect(String(error)).toContain('hook');
      expect(String(error)).not.toContain('secret');
    }
  });
});
