import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { latLngToCell } from 'h3-js';
import pg from 'pg';
import { dbscan, h3Cells, kmeans } from '../src/native/analytics.js';
import { startPostgres } from '../test/support/postgres.js';
import { type Cost, cost, pin } from './support/core.js';
import { option, publish, type Ratio } from './support/report.js';

/**
 * Clusters of a million points against PostGIS and scikit-learn, H3 cells against h3-js: points in memory to labels,
 * answers compared before any time counts.
 */
const rounds = option('rounds', 3);
const N = option('points', 1_000_000);
const CORE = 1;
const EPS = 100;
const MIN_POINTS = 10;
const K = 50;
const RESOLUTION = 9;
const PYTHON = '.cache/sklearn/bin/python';

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
pin(CORE);

let state = 12345;
const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 4294967296;

/** SYNTHETIC: four of five points around 200 centres in a square of 100 km, the fifth anywhere in it. */
function makePoints(): Float64Array {
  const bell = () => (random() + random() + random() + random() - 2) * 1500;
  const centres = Array.from({ length: 200 }, () => [random() * 1e5, random() * 1e5] as const);
  const points = new Float64Array(2 * N);
  for (let i = 0; i < N; i++) {
    const [x, y] = centres[Math.floor(random() * 200)]!;
    const alone = random() < 0.2;
    points[2 * i] = alone ? random() * 1e5 : x + bell();
    points[2 * i + 1] = alone ? random() * 1e5 : y + bell();
  }
  return points;
}

const points = makePoints();
const pointsFile = join(folder, 'points');
writeFileSync(pointsFile, new Uint8Array(points.buffer));

interface Run extends Cost {
  labels: Int32Array;
}

function native(work: () => Int32Array): Run {
  let labels: Int32Array = new Int32Array(0);
  const spent = cost(1, () => {
    labels = work();
  });
  return { ...spent, labels };
}

function sklearn(algorithm: 'dbscan' | 'kmeans', first: number, second: number): Run {
  const file = join(folder, 'labels');
  const args = ['bench/support/scikit_learn.py', pointsFile, file, algorithm, String(first), String(second)];
  const spent = JSON.parse(execFileSync(PYTHON, args, { encoding: 'utf8' })) as Cost;
  const bytes = readFileSync(file);
  return {
    ...spent,
    labels: new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)),
  };
}

const postgres = await startPostgres();
const client = new pg.Client({ connectionString: postgres.url });
await client.connect();
const TICK_MS = 10;
const { pid } = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0] as { pid: number };

/** CPU time of the backend so far: user and system, in ticks of 10 ms. */
function backendCpu(): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

async function fillTable(): Promise<void> {
  await client.query(`SET max_parallel_workers_per_gather = 0; SET work_mem = '1GB';
    CREATE TABLE points (i integer, g geometry(Point))`);
  const step = 50_000;
  for (let i = 0; i < N; i += step) {
    const xs = Array.from(points.subarray(2 * i, 2 * (i + step)).filter((_, k) => k % 2 === 0));
    const ys = Array.from(points.subarray(2 * i, 2 * (i + step)).filter((_, k) => k % 2 === 1));
    await client.query(
      `INSERT INTO points SELECT $1 + row_number() OVER () - 1, ST_MakePoint(x, y)
       FROM unnest($2::float8[], $3::float8[]) t(x, y)`,
      [i, xs, ys],
    );
  }
  await client.query('VACUUM ANALYZE points');
}

async function postgis(call: string): Promise<Run> {
  const cpu = backendCpu();
  const begin = performance.now();
  const { rows } = await client.query(
    `SELECT string_agg(coalesce(c, -1)::text, ',' ORDER BY i) AS labels FROM (SELECT i, ${call} OVER () AS c FROM points) t`,
  );
  const wallMs = performance.now() - begin;
  return { wallMs, cpuMs: backendCpu() - cpu, labels: Int32Array.from(rows[0].labels.split(','), Number) };
}

/** Share of the points that two answers put together alike; border points may belong to either neighbour. */
function agreement(a: Int32Array, b: Int32Array): number {
  const names = new Map<number, Map<number, number>>();
  a.forEach((label, i) => {
    const votes = names.get(label) ?? new Map<number, number>();
    if (votes.size === 0) names.set(label, votes);
    votes.set(b[i]!, (votes.get(b[i]!) ?? 0) + 1);
  });
  let same = 0;
  for (const votes of names.values()) same += Math.max(...votes.values());
  return same / a.length;
}

const clustersOf = (labels: Int32Array) => labels.reduce((most, label) => Math.max(most, label), -1) + 1;

function inertia(labels: Int32Array): number {
  const sums = Array.from({ length: clustersOf(labels) }, () => [0, 0, 0] as [number, number, number]);
  labels.forEach((label, i) => {
    const sum = sums[label]!;
    sum[0] += points[2 * i]!;
    sum[1] += points[2 * i + 1]!;
    sum[2]++;
  });
  let total = 0;
  labels.forEach((label, i) => {
    const [x, y, n] = sums[label]!;
    total += (points[2 * i]! - x / n) ** 2 + (points[2 * i + 1]! - y / n) ** 2;
  });
  return total;
}

function requireEqual(what: string, holds: boolean): void {
  if (!holds) throw new Error(`the answers differ: ${what}`);
}

function checkDbscan(ours: Run, theirs: Run, name: string): void {
  requireEqual(`${name} finds other clusters`, clustersOf(ours.labels) === clustersOf(theirs.labels));
  const share = agreement(ours.labels, theirs.labels);
  requireEqual(`${name} parts the points otherwise: ${share}`, share > 0.99);
  notes.push(
    `DBSCAN: as many clusters as ${name}, ${(100 * share).toFixed(2)} % of the points in the same ones; border points may belong to either neighbour`,
  );
}

function checkKmeans(ours: Run, theirs: Run, name: string): void {
  const ratio = inertia(ours.labels) / inertia(theirs.labels);
  requireEqual(`${name} finds denser clusters, inertia: ${ratio.toFixed(3)}`, ratio < 1.08);
  notes.push(`k-means: inertia ${ratio.toFixed(4)} of that of ${name}`);
}

const notes: string[] = [];
const figures = new Map<string, Record<string, number[]>>();
const ratios = new Map<string, Ratio>();

function note(name: string, spent: Cost): void {
  const figure = figures.get(name) ?? { 'CPU ms': [], 'wall ms': [] };
  figures.set(name, figure);
  figure['CPU ms']!.push(spent.cpuMs);
  figure['wall ms']!.push(spent.wallMs);
}

function compare(what: string, ours: Cost, theirs: Cost, goal?: number): void {
  const ratio = ratios.get(what) ?? { what, rounds: [], ...(goal === undefined ? {} : { goal }) };
  ratios.set(what, ratio);
  ratio.rounds.push(theirs.cpuMs / ours.cpuMs);
}

async function roundOfClusters(first: boolean): Promise<void> {
  const withSklearn = existsSync(PYTHON);
  const ours = native(() => dbscan(points, 2, EPS, MIN_POINTS));
  note('dbscan', ours);
  const theirs = await postgis(`ST_ClusterDBSCAN(g, ${EPS}, ${MIN_POINTS})`);
  note('ST_ClusterDBSCAN', theirs);
  compare('ST_ClusterDBSCAN / dbscan', ours, theirs, 10);
  const means = native(() => kmeans(points, 2, K));
  note('kmeans', means);
  const theirMeans = await postgis(`ST_ClusterKMeans(g, ${K})`);
  note('ST_ClusterKMeans', theirMeans);
  compare('ST_ClusterKMeans / kmeans', means, theirMeans);
  if (first) {
    checkDbscan(ours, theirs, 'ST_ClusterDBSCAN');
    checkKmeans(means, theirMeans, 'ST_ClusterKMeans');
  }
  if (!withSklearn) return;
  const learnt = sklearn('dbscan', EPS, MIN_POINTS);
  note('scikit-learn DBSCAN', learnt);
  compare('scikit-learn DBSCAN / dbscan', ours, learnt, 2);
  const learntMeans = sklearn('kmeans', K, 1);
  note('scikit-learn KMeans', learntMeans);
  compare('scikit-learn KMeans / kmeans', means, learntMeans, 2);
  if (!first) return;
  checkDbscan(ours, learnt, 'scikit-learn');
  checkKmeans(means, learntMeans, 'scikit-learn');
}

const places = Float64Array.from({ length: 2 * N }, (_, i) => (random() - 0.5) * (i % 2 ? 170 : 360));

function roundOfCells(first: boolean): void {
  let cells: BigUint64Array = new BigUint64Array(0);
  const ours = cost(1, () => {
    cells = h3Cells(places, RESOLUTION);
  });
  const theirs = cost(1, () => {
    for (let i = 0; i < N; i++) latLngToCell(places[2 * i + 1]!, places[2 * i]!, RESOLUTION);
  });
  note('h3Cells', ours);
  note('h3-js latLngToCell', theirs);
  compare('h3-js latLngToCell / h3Cells', ours, theirs, 5);
  if (!first) return;
  for (let i = 0; i < N; i++)
    requireEqual(
      'h3-js has another cell',
      BigInt(`0x${latLngToCell(places[2 * i + 1]!, places[2 * i]!, RESOLUTION)}`) === cells[i],
    );
}

try {
  await fillTable();
  if (!existsSync(PYTHON))
    notes.push(
      'scikit-learn is missing: python3 -m venv .cache/sklearn && .cache/sklearn/bin/pip install scikit-learn',
    );
  for (let i = 0; i < rounds; i++) {
    roundOfCells(i === 0);
    await roundOfClusters(i === 0);
  }
  publish({
    bench: 'analytics',
    command: './run bench analytics',
    about: `${N.toLocaleString('en')} points, SYNTHETIC: 200 groups and noise in a square of 100 km; DBSCAN of ${EPS} m and ${MIN_POINTS} points, k-means of ${K}; H3 cells of resolution ${RESOLUTION} all over the globe. Ratios are of CPU time.`,
    figures: [...figures].map(([name, values]) => ({ name, rounds: values })),
    ratios: [...ratios.values()],
    notes,
  });
} finally {
  await client.end();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
