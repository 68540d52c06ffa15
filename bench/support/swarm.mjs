/**
 * Many WebSocket clients in one process: sends each the same text frame after the handshake, then only counts the frames
 * that come (unmasked, as servers send them), and lines in them where a server joins messages by line ends, and notes how
 * old the changes in them are. Told over IPC how many to wait
 * for.
 * In the first frame, `{cell}` stands for a box of its own for each client, `{i}` for its number.
 */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

const [host, port, path, count, hello, first] = process.argv.slice(2);
let frames = 0;
/** Milliseconds from the time of a change to its arrival. */
let ages = [];
/** When the first client began to connect. */
let began = 0;
let open = 0;
let wanted = Number(first) || Infinity;

function masked(text) {
  const data = Buffer.from(text);
  const mask = randomBytes(4);
  const head =
    data.length < 126
      ? Buffer.from([0x81, 0x80 | data.length])
      : Buffer.from([0x81, 0xfe, data.length >> 8, data.length & 255]);
  return Buffer.concat([head, mask, data.map((byte, i) => byte ^ mask[i & 3])]);
}

/** West, south, east, north of the i-th of 10,000 boxes of a tenth of a degree. */
function cell(i) {
  const [west, south] = [(i % 100) / 10, Math.floor(i / 100) / 10];
  return `${west},${south},${west + 0.09},${south + 0.09}`;
}

const STAMP = Buffer.from('"timestamp":"');

function noteAge(data) {
  const at = data.indexOf(STAMP);
  if (at >= 0)
    ages.push(Date.now() - Date.parse(data.subarray(at + STAMP.length, at + STAMP.length + 24).toString()));
}

function client(i) {
  began ||= performance.now();
  const socket = connect(Number(port), host);
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
      if (hello) socket.write(masked(hello.replace('{cell}', cell(i)).replace('{i}', i)));
      open++;
      if (open === Number(count)) process.send({ ready: true });
      data = data.subarray(end + 4);
    }
    let at = 0;
    if (left > 0) {
      at = Math.min(left, data.length);
      countLines(data, 0, at);
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
      if (data.length - at >= length) noteAge(data.subarray(at, at + length));
      const here = Math.min(length, data.length - at);
      countLines(data, at, at + here);
      at += here;
      left = length - here;
      if (left === 0) counted();
    }
  });
  socket.on('error', (error) => {
    throw error;
  });
}

/** Whether messages may be joined in one frame, by line ends. */
const joined = process.env['SWARM_JOINED'] === '1';

function countLines(data, from, to) {
  if (joined) for (let i = from; (i = data.indexOf(10, i)) >= 0 && i < to; i++) counted();
}

function counted() {
  frames++;
  if (frames === wanted) process.send({ done: performance.now() - began });
}

process.on('message', ({ wait }) => {
  if (wait === undefined) return void process.send({ frames, ages });
  frames = 0;
  ages = [];
  wanted = wait;
  process.send({ armed: true });
});
for (let i = 0; i < Number(count); i++) setTimeout(client, i / 2, i);
