import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { deflateRawSync } from 'node:zlib';
import { Packr } from 'msgpackr';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Principal } from '../../../src/core/http/operation.js';
import { LAYERS, type Streams, streams } from '../harness.js';
import { StreamClient, until } from '../support.js';

const ann: Principal = { kind: 'api-key', id: 'ann', name: 'ann', permissions: [] };
let s: Streams;
const sockets: Socket[] = [];
beforeAll(async () => {
  s = await streams({ principals: { ann } });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await stillWell();
});
afterAll(() => s.close());

/** Whatever was done: a client that behaves is served, and no session is left of those that did not. */
async function stillWell(): Promise<void> {
  const client = await s.connect();
  await client.subscribe('s', { layers: [LAYERS.spots] });
  s.publish([s.event('1', 'well')]);
  await client.until(() => client.of('feature-change').length === 1);
  client.close();
  await until(() => s.hub.sessions.size === 0);
}

/** A WebSocket of bare bytes. */
async function bare(extensions = ''): Promise<{ socket: Socket; received: () => Buffer }> {
  const socket = connect(s.port, '127.0.0.1');
  sockets.push(socket);
  const chunks: Buffer[] = [];
  socket.on('error', () => {});
  socket.write(
    `GET /api/v1/streaming/features?serviceId=default&subscribe=false HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n${extensions}\r\n`,
  );
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(String(head)).toMatch(/^HTTP\/1.1 101/);
  socket.on('data', (chunk) => chunks.push(chunk));
  return { socket, received: () => Buffer.concat(chunks) };
}

/** A masked frame (the mask is zero); `first` holds FIN, the reserved bits and the opcode. */
function frame(first: number, payload: Uint8Array, length = payload.byteLength): Buffer {
  const head = Buffer.alloc(length > 65_535 ? 10 : length > 125 ? 4 : 2);
  head[0] = first;
  head[1] = 0x80 | (length > 65_535 ? 127 : length > 125 ? 126 : length);
  if (length > 65_535) head.writeBigUInt64BE(BigInt(length), 2);
  else if (length > 125) head.writeUInt16BE(length, 2);
  return Buffer.concat([head, Buffer.alloc(4), payload]);
}
const TEXT = 0x81;
const COMPRESSED_TEXT = 0xc1;
const BINARY = 0x82;
const gone = (socket: Socket) => until(() => socket.destroyed || socket.readableEnded);

describe('control frames', () => {
  const code = async (client: StreamClient, sent: unknown) => {
    const from = client.frames.length;
    client.send(sent);
    return (await client.next(({ type }) => type === 'error', from)).code;
  };

  it('may be nested as deep as they like', async () => {
    const client = await s.connect();
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    expect(await code(client, deep)).toBe('invalid-control');
    expect(await code(client, '['.repeat(60_000))).toBe('invalid-control');
    expect(await code(client, '['.repeat(200))).toBe('invalid-json');
    const nots = (levels: number) => `${'{"op":"not","args":['.repeat(levels)}true${']}'.repeat(levels)}`;
    const filter = nots(120);
    expect(await code(client, `{"type":"subscribe","filter":${nots(2500)}}`)).toBe('invalid-control');
    expect(
      await code(
        client,
        `{"type":"subscribe","subscriptionId":"d","layers":[2],"filterLang":"cql2-json","filter":${filter}}`,
      ),
    ).toBe('invalid-subscription');
    client.close();
  });

  it('may hold values of any type', async () => {
    const client = await s.connect();
    const values = [null, true, -1, 1e300, '', 'x', [], [[]], {}, { __proto__: null }, [null], ['1']];
    const members = [
      'onSlow',
      'layers',
      'layerId',
      'bbox',
      'filter',
      'filterLang',
      'datetime',
      'cursor',
      'mode',
      'serviceId',
    ];
    const answered = () => client.frames.filter(({ subscriptionId }) => subscriptionId === 'v').length;
    let sent = 0;
    for (const member of members) {
      for (const value of values) {
        client.send({ type: 'subscribe', subscriptionId: 'v', layers: [2], [member]: value });
        sent++;
        await client.until(() => answered() >= sent);
      }
    }
    for (const value of values) expect(await code(client, { type: value })).toBe('unsupported-control');
    expect(client.closed).toBeUndefined();
    client.close();
  });

  it('are refused when they are garbage, and the session goes on', async () => {
    const { socket, received } = await bare();
    for (let seed = 1; seed <= 100; seed++) {
      const garbage = Buffer.alloc(seed * 3);
      for (let i = 0, x = seed; i < garbage.length; i++) garbage[i] = x = (x * 75 + 74) % 65_537;
      socket.write(frame(BINARY, garbage));
    }
    await until(() => (String(received()).match(/"type":"error"/g) ?? []).length === 100);
  });

  it('in MessagePack are taken, and cannot ask for memory that they do not fill', async () => {
    const { socket, received } = await bare();
    const packr = new Packr({ useRecords: false });
    socket.write(frame(BINARY, packr.pack({ type: 'ping' })));
    await until(() => String(received()).includes('pong'));
    const huge = Buffer.concat(
      Array.from({ length: 12_000 }, () => Buffer.from([0xdd, 1, 0xff, 0xff, 0xff])),
    );
    const before = process.memoryUsage().rss;
    for (const bomb of [huge, Buffer.alloc(60_000, 0x91), Buffer.alloc(60_000, 0x81)])
      socket.write(frame(BINARY, bomb));
    await until(() => (String(received()).match(/invalid-json/g) ?? []).length === 3);
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 * 1024);
  });

  it('that come by the ten thousand end the session', async () => {
    const client = await s.connect();
    for (let i = 0; i < 10_000; i++)
      client.send({ type: 'subscribe', subscriptionId: `s${i % 10}`, layers: [LAYERS.spots] });
    await client.until(() => client.closed);
    expect(client.closed).toEqual({ code: 1008, reason: 'ControlError' });
    expect(client.of('status').length).toBeLessThan(1000);
    expect(client.of('error').at(-1)!.code).toBe('invalid-control');
  });

  it('are at most 64 subscriptions of a session', async () => {
    const client = await s.connect();
    for (let i = 0; i < 64; i++) await client.subscribe(`s${i}`, { layers: [LAYERS.spots] });
    const answer = await client.subscribe('s64', { layers: [LAYERS.spots] });
    expect(answer).toMatchObject({ type: 'error', code: 'subscription-limit-reached' });
    // One that is there can still be changed.
    expect(await client.subscribe('s3', { layers: [LAYERS.parcels] })).toMatchObject({
      status: 'subscribed',
    });
    client.close();
  });
});

describe('frames of the protocol', () => {
  it.each([
    ['an unknown opcode', frame(0x83, Buffer.from('x'))],
    ['reserved bits', frame(0xf1, Buffer.from('x'))],
    ['text that is not UTF-8', frame(TEXT, Buffer.from([0xff, 0xfe, 0xfd]))],
    ['a length of 2^62', frame(TEXT, Buffer.alloc(10), 2 ** 62)],
    ['a megabyte', frame(TEXT, Buffer.alloc(1_048_576, 0x20))],
    ['a continuation of nothing', frame(0x80, Buffer.from('x'))],
    ['a long ping', frame(0x89, Buffer.alloc(200))],
    ['no frame at all', Buffer.alloc(5000, 0xaa)],
  ])('%s close the connection', async (_name, bytes) => {
    const { socket } = await bare();
    socket.write(bytes);
    await gone(socket);
  });

  it('that inflate to a gigabyte close the connection, and take no memory', async () => {
    const { socket } = await bare('Sec-WebSocket-Extensions: permessage-deflate\r\n');
    const bomb = deflateRawSync(Buffer.alloc(200 * 1024 * 1024), { level: 9 });
    const before = process.memoryUsage().rss;
    // Five of them after each other are a gigabyte; the limit is met within the first.
    for (let i = 0; i < 5; i++) socket.write(frame(COMPRESSED_TEXT, bomb));
    await gone(socket);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  it('in random pieces leave no session behind, and are refused at least where they are no frames', async () => {
    let refused = 0;
    let rounds = 0;
    let x = 4711;
    const random = (below: number) => (x = (x * 48_271) % 2_147_483_647) % below;
    const deadline = Date.now() + 3000;
    for (; rounds < 400 && Date.now() < deadline; rounds++) {
      const { socket, received } = await bare();
      const good = frame(TEXT, Buffer.from('{"type":"subscribe","subscriptionId":"f","layers":[2]}'));
      for (let i = 0; i < 5; i++) {
        const bytes = Buffer.from(good);
        for (let j = random(6); j > 0; j--) bytes[random(bytes.length)] = random(256);
        socket.write(bytes.subarray(0, random(4) === 0 ? random(bytes.length) : bytes.length));
      }
      // One in four stays until the server has looked at what it sent.
      if (rounds % 4 === 0) {
        await until(() => received().length > 0 || socket.destroyed || socket.readableEnded);
        if (
          socket.destroyed ||
          socket.readableEnded ||
          /"type":"error"|\x88/.test(received().toString('latin1'))
        )
          refused++;
      }
      socket.end();
      socket.destroy();
    }
    expect(rounds).toBeGreaterThan(20);
    expect(refused).toBeGreaterThan(0);
    await until(() => s.hub.sessions.size === 0);
  });
});

describe('upgrades', () => {
  it('are refused with a wrong key', async () => {
    expect((await StreamClient.refusal(s.url, { 'x-api-key': 'wrong' })).status).toBe(401);
  });

  it('are refused to pages of other sites that bring credentials, and given to those that bring none', async () => {
    const origin = 'https://elsewhere.example';
    expect((await StreamClient.refusal(s.url, { 'x-api-key': 'ann', origin })).status).toBe(403);
    const own = `http://127.0.0.1:${s.port}`;
    for (const headers of [{ origin }, { 'x-api-key': 'ann', origin: own }] as Record<string, string>[])
      (await s.connect('', headers)).close();
  });

  it.each([
    '?layers=99',
    '?layers=2&bbox=x',
    '?layers=2&cursor=-1',
    '?layers=2&format=xml',
    '?layers=2&onSlow=wait',
    '?layers=2&compress=yes',
    '?unknown=1',
  ])('of %s are refused with 400', async (query) => {
    expect((await StreamClient.refusal(`${s.url}${query}&serviceId=default`)).status).toBe(400);
  });
});
