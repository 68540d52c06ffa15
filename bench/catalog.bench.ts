import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median, option, publish } from './support/report.js';
import { type GraticuleServer, startGraticule } from './support/server.js';

/**
 * How long one more collection takes, as a function of how many there are: an import of 100 points is published on servers
 * with 10, 400 and 5,000 collections. The smallest server is the peer of the others.
 */
const rounds = option('rounds', 7);
const PORT = 18_091;
const KEY = 'bench-bench-bench-bench';
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

interface Measured {
  publish: number[];
  start: number[];
  page: number[];
  memory: number[];
}

async function measure(size: Size): Promise<Measured> {
  const folder = folderOf(size);
  const dataDir = join(work, `data-${size.collections}`);
  const found: Measured = { publish: [], start: [], page: [], memory: [] };
  const options = { port: PORT, cores: '0-1', dataDir };
  mkdirSync(dataDir);
  let server = await startGraticule([folder], options);
  try {
    // The first starts a process that translates.
    await publishOne(server, 'first');
    for (let i = 0; i < rounds; i++) found.publish.push(await publishOne(server, `result_${i}`));
    const collections = `${server.origin}/ogc/features/collections?f=json&limit=${PAGE}`;
    for (let i = 0; i < rounds; i++) found.page.push(await milliseconds(collections));
    found.memory.push(residentMb(server.pid));
    for (let i = 0; i < 3; i++) {
      await server.stop();
      const began = performance.now();
      server = await startGraticule([folder], options);
      found.start.push((performance.now() - began) / 1000);
    }
  } finally {
    await server.stop();
  }
  return found;
}

const measured: Measured[] = [];
for (const size of SIZES) measured.push(await measure(size));
rmSync(work, { recursive: true });

const [least] = measured as [Measured];
publish({
  bench: 'catalog',
  command: `./run bench catalog --rounds ${rounds}`,
  about:
    'Milliseconds from an upload of 100 points to the answer, when the collection is shown, by the number of collections that the server has; milliseconds of the first page of the collections; seconds of a further start; memory of the gateway.',
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
    rounds: values.map((ms) => ms / median(least.publish)),
    most: 1.5,
  })),
  notes: ['The time includes the import itself: reading, translating and loading the file.'],
});
