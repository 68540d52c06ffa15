import { cpus, loadavg } from 'node:os';
import { load } from './support/load.js';
import { option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';
import { sendBodies } from './support/strangers.js';

/**
 * Whether the event loop stays free while the pools are saturated, once idle and once with every vector thread
 * encoding tiles that are not cached, and while bodies come that were made to be costly. Two figures, both scraped: the CPU time of the longest turn of the loop, which
 * is how long our own code kept an event waiting; and the delay of a timer, in which the time is counted, too, that the
 * system gave to the other threads and the load generator.
 */
const rounds = option('rounds', 7);
const seconds = option('seconds', 3);
const KEY = 'bench-bench-bench-bench';

const graticule = await startGraticule(['demo/data'], { port: 18_083, cores: '0,1' });

async function delays(): Promise<{ p50: number; p99: number; max: number; turn: number }> {
  const text = await (await fetch(`${graticule.origin}/metrics`, { headers: { 'x-api-key': KEY } })).text();
  const read = (sample: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${sample} `))
        ?.split(' ')[1],
    );
  const delay = (quantile: string) => read(`svc_gateway_event_loop_delay_ms{quantile="${quantile}"}`);
  const turn = read('svc_gateway_event_loop_longest_turn_ms');
  return { p50: delay('0.5'), p99: delay('0.99'), max: delay('1'), turn };
}

/** Distinct tiles, so that none is cached when it is asked for. */
function tiles(round: number): string[] {
  const zoom = 9 + round;
  const paths: string[] = [];
  const middle = 2 ** zoom / 2;
  for (let row = 0; row < 64; row++) {
    for (let column = 0; column < 64; column++) {
      const at = `${zoom}/${Math.floor(middle * 0.68) + row}/${Math.floor(middle * 1.05) + column}`;
      paths.push(`/ogc/tiles/tiles/WebMercatorQuad/${at}?collections=states_provinces`);
    }
  }
  return paths;
}

const idle: number[][] = [[], [], [], []];
const busy: number[][] = [[], [], [], []];
const hostile: number[][] = [[], [], [], []];
let bodies = 0;
const rates: number[] = [];
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
for (let round = 0; round <= rounds; round++) {
  await delays();
  await pause(seconds * 1000);
  const quiet = await delays();
  const sample = await load({ ...graticule, paths: tiles(round), seconds, connections: 64, core: 1 });
  const loaded = await delays();
  const sent = await sendBodies(graticule.origin, 4, Date.now() + seconds * 1000);
  const attacked = await delays();
  if (round === 0) continue;
  bodies += sent;
  for (const [into, from] of [
    [idle, quiet],
    [busy, loaded],
    [hostile, attacked],
  ] as const) {
    into[0]!.push(from.p50);
    into[1]!.push(from.p99);
    into[2]!.push(from.max);
    into[3]!.push(from.turn);
  }
  rates.push(sample.requestsPerSecond);
}
await graticule.stop();

const figure = (name: string, [p50, p99, max, turn]: number[][]) => ({
  name,
  rounds: { 'longest turn ms': turn!, 'delay p50 ms': p50!, 'delay p99 ms': p99!, 'delay max ms': max! },
});
publish({
  bench: 'gateway-delay',
  command: `./run bench gateway-delay --rounds ${rounds} --seconds ${seconds}`,
  about: `The gateway's event loop, idle and while 64 connections ask for tiles that are not cached (${Math.round(rates.reduce((a, b) => a + b, 0) / rates.length)} requests/s); then while 4 connections without a key send bodies that are deep, wide or large (${Math.round(bodies / rounds / seconds)}/s); gateway, vector threads and load generator share the machine's cores.`,
  figures: [figure('idle', idle), figure('pools saturated', busy), figure('hostile bodies', hostile)],
  ratios: [
    { what: '5 ms / longest turn while saturated', rounds: busy[3]!.map((ms) => 5 / ms), goal: 1 },
    { what: '5 ms / longest turn with hostile bodies', rounds: hostile[3]!.map((ms) => 5 / ms), goal: 1 },
    { what: '5 ms / largest delay while saturated', rounds: busy[2]!.map((ms) => 5 / ms) },
  ],
  notes: [
    `Load of the machine at the end, other work of it included: ${loadavg()[0]!.toFixed(1)} on its ${cpus().length} cores.`,
  ],
});
