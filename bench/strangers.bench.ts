import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { constants, cpus, loadavg, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { pin } from './support/core.js';
import { flood, measureFloods } from './support/floods-part.js';
import { median, option, publishPart, textOption } from './support/report.js';
import { startGraticule } from './support/server.js';
import { openSockets, sendBodies, timed } from './support/strangers.js';

/**
 * `--part bodies`, and without a part: clients without a key send bodies that were made to be costly, and hold as many WebSockets as they get, which ask for
 * snapshots and read nothing; what becomes of the requests of a key meanwhile, and of the gateway's memory. A process of
 * its own sends it all, on the core that the keyed client runs on and with what time that leaves.
 *
 * `--part floods`: the floods of support/floods.ts, one after the other.
 */
const rounds = option('rounds', 3);
const seconds = option('seconds', 10);
const PORT = 18_097;
const KEY = { 'x-api-key': 'bench-bench-bench-bench' };
const BODY_CONNECTIONS = 8;
const SOCKETS = 256;

const part = textOption('part');

if (option('attack', 0) === 2) {
  flood();
} else if (part === 'floods') {
  await measureFloods(fileURLToPath(import.meta.url));
} else if (option('attack', 0) === 1) {
  await attackByBodies();
} else {
  await measureBodies();
}

async function attackByBodies(): Promise<void> {
  // Strangers are elsewhere: what they compute is not to be taken from the server.
  setPriority(constants.priority.PRIORITY_LOW);
  const origin = `http://127.0.0.1:${PORT}`;
  const stop = openSockets(
    origin,
    '/api/v1/streaming/features?serviceId=default&mode=snapshot-then-delta',
    SOCKETS / 2,
  );
  const stopOthers = openSockets(
    origin,
    '/api/v1/streaming/features?serviceId=default&mode=snapshot',
    SOCKETS / 2,
  );
  const sent = await sendBodies(origin, BODY_CONNECTIONS, Date.now() + seconds * 1000);
  stop();
  stopOthers();
  process.send!(sent);
  process.exit();
}

async function measureBodies(): Promise<void> {
  pin(1);
  const server = await startGraticule(['demo/data'], { port: PORT, cores: '0,1' });
  const PATHS = [
    '/ogc/features/collections/countries/items?limit=10',
    '/ogc/tiles/collections/3/tiles/WebMercatorQuad/2/1/2',
    '/stac/search?limit=5',
    '/api/v1/admin/api-keys',
    '/healthz/live',
  ];

  function memory(): number {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) / 1024;
  }

  /** One keyed client asks without pause; the longest memory is looked at on the way. */
  async function ask(
    done: () => boolean,
  ): Promise<{ p50: number; p99: number; failed: number; peak: number }> {
    const times: number[] = [];
    let failed = 0;
    let peak = 0;
    for (let i = 0; !done(); i++) {
      const [ms, status] = await timed(server.origin + PATHS[i % PATHS.length]!, KEY);
      times.push(ms);
      if (status !== 200) failed++;
      if (i % 20 === 0) peak = Math.max(peak, memory());
    }
    times.sort((a, b) => a - b);
    const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))]!;
    return { p50: at(0.5), p99: at(0.99), failed, peak };
  }

  /** Milliseconds until the stream of a key is open. */
  async function stream(): Promise<number> {
    const began = performance.now();
    const stop = new AbortController();
    const answer = await fetch(`${server.origin}/api/v1/streaming/features?serviceId=default`, {
      headers: { ...KEY, accept: 'text/event-stream' },
      signal: stop.signal,
    });
    if (answer.status !== 200) throw new Error(`the stream of a key was answered ${answer.status}`);
    stop.abort();
    return performance.now() - began;
  }

  const quiet: Record<string, number[]> = {};
  const attacked: Record<string, number[]> = {};
  const note = (into: Record<string, number[]>, values: Record<string, number>) => {
    for (const [name, value] of Object.entries(values)) (into[name] ??= []).push(value);
  };
  let bodies = 0;
  let refused = 0;
  for (let round = 0; round <= rounds; round++) {
    const until = Date.now() + seconds * 1000;
    const alone = await ask(() => Date.now() > until);
    const aloneStream = await stream();
    const attack = fork(fileURLToPath(import.meta.url), [...['--attack', '1', '--seconds', String(seconds)]]);
    let over = false;
    const ended = once(attack, 'message').then(([sent]) => {
      over = true;
      return sent as number;
    });
    const opened = new Promise((resolve) => setTimeout(resolve, (seconds * 1000) / 2)).then(stream);
    const under = await ask(() => over);
    const sent = await ended;
    const streamMs = await opened;
    if (round === 0) continue;
    bodies += sent;
    refused += under.failed;
    note(quiet, {
      'p50 ms': alone.p50,
      'p99 ms': alone.p99,
      'stream ms': aloneStream,
      'peak MiB': alone.peak,
    });
    note(attacked, {
      'p50 ms': under.p50,
      'p99 ms': under.p99,
      'stream ms': streamMs,
      'peak MiB': under.peak,
    });
  }
  await server.stop();

  const p99 = attacked['p99 ms']!;
  publishPart('bodies and sockets', {
    bench: 'strangers',
    command: `./run bench strangers --part bodies --rounds ${rounds} --seconds ${seconds}`,
    about: `One client with a key asks for features, a tile, STAC items, the list of keys and the probe in turn: alone, and while clients without a key send bodies that are deep, wide or large on ${BODY_CONNECTIONS} connections (${Math.round(bodies / rounds / seconds)}/s) and open ${SOCKETS} WebSockets, again and again, that ask for snapshots and read nothing. Gateway, workers, strangers and client share two cores. Memory is that of the gateway.`,
    figures: [
      { name: 'alone', rounds: quiet },
      { name: 'with strangers', rounds: attacked },
    ],
    ratios: [
      { what: '100 ms / p99 of the key', rounds: p99.map((ms) => 100 / ms), goal: 1 },
      {
        what: 'memory of the last round / of the first, with strangers',
        rounds: [attacked['peak MiB']!.at(-1)! / attacked['peak MiB']![0]!],
      },
    ],
    notes: [
      `${refused} of the key's requests were not answered 200; its stream opened in every round, in ${Math.round(median(attacked['stream ms']!))} ms.`,
      `Load of the machine at the end, other work of it included: ${loadavg()[0]!.toFixed(1)} on its ${cpus().length} cores.`,
    ],
  });
}
