import { afterEach, beforeEach, expect, it } from 'vitest';
import { LAYERS, type Streams, streams } from '../harness.js';
import { EventReader, StreamClient } from '../support.js';

let s: Streams;
const readers: EventReader[] = [];
beforeEach(async () => {
  s = await streams({ heartbeatMs: 200, maxSessions: 3 });
});
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await s.close();
});

const query = `?layers=${LAYERS.spots}`;
const read = (search = query, headers: Record<string, string> = {}): EventReader => {
  const reader = new EventReader(s.url + search, headers);
  readers.push(reader);
  return reader;
};
const namesOf = (reader: EventReader) =>
  reader.of('feature-change').map(({ data }) => (data.attributes as { name: string }).name);

it('names each event by the type of its frame, and gives changes an id', async () => {
  const reader = read();
  await reader.until(() => reader.of('status').length === 2);
  s.publish([s.event('1', 'a\nb')]);
  await reader.until(() => reader.of('feature-change').length === 1);
  expect(reader.head).toMatch(/^HTTP\/1.1 200 OK/);
  expect(reader.head).toMatch(/Content-Type: text\/event-stream\r\n/);
  expect(reader.head).toMatch(/Cache-Control: no-store/);
  const [change] = reader.of('feature-change');
  expect(change).toMatchObject({
    id: String(s.head()),
    data: { type: 'feature-change', subscriptionId: 'default', sequence: 0, attributes: { name: 'a\nb' } },
  });
  for (const { event, data } of reader.events) expect(event).toBe(data.type);
  for (const { id } of reader.of('status')) expect(id).toBeUndefined();
});

it('goes on after Last-Event-ID without loss, and without telling twice', async () => {
  const first = read();
  await first.until(() => first.of('status').length === 2);
  s.publish([s.event('1', '0'), s.event('2', '1')]);
  await first.until(() => first.of('feature-change').length === 2);
  first.close();
  s.publish([s.event('1', '2'), s.event('3', '3')]);
  const second = read(query, { 'last-event-id': first.of('feature-change')[0]!.id! });
  await second.until(() => second.of('feature-change').length === 3);
  s.publish([s.event('1', '4')]);
  await second.until(() => second.of('feature-change').length === 4);
  expect(namesOf(second)).toEqual(['1', '2', '3', '4']);
  expect(second.of('feature-change').map(({ data }) => data.sequence)).toEqual([0, 1, 2, 3]);
});

it('tells a gap for an id of another feed', async () => {
  const reader = read(query, { 'last-event-id': '12' });
  await reader.until(() => reader.of('gap').length === 1);
  expect(reader.of('gap')[0]!.data).toMatchObject({ reason: 'cursor-invalid', requestedCursor: 12 });
});

it('beats, on both transports, for as long as nothing happens', async () => {
  const reader = read();
  const socket = await s.connect();
  await reader.until(() => reader.of('heartbeat').length === 3);
  await socket.until(() => socket.of('heartbeat').length === 3);
});

it('says how far it has come although there was nothing to tell, on both transports', async () => {
  const reader = read('?layers=2&bbox=100,10,101,11');
  const socket = await s.connect();
  await socket.subscribe('far', { layers: [2], bbox: [100, 10, 101, 11] });
  s.publish(Array.from({ length: 10 }, (_, i) => s.event(String(i), 'elsewhere')));
  await reader.until(() => reader.of('heartbeat').some(({ id }) => id === String(s.head())));
  await socket.until(() => socket.of('heartbeat').some(({ cursor }) => cursor === s.head()));
  expect([reader.of('feature-change'), socket.of('feature-change')]).toEqual([[], []]);
});

it('does not say so of what a subscription has yet to be told', async () => {
  const first = s.head();
  s.publish(
    Array.from({ length: 1200 }, (_, i) => s.event(String(i % 10), `old ${i} ${'x'.repeat(20_000)}`)),
  );
  const slow = await s.connect();
  slow.pause();
  slow.send({ type: 'subscribe', subscriptionId: 'late', layers: [2], cursor: first });
  await new Promise((resolve) => setTimeout(resolve, 600));
  slow.resume();
  await slow.until(() => slow.of('feature-change').length === 1200);
  await slow.until(() => slow.of('heartbeat').some(({ cursor }) => cursor === s.head()));
  let told = first;
  for (const { type, cursor } of slow.frames.slice(2)) {
    if (type === 'feature-change') told = cursor as number;
    else if (type === 'heartbeat') expect(cursor).toBeLessThanOrEqual(told);
  }
});

it('notices that a client has gone', async () => {
  const reader = read();
  await reader.until(() => reader.of('status').length === 2);
  expect(s.hub.sessions.size).toBe(1);
  reader.close();
  await reader.until(() => s.hub.sessions.size === 0);
});

it('refuses sessions beyond the cap with 503 and Retry-After, on both transports', async () => {
  await s.connect();
  await s.connect();
  const third = read();
  await third.until(() => third.of('status').length === 2);
  const fourth = await fetch(s.url + query, { headers: { accept: 'text/event-stream' } });
  expect([fourth.status, fourth.headers.get('retry-after')]).toEqual([503, '10']);
  expect(fourth.headers.get('content-type')).toBe('application/problem+json');
  expect(await StreamClient.refusal(s.url)).toMatchObject({ status: 503, retryAfter: '10' });
  third.close();
  await third.until(() => s.hub.sessions.size === 2);
  const again = read();
  await again.until(() => again.of('status').length === 2);
});

it('answers HEAD and OPTIONS truthfully, without a session', async () => {
  const head = await fetch(s.url + query, { method: 'HEAD', headers: { accept: 'text/event-stream' } });
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const options = await fetch(s.url, { method: 'OPTIONS' });
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  expect(s.hub.sessions.size).toBe(0);
});

it.each([
  ['layers=99', 'layers'],
  ['layers=x', 'layers'],
  ['layers=2&bbox=1,2,3', 'bbox'],
  ['layers=2&bbox=5,5,1,1,1', 'bbox'],
  ['layers=1,2&bbox=1,2,3,4', 'layers'],
  ['layers=2&bbox=1,2,3,4&bbox-crs=EPSG:3857', 'bboxCrs'],
  ['layers=2&filter=nothing=1', 'filter'],
  ['layers=2&filter=%28%28%28', 'filter'],
  ['layers=2&filter=name=1&filter-lang=sql', 'filterLang'],
  ['layers=2&datetime=noon', 'datetime'],
  ['layers=2&cursor=-1', 'cursor'],
  ['layers=2&cursor=1e9', 'cursor'],
  ['layers=2&mode=all', 'mode'],
  ['serviceId=other', 'serviceId'],
  ['layers=2&intersects=POLYGON', 'intersects'],
])('refuses %s with 400 naming %s', async (search, name) => {
  const response = await fetch(`${s.url}?${search}`, { headers: { accept: 'text/event-stream' } });
  expect(response.status).toBe(400);
  expect(JSON.stringify(await response.json())).toContain(name);
  expect(s.hub.sessions.size).toBe(0);
});

it('wants layers or a service of who is no administrator, and an Accept', async () => {
  const accept = { headers: { accept: 'text/event-stream' } };
  expect((await fetch(s.url, accept)).status).toBe(401);
  expect((await fetch(s.url + query, { headers: { accept: 'text/html' } })).status).toBe(406);
});
