import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { WholeSnapshot } from '../../../src/client/frames.js';
import { FeatureMirror } from '../../../src/client/index.js';
import type { Principal } from '../../../src/core/http/operation.js';
import { Turns } from '../../../src/services/kit/turns.js';
import { SessionQuotas } from '../../../src/services/streams/session-quotas.js';
import { LAYERS, type Streams, streams } from '../harness.js';
import { StreamClient, until } from '../support.js';

const key = (id: string): Principal => ({ kind: 'api-key', id, name: id, permissions: [] });
const anonymous: Principal = { kind: 'anonymous', id: 'anonymous', name: 'anonymous', permissions: [] };

describe('the quotas of sessions', () => {
  const quotas = () => new SessionQuotas({ total: 8, perAddress: 4, perKey: 3 });
  const from = (address: string) => ({ principal: anonymous, address });
  const take = (some: SessionQuotas, visitor: ReturnType<typeof from>, count: number) => {
    for (let i = 0; i < count; i++) some.take(visitor);
  };

  it('end at a number for an address, and for a key wherever it is used', () => {
    const some = quotas();
    take(some, from('192.0.2.1'), 4);
    expect(some.refusal(from('192.0.2.1'))).toMatchObject({ status: 429, headers: { 'retry-after': '10' } });
    expect(some.refusal(from('192.0.2.2'))).toBeUndefined();
    some.release(from('192.0.2.1'));
    expect(some.refusal(from('192.0.2.1'))).toBeUndefined();
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      some.take({ principal: key('a'), address });
    expect(some.refusal({ principal: key('a'), address: '192.0.2.9' })).toMatchObject({ status: 429 });
    expect(some.refusal({ principal: key('b'), address: '192.0.2.9' })).toBeUndefined();
  });

  it('take a network of IPv6 for one address', () => {
    const some = quotas();
    take(some, from('2001:db8:0:1::1'), 2);
    take(some, from('2001:db8:0:1:ffff::2'), 2);
    expect(some.refusal(from('2001:db8:0:1::9'))).toMatchObject({ status: 429 });
    expect(some.refusal(from('2001:db8:0:2::1'))).toBeUndefined();
    expect(some.refusal(from('2001:db8::1'))).toBeUndefined();
    expect(some.refusal(from('::1'))).toBeUndefined();
  });

  it('leave a quarter to keys', () => {
    const some = quotas();
    take(some, from('192.0.2.1'), 3);
    take(some, from('192.0.2.2'), 3);
    expect(some.refusal(from('192.0.2.3'))).toMatchObject({ status: 503, headers: { 'retry-after': '10' } });
    const ann = { principal: key('ann'), address: '192.0.2.3' };
    expect(some.refusal(ann)).toBeUndefined();
    some.take(ann);
    some.take(ann);
    expect(some.refusal(ann)).toMatchObject({ status: 503 });
  });
});

it('turns are as many as there may be, in order, and given back', async () => {
  const turns = new Turns(2);
  const told: string[] = [];
  const [one, two] = [await turns.take(), await turns.take()];
  const take = async (name: string) => {
    const release = await turns.take();
    told.push(name);
    return release;
  };
  const waiting = [take('three'), take('four')];
  await new Promise(setImmediate);
  expect(told).toEqual([]);
  one();
  const three = await waiting[0]!;
  expect(told).toEqual(['three']);
  two();
  three();
  (await waiting[1]!)();
  const again = [await turns.take(), await turns.take()];
  for (const release of again) release();
});

describe('a server', () => {
  let s: Streams;
  beforeAll(async () => {
    s = await streams({ principals: { ann: key('ann') }, maxSessions: 8, perAddress: 5 });
  });
  afterEach(() => until(() => s.hub.sessions.size === 0));
  afterAll(() => s.close());

  it('has room for a key while idle anonymous clients have all of theirs', async () => {
    const idle = await Promise.all(Array.from({ length: 5 }, () => s.connect()));
    const scoped = `${s.url}?layers=${LAYERS.spots}`;
    expect(await StreamClient.refusal(scoped)).toMatchObject({ status: 429, retryAfter: '10' });
    const sse = await fetch(scoped, { headers: { accept: 'text/event-stream' } });
    expect([sse.status, sse.headers.get('content-type')]).toEqual([429, 'application/problem+json']);
    const ann = await s.connect('', { 'x-api-key': 'ann' });
    expect(await ann.subscribe('a', { layers: [LAYERS.spots] })).toMatchObject({ status: 'subscribed' });
    for (const client of [...idle, ann]) client.close();
  });

  it('asks who has no key what it listens to, on both transports', async () => {
    const unscoped = await fetch(s.url, { headers: { accept: 'text/event-stream' } });
    expect(unscoped.status).toBe(401);
    expect(await StreamClient.refusal(s.url)).toMatchObject({ status: 401 });
    expect(await StreamClient.refusal(`${s.url}?subscribe=false`)).toMatchObject({ status: 401 });
    const idle = await s.connect(`?layers=${LAYERS.spots}&subscribe=false`);
    await idle.until(() => idle.of('status').length === 1);
    s.publish([s.event('1', 'untold')]);
    expect(await idle.subscribe('a', { layers: [LAYERS.spots] })).toMatchObject({ status: 'subscribed' });
    expect(idle.frames.filter(({ subscriptionId }) => subscriptionId === 'default')).toEqual([]);
    idle.close();
    const keyed = await s.connect('', { 'x-api-key': 'ann' });
    keyed.close();
  });

  it('bounds the filters of an address together, and counts those that end no more', async () => {
    const layers = [LAYERS.spots];
    const filterOf = (parts: number) =>
      Array.from({ length: parts }, (_, n) => `name LIKE '%${'x'.repeat(90)}${n}%'`).join(' OR ');
    const filter = filterOf(400);
    const clients = await Promise.all([s.connect(), s.connect()]);
    const answers: unknown[] = [];
    for (let n = 0; n < 36; n++) {
      const answer = await clients[n % 2]!.subscribe(`s${n}`, { layers, filter });
      answers.push(answer['status'] ?? answer['code']);
    }
    const accepted = answers.indexOf('subscription-limit-reached');
    expect(accepted).toBeGreaterThan(10);
    expect(new Set(answers.slice(0, accepted))).toEqual(new Set(['subscribed']));
    expect(new Set(answers.slice(accepted))).toEqual(new Set(['subscription-limit-reached']));
    // One that takes the place of another needs only what it has beyond that.
    expect(await clients[0]!.subscribe('s0', { layers, filter })).toMatchObject({ status: 'subscribed' });
    const rest = filterOf(30);
    for (let n = 0; n < 20; n++) await clients[1]!.subscribe(`t${n}`, { layers, filter: rest });
    const short = new URLSearchParams({ layers: String(LAYERS.spots), filter: rest });
    expect((await StreamClient.refusal(`${s.url}?${short}`)).status).toBe(429);
    const ann = await s.connect('', { 'x-api-key': 'ann' });
    expect(await ann.subscribe('a', { layers, filter })).toMatchObject({ status: 'subscribed' });
    for (const client of [...clients, ann]) client.close();
    await until(() => s.hub.sessions.size === 0);
    const again = await s.connect();
    expect(await again.subscribe('b', { layers, filter })).toMatchObject({ status: 'subscribed' });
    again.close();
  });

  it('answers the mode snapshot with one frame, and ends the subscription', async () => {
    const id = await s.edit('parcels', {
      type: 'create',
      feature: {
        geometry: '{"type":"MultiPolygon","coordinates":[[[[7,46],[8,46],[8,47],[7,46]]]]}',
        values: { name: '"new"' },
      },
    });
    const client = await s.connect();
    await client.subscribe('w', { layers: [LAYERS.parcels], mode: 'snapshot' });
    const frame = (await client.next(({ type }) => type === 'snapshot')) as unknown as WholeSnapshot;
    expect(frame).toMatchObject({
      subscriptionId: 'w',
      sequence: 0,
      cursor: s.head(),
      reason: 'initial',
      serviceId: 'default',
      layerIds: [LAYERS.parcels],
      snapshotId: expect.stringMatching(/^[\da-f-]{36}$/),
      timestamp: expect.any(String),
      complete: true,
    });
    expect(frame.featureCount).toBe(frame.features.length);
    expect(frame.features.find((one) => one.id === id)).toMatchObject({
      sourceId: 'parcels',
      layerId: LAYERS.parcels,
      geometryCrs: 'EPSG:4326',
      feature: { type: 'Feature', properties: { name: 'new' } },
    });
    await client.next(({ status }) => status === 'unsubscribed');
    expect(client.of('snapshot-begin')).toEqual([]);
    const mirror = new FeatureMirror();
    mirror.apply(frame);
    expect(mirror.features.get(`${LAYERS.parcels}/${id}`)?.properties).toMatchObject({ name: 'new' });
    client.close();
  });
});
