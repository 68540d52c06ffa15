import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildings } from './support/buildings.js';
import { cpuSeconds } from './support/load.js';
import { median, option, publish } from './support/report.js';
import { type GraticuleServer, startGraticule } from './support/server.js';
import { type Swarm, swarm } from './support/swarm.js';
import { editor, things } from './support/things.js';

/**
 * The model of docs/how-to/operate/scaling.md held against measurements. What a request and a session cost is measured on one process,
 * at a moderate rate; from that the processor time of a mix at a high rate, the memory of many sessions and the
 * processor time of an event for all of them are foretold, and measured on 1, 2, 4 and 8 processes.
 */
const rounds = option('rounds', 3);
const RATE = option('rate', 10_000);
const SESSIONS = option('sessions', 100_000);
const SECONDS = option('seconds', 5);
const PROCESSES = [1, 2, 4, 8];
/** Most sessions of one process: where a process may hold 20,000 files. */
const PER_PROCESS = option('perProcess', 14_000);
/** Sessions that the cost of one is measured with. */
const SAMPLE = 5000;
const CHANGES = 3;
/** Connections that ask. */
const CLIENTS = 50;
/** Sessions of one process of clients: an address has some 28,000 ports. */
const SWARM = 10_000;

const sessionsOf = (processes: number) => Math.min(SESSIONS, processes * PER_PROCESS);

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const features = buildings(1000, 4326);
const file = things(join(folder, 'things.gpkg'));
const env = {
  SVC_STREAMING__MAX_SESSIONS: '1000000',
  SVC_STREAMING__PER_ADDRESS: '1000000',
  SVC_SERVER__HOST: '0.0.0.0',
};

const start = (processes: number): Promise<GraticuleServer> =>
  startGraticule(['demo/data/world_map.gpkg', features.path, file], {
    ...{ port: 18_150, cores: '0,1', files: 1_000_000 },
    env: { ...env, SVC_SERVER__PROCESSES: String(processes) },
  });

const cpuOf = ({ pids }: GraticuleServer) => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);

const megabytesOf = ({ pids }: GraticuleServer) =>
  pids.reduce((sum, pid) => {
    const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];
    return sum + Number(kilobytes) / 1024;
  }, 0);

/** A kind of request, and its part of the mix. */
interface Kind {
  readonly name: string;
  readonly share: number;
  readonly paths: readonly string[];
}

const KINDS: readonly Kind[] = [
  { name: 'cached tile', share: 0.85, paths: tiles() },
  {
    name: 'single feature',
    share: 0.1,
    paths: Array.from({ length: 100 }, (_, i) => `/ogc/features/collections/buildings/items/${i + 1}?f=json`),
  },
  { name: 'collection document', share: 0.05, paths: ['/ogc/features/collections/countries?f=json'] },
];

function tiles(): string[] {
  const paths: string[] = [];
  for (let row = 4; row < 12; row++)
    for (let column = 0; column < 16; column++) paths.push(`/tiles/countries/4/${column}/${row}.mvt`);
  return paths;
}

/** What requests took, and how many there were. */
interface Load {
  /** Processor time of a request. */
  cpuMicros: number;
  perSecond: number;
}

/** Requests that a process has answered when its code is compiled and its caches are full. */
const WARM = 15_000;

function warm(server: GraticuleServer, paths: readonly string[]): void {
  request(server, paths, ['-n', String(WARM * server.pids.length)]);
}

/** Requests at a constant rate for some seconds, or at as high a rate as both cores allow. */
async function drive(server: GraticuleServer, paths: readonly string[], rate: number): Promise<Load> {
  const before = cpuOf(server);
  const count = request(server, paths, ['-D', String(SECONDS), '--rps', String(rate / CLIENTS)]);
  // What the requests have left to do is theirs.
  await sleep(300);
  return { cpuMicros: ((cpuOf(server) - before) / count) * 1e6, perSecond: count / SECONDS };
}

/** Returns how many requests were answered. */
function request(server: GraticuleServer, paths: readonly string[], load: readonly string[]): number {
  const list = join(folder, 'targets');
  writeFileSync(list, paths.map((path) => `${server.origin}${path}\n`).join(''));
  const { stdout, status } = spawnSync(
    'h2load',
    ['--h1', '-t', '1', '-c', String(CLIENTS), ...load, '-i', list, '-H', 'accept-encoding: gzip'],
    { encoding: 'utf8' },
  );
  const [, good = '0', bad = '0'] = /(\d+) succeeded, (\d+) failed/.exec(stdout) ?? [];
  if (status !== 0 || Number(bad) > 0) throw new Error(`not all was answered:\n${stdout}`);
  return Number(good);
}

/** Targets of a mix, each kind by its share. */
function mix(): string[] {
  return KINDS.flatMap(({ share, paths }) =>
    Array.from({ length: Math.round(share * 1000) }, (_, i) => paths[i % paths.length]!),
  ).sort((a, b) => hash(a) - hash(b));
}

const hash = (text: string) => [...text].reduce((sum, c) => (sum * 31 + c.charCodeAt(0)) % 65_521, 7);

/** Sessions that hear of a layer, from several addresses. */
async function subscribe(server: GraticuleServer, count: number): Promise<Swarm[]> {
  const { layer } = await editor(server.origin);
  const swarms: Swarm[] = [];
  for (let i = 0; i * SWARM < count; i++) {
    const origin = server.origin.replace('127.0.0.1', `127.0.0.${i + 1}`);
    const clients = Math.min(SWARM, count - i * SWARM);
    swarms.push(await swarm(origin, `/api/v1/streaming/features?layers=${layer}`, clients));
  }
  await sleep(1000);
  return swarms;
}

interface Streams {
  /** Of the sessions, without what the server takes itself. */
  megabytes: number;
  /** Of an event for one session. */
  cpuMicros: number;
}

async function stream(server: GraticuleServer, count: number): Promise<Streams> {
  const empty = megabytesOf(server);
  const swarms = await subscribe(server, count);
  const megabytes = megabytesOf(server) - empty;
  const { batch } = await editor(server.origin);
  const arms = await Promise.all(
    swarms.map((one, i) => one.arm(CHANGES * Math.min(SWARM, count - i * SWARM))),
  );
  const before = cpuOf(server);
  for (let n = 0; n < CHANGES; n++)
    await batch([
      {
        type: 'CREATE',
        feature: { type: 'Feature', geometry: { type: 'Point', coordinates: [n, n] }, properties: { n } },
      },
    ]);
  await Promise.all(arms.map(({ done }) => done));
  await sleep(500);
  const cpuMicros = ((cpuOf(server) - before) / (CHANGES * count)) * 1e6;
  await Promise.all(swarms.map((one) => one.stop()));
  return { megabytes, cpuMicros };
}

const costs = new Map(KINDS.map(({ name }) => [name, [] as number[]]));
const sample: Streams[] = [];
const measured = new Map(PROCESSES.map((n) => [n, { mix: [] as Load[], streams: [] as Streams[] }]));
const memory: number[] = [];

for (let round = 0; round <= rounds; round++) {
  const one = await start(1);
  const single = new Map<string, number>();
  for (const { name, paths } of KINDS) {
    warm(one, paths);
    single.set(name, (await drive(one, paths, RATE / 5)).cpuMicros);
  }
  const streams = round === 0 ? undefined : await stream(one, SAMPLE);
  const base = megabytesOf(one);
  await one.stop();
  const many: { n: number; load: Load; streams: Streams | undefined }[] = [];
  for (const n of PROCESSES) {
    const server = await start(n);
    warm(server, mix());
    const load = await drive(server, mix(), RATE);
    many.push({ n, load, streams: round === 0 ? undefined : await stream(server, sessionsOf(n)) });
    await server.stop();
  }
  console.error(JSON.stringify({ round, single: [...single], streams, many }));
  if (!streams) continue;
  for (const [name, cost] of single) costs.get(name)!.push(cost);
  sample.push(streams);
  memory.push(base);
  for (const { n, load, streams: some } of many) {
    measured.get(n)!.mix.push(load);
    measured.get(n)!.streams.push(some!);
  }
}
rmSync(folder, { recursive: true });

const foretold = sample.map((_, round) =>
  KINDS.reduce((sum, { name, share }) => sum + share * costs.get(name)![round]!, 0),
);
const kilobytes = sample.map(({ megabytes }) => (megabytes * 1024) / SAMPLE);

publish({
  bench: 'capacity',
  command: `./run bench capacity --rounds ${rounds} --rate ${RATE} --sessions ${SESSIONS} --perProcess ${PER_PROCESS} --seconds ${SECONDS}`,
  about: `${RATE} requests a second (${KINDS.map(({ name, share }) => `${share * 100} % ${name}`).join(', ')}), and then WebSocket subscribers of one layer, ${PER_PROCESS} of each process and ${SESSIONS} at most, at servers of ${PROCESSES.join(', ')} gateway processes; foretold from what one process needs at a fifth of the rate and for ${SAMPLE} sessions. Servers and clients share both cores.`,
  figures: [
    ...KINDS.map(({ name }) => ({ name: `${name}, CPU us`, rounds: { value: costs.get(name)! } })),
    { name: `${RATE} requests/s foretold, cores`, rounds: { value: foretold.map(cores) } },
    ...PROCESSES.map((n) => ({
      name: `${RATE} requests/s at ${n} processes, cores`,
      rounds: { value: measured.get(n)!.mix.map(({ cpuMicros }) => cores(cpuMicros)) },
    })),
    ...PROCESSES.map((n) => ({
      name: `requests/s that came about at ${n} processes`,
      rounds: { value: measured.get(n)!.mix.map(({ perSecond }) => perSecond) },
    })),
    { name: `session of ${SAMPLE}, kB`, rounds: { value: kilobytes } },
    ...PROCESSES.map((n) => ({
      name: `session of ${sessionsOf(n)} at ${n} processes, kB`,
      rounds: {
        value: measured.get(n)!.streams.map(({ megabytes }) => (megabytes * 1024) / sessionsOf(n)),
      },
    })),
    {
      name: `event for one of ${SAMPLE} sessions, CPU us`,
      rounds: { value: sample.map(({ cpuMicros }) => cpuMicros) },
    },
    ...PROCESSES.map((n) => ({
      name: `event for one of ${sessionsOf(n)} sessions at ${n} processes, CPU us`,
      rounds: { value: measured.get(n)!.streams.map(({ cpuMicros }) => cpuMicros) },
    })),
  ],
  ratios: PROCESSES.flatMap((n) => [
    {
      what: `processor time of requests, foretold / measured at ${n} processes`,
      rounds: foretold.map((us, round) => us / measured.get(n)!.mix[round]!.cpuMicros),
    },
    {
      what: `memory of ${sessionsOf(n)} sessions, foretold / measured at ${n} processes`,
      rounds: kilobytes.map(
        (kB, round) => (kB * sessionsOf(n)) / 1024 / measured.get(n)!.streams[round]!.megabytes,
      ),
    },
    {
      what: `processor time of an event for ${sessionsOf(n)} sessions, foretold / measured at ${n} processes`,
      rounds: sample.map(({ cpuMicros }, round) => cpuMicros / measured.get(n)!.streams[round]!.cpuMicros),
    },
  ]),
  notes: [
    `a gateway process without sessions: ${median(memory).toFixed(0)} MB, the tiles of the mix included`,
  ],
});

function cores(microseconds: number): number {
  return (microseconds * RATE) / 1e6;
}
