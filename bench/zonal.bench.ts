import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RasterProcess, ZoneStatistic } from '../src/core/rasters/raster-processes.js';
import { gdal } from '../src/workers/gdal/gdal.js';
import { processRaster } from '../src/workers/processes/rasters/process.js';
import { closeIdleRasters } from '../src/workers/rasters/handles.js';
import { option, publish, type Ratio } from './support/report.js';

/** Statistics of a raster in zones, from file to file, beside exactextract and rasterstats, which give them back in memory. */
const rounds = option('rounds', 3);
const SIDE = option('side', 3000);
const PYTHON = '.cache/peers/zonal/bin/python';

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const raster = join(folder, 'raster.tif');

/** Hills in a square of 50 km, in pixels of 10 m. */
async function makeRaster(): Promise<void> {
  const options = ['TILED=YES', 'COMPRESS=DEFLATE'];
  const dataset = gdal.open(raster, 'w', 'GTiff', SIDE, SIDE, 1, 'Float32', options);
  dataset.geoTransform = [0, 10, 0, SIDE * 10, 0, -10];
  dataset.srs = gdal.SpatialReference.fromEPSG(3857);
  const row = new Float32Array(SIDE);
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++)
      row[x] = Math.round(500 + 300 * Math.sin(x / 90) * Math.cos(y / 70) + ((x * 7919 + y * 104_729) % 13));
    await dataset.bands.get(1).pixels.writeAsync(0, y, SIDE, 1, row);
  }
  dataset.close();
}

/** Stars all over the raster, which may lie over each other. */
function makeZones(count: number, radius: number, rays: number): string {
  const path = join(folder, `${count}.gpkg`);
  let seed = 1;
  const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  const features = Array.from({ length: count }, () => {
    const span = SIDE * 10 - 2 * radius;
    const [x, y] = [radius + random() * span, radius + random() * span];
    const ring = Array.from({ length: 2 * rays }, (_, i) => {
      const length = i % 2 ? radius * 0.6 : radius;
      return [x + length * Math.cos((i * Math.PI) / rays), y + length * Math.sin((i * Math.PI) / rays)];
    });
    return {
      type: 'Feature',
      properties: {},
      geometry: { type: 'Polygon', coordinates: [[...ring, ring[0]]] },
    };
  });
  const json = join(folder, `${count}.geojson`);
  writeFileSync(json, JSON.stringify({ type: 'FeatureCollection', features }));
  execFileSync('ogr2ogr', ['-a_srs', 'EPSG:3857', '-nln', 'features', path, json]);
  return path;
}

interface Cost {
  cpu: number;
  wall: number;
  means: number;
}

let outputs = 0;
async function ours(zones: string, statistics: ZoneStatistic[], byCentre: boolean): Promise<Cost> {
  const output = join(folder, `result-${outputs++}.gpkg`);
  const zonal: RasterProcess = { kind: 'zonal', statistics, percentiles: [], byCentre, prefix: '' };
  const source = { kind: 'file', path: raster } as const;
  const task = { process: zonal, sources: [source], band: 1, features: zones, output, maxBytes: Infinity };
  const cpu = process.cpuUsage();
  const begin = performance.now();
  await processRaster(task, `${output}.part.gpkg`, () => {});
  const { user, system } = process.cpuUsage(cpu);
  const wall = performance.now() - begin;
  const dataset = gdal.open(output);
  const means = dataset.layers.get(0).features.map((one) => one.fields.get('mean') as number);
  dataset.close();
  rmSync(output);
  return { cpu: (user + system) / 1e3, wall, means: means.reduce((all, one) => all + one, 0) };
}

function peer(tool: string, zones: string, statistics: string[]): Cost {
  const args = ['-W', 'ignore', 'bench/support/zonal_peers.py', tool, raster, zones, statistics.join(',')];
  const { cpuMs, wallMs, means } = JSON.parse(execFileSync(PYTHON, args, { encoding: 'utf8' }));
  return { cpu: cpuMs, wall: wallMs, means };
}

const SUMS: ZoneStatistic[] = ['count', 'sum', 'mean', 'min', 'max', 'stddev'];
const VALUES: ZoneStatistic[] = ['mean', 'median', 'majority', 'variety'];
const peerNames = (names: readonly string[], other: Record<string, string>) =>
  names.map((name) => other[name] ?? name);

const figures = new Map<string, { 'CPU ms': number[]; 'wall ms': number[] }>();
const ratios = new Map<string, Ratio>();

function note(name: string, { cpu, wall }: Cost): void {
  const figure = figures.get(name) ?? { 'CPU ms': [], 'wall ms': [] };
  figures.set(name, figure);
  figure['CPU ms'].push(cpu);
  figure['wall ms'].push(wall);
}

function compare(what: string, theirs: Cost, own: Cost, goal: number): void {
  if (Math.abs(theirs.means / own.means - 1) > 1e-5)
    throw new Error(`${what}: means differ, ${theirs.means} and ${own.means}`);
  const ratio = ratios.get(what) ?? { what: `${what}, CPU`, rounds: [], goal };
  ratios.set(what, ratio);
  ratio.rounds.push(theirs.cpu / own.cpu);
}

try {
  if (!existsSync(PYTHON))
    throw new Error('exactextract and rasterstats are missing: bench/peers/install.sh fetches them.');
  gdal.config.set('GDAL_PAM_ENABLED', 'NO');
  await makeRaster();
  const layers = [
    { name: '1,000 small zones', path: makeZones(1000, 150, 12) },
    { name: '20 large zones', path: makeZones(20, 5000, 200) },
  ];
  for (let round = 0; round <= rounds; round++) {
    for (const { name, path } of layers) {
      for (const [what, statistics] of [
        ['sums', SUMS],
        ['values', VALUES],
      ] as const) {
        const own = await ours(path, [...statistics], false);
        const centres = await ours(path, [...statistics], true);
        const exact = peer('feature-sequential', path, peerNames(statistics, { stddev: 'stdev' }));
        const stats = peer('rasterstats', path, peerNames(statistics, { stddev: 'std', variety: 'unique' }));
        // The first round warms up.
        if (round === 0) continue;
        const title = `${name}, ${what}`;
        note(`${title}: Graticule, shares`, own);
        note(`${title}: Graticule, centres`, centres);
        note(`${title}: exactextract`, exact);
        note(`${title}: rasterstats`, stats);
        compare(`${title}: exactextract / Graticule`, exact, own, 1);
        compare(`${title}: rasterstats / Graticule by centres`, stats, centres, 3);
      }
    }
  }
  publish({
    bench: 'zonal',
    command: './run bench zonal',
    about: `A raster of ${SIDE} by ${SIDE} whole numbers as 32 bit floats, tiled and deflated, SYNTHETIC; stars of 24 corners and about 350 pixels, and of 400 corners and about 390,000 pixels. Sums are count, sum, mean, min, max and deviation; values are mean, median, majority and variety. Graticule reads a GeoPackage and writes another one with all of it, in one process; exactextract (0.3, zone by zone) and rasterstats (0.21) read the same GeoPackage and keep the results in memory.`,
    figures: [...figures].map(([name, values]) => ({ name, rounds: values })),
    ratios: [...ratios.values()],
    notes: ['The sums of all means were compared first, within 1e-5.'],
  });
} finally {
  closeIdleRasters();
  rmSync(folder, { recursive: true, force: true });
}
