import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { option, publish } from './support/report.js';
import { answers } from './support/server.js';

/**
 * How long a folder of 255 small files takes from nothing to a server that is ready, conversion included, and how long the
 * second start takes. Beside it: ogr2ogr over the same files into GeoPackages, two at a time, with a spatial index each.
 */
const rounds = option('rounds', 5);
const PORT = 18_086;

const work = mkdtempSync(join(tmpdir(), 'graticule-first-'));
const originals = join(work, 'originals');
const folder = join(work, 'files');
for (const path of [originals, folder]) mkdirSync(path);

/** Endings of what ogr2ogr writes, how many copies, and of what. */
const KINDS: readonly (readonly [ending: string, count: number, args: readonly string[]])[] = [
  ['.shp', 60, ['-f', 'ESRI Shapefile', 'countries']],
  ['.geojson', 60, ['-f', 'GeoJSON', 'disputed_borders']],
  ['.csv', 55, ['-f', 'CSV', '-lco', 'GEOMETRY=AS_WKT', 'disputed_borders']],
  ['.kml', 40, ['-f', 'KML', 'disputed_borders']],
  ['.fgb', 40, ['-f', 'FlatGeobuf', 'countries']],
];
const sources: string[] = [];
for (const [ending, count, args] of KINDS) {
  const [, driver, ...rest] = args;
  const layer = rest.pop()!;
  const out = join(originals, `data${ending}`);
  execFileSync('ogr2ogr', ['-f', driver!, out, 'demo/data/world_map.gpkg', layer, ...rest], {
    stdio: 'ignore',
  });
  const parts = readdirSync(originals).filter((name) => ending === '.shp' || extname(name) === ending);
  for (let i = 0; i < count; i++) {
    const name = `${ending.slice(1)}_${i}`;
    for (const part of parts) copyFileSync(join(originals, part), join(folder, name + extname(part)));
    sources.push(join(folder, name + ending));
  }
}

/** Seconds until the server is ready. */
async function start(dataDir: string): Promise<number> {
  const began = performance.now();
  const args = ['dist/cli/main.js', 'serve', folder, '--port', String(PORT), '--data-dir', dataDir];
  const child = spawn('node', args, {
    stdio: 'ignore',
    env: { ...process.env, SVC_ADMIN_KEY: 'bench-bench-bench-bench' },
  });
  await answers(`http://127.0.0.1:${PORT}/healthz/ready`, child);
  const seconds = (performance.now() - began) / 1000;
  const collections = (await (
    await fetch(`http://127.0.0.1:${PORT}/ogc/features/collections?f=json`)
  ).json()) as { collections: unknown[] };
  if (collections.collections.length !== sources.length)
    throw new Error(`${collections.collections.length} of ${sources.length} files are published`);
  child.kill('SIGTERM');
  await once(child, 'exit');
  return seconds;
}

/** Seconds of ogr2ogr over all files, two at a time. */
async function convert(out: string): Promise<number> {
  mkdirSync(out);
  const began = performance.now();
  const waiting = [...sources];
  const lane = async () => {
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const target = join(out, `${path.split('/').at(-1)}.gpkg`);
      const [code] = (await once(
        spawn('ogr2ogr', ['-f', 'GPKG', '-nlt', 'PROMOTE_TO_MULTI', target, path], { stdio: 'ignore' }),
        'exit',
      )) as [number];
      if (code !== 0) throw new Error(`ogr2ogr fails on ${path}`);
    }
  };
  await Promise.all([lane(), lane()]);
  return (performance.now() - began) / 1000;
}

const first: number[] = [];
const second: number[] = [];
const peer: number[] = [];
for (let round = 0; round <= rounds; round++) {
  const dataDir = join(work, `data-${round}`);
  const times = [
    await start(dataDir),
    await start(dataDir),
    await convert(join(work, `peer-${round}`)),
  ] as const;
  for (const name of [dataDir, join(work, `peer-${round}`)]) rmSync(name, { recursive: true });
  // The first round fills the caches of the system.
  if (round === 0) continue;
  for (const [i, into] of [first, second, peer].entries()) into.push(times[i]!);
}
rmSync(work, { recursive: true });

publish({
  bench: 'first-start',
  command: `./run bench first-start --rounds ${rounds}`,
  about: `Seconds from the command to a server that is ready, of a folder of ${sources.length} small files (60 shapefiles, 60 GeoJSON, 55 CSV, 40 KML, 40 FlatGeobuf) that are converted at the first start; and of ogr2ogr over the same files, two at a time.`,
  figures: [
    { name: 'first start', rounds: { seconds: first } },
    { name: 'second start', rounds: { seconds: second } },
    { name: 'ogr2ogr, two at a time', rounds: { seconds: peer } },
  ],
  ratios: [
    { what: 'ogr2ogr / first start', rounds: peer.map((seconds, i) => seconds / first[i]!), goal: 1 },
    { what: '3 s / second start', rounds: second.map((seconds) => 3 / seconds), goal: 1 },
  ],
  notes: ['In favour of Graticule: one process converts many files, where ogr2ogr starts anew for each.'],
});
