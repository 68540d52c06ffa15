import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { CONFIG_LIMITS } from '../src/core/config/limits.js';
import { buildings, TILE_SIDE, tilesInside, ZOOM } from './support/buildings.js';
import { pin } from './support/core.js';
import { option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';

/**
 * More requests for tiles that no cache holds than can be made: what becomes of those that are taken, and that the others
 * are refused at once (503 with Retry-After) instead of waiting in a queue that grows.
 */
const rounds = option('rounds', 3);
const seconds = option('seconds', 5);
const CLIENTS = [4, 32, 256, 1024];
const ROWS = 200_000;
const SERVER_CORE = '0';
const LOAD_CORE = 1;

const { path } = buildings(ROWS);
const server = await startGraticule([path], { port: 18_096, cores: SERVER_CORE });
const answer = await fetch(`${server.origin}/ogc/tiles/collections?f=json`);
const { collections } = (await answer.json()) as { collections: { id: string }[] };
const set = `/ogc/tiles/collections/${collections[0]!.id}/tiles/WebMercatorQuad`;
// A tile with a selection is made for each request.
const HALF_WORLD = 2 ** (ZOOM - 1);
const paths = tilesInside(ROWS, 16).map(([west, , , north]) => {
  const row = HALF_WORLD - Math.round(north / TILE_SIDE);
  return `${set}/${ZOOM}/${row}/${HALF_WORLD + Math.round(west / TILE_SIDE)}?properties=kind`;
});

const crowd = fork('bench/support/crowd.mjs', [server.origin, ...paths], { execArgv: [] });
await once(crowd, 'message');
pin(LOAD_CORE, crowd.pid);

interface Outcome {
  answered: number[];
  others: Record<string, number>;
}

async function measured(child: ChildProcess, clients: number): Promise<Outcome> {
  const told = once(child, 'message');
  child.send({ clients, seconds });
  return (await told)[0] as Outcome;
}

const quantile = (sorted: readonly number[], part: number) => sorted[Math.floor((sorted.length - 1) * part)]!;
const megabytes = () =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) / 1024;

const figures = new Map(CLIENTS.map((clients) => [clients, {} as Record<string, number[]>]));
for (let round = 0; round <= rounds; round++) {
  for (const clients of CLIENTS) {
    const { answered, others } = await measured(crowd, clients);
    const { 503: refused = 0, ...wrong } = others;
    if (Object.keys(wrong).length > 0) throw new Error(`answers of ${JSON.stringify(wrong)}`);
    if (round === 0) continue;
    const sorted = answered.sort((a, b) => a - b);
    const values = {
      'tiles/s': sorted.length / seconds,
      'p50 ms': quantile(sorted, 0.5),
      'p99 ms': quantile(sorted, 0.99),
      'largest ms': quantile(sorted, 1),
      '503/s': refused / seconds,
      'gateway MB': megabytes(),
    };
    const into = figures.get(clients)!;
    for (const [name, value] of Object.entries(values)) (into[name] ??= []).push(value);
  }
}
crowd.kill();
await server.stop();

publish({
  bench: 'overload',
  command: `./run bench overload --rounds ${rounds} --seconds ${seconds}`,
  about: `Vector tiles of some 5,000 polygons that no cache holds, asked for by clients that ask again at once whatever they are answered; server on core ${SERVER_CORE}, clients on core ${LOAD_CORE}. Times are those of answers of 200.`,
  figures: CLIENTS.map((clients) => ({ name: `${clients} clients`, rounds: figures.get(clients)! })),
  ratios: [
    {
      what: 'what a request may be expected to wait (5,000 ms) / p99 with the most clients',
      rounds: figures.get(CLIENTS.at(-1)!)!['p99 ms']!.map((ms) => CONFIG_LIMITS.poolWaitMs / ms),
    },
  ],
});
