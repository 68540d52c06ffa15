import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { measureDatabase } from './support/catalog-database.js';
import { measureMigration } from './support/catalog-migration.js';
import { measureStarts, type StartCase } from './support/catalog-starts.js';
import { median, option, publishPart, textOption } from './support/report.js';
import { type GraticuleServer, startGraticule } from './support/server.js';

/**
 * How long one more collection takes, as a function of how many there are: an import of 100 points is published on servers
 * with 10, 400 and 5,000 collections. The smallest server is the peer of the others.
 */
const rounds = option('rounds', 7);
const PORT = 18_091;
const KEY = 'bench-bench-bench-bench';
const SETTLE_MS = 15_000;
/** Names of more are not read from it: the page has at most so many. */
const PAGE = 100;

interface Size {
  readonly files: number;
  readonly collections: number;
}

const SIZES: readonly Size[] = [
  { files: 1, collections: 10 },
  { files: 150, collections: 400 },
  { files: 1000, collections: 5000 },
];

/** Files in demo/data that are inspected. */
const DEMO_FILES = 4;

const work = mkdtempSync(join(tmpdir(), 'graticule-catalog-'));

/** A GeoPackage with so many tables of ten countries. */
function packageOf(tables: number): string {
  const path = join(work, `${tables}.gpkg`);
  if (existsSync(path)) return path;
  for (let i = 0; i < tables; i++) {
    const update = i === 0 ? [] : ['-update'];
    const layer = ['-nln', `t${i}`, '-limit', '10', '-nlt', 'PROMOTE_TO_MULTI', 'countries'];
    execFileSync('ogr2ogr', ['-f', 'GPKG', ...update, path, 'demo/data/world_map.gpkg', ...layer], {
      stdio: 'ignore',
    });
  }
  return path;
}

function folderOf({ files, collections }: Size): string {
  const folder = join(work, `folder-${collections}`);
  if (existsSync(folder)) return folder;
  mkdirSync(folder);
  const each = Math.floor(collections / files);
  const larger = collections - each * files;
  for (let i = 0; i < files; i++)
    copyFileSync(
      packageOf(i < larger ? each + 1 : each),
      join(folder, `f${String(i).padStart(4, '0')}.gpkg`),
    );
  return folder;
}

const POINTS = JSON.stringify({
  type: 'FeatureCollection',
  features: Array.from({ length: 100 }, (_, n) => ({
    type: 'Feature',
    properties: { n },
    geometry: { type: 'Point', coordinates: [n / 10, n / 20] },
  })),
});

/** Milliseconds until an import has answered, and its collection is shown. */
async function publishOne({ origin }: GraticuleServer, name: string): Promise<number> {
  const form = new FormData();
  form.set('TableName', name);
  form.set('file', new Blob([POINTS]), 'points.geojson');
  const began = performance.now();
  const options = { method: 'POST', headers: { 'x-api-key': KEY }, body: form };
  const response = await fetch(`${origin}/api/v1/admin/import/upload`, options);
  const text = await response.text();
  const ms = performance.now() - began;
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  const items = await fetch(`${origin}/ogc/features/collections/${name}/items?limit=1`);
  if (!items.ok) throw new Error(`${name} is not shown: ${items.status}`);
  await items.arrayBuffer();
  return ms;
}

async function milliseconds(url: string): Promise<number> {
  const began = performance.now();
  await (await fetch(url)).arrayBuffer();
  return performance.now() - began;
}

const residentMb = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

interface Samples {
  publish: number[];
  start: number[];
  page: number[];
  memory: number[];
}

interface Measuring {
  readonly folder: string;
  readonly options: { port: number; cores: string; dataDir: string };
  server: GraticuleServer;
  readonly samples: Samples;
}

async function open(size: Size, port: number): Promise<Measuring> {
  const folder = folderOf(size);
  const dataDir = join(work, `data-${size.collections}`);
  mkdirSync(dataDir);
  const options = { port, cores: '0-1', dataDir };
  const server = await startGraticule([folder], options);
  // The first starts a process that translates.
  await publishOne(server, 'first');
  return { folder, options, server, samples: { publish: [], start: [], page: [], memory: [] } };
}

/** Starts a server again, beside none of the others. */
async function measureFurtherStarts(one: Measuring): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const began = performance.now();
    one.server = await startGraticule([one.folder], one.options);
    one.samples.start.push((performance.now() - began) / 1000);
    await one.server.stop();
  }
}

/** All servers run at the same time and take turns: what else the machine does, it does to all of them. */
async function measurePublishing(): Promise<void> {
  const servers: Measuring[] = [];
  try {
    for (const [i, size] of SIZES.entries()) servers.push(await open(size, PORT + i));
    // Every store is read for events once after a start.
    await sleep(SETTLE_MS);
    for (let i = 0; i < rounds; i++)
      for (const { server, samples } of servers) {
        samples.publish.push(await publishOne(server, `result_${i}`));
        const collections = `${server.origin}/ogc/features/collections?f=json&limit=${PAGE}`;
        samples.page.push(await milliseconds(collections));
      }
    for (const { server, samples } of servers) samples.memory.push(residentMb(server.pid));
  } finally {
    for (const { server } of servers) await server.stop();
  }
  for (const one of servers) await measureFurtherStarts(one);
  const measured = servers.map(({ samples }) => samples);
  const [least] = measured as [Samples];
  publishPart('publishing', {
    bench: 'catalog',
    command: `./run bench catalog --part publishing --rounds ${rounds}`,
    about:
      'Milliseconds from an upload of 100 points to the answer, when the collection is shown, by the number of collections that the server has; milliseconds of the first page of the collections; seconds of a further start; memory of the gateway. The servers take turns.',
    figures: SIZES.map(({ files, collections }, i) => ({
      name: `${collections} collections in ${files} files`,
      rounds: {
        'publish ms': measured[i]!.publish,
        'page ms': measured[i]!.page,
        'start s': measured[i]!.start,
        MB: measured[i]!.memory,
      },
    })),
    ratios: measured.slice(1).map(({ publish: values }, i) => ({
      what: `publish at ${SIZES[i + 1]!.collections} / at ${SIZES[0]!.collections} collections`,
      rounds: values.map((ms, round) => ms / least.publish[round]!),
      most: 1.5,
    })),
    notes: [
      'The time includes the import itself: reading, translating and loading the file.',
      `Memory of a collection: ${(((median(measured[2]!.memory) - median(least.memory)) * 1024) / (SIZES[2]!.collections - SIZES[0]!.collections)).toFixed(0)} KB.`,
    ],
  });
}

function startCases(): StartCase[] {
  const sizes = SIZES.map((size) => ({
    name: `${size.collections} collections in ${size.files} files`,
    sources: [folderOf(size)],
    files: size.files,
  }));
  return [{ name: 'demo data', sources: ['demo/data'], files: DEMO_FILES }, ...sizes];
}

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  publishing: measurePublishing,
  starts: () => measureStarts(startCases(), work, rounds),
  migration: () => measureMigration(option('layers', 500), Math.min(rounds, 3)),
  database: () => measureDatabase(option('tables', 100_000), option('published', 5000), Math.min(rounds, 3)),
};

try {
  const part = textOption('part');
  for (const [name, run] of Object.entries(PARTS)) if (part === undefined || part === name) await run();
} finally {
  rmSync(work, { recursive: true });
}
