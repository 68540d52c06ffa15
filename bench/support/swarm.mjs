/**
 * Many WebSocket clients in one process: sends each the same text frame after the handshake, then only counts the frames
 * that come (unmasked, as servers send them). Told over IPC how many to wait for.
 */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

const [port, path, count, hello] = process.argv.slice(2);
let frames = 0;
let open = 0;
let wanted = Infinity;

function masked(text) {
  const data = Buffer.from(text);
  const mask = randomBytes(4);
  const head =
    data.length < 126
      ? Buffer.from([0x81, 0x80 | data.length])
      : Buffer.from([0x81, 0xfe, data.length >> 8, data.length & 255]);
  return Buffer.concat([head, mask, data.map((byte, i) => byte ^ mask[i & 3])]);
}

function client() {
  const socket = connect(Number(port), '127.0.0.1');
  let upgraded = false;
  /** Bytes of the frame in work that are still to come, and the beginning of a head that was cut. */
  let left = 0;
  let head = Buffer.alloc(0);
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  );
  socket.on('data', (chunk) => {
    let data = head.length > 0 ? Buffer.concat([head, chunk]) : chunk;
    head = Buffer.alloc(0);
    if (!upgraded) {
      const end = data.indexOf('\r\n\r\n');
      if (end < 0) return void (head = data);
      if (!data.subarray(0, 12).toString().endsWith('101')) throw new Error(data.subarray(0, 300).toString());
      upgraded = true;
      if (hello) socket.write(masked(hello));
      open++;
      if (open === Number(count)) process.send({ ready: true });
      data = data.subarray(end + 4);
    }
    let at = 0;
    if (left > 0) {
      at = Math.min(left, data.length);
      left -= at;
      if (left === 0) counted();
    }
    while (at < data.length) {
      const short = data.length - at < 2 ? undefined : data[at + 1] & 127;
      const size = short === undefined ? Infinity : short === 126 ? 4 : short === 127 ? 10 : 2;
      if (data.length - at < size) return void (head = data.subarray(at));
      const length =
        short === 126
          ? data.readUInt16BE(at + 2)
          : short === 127
            ? Number(data.readBigUInt64BE(at + 2))
            : short;
      at += size;
      const here = Math.min(length, data.length - at);
      at += here;
      left = length - here;
      if (left === 0) counted();
    }
  });
  socket.on('error', (error) => {
    throw error;
  });
}

function counted() {
  frames++;
  if (frames === wanted) process.send({ done: performance.now() });
}

process.on('message', ({ wait }) => {
  if (wait === undefined) return void process.send({ frames });
  frames = 0;
  wanted = wait;
  process.send({ armed: true });
});
for (let i = 0; i < Number(count); i++) setTimeout(client, i / 2);
