import { rmSync } from 'node:fs';
import type { GeoPackageSource } from '../src/core/sources/vector-source.js';
import type { VectorTileTask } from '../src/core/tasks/vector-tasks.js';
import { closeAll } from '../src/workers/providers/geopackage/connection.js';
import { keepOverviewsIn } from '../src/workers/providers/overviews/file.js';
import { buildOverview } from '../src/workers/tiles/overviews/build.js';
import { vectorTile } from '../src/workers/tiles/tile.js';
import { pin } from './support/core.js';
import { PLACES_ORIGIN, places, tileOver } from './support/places.js';
import { median, option, publish } from './support/report.js';
import { timeZones } from './support/time-zones.js';

/**
 * What a tile costs at every zoom, from the table alone and with an overview: heavy polygons (real time zones), and
 * points in tables of three sizes. The worker's own function, compression included, on one core.
 */
const rounds = option('rounds', 3);
const SIZES = [100_000, 1_000_000, 10_000_000];
const MAX_BYTES = 1_048_576;
const FOLDER = '.cache/bench/overviews';

interface Subject {
  name: string;
  source: GeoPackageSource;
  zooms: number[];
  /** Places whose tiles are made, in Web Mercator. */
  at: readonly (readonly [number, number])[];
}

const mercator = ([lon, lat]: readonly [number, number]) =>
  [
    (lon / 180) * 20037508.34,
    (Math.log(Math.tan(((90 + lat) * Math.PI) / 360)) / Math.PI) * 20037508.34,
  ] as const;
const ZONES = [
  [10, 50],
  [7.6, 47.6],
  [-75, 45],
  [100, 35],
  [20, 69],
  [5, 60.5],
] as const;

async function cost({ source, at }: Subject, zoom: number, version?: string) {
  const sums = { cpuMs: 0, worst: 0, features: 0, dropped: 0 };
  for (const [x, y] of at) {
    const task: VectorTileTask = {
      layers: [{ filter: undefined, name: 'bench', source, ...(version ? { version } : {}) }],
      crs: 'EPSG:3857',
      bbox: tileOver(zoom, x, y),
      extent: 4096,
      buffer: 64,
      simplify: 0.5,
      maxBytes: MAX_BYTES,
      encoding: 'gzip',
    };
    // Once to warm up; a tile that is ended by its deadline counts as far as it came.
    const warm = await vectorTile(task).catch(() => undefined);
    const before = process.cpuUsage();
    const { features, dropped } = warm ? await vectorTile(task) : await ended(task);
    const { user, system } = process.cpuUsage(before);
    const cpuMs = (user + system) / 1e3;
    sums.cpuMs += cpuMs / at.length;
    sums.worst = Math.max(sums.worst, cpuMs);
    sums.features += features / at.length;
    sums.dropped += dropped / at.length;
  }
  return sums;
}

async function ended(task: VectorTileTask): Promise<{ features: number; dropped: number }> {
  await vectorTile(task).catch(() => {});
  return { features: 0, dropped: 0 };
}

rmSync(FOLDER, { recursive: true, force: true });
keepOverviewsIn(FOLDER);
const subjects: Subject[] = [
  {
    name: 'time zones',
    source: timeZones(),
    zooms: [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14],
    at: ZONES.map(mercator),
  },
  ...SIZES.map((rows) => ({
    name: `${rows} points`,
    source: places(rows),
    zooms: [0, 6, 8, 9, 10, 11, 12, 14],
    at: [[PLACES_ORIGIN[0] + 6000, PLACES_ORIGIN[1] + 6000] as const],
  })),
];
pin(1);
const figures = [];
const notes: string[] = [];
const worst = new Map<string, number>();
for (const subject of subjects) {
  const plain = new Map<number, Awaited<ReturnType<typeof cost>>>();
  for (const zoom of subject.zooms) plain.set(zoom, await cost(subject, zoom));
  const begin = process.cpuUsage();
  const levels = await buildOverview({
    filter: undefined,
    name: 'bench',
    source: subject.source,
    version: 'v.0',
  });
  const { user, system } = process.cpuUsage(begin);
  notes.push(
    `overview of ${subject.name}: ${levels} levels in ${((user + system) / 1e6).toFixed(1)} s of CPU`,
  );
  for (const zoom of subject.zooms) {
    const samples = [];
    for (let round = 0; round < rounds; round++) samples.push(await cost(subject, zoom, 'v.0'));
    const { cpuMs, worst: slowest } = plain.get(zoom)!;
    worst.set(subject.name, Math.max(worst.get(subject.name) ?? 0, median(samples.map((s) => s.worst))));
    figures.push({
      name: `${subject.name}, zoom ${zoom}`,
      rounds: {
        'table, CPU ms': [cpuMs],
        'table, worst': [slowest],
        'overview, CPU ms': samples.map((s) => s.cpuMs),
        'overview, worst': samples.map((s) => s.worst),
        features: samples.map((s) => s.features),
        'left out': samples.map((s) => s.dropped),
      },
    });
  }
}
closeAll();
for (const [name, ms] of worst) notes.push(`${name}: no tile takes more than ${ms.toFixed(0)} ms of CPU`);
publish({
  bench: 'tile-overviews',
  command: `./run bench tile-overviews --rounds ${rounds}`,
  about: `Tiles made by the worker's own function, gzip included, of a table alone and with its overview. Time zones: 33,035 REAL polygons of 7.9 million positions (npm geo-tz), means of ${ZONES.length} tiles. Points: SYNTHETIC, one per 50 x 50 m, tables of three sizes, rows along a Z-order curve.`,
  figures,
  ratios: [
    {
      what: `worst tile with overview, table of ${SIZES[0]} points / of ${SIZES[2]} (1: the size of the table costs nothing)`,
      rounds: [worst.get(`${SIZES[0]} points`)! / worst.get(`${SIZES[2]} points`)!],
    },
  ],
  notes,
});
