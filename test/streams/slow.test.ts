import { afterEach, expect, it } from 'vitest';
import * as metrics from '../../src/services/telemetry/event-metrics.js';
import { LAYERS, type Streams, streams } from './harness.js';
import { EventReader, type Frame, type StreamClient, until } from './support.js';

/** With what the kernel holds for a client that does not read, some hundred events of this size fit. */
const FILL = 'x'.repeat(20_000);
const EVENTS = 1500;
const WAVE = 50;
const KERNEL_BYTES = 16 * 1024 * 1024;

let s: Streams;
const open = async (stallMs?: number) => {
  s = await streams(stallMs === undefined ? {} : { stallMs });
};
afterEach(() => s.close());

/** Events of ten features, as fast as this client takes them. */
async function publishTo(quick: StreamClient, subscriptionId: string): Promise<void> {
  for (let sent = 0; sent < EVENTS; sent += WAVE) {
    const wave = Array.from({ length: WAVE }, (_, i) =>
      s.event(String((sent + i) % 10), `${sent + i} ${FILL}`),
    );
    s.publish(wave);
    await quick.until(() => changes(quick, subscriptionId).length === sent + WAVE);
  }
}
const changes = (client: StreamClient, subscriptionId: string): Frame[] =>
  client.of('feature-change').filter((frame) => frame.subscriptionId === subscriptionId);
const numbers = (frames: Frame[]) => frames.map(({ sequence }) => sequence);
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const nameOf = ({ attributes }: Frame) => (attributes as { name: string }).name.split(' ')[0];
const dropped = (transport: string) => metrics.slowConsumerDrops.cell(transport).value;
const closedAs = (transport: string) => metrics.sessionsClosed.cell(transport, 'SlowConsumer').value;

it('disconnects a WebSocket that is not read, and nobody else misses or waits for anything', async () => {
  await open(1000);
  const before = [dropped('WebSocket'), closedAs('WebSocket')] as const;
  const slow = await s.connect('?clientLabel=sleeper');
  await slow.subscribe('slow', { layers: [LAYERS.spots] });
  const quick = await s.connect();
  await quick.subscribe('quick', { layers: [LAYERS.spots] });
  slow.pause();
  await publishTo(quick, 'quick');
  expect(numbers(changes(quick, 'quick'))).toEqual(upTo(EVENTS));

  await until(() => s.hub.sessions.size === 1);
  expect([...s.hub.sessions.values()].map(({ clientLabel }) => clientLabel)).toEqual([undefined]);
  expect(dropped('WebSocket') - before[0]).toBe(1);
  expect(closedAs('WebSocket') - before[1]).toBe(1);
  expect(s.notices).toMatchObject([{ kind: 'slow-consumer', message: expect.stringContaining('sleeper') }]);

  slow.resume();
  await slow.until(() => slow.closed);
  expect(slow.closed).toEqual({ code: 1013, reason: 'SlowConsumer' });
  const got = changes(slow, 'slow');
  expect(numbers(got)).toEqual(upTo(got.length));
  expect(got.length * FILL.length).toBeLessThan(KERNEL_BYTES);
  // It comes back with the cursor of what it has, and misses nothing.
  const again = await s.connect(`?layers=${LAYERS.spots}&cursor=${got.at(-1)!.cursor}`);
  await again.until(() => changes(again, 'default').length === EVENTS - got.length);
  const names = [...got, ...changes(again, 'default')].map(nameOf);
  expect(names).toEqual(upTo(EVENTS).map(String));
});

it('keeps the latest of each feature for one who asks for it', async () => {
  await open();
  const slow = await s.connect();
  await slow.subscribe('slow', { layers: [LAYERS.spots], onSlow: 'coalesce' });
  const quick = await s.connect();
  await quick.subscribe('quick', { layers: [LAYERS.spots] });
  slow.pause();
  await publishTo(quick, 'quick');
  expect(s.hub.sessions.size).toBe(2);
  slow.resume();
  const latest = upTo(EVENTS).slice(-10).map(String);
  await slow.until(() => changes(slow, 'slow').slice(-10).map(nameOf).join() === latest.join());
  const got = changes(slow, 'slow');
  expect(numbers(got)).toEqual(upTo(got.length));
  expect(got.length).toBeLessThan(EVENTS);
  const cursors = got.map(({ cursor }) => cursor as number);
  expect(cursors).toEqual([...cursors].sort((a, b) => a - b));
});

it('ends server-sent events that are not read, and says why', async () => {
  await open(1000);
  const before = [dropped('SSE'), closedAs('SSE')] as const;
  const slow = new EventReader(`${s.url}?layers=${LAYERS.spots}`);
  await slow.until(() => slow.of('status').length === 2);
  const quick = await s.connect();
  await quick.subscribe('quick', { layers: [LAYERS.spots] });
  slow.pause();
  await publishTo(quick, 'quick');
  await until(() => s.hub.sessions.size === 1);
  expect(dropped('SSE') - before[0]).toBe(1);
  expect(closedAs('SSE') - before[1]).toBe(1);
  slow.resume();
  await slow.until(() => slow.ended);
  const got = slow.of('feature-change').map(({ data }) => data);
  expect(numbers(got)).toEqual(upTo(got.length));
  expect(slow.events.at(-1)).toMatchObject({
    event: 'error',
    data: { code: 'session-closed', message: 'SlowConsumer' },
  });
});

it('lets several subscriptions catch up at once, however much there is', async () => {
  await open();
  const from = s.head();
  for (let i = 0; i < 600; i++) s.publish([s.event(String(i), `${i} ${FILL}`)]);
  const client = await s.connect();
  const ids = ['a', 'b', 'c', 'd'];
  for (const subscriptionId of ids)
    client.send({ type: 'subscribe', subscriptionId, layers: [LAYERS.spots], cursor: from });
  await client.until(() => client.of('feature-change').length === 4 * 600);
  for (const id of ids) {
    expect(numbers(changes(client, id))).toEqual(upTo(600));
    expect(changes(client, id).map(nameOf)).toEqual(upTo(600).map(String));
  }
});

it('disconnects a client that asks and asks and does not read the answers', async () => {
  await open();
  const client = await s.connect();
  await client.subscribe('s', { layers: [LAYERS.spots], onSlow: 'coalesce' });
  client.pause();
  for (let i = 0; i < 600; i++) s.publish([s.event('1', `${i} ${FILL}`)]);
  const before = closedAs('WebSocket');
  await until(() => {
    // Below the pace that is refused for itself.
    for (let i = 0; i < 2; i++) client.send({ type: 'ping' });
    return s.hub.sessions.size === 0;
  });
  expect(closedAs('WebSocket') - before).toBe(1);
});
