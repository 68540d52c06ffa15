import { request } from 'node:http';
import { connect } from 'node:net';

/** What clients without a key may send that was made to be costly. */

const nested = (open: string, inner: string, close: string, levels: number) =>
  open.repeat(levels) + inner + close.repeat(levels);
const line = (positions: number) =>
  JSON.stringify({
    type: 'LineString',
    coordinates: Array.from({ length: positions }, (_, i) => [i / 1e4, 50]),
  });
const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"m${i}":1`).join()}}`;
const SEARCH = '/stac/search';
const CLUSTERS = '/ogc/features/collections/countries/clusters';

/** Bodies that are deep, wide or large: some beyond what is taken, some as large as that. */
const TEXTS: readonly (readonly [path: string, body: string])[] = [
  [SEARCH, `[${'[],'.repeat(8_000_000)}[]]`],
  [SEARCH, `{"ids":[${'[],'.repeat(150_000)}[]]}`],
  [SEARCH, `{"ids":[${'[],'.repeat(4900)}[]]}`],
  [SEARCH, `{"intersects":{"type":"Point","coordinates":${nested('[', '1', ']', 5000)}}}`],
  [SEARCH, `{"intersects":{"type":"Point","coordinates":${nested('[', '1', ']', 200_000)}}}`],
  [SEARCH, `{"filter":${nested('{"op":"not","args":[', 'true', ']}', 10_000)}}`],
  [SEARCH, members(1_900_000)],
  [SEARCH, members(2490)],
  [SEARCH, `{"intersects":${line(3200)}}`],
  [SEARCH, `{"filter-lang":"cql2-text","filter":"${'('.repeat(8000)}"}`],
  [
    SEARCH,
    `{"filter-lang":"cql2-text","filter":"s_intersects(geometry,LINESTRING(0 0${',1 1'.repeat(1900)}))"}`,
  ],
  [CLUSTERS, `{"where":"a=1${' or a=1'.repeat(1000)}"}`],
  [CLUSTERS, `{"geometry":{"paths":[${nested('[', '1', ']', 100_000)}]}}`],
];

/** As bytes, so that sending them costs the sender little. */
export const BODIES = TEXTS.map(([path, body]) => [path, Buffer.from(body)] as const);

/** Sends the bodies in turn until the time is over; resolves with how many. */
export async function sendBodies(origin: string, connections: number, until: number): Promise<number> {
  let sent = 0;
  const send = async () => {
    while (Date.now() < until) {
      const [path, body] = BODIES[sent++ % BODIES.length]!;
      const headers = { 'content-type': 'application/json' };
      // A refusal may come before the body is out, which ends the connection.
      await fetch(`${origin}${path}`, { method: 'POST', body, headers }).then(
        (answer) => answer.arrayBuffer(),
        () => undefined,
      );
    }
  };
  await Promise.all(Array.from({ length: connections }, send));
  return sent;
}

const UPGRADE = [
  'Host: bench',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
].join('\r\n');

/** Opens WebSockets that ask for snapshots and never read; those that end are opened again. Returns how to end it. */
export function openSockets(origin: string, target: string, count: number): () => void {
  const { hostname, port } = new URL(origin);
  let over = false;
  const sockets = new Set<ReturnType<typeof connect>>();
  const open = () => {
    if (over) return;
    const socket = connect(Number(port), hostname, () => {
      socket.write(`GET ${target} HTTP/1.1\r\n${UPGRADE}\r\n\r\n`);
      socket.pause();
    });
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      setTimeout(open, 500);
    });
    // Who is refused comes again.
    setTimeout(() => socket.resume(), 12_000).unref();
  };
  for (let i = 0; i < count; i++) open();
  return () => {
    over = true;
    for (const socket of sockets) socket.destroy();
  };
}

/** Milliseconds of one request, and its status. */
export function timed(url: string, headers: Record<string, string>): Promise<[ms: number, status: number]> {
  const began = performance.now();
  return new Promise((resolve) => {
    request(url, { headers, agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve([performance.now() - began, response.statusCode!]));
    })
      .on('error', () => resolve([performance.now() - began, 0]))
      .end();
  });
}
