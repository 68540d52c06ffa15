import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CENTRIFUGO_HELLO, CENTRIFUGO_PATH, type Centrifugo, centrifugo } from './support/centrifugo.js';
import { cpuSeconds } from './support/load.js';
import { median, option, publish } from './support/report.js';
import { type BenchServer, startGraticule, startScript } from './support/server.js';
import { CORE, type Swarm, swarm } from './support/swarm.js';
import { editor, things } from './support/things.js';

/**
 * Fan-out of feature changes: batches of edits to subscribers who want all of them, against uWebSockets.js publishing
 * texts of the same length to a topic. Once subscribers have the same id and began together, so that their frames are
 * equal; once each has an id of its own. Centrifugo, where it is installed, gets messages of the same length over its HTTP
 * API. CPU of the server per delivery; what the same edits or messages cost without subscribers is taken off: the median
 * of all rounds, before and after the subscribers, because one such time differs from the next by as much as the
 * deliveries take. An event that anybody listens to costs some 50 microseconds once, however many they are: with fewer
 * subscribers (`--clients 500 --events 4000`) that is a larger part of a delivery.
 */
const rounds = option('rounds', 3);
const clients = option('clients', 2000);
const events = option('events', 2000);
const SERVER_CORE = 0;
const BATCH = 1000;

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const file = things(join(folder, 'things.gpkg'));

const graticule = await startGraticule([file], {
  port: 18_091,
  cores: String(SERVER_CORE),
  env: { SVC_STREAMING__MAX_SESSIONS: '100000', SVC_STREAMING__PER_ADDRESS: '100000' },
});
const { layer, batch } = await editor(graticule.origin);

let edits = 0;
/** Changes as many features as there are events. */
async function edit(): Promise<void> {
  for (let done = 0; done < events; done += BATCH) {
    const operations = Array.from({ length: Math.min(BATCH, events - done) }, (_, i) => ({
      type: 'UPDATE',
      featureId: String(1 + done + i),
      feature: { type: 'Feature', geometry: null, properties: { n: ++edits } },
    }));
    await batch(operations);
  }
}

for (let done = 0; done < events; done += BATCH) {
  await batch(
    Array.from({ length: Math.min(BATCH, events - done) }, (_, i) => ({
      type: 'CREATE',
      feature: {
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [i / 100, done / 1000] },
        properties: { n: i },
      },
    })),
  );
}

/** Seconds and CPU seconds that `work` takes until all frames are there. */
async function measured({ pid }: BenchServer, listeners: Swarm | undefined, work: () => Promise<unknown>) {
  const arrived = await listeners?.arm(clients * events);
  const cpu = cpuSeconds(pid);
  const began = performance.now();
  await work();
  await arrived?.done;
  const seconds = (performance.now() - began) / 1000;
  // What is still being tidied up belongs to it.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  return { seconds, cpu: cpuSeconds(pid) - cpu };
}

const FRAME = 440;
const raw = await startScript('bench/support/raw-publish.mjs', [String(FRAME)], {
  port: 18_092,
  core: SERVER_CORE,
});
const peer = await centrifugo(18_093, SERVER_CORE);
const figures = {
  peer: { cpu: [] as number[], rate: [] as number[] },
  equal: { cpu: [] as number[], rate: [] as number[] },
  own: { cpu: [] as number[], rate: [] as number[] },
  raw: { cpu: [] as number[], rate: [] as number[] },
};
const deliveries = clients * events;
/** CPU seconds of the edits alone. */
const alone: number[] = [];
const aloneCost = async () => (await measured(graticule, undefined, edit)).cpu;

/** The edits, told to subscribers who say this first. */
async function told(hello: string) {
  const subscribers = await swarm(
    graticule.origin,
    '/api/v1/streaming/features?serviceId=default&subscribe=false',
    clients,
    hello,
  );
  // The answers to it are no deliveries.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const sample = await measured(graticule, subscribers, edit);
  await subscribers.stop();
  return sample;
}

/** What the deliveries of Centrifugo cost beyond taking the messages. */
async function toldBy(server: Centrifugo) {
  const work = () => server.publish(events, FRAME);
  const alone = await measured(server, undefined, work);
  const followers = await swarm(server.origin, CENTRIFUGO_PATH, clients, CENTRIFUGO_HELLO, 0, true);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const sample = await measured(server, followers, work);
  await followers.stop();
  return { seconds: sample.seconds, cpu: sample.cpu - alone.cpu };
}

for (let round = 0; round <= rounds; round++) {
  const before = await aloneCost();
  const equal = await told(`{"type":"subscribe","subscriptionId":"s","layers":[${layer}]}`);
  const own = await told(`{"type":"subscribe","subscriptionId":"s{i}","layers":[${layer}]}`);
  const after = await aloneCost();
  const followers = await swarm(raw.origin, '/stream', clients);
  const theirs = await measured(raw, followers, () => fetch(`${raw.origin}/publish?n=${events}`));
  await followers.stop();
  const peers = peer && (await toldBy(peer));
  if (round === 0) continue;
  alone.push(before, after);
  if (peers) {
    figures.peer.cpu.push((peers.cpu * 1e6) / deliveries);
    figures.peer.rate.push(deliveries / peers.seconds);
  }
  for (const [name, ours] of Object.entries({ equal, own }) as ['equal' | 'own', typeof equal][]) {
    figures[name].cpu.push(ours.cpu);
    figures[name].rate.push(deliveries / ours.seconds);
  }
  figures.raw.cpu.push((theirs.cpu * 1e6) / deliveries);
  figures.raw.rate.push(deliveries / theirs.seconds);
}
for (const name of ['equal', 'own'] as const)
  figures[name].cpu = figures[name].cpu.map((cpu) => ((cpu - median(alone)) * 1e6) / deliveries);
await graticule.stop();
await raw.stop();
await peer?.stop();
rmSync(folder, { recursive: true });

publish({
  bench: 'streams',
  command: `./run bench streams --rounds ${rounds} --clients ${clients} --events ${events}`,
  about: `${events} changes of points to ${clients} subscribers each round; server with all its threads on core ${SERVER_CORE}, clients on core ${CORE}.`,
  figures: [
    {
      name: 'graticule, equal frames',
      rounds: { 'CPU us/delivery': figures.equal.cpu, 'deliveries/s': figures.equal.rate },
    },
    {
      name: 'graticule, frames of its own for each',
      rounds: { 'CPU us/delivery': figures.own.cpu, 'deliveries/s': figures.own.rate },
    },
    {
      name: 'uWebSockets.js publish',
      rounds: { 'CPU us/delivery': figures.raw.cpu, 'deliveries/s': figures.raw.rate },
    },
    ...(peer
      ? [
          {
            name: 'Centrifugo 5.4.9',
            rounds: { 'CPU us/delivery': figures.peer.cpu, 'deliveries/s': figures.peer.rate },
          },
        ]
      : []),
  ],
  ratios: [
    {
      what: 'CPU per delivery, uWebSockets.js publish / graticule with equal frames',
      rounds: figures.raw.cpu.map((cpu, i) => cpu / figures.equal.cpu[i]!),
      goal: 0.7,
    },
    {
      what: 'CPU per delivery, uWebSockets.js publish / graticule with frames of its own for each',
      rounds: figures.raw.cpu.map((cpu, i) => cpu / figures.own.cpu[i]!),
    },
    ...(peer
      ? [
          {
            what: 'CPU per delivery, Centrifugo / graticule with equal frames',
            rounds: figures.peer.cpu.map((cpu, i) => cpu / figures.equal.cpu[i]!),
            goal: 2,
          },
          {
            what: 'CPU per delivery, Centrifugo / graticule with frames of its own for each',
            rounds: figures.peer.cpu.map((cpu, i) => cpu / figures.own.cpu[i]!),
          },
        ]
      : []),
  ],
});
