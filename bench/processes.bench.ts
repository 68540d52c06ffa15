import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FeatureProcess } from '../src/core/feature-processes.js';
import { GeometryUnion, overlayGeometries, processGeometries } from '../src/native/processing.js';
import { processFeatures } from '../src/workers/process/features.js';
import { closeAll, reader } from '../src/workers/providers/geopackage/connection.js';
import { type BuildingCrs, buildings } from './support/buildings.js';
import { option, publish, type Ratio } from './support/report.js';

/** Processes of features, reading and writing included, beside the same calls of GEOS over geometries in memory. */
const rounds = option('rounds', 5);
const N = option('features', 100_000);

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const CRS: BuildingCrs = 3857;
const source = buildings(N, CRS);
const blobs = reader(source.path)
  .prepare(`SELECT ${source.geometryColumn} FROM "${source.table}" ORDER BY 1 LIMIT ${N}`)
  .pluck()
  .all() as Uint8Array[];
const planes = { crs: source.crs, target: source.crs, srsId: CRS };

interface Case {
  name: string;
  process: FeatureProcess;
  floor(): void;
  goal?: number;
}

const BATCH = 1024;
function inBatches(work: (batch: Uint8Array[]) => void): void {
  for (let i = 0; i < blobs.length; i += BATCH) work(blobs.slice(i, i + BATCH));
}

const mapCase = (name: string, operation: Extract<FeatureProcess, { kind: 'map' }>['operation']): Case => ({
  name,
  process: { kind: 'map', operation },
  floor: () => inBatches((batch) => void processGeometries(batch, operation, planes)),
});

const CASES: Case[] = [
  mapCase('buffer by 5 m', { name: 'buffer', distance: 5 }),
  mapCase('simplify by 1 m', { name: 'simplify-topology', distance: 1 }),
  {
    name: 'dissolve all',
    process: { kind: 'dissolve', by: [], statistics: [] },
    floor() {
      const union = new GeometryUnion();
      inBatches((batch) => union.add(batch));
      union.take(CRS);
    },
  },
  {
    name: 'clip by themselves',
    process: { kind: 'clip' },
    floor() {
      inBatches((batch) => void overlayGeometries(batch, batch, 'clip', CRS));
    },
  },
];

interface Cost {
  cpu: number;
  wall: number;
}

async function costOf(work: () => unknown): Promise<Cost> {
  const cpu = process.cpuUsage();
  const begin = performance.now();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: (user + system) / 1e3, wall: performance.now() - begin };
}

let outputs = 0;
async function whole({ process: task }: Case): Promise<void> {
  const fields = source.fields.map(({ name }) => name);
  const input = { source, fields: task.kind === 'dissolve' ? [] : fields };
  const output = join(folder, `${outputs++}.gpkg`);
  const result = await processFeatures({
    ...{ process: task, input, output, count: new SharedArrayBuffer(4) },
    ...(task.kind === 'clip' ? { overlay: input } : {}),
  });
  if (result.features === 0) throw new Error('nothing was made');
  rmSync(output);
}

try {
  const figures = new Map<string, { 'CPU ms': number[]; 'wall ms': number[] }>();
  const ratios: Ratio[] = CASES.map(({ name }) => ({
    what: `${name}: process / GEOS alone, CPU`,
    rounds: [],
  }));
  const keep = (name: string, { cpu, wall }: Cost) => {
    const figure = figures.get(name) ?? { 'CPU ms': [], 'wall ms': [] };
    figures.set(name, figure);
    figure['CPU ms'].push(cpu);
    figure['wall ms'].push(wall);
  };
  for (let round = 0; round < rounds; round++) {
    for (const [i, one] of CASES.entries()) {
      const floor = await costOf(one.floor);
      const ours = await costOf(() => whole(one));
      keep(`${one.name}, process`, ours);
      keep(`${one.name}, GEOS alone`, floor);
      ratios[i]!.rounds.push(ours.cpu / floor.cpu);
    }
  }
  publish({
    bench: 'processes',
    command: './run bench processes',
    about: `${N.toLocaleString('en')} buildings of 21 positions in the mean, SYNTHETIC, in a GeoPackage: a process reads them, gives them to GEOS and writes a GeoPackage with all attributes, in one thread. GEOS alone does the same to the same geometries in memory, as many at a time, and throws the results away; its results are GeoPackage blobs, too.`,
    figures: [...figures].map(([name, values]) => ({ name, rounds: values })),
    ratios,
    notes: [
      'The goal is at most 1.25 for buffer and simplify; other work ran on the machine, so processor time counts.',
      `Resident memory at the end: ${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB, of which the geometries in memory are a part.`,
    ],
  });
} finally {
  closeAll();
  rmSync(folder, { recursive: true, force: true });
}
