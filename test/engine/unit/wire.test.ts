import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { FrameReader, FrameWriter } from '../../../src/workers/engine/frames.js';
import { CHUNK_BYTES, WireError, type WireMessage } from '../../../src/workers/engine/wire.js';
import { eventually, scratchDirectory } from '../support.js';

const scratch = scratchDirectory();
afterAll(() => scratch.remove());

/** What a writer sends, as bytes. */
function written(...messages: WireMessage[]): Buffer {
  const parts: Buffer[] = [];
  const socket = {
    on: () => socket,
    cork: () => {},
    uncork: () => {},
    destroyed: false,
    write: (part: Uint8Array) => parts.push(Buffer.from(part)) > 0,
  };
  const writer = new FrameWriter(socket as unknown as Socket);
  for (const message of messages) writer.send(message);
  return Buffer.concat(parts);
}

function read(pieces: Iterable<Buffer>): WireMessage[] {
  const messages: WireMessage[] = [];
  const reader = new FrameReader((message) => messages.push(message));
  for (const piece of pieces) reader.push(piece);
  return messages;
}

const bytes = (length: number, seed: number) =>
  Uint8Array.from({ length }, (_, index) => (index * 31 + seed) & 255);

const SAMPLES: WireMessage[] = [
  { kind: 'hello', version: 1, pid: 7 },
  {
    kind: 'request',
    id: 1,
    task: 'map.render',
    input: { layers: [{ tile: bytes(300, 1) }, { tile: bytes(0, 2) }], n: 1.5 },
    deadlineMs: 10,
  },
  { kind: 'progress', id: 1, fraction: 0.25 },
  { kind: 'result', id: 1, value: { data: bytes(5000, 3), empty: false, none: null } },
  { kind: 'failure', id: 2, failure: { code: 'no-data', message: 'Nothing there.' } },
  { kind: 'goaway' },
];

it('reads back what it wrote, however the bytes are cut', () => {
  const whole = written(...SAMPLES);
  for (const size of [1, 2, 3, 7, 64, 1000, whole.length]) {
    const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
      whole.subarray(index * size, (index + 1) * size),
    );
    expect(read(pieces)).toEqual(SAMPLES);
  }
});

it('lets small messages pass between the chunks of a large one', async () => {
  const path = join(scratch.path, 'wire.sock');
  const large = bytes(20 * CHUNK_BYTES, 9);
  const order: string[] = [];
  let received: Uint8Array | undefined;
  const server = createServer((socket) => {
    const writer = new FrameWriter(socket);
    writer.send({ kind: 'result', id: 1, value: large });
    setImmediate(() => writer.send({ kind: 'pong', id: 2 }));
  }).listen(path);
  const client = connect(path);
  const reader = new FrameReader((message) => {
    order.push(message.kind);
    if (message.kind === 'result') received = message.value as Uint8Array;
  });
  client.on('data', (piece: Buffer) => reader.push(piece));
  await eventually(() => order.length === 2);
  expect(order).toEqual(['pong', 'result']);
  expect(Buffer.compare(received!, large)).toBe(0);
  client.destroy();
  server.close();
});

it('knows when a slow reader has been given everything', async () => {
  const path = join(scratch.path, 'slow.sock');
  const large = bytes(40 * CHUNK_BYTES, 5);
  let ended = false;
  const server = createServer(async (socket) => {
    const writer = new FrameWriter(socket);
    writer.send({ kind: 'result', id: 1, value: large.subarray(0, 3 * CHUNK_BYTES) });
    writer.send({ kind: 'result', id: 2, value: large });
    await writer.idle();
    ended = true;
    socket.end();
  }).listen(path);
  const client = connect(path);
  const received: WireMessage[] = [];
  const reader = new FrameReader((message) => received.push(message));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(ended).toBe(false);
  client.on('data', (piece: Buffer) => reader.push(piece));
  await new Promise((resolve) => client.once('end', resolve));
  expect(received.map((message) => 'id' in message && message.id)).toEqual([1, 2]);
  server.close();
});

it.each([
  ['an unknown frame kind', Buffer.from([1, 0, 0, 0, 99, 0])],
  ['an empty frame', Buffer.from([0, 0, 0, 0, 6])],
  ['a huge frame', Buffer.from([255, 255, 255, 255, 6])],
  ['a chunk of no message', Buffer.from([5, 0, 0, 0, 10, 1, 0, 0, 0, 9])],
  ['something that is not msgpack', Buffer.from([2, 0, 0, 0, 2, 0xc1, 0xc1])],
  ['a number in place of a map', Buffer.from([1, 0, 0, 0, 2, 1])],
  ['text of another protocol', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
])('refuses %s', (_, piece) => {
  expect(() => read([piece])).toThrow(WireError);
});

it('refuses more bytes than were announced', () => {
  const honest = written({ kind: 'result', id: 1, value: bytes(100, 1) });
  const chunk = honest.subarray(honest.length - 109);
  const longer = Buffer.concat([honest.subarray(0, honest.length - 109), chunk, Buffer.from([0])]);
  longer.writeUInt32LE(105, honest.length - 109);
  expect(() => read([longer])).toThrow(WireError);
});

it('throws nothing but WireError on damaged bytes', () => {
  const whole = written(...SAMPLES);
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return seed % below;
  };
  let refused = 0;
  for (let round = 0; round < 5000; round++) {
    const damaged = Buffer.from(whole);
    for (let hit = 0; hit <= random(4); hit++) damaged[random(400)] = random(256);
    try {
      read([damaged]);
    } catch (error) {
      expect(error).toBeInstanceOf(WireError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(500);
});
