import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../src/workers/providers/geopackage/connection.js';
import { createSpatialIndex, prepareStore } from '../src/workers/providers/geopackage/create.js';
import { cpuSeconds } from './support/load.js';
import { option, publish } from './support/report.js';
import { type BenchServer, startGraticule, startScript } from './support/server.js';

/**
 * Fan-out of feature changes: batches of edits to subscribers who want all of them, against uWebSockets.js publishing
 * texts of the same length to a topic. CPU of the server per delivery; what the same edits cost without subscribers is
 * taken off.
 */
const rounds = option('rounds', 5);
const clients = option('clients', 200);
const events = option('events', 2000);
const SERVER_CORE = 0;
const LOAD_CORE = '1';
const KEY = 'bench-bench-bench-bench';
const BATCH = 1000;

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const file = join(folder, 'things.gpkg');
const db = connect(file, false);
prepareStore(db);
db.exec(`CREATE TABLE things (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom POINT, n INTEGER);
  INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('things', 'features', 'things', 4326);
  INSERT INTO gpkg_geometry_columns VALUES ('things', 'geom', 'POINT', 4326, 0, 0);`);
createSpatialIndex(db, 'things', 'geom', 'fid');
db.close();

const graticule = await startGraticule([file], {
  port: 18_091,
  cores: String(SERVER_CORE),
  env: { SVC_STREAMING__MAXSESSIONS: '100000' },
});
const items = `${graticule.origin}/ogc/features/collections/things/items`;

async function batch(operations: unknown[]): Promise<void> {
  const response = await fetch(`${items}/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': KEY },
    body: JSON.stringify({ atomic: true, operations }),
  });
  if (response.status !== 200) throw new Error(await response.text());
}

let edits = 0;
/** Changes as many features as there are events. */
async function edit(): Promise<void> {
  for (let done = 0; done < events; done += BATCH) {
    const operations = Array.from({ length: Math.min(BATCH, events - done) }, (_, i) => ({
      type: 'UPDATE',
      featureId: String(1 + done + i),
      feature: { type: 'Feature', properties: { n: ++edits } },
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

interface Swarm {
  /** Begins to count frames; `done` resolves once there are so many. */
  arm(count: number): Promise<{ done: Promise<unknown> }>;
  stop(): Promise<void>;
}

async function swarm(origin: string, path: string, hello = ''): Promise<Swarm> {
  const child = fork('bench/support/swarm.mjs', [new URL(origin).port, path, String(clients), hello], {
    execArgv: [],
  });
  child.on('exit', (code) => {
    if (code) throw new Error('the clients failed');
  });
  const [ready] = (await once(child, 'message')) as [{ ready?: boolean }];
  if (!ready.ready) throw new Error('the clients are not connected');
  return {
    async arm(count) {
      child.send({ wait: count });
      await once(child, 'message');
      return { done: once(child, 'message') };
    },
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
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
  if (!arrived) await new Promise((resolve) => setTimeout(resolve, 1000));
  return { seconds, cpu: cpuSeconds(pid) - cpu };
}

const FRAME = 440;
const raw = await startScript('bench/support/raw-publish.mjs', [String(FRAME)], {
  port: 18_092,
  core: SERVER_CORE,
});
const layer = (
  (await (await fetch(`${graticule.origin}/api/v1/streaming/features/capabilities`)).json()) as {
    layers: { layerId: number }[];
  }
).layers[0]!.layerId;

const figures = {
  graticule: { cpu: [] as number[], rate: [] as number[] },
  raw: { cpu: [] as number[], rate: [] as number[] },
};
const deliveries = clients * events;
for (let round = 0; round <= rounds; round++) {
  const alone = await measured(graticule, undefined, edit);
  const subscribers = await swarm(graticule.origin, `/api/v1/streaming/features?layers=${layer}`);
  const ours = await measured(graticule, subscribers, edit);
  await subscribers.stop();
  const followers = await swarm(raw.origin, '/stream');
  const theirs = await measured(raw, followers, () => fetch(`${raw.origin}/publish?n=${events}`));
  await followers.stop();
  if (round === 0) continue;
  figures.graticule.cpu.push(((ours.cpu - alone.cpu) * 1e6) / deliveries);
  figures.graticule.rate.push(deliveries / ours.seconds);
  figures.raw.cpu.push((theirs.cpu * 1e6) / deliveries);
  figures.raw.rate.push(deliveries / theirs.seconds);
}
await graticule.stop();
await raw.stop();
rmSync(folder, { recursive: true });

publish({
  bench: 'streams',
  command: `./run bench streams --rounds ${rounds} --clients ${clients} --events ${events}`,
  about: `${events} changes of points to ${clients} subscribers each round; server with all its threads on core ${SERVER_CORE}, clients on core ${LOAD_CORE}.`,
  figures: [
    {
      name: 'graticule',
      rounds: { 'CPU us/delivery': figures.graticule.cpu, 'deliveries/s': figures.graticule.rate },
    },
    {
      name: 'uWebSockets.js publish',
      rounds: { 'CPU us/delivery': figures.raw.cpu, 'deliveries/s': figures.raw.rate },
    },
  ],
  ratios: [
    {
      what: 'CPU per delivery, uWebSockets.js publish / graticule',
      rounds: figures.raw.cpu.map((cpu, i) => cpu / figures.graticule.cpu[i]!),
      goal: 0.7,
    },
  ],
});
