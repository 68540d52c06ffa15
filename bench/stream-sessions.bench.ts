import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';
import { CORE, swarm } from './support/swarm.js';
import { editor, things } from './support/things.js';

/**
 * What sessions of streams cost and how soon they hear: memory of idle sessions; age of changes on arrival at clients who
 * each watch a box of their own; how fast the past is replayed.
 */
const rounds = option('rounds', 3);
const idle = option('idle', 10_000);
const watchers = option('watchers', 1000);
const perSecond = option('events', 1000);
const seconds = option('seconds', 5);
const SERVER_CORE = 0;

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const file = join(folder, 'things.gpkg');
const graticule = await startGraticule([things(file)], {
  port: 18_091,
  cores: String(SERVER_CORE),
  env: { SVC_STREAMING__MAX_SESSIONS: '100000', SVC_STREAMING__PER_ADDRESS: '100000' },
});
const { layer, batch } = await editor(graticule.origin);
const stream = '/api/v1/streaming/features';

const megabytes = () => {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${graticule.pid}/status`, 'utf8'))![1];
  return Number(kilobytes) / 1024;
};
const atStart = megabytes();
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const memory: number[] = [];
const p50: number[] = [];
const p99: number[] = [];
const replayed: number[] = [];

/** A point in the box of the i-th watcher. */
const point = (i: number, n: number) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [(i % 100) / 10 + 0.05, Math.floor(i / 100) / 10 + 0.05] },
  properties: { n },
});

for (let i = 0; i < watchers; i += 1000) {
  const count = Math.min(1000, watchers - i);
  await batch(Array.from({ length: count }, (_, j) => ({ type: 'CREATE', feature: point(i + j, 0) })));
}
let edits = 0;
const change = (count: number) =>
  batch(
    Array.from({ length: count }, () => {
      const i = edits++ % watchers;
      return { type: 'UPDATE', featureId: String(1 + i), feature: point(i, edits) };
    }),
  );

for (let round = 0; round <= rounds; round++) {
  const sleepers = await swarm(graticule.origin, `${stream}?layers=${layer}&bbox=100,10,101,11`, idle);
  await pause(1000);
  const used = megabytes() - atStart;
  await sleepers.stop();

  const hello = `{"type":"subscribe","subscriptionId":"w","layers":[${layer}],"bbox":[{cell}]}`;
  const listeners = await swarm(
    graticule.origin,
    `${stream}?serviceId=default&subscribe=false`,
    watchers,
    hello,
  );
  await pause(2000);
  const told = await listeners.arm(perSecond * seconds);
  for (let tenth = 0; tenth < 10 * seconds; tenth++) {
    const due = pause(100);
    await change(perSecond / 10);
    await due;
  }
  await told.done;
  const ages = (await listeners.ages()).sort((a, b) => a - b);
  await listeners.stop();

  const head = await fetch(`${graticule.origin}/api/v1/admin/feature-events/replay?limit=1`, {
    headers: { 'x-api-key': 'bench-bench-bench-bench' },
  });
  const oldest = ((await head.json()) as { Events: { Cursor: number }[] }).Events[0]!.Cursor;
  const wanted = Math.min(15_000, watchers + edits);
  // Eleven thousand connections have just been closed; what that costs is no part of the replay.
  await pause(2000);
  const late = await swarm(
    graticule.origin,
    `${stream}?layers=${layer}&cursor=${oldest - 1}`,
    4,
    '',
    4 * wanted,
  );
  const { done: took = Number.NaN } = await late.done;
  await late.stop();
  if (round === 0) continue;
  memory.push(used);
  p50.push(ages[Math.floor(ages.length / 2)]!);
  p99.push(ages[Math.floor(ages.length * 0.99)]!);
  replayed.push((4 * wanted * 1000) / took);
}
await graticule.stop();
rmSync(folder, { recursive: true });

publish({
  bench: 'stream-sessions',
  command: `./run bench stream-sessions --rounds ${rounds} --idle ${idle} --watchers ${watchers} --events ${perSecond} --seconds ${seconds}`,
  about: `${idle} idle sessions; ${perSecond} changes a second for ${seconds} s to ${watchers} subscribers with a box each; 4 clients replay up to 15,000 changes each. Server with all its threads on core ${SERVER_CORE}, clients on core ${CORE}.`,
  figures: [
    {
      name: 'graticule',
      rounds: {
        'MB for idle sessions': memory,
        'age on arrival p50 ms': p50,
        'p99 ms': p99,
        'replayed events/s': replayed,
      },
    },
  ],
  ratios: [
    { what: '300 MB / memory of the idle sessions', rounds: memory.map((mb) => 300 / mb), goal: 1 },
    { what: '50 ms / p99 of the age on arrival', rounds: p99.map((ms) => 50 / ms), goal: 1 },
    { what: 'replayed events per second / 100,000', rounds: replayed.map((rate) => rate / 100_000), goal: 1 },
  ],
});
