import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, cpus, loadavg, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../test/providers/postgis/support.js';
import { startPostgres } from '../../test/support/postgres.js';
import { type Ask, ask, quantile, type Times } from './besieged.js';
import { buildings } from './buildings.js';
import { pin } from './core.js';
import { ADDRESSES, type Flood, floodsOf, send, type Tally, type Targets } from './floods.js';
import { option, publishPart, textOption } from './report.js';
import { startGraticule } from './server.js';
import { things } from './things.js';

const PORT = 18_099;
const KEY = { 'x-api-key': 'bench-bench-bench-bench' };
const ROWS = 1_000_000;
const JOBS = 'jobs of a weak key';
const QUIET = 'none';
const GOAL_MS = 250;
const GOAL_BYTES = 2 * 2 ** 30;

/** The process that floods: told what by its first message, ended by the second. */
export function flood(): void {
  // Others are elsewhere: what they compute is not to be taken from the server.
  setPriority(constants.priority.PRIORITY_LOW);
  let over = false;
  process.on('message', async (message: { origin: string; name: string; targets: Targets } | 'stop') => {
    if (message === 'stop') {
      over = true;
      return;
    }
    const found = floodsOf(message.targets).find(({ name }) => name === message.name)!;
    const tally = await send(message.origin, found, () => over);
    process.send!(tally, () => process.exit());
  });
}

interface Outcome {
  times: Times;
  tally: Tally;
  /** Seconds until a file that another key imports is published, while jobs of a weak key run. */
  importSeconds?: number;
}

/** One client with a key meets every flood in turn. */
export async function measureFloods(script: string): Promise<void> {
  pin(1);
  const seconds = option('seconds', 15);
  const rounds = option('rounds', 3);
  const only = textOption('flood');
  const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
  const postgres = await startPostgres(['max_connections=40']);
  await run(
    postgres.url,
    `CREATE TABLE quick AS SELECT i AS id, ST_SetSRID(ST_Point(i % 180, i % 90), 4326) AS geom, 'q' || i AS name
      FROM generate_series(1, 1000) i;
    ALTER TABLE quick ADD PRIMARY KEY (id);
    ALTER TABLE quick ALTER COLUMN geom TYPE geometry(Point, 4326);
    CREATE VIEW slow AS SELECT q.id, q.geom, q.name FROM quick q;`,
  );
  const server = await startGraticule(
    [
      'demo/data/world_map.gpkg',
      'demo/data/olinda_dem_utm25s.tif',
      buildings(ROWS, 4326).path,
      things(join(folder, 'things.gpkg')),
      postgres.url,
    ],
    { port: PORT, cores: '0,1' },
  );
  // Only now: the view would be read at the start.
  await run(
    postgres.url,
    `CREATE FUNCTION wait() RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT pg_sleep(5)::text $$;
    CREATE OR REPLACE VIEW slow AS SELECT q.id, q.geom, q.name FROM quick q, LATERAL (SELECT wait() OFFSET 0) w WHERE w IS NOT NULL;`,
  );
  const { collections } = (await (await fetch(`${server.origin}/?f=json`, { headers: KEY })).json()) as {
    collections: { id: string; layerId: number }[];
  };
  const named = (name: string) => {
    const found = collections.find(({ id }) => id === name || id.endsWith(name));
    if (!found) throw new Error(`no ${name} among ${collections.map(({ id }) => id)}`);
    return found;
  };
  const targets: Targets = {
    large: named('buildings'),
    slowView: named('slow').id,
    raster: named('olinda_dem_utm25s').id,
  };
  const floods = floodsOf(targets);
  const names = [QUIET, ...floods.map(({ name }) => name), JOBS].filter(
    (name) => !only || only.split(',').includes(name),
  );
  const outcomes = new Map<string, Outcome[]>(names.map((name) => [name, []]));
  const asks = asksOf({ quick: named('quick').id, large: targets.large.id });
  const weak = await weakKey(server.origin);
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      const outcome = await meet(name);
      if (round > 0) outcomes.get(name)!.push(outcome);
      console.error(round, name, ...summary(outcome));
      // What a flood left running ends before the next one comes.
      await new Promise((resolve) => setTimeout(resolve, 6000));
    }
  }
  await server.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
  report(outcomes, floods, { rounds, seconds });

  async function meet(name: string): Promise<Outcome> {
    const attack = name === QUIET || name === JOBS ? undefined : begin(name);
    const jobs = name === JOBS ? await weakJobs(server.origin, weak) : [];
    const until = Date.now() + seconds * 1000;
    const importing = name === JOBS ? importSmall(server.origin) : undefined;
    const pid = Number(readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[1]);
    const times = await ask(server.origin, asks, { stopped: () => Date.now() > until, headers: KEY, pid });
    const tally = attack ? await end(attack) : {};
    const importSeconds = await importing;
    for (const id of jobs)
      await fetch(`${server.origin}/ogc/processes/jobs/${id}`, { method: 'DELETE', headers: weak });
    return { times, tally, ...(importSeconds === undefined ? {} : { importSeconds }) };
  }

  function begin(name: string): ChildProcess {
    const child = fork(script, ['--attack', '2']);
    child.send({ origin: server.origin, name, targets });
    return child;
  }
}

async function end(child: ChildProcess): Promise<Tally> {
  const tally = once(child, 'message');
  child.send('stop');
  return (await tally)[0] as Tally;
}

/** Requests of the client with a key, in turn: every one another map, and another row. */
function asksOf({ quick, large }: { quick: string; large: string }): (i: number) => Ask {
  return (i) => {
    const n = i >> 2;
    const place = (n * 37) % 1000;
    if (i % 4 === 3)
      return {
        kind: 'edits',
        path: '/ogc/features/collections/things/items',
        init: {
          method: 'POST',
          body: JSON.stringify({
            type: 'Feature',
            geometry: { type: 'Point', coordinates: [place % 180, place % 90] },
            properties: { n },
          }),
        },
      };
    if (i % 4 === 2) {
      const west = -170 + (place % 300);
      return {
        kind: 'maps',
        path: `/ogc/maps/collections/countries/map?bbox=${west},${-60 + (n % 90)},${west + 12},${-50 + (n % 90)}&width=512&height=512`,
      };
    }
    const collection = i % 8 === 0 ? quick : i % 4 === 0 ? large : 'countries';
    return {
      kind: 'items',
      path: `/ogc/features/collections/${collection}/items?limit=10&offset=${n % 100}`,
    };
  };
}

async function weakKey(origin: string): Promise<Record<string, string>> {
  const response = await fetch(`${origin}/api/v1/admin/api-keys`, {
    method: 'POST',
    headers: { ...KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'weak', permissions: ['processes:execute', 'processes:read'] }),
  });
  const { data } = (await response.json()) as { data: { key: string } };
  return { 'x-api-key': data.key };
}

/** Three processes over a million polygons. */
async function weakJobs(origin: string, weak: Record<string, string>): Promise<string[]> {
  const ids: string[] = [];
  for (const distance of [10, 20, 30]) {
    const response = await fetch(`${origin}/ogc/processes/processes/geometry.buffer/execution`, {
      method: 'POST',
      headers: { ...weak, 'content-type': 'application/json', prefer: 'respond-async' },
      body: JSON.stringify({ inputs: { features: { collection: 'buildings' }, distance } }),
    });
    const body = (await response.json()) as { jobID: string };
    if (response.status !== 201) throw new Error(JSON.stringify(body));
    ids.push(body.jobID);
  }
  return ids;
}

let imports = 0;

/** Seconds until an imported file of one point is a collection. */
async function importSmall(origin: string): Promise<number> {
  const began = performance.now();
  const name = `small${imports++}`;
  const form = new FormData();
  const point = { type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: { a: 1 } };
  const text = JSON.stringify({ type: 'FeatureCollection', features: [point] });
  form.append('TableName', name);
  form.append('file', new Blob([text], { type: 'application/geo+json' }), `${name}.geojson`);
  const sent = await fetch(`${origin}/api/v1/admin/import/upload`, {
    method: 'POST',
    headers: KEY,
    body: form,
  });
  if (!sent.ok) throw new Error(`import: ${sent.status} ${await sent.text()}`);
  for (;;) {
    const { status } = await fetch(`${origin}/ogc/features/collections/${name}`, { headers: KEY });
    if (status === 200) return (performance.now() - began) / 1000;
    if (performance.now() - began > 120_000) throw new Error(`${name} was not published in two minutes`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function summary({ times, tally, importSeconds }: Outcome): string[] {
  const p99 = (['items', 'maps', 'edits'] as const).map(
    (kind) =>
      `${kind} ${times[kind].length}: ${quantile(times[kind], 0.5).toFixed(0)}/${quantile(times[kind], 0.99).toFixed(0)} ms`,
  );
  const rest = [`failed ${JSON.stringify(times.failed)}`, `flood ${JSON.stringify(tally)}`];
  const more = importSeconds === undefined ? [] : [`import ${importSeconds.toFixed(1)} s`];
  return [...p99, ...rest, `${(times.peakBytes / 2 ** 20).toFixed(0)} MiB`, ...more];
}

function report(
  outcomes: ReadonlyMap<string, readonly Outcome[]>,
  floods: readonly Flood[],
  { rounds, seconds }: { rounds: number; seconds: number },
): void {
  const each = <T>(name: string, value: (outcome: Outcome) => T) => outcomes.get(name)!.map(value);
  const at = (kind: 'items' | 'maps' | 'edits', part: number) => (one: Outcome) =>
    quantile(one.times[kind], part);
  const sum = (counts: Record<number, number>) => Object.values(counts).reduce((a, b) => a + b, 0);
  const figures = [...outcomes.keys()].map((name) => ({
    name: name === QUIET ? 'no flood' : name,
    rounds: {
      'items p50 ms': each(name, at('items', 0.5)),
      'items p99 ms': each(name, at('items', 0.99)),
      'maps p99 ms': each(name, at('maps', 0.99)),
      'edits p99 ms': each(name, at('edits', 0.99)),
      'failed of the key': each(name, ({ times }) => sum(times.failed)),
      'peak MiB': each(name, ({ times }) => times.peakBytes / 2 ** 20),
    },
  }));
  const worst = (one: Outcome) =>
    Math.max(at('items', 0.99)(one), at('maps', 0.99)(one), at('edits', 0.99)(one));
  const flooded = [...outcomes.keys()].filter((name) => name !== QUIET);
  const tallies = flooded.flatMap((name) => {
    const total: Tally = {};
    for (const { tally } of outcomes.get(name)!)
      for (const [status, count] of Object.entries(tally))
        total[Number(status)] = (total[Number(status)] ?? 0) + count;
    const parts = Object.entries(total).map(
      ([status, count]) => `${count} times ${status === '0' ? 'a closed connection' : status}`,
    );
    return parts.length > 0 ? [`${name}: ${parts.join(', ')}`] : [];
  });
  const imported = (outcomes.get(JOBS) ?? []).flatMap(({ importSeconds }) => importSeconds ?? []);
  publishPart('floods', {
    bench: 'strangers',
    command: `./run bench strangers --part floods --rounds ${rounds} --seconds ${seconds}`,
    about: `One client with a key asks for items of three layers (one in PostGIS), maps and edits in turn, while others, at ${ADDRESSES} addresses, send ${floods.map(({ connections, about }) => `${about} (${connections} connections)`).join('; ')}; or three buffers of a million polygons by a weak key. Server, flood and client share two cores; memory is that of all processes of the server.`,
    figures,
    ratios: [
      ...flooded.map((name) => ({
        what: `${name}: greatest p99 of items, maps and edits, ms`,
        rounds: each(name, worst),
        most: GOAL_MS,
      })),
      ...flooded.map((name) => ({
        what: `${name}: memory / 2 GiB`,
        rounds: each(name, ({ times }) => times.peakBytes / GOAL_BYTES),
        most: 1,
      })),
      {
        what: 'requests of the key that failed',
        rounds: flooded.flatMap((name) => each(name, ({ times }) => sum(times.failed))),
        most: 0,
      },
    ],
    notes: [
      `What became of the floods: ${tallies.join('; ')}.`,
      ...(imported.length > 0
        ? [
            `While the jobs of the weak key ran, a file that another key imported was published in ${imported.map((s) => s.toFixed(1)).join(', ')} s.`,
          ]
        : []),
      `Load of the machine at the end, other work of it included: ${loadavg()[0]!.toFixed(1)} on its ${cpus().length} cores.`,
    ],
  });
}
