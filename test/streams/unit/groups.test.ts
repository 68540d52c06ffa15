import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Principal } from '../../../src/core/http/operation.js';
import { defaultPolicy } from '../../../src/services/access/rules/policy.js';
import { LAYERS, type Streams, streams } from '../harness.js';
import type { Frame, StreamClient } from '../support.js';

/** Subscriptions that are alike are told together: each still gets its own numbers, at its own pace. */

const HIDDEN = new Set<string>();
const principals = Object.fromEntries(
  ['ann', 'bob'].map((id): [string, Principal] => [id, { kind: 'api-key', id, name: id, permissions: [] }]),
);
let s: Streams;
beforeEach(async () => {
  HIDDEN.clear();
  s = await streams({
    principals,
    policy: (principal, ...asked) =>
      HIDDEN.has(principal.id) ? { allowed: false } : defaultPolicy(principal, ...asked),
  });
});
afterEach(() => s.close());

const spots = { layers: [LAYERS.spots] };
const ID = 'map';
const changes = (client: StreamClient): Frame[] => client.of('feature-change');
const numbers = (client: StreamClient) => changes(client).map(({ sequence }) => sequence);
const names = (client: StreamClient) =>
  changes(client).map(({ attributes }) => (attributes as { name: string }).name);
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

async function subscribed(query = '', members: object = spots, headers = {}): Promise<StreamClient> {
  const client = await s.connect(query, headers);
  await client.subscribe(ID, { ...members });
  return client;
}

let told = 0;
/** Publishes changes one batch each, and waits until these clients have them. */
async function tell(count: number, ...clients: StreamClient[]): Promise<void> {
  const before = clients.map((client) => changes(client).length);
  for (let i = 0; i < count; i++) s.publish([s.event(String(i % 10), `n${told++}`)]);
  for (const [i, client] of clients.entries())
    await client.until(() => changes(client).length >= before[i]! + count);
}

/** How many groups the subscriptions of all sessions are in. */
function groups(): number {
  const all = [...s.hub.sessions.values()].flatMap(({ subscriptions }) => [...subscriptions.values()]);
  return new Set(all.map(({ group }) => group)).size;
}

it('numbers from 0 for each, whenever it began', async () => {
  const [a, b] = [await subscribed(), await subscribed()];
  await tell(3, a, b);
  expect(groups()).toBe(1);
  const late = await subscribed();
  await tell(3, a, b, late);
  expect(groups()).toBe(2);
  const later = [await subscribed(), await subscribed()];
  await tell(2, a, b, late, ...later);
  expect([a, b].map(numbers)).toEqual([upTo(8), upTo(8)]);
  expect(numbers(late)).toEqual(upTo(5));
  expect(later.map(numbers)).toEqual([upTo(2), upTo(2)]);
  expect(names(a)).toEqual(names(b));
  expect(names(a).slice(-2)).toEqual(names(later[0]!));
});

it('goes on for the others when one unsubscribes, subscribes to something else or leaves', async () => {
  const clients = await Promise.all(upTo(4).map(() => subscribed()));
  const [a, b, c, d] = clients as [StreamClient, StreamClient, StreamClient, StreamClient];
  await tell(2, ...clients);
  expect(groups()).toBe(1);
  a.send({ type: 'unsubscribe', subscriptionId: ID });
  await a.next(({ status }) => status === 'unsubscribed');
  await b.subscribe(ID, { layers: [LAYERS.parcels] });
  await tell(2, c, d);
  c.close();
  await c.until(() => c.closed);
  await tell(2, d);
  expect([a, b, c, d].map((client) => numbers(client).length)).toEqual([2, 2, 4, 6]);
  expect(numbers(d)).toEqual(upTo(6));
});

it('hears together of lost events, and of the changes after them in the same batch', async () => {
  const clients = [
    await subscribed(),
    await subscribed(),
    await subscribed('', { ...spots, mode: 'snapshot-then-delta' }),
  ];
  await tell(2, ...clients);
  const before = groups();
  s.publish([s.event('1', 'before'), 'gap', s.event('2', 'after'), s.event('3', 'after')]);
  await tell(1, ...clients);
  const [a, b, fresh] = clients as [StreamClient, StreamClient, StreamClient];
  for (const client of [a, b]) {
    const frames = client.frames.filter(({ type }) => type === 'gap' || type === 'feature-change');
    expect(frames.map(({ sequence }) => sequence)).toEqual(upTo(7));
    expect(frames.map(({ type }) => type).indexOf('gap')).toBe(3);
    expect(names(client).slice(2, 5)).toEqual(['before', 'after', 'after']);
  }
  // Whoever asked for snapshots gets one for it, which has what followed.
  expect(names(fresh)).not.toContain('after');
  expect(fresh.of('snapshot-begin')).toHaveLength(2);
  expect(groups()).toBeLessThanOrEqual(before);
});

it('answers in their place among the changes', async () => {
  const [a, b] = [await subscribed(), await subscribed()];
  await tell(1, a, b);
  s.publish([s.event('1', 'before')]);
  a.send({ type: 'ping' });
  await a.next(({ message }) => message === 'pong');
  await b.until(() => names(b).includes('before'));
  expect(a.frames.slice(-2).map(({ type }) => type)).toEqual(['feature-change', 'status']);
});

it('lets one that does not read fall out, which reads everything later', async () => {
  const [slow, quick] = [await subscribed(), await subscribed()];
  await tell(1, slow, quick);
  slow.pause();
  const fill = 'x'.repeat(4000);
  const count = 4000;
  for (let sent = 0; sent < count; sent += 100) {
    s.publish(upTo(100).map((i) => s.event(String(i), `${sent + i} ${fill}`)));
    await quick.until(() => changes(quick).length === 1 + sent + 100);
  }
  expect(groups()).toBe(2);
  slow.resume();
  await slow.until(() => changes(slow).length === count + 1);
  expect(numbers(slow)).toEqual(upTo(count + 1));
  expect(names(slow)).toEqual(names(quick));
  // Once it has caught up its next number is that of the others.
  await tell(1, slow, quick);
  await tell(1, slow, quick);
  expect(groups()).toBe(1);
});

it.each(['', '?format=msgpack'])('tells frames of any size (%s)', async (query) => {
  const [a, b] = [await subscribed(query), await subscribed(query)];
  await tell(1, a, b);
  const sizes = [10, 15_900, 16_500, 70_000, 10];
  for (const size of sizes) s.publish([s.event('1', 'y'.repeat(size))]);
  for (const client of [a, b]) await client.until(() => changes(client).length === 1 + sizes.length);
  expect(names(a).map(({ length }) => length)).toEqual([names(a)[0]!.length, ...sizes]);
  expect(names(b)).toEqual(names(a));
  expect(numbers(b)).toEqual(upTo(1 + sizes.length));
});

it('keeps apart who asks for other things, other frames, or is somebody else', async () => {
  const alike = [await subscribed(), await subscribed()];
  const others = [
    await subscribed('?format=msgpack'),
    await subscribed('', { ...spots, bbox: [0, 0, 10, 50] }),
    await subscribed('', { ...spots, filter: "name <> 'n0'" }),
    await subscribed('', spots, { 'x-api-key': 'ann' }),
    await subscribed('', spots, { 'x-api-key': 'bob' }),
  ];
  await tell(2, ...alike, others[0]!);
  await tell(2, ...alike, ...others);
  expect(groups()).toBe(1 + others.length);
  HIDDEN.add('ann');
  s.reload();
  await tell(2, ...alike, others[0]!, others[4]!);
  expect([...alike, ...others].map((client) => numbers(client).length)).toEqual([6, 6, 6, 6, 6, 4, 6]);
});

it('tells those together who do without numbers, whenever they began', async () => {
  const unnumbered = { ...spots, numbered: false };
  const a = await subscribed('', unnumbered);
  await tell(2, a);
  const b = await subscribed('?format=json', unnumbered);
  await tell(2, a, b);
  expect(groups()).toBe(1);
  expect([numbers(a), numbers(b)]).toEqual([upTo(4).map(() => undefined), upTo(2).map(() => undefined)]);
  expect(changes(b).map(({ eventId }) => eventId)).toEqual(
    changes(a)
      .slice(2)
      .map(({ eventId }) => eventId),
  );
  const wrong = await s.connect();
  expect(await wrong.subscribe(ID, { ...spots, numbered: 'no' })).toMatchObject({
    type: 'error',
    code: 'invalid-subscription',
  });
});
