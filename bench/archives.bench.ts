import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { tileIdToZxy, zxyToTileId } from 'pmtiles';
import type { ArchiveDraft, WrittenTile } from '../src/core/tiles/archives.js';
import { matrixBox, WEB_MERCATOR_QUAD } from '../src/core/tiles/tile-matrix.js';
import { appendTiles, finishArchive, openArchive } from '../src/workers/tiles/archive/write.js';
import { cost } from './support/core.js';
import { load, type Sample } from './support/load.js';
import { option, publish, type Ratio } from './support/report.js';
import { type BenchServer, startGraticule } from './support/server.js';

/**
 * Tile archives. Writing: SYNTHETIC tiles into a PMTiles and an MBTiles archive, against the floor of writing the same
 * bytes to one file. Serving: the tiles of an archive that `graticule export --tiles` made of the demo countries, with
 * the tile cache off and on, against Martin on the same files.
 */
const rounds = option('rounds', 5);
const seconds = option('seconds', 2);
const count = option('tiles', 100_000);
const MARTIN = resolve('.cache/peers/martin/bin/martin');
const SERVER_CORE = '0';
const LOAD_CORE = 1;
const ZOOM = 9;
const PART = 512;

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));

/** Bytes like those of gzipped tiles: no two alike, but every fourth the same sea. */
function synthetic(): WrittenTile[] {
  const sea = Buffer.alloc(120, 7);
  const base = zxyToTileId(ZOOM, 0, 0);
  return Array.from({ length: count }, (_, i) => {
    const [zoom, column, row] = tileIdToZxy(base + i);
    if (i % 4 === 0) return { zoom, row, column, data: sea };
    const data = Buffer.alloc(500 + ((i * 7919) % 4000), i);
    data.writeUInt32LE(i, 0);
    return { zoom, row, column, data };
  });
}

function write(container: 'pmtiles' | 'mbtiles', tiles: readonly WrittenTile[], name: string): number {
  const draft: ArchiveDraft = { output: join(folder, name), container, format: 'png', plan: 'bench' };
  let from = openArchive({ draft }).cursor;
  for (let at = 0; at < tiles.length; at += PART) {
    const to = String(at);
    appendTiles({ draft, tiles: tiles.slice(at, at + PART), from, to });
    from = to;
  }
  const grid = { id: '', crs: 'EPSG:3857', extent: matrixBox(WEB_MERCATOR_QUAD, 0), matrices: [] };
  const about = {
    name,
    title: name,
    bounds: [-180, -85, 180, 85] as const,
    minZoom: ZOOM,
    maxZoom: ZOOM,
    grid,
  };
  finishArchive({ draft, description: about });
  return statSync(draft.output).size;
}

function floor(tiles: readonly WrittenTile[], name: string): void {
  const fd = openSync(join(folder, name), 'w');
  for (const { data } of tiles) writeSync(fd, data);
  fsyncSync(fd);
  closeSync(fd);
}

interface Written {
  cpu: number[];
  wall: number[];
}

function measureWriting(): { figures: Record<string, Written>; ratios: Ratio[] } {
  const tiles = synthetic();
  const figures: Record<string, Written> = {};
  for (let round = 0; round < rounds; round++) {
    const works: Record<string, () => void> = {
      'one file: floor': () => floor(tiles, `floor-${round}`),
      PMTiles: () => void write('pmtiles', tiles, `${round}.pmtiles`),
      MBTiles: () => void write('mbtiles', tiles, `${round}.mbtiles`),
    };
    for (const [name, work] of Object.entries(works)) {
      const { cpuMs, wallMs } = cost(1, work);
      const figure = (figures[name] ??= { cpu: [], wall: [] });
      figure.cpu.push((cpuMs * 1000) / count);
      figure.wall.push((wallMs * 1000) / count);
    }
  }
  const least = figures['one file: floor']!;
  const ratios = ['PMTiles', 'MBTiles'].map((name) => ({
    what: `writing ${name}, CPU: floor / ours`,
    rounds: figures[name]!.cpu.map((value, i) => least.cpu[i]! / value),
  }));
  return { figures, ratios };
}

async function startMartin(port: number, cacheMb: number, files: readonly string[]): Promise<BenchServer> {
  const args = [
    '-c',
    SERVER_CORE,
    MARTIN,
    '-l',
    `127.0.0.1:${port}`,
    '-C',
    String(cacheMb),
    '-W',
    '1',
    ...files,
  ];
  const child = spawn('taskset', args, { stdio: 'ignore', env: { ...process.env, RUST_LOG: 'error' } });
  const origin = `http://127.0.0.1:${port}`;
  for (let i = 0; i < 100; i++) {
    const up = await fetch(`${origin}/health`).then(
      (response) => response.ok,
      () => false,
    );
    if (up) return { origin, pid: child.pid!, stop: async () => void child.kill('SIGTERM') };
    await new Promise((done) => setTimeout(done, 100));
  }
  child.kill('SIGKILL');
  throw new Error('Martin does not answer');
}

/** Targets of the tiles that are not empty, zooms 3 to 6, by their row and column. */
async function targets(origin: string, path: (z: number, x: number, y: number) => string): Promise<string[]> {
  const found: string[] = [];
  for (let zoom = 3; zoom <= 6; zoom++) {
    for (let i = 0; i < 4 ** zoom; i += zoom === 6 ? 3 : 1) {
      const target = path(zoom, i % 2 ** zoom, Math.floor(i / 2 ** zoom));
      const response = await fetch(origin + target, { headers: { 'accept-encoding': 'gzip' } });
      if (response.status === 200 && (await response.arrayBuffer()).byteLength > 0) found.push(target);
    }
  }
  return found;
}

interface Contender {
  name: string;
  server: BenchServer;
  paths: string[];
  samples: Sample[];
}

async function contendersOf(files: readonly string[]): Promise<Contender[]> {
  const contenders: Contender[] = [];
  for (const [what, bytes, cacheMb] of [
    ['cache off', '0', 0],
    ['cache on', '268435456', 256],
  ] as const) {
    const port = 18_110 + contenders.length;
    const env = { SVC_CACHE__TILE_BYTES: bytes };
    const ours = await startGraticule(files, { port, cores: SERVER_CORE, env });
    const answer = await fetch(`${ours.origin}/ogc/tiles/collections?f=json`);
    const { collections } = (await answer.json()) as { collections: { id: string; name: string }[] };
    const martin = existsSync(MARTIN) ? await startMartin(port + 50, cacheMb, files) : undefined;
    for (const kind of ['from-pmtiles', 'from-mbtiles']) {
      const { id } = collections.find(({ name }) => name === kind)!;
      const own = `/ogc/tiles/collections/${id}/tiles/WebMercatorQuad`;
      const paths = await targets(ours.origin, (z, x, y) => `${own}/${z}/${y}/${x}?f=mvt`);
      contenders.push({ name: `Graticule, ${kind}, ${what}`, server: ours, paths, samples: [] });
      if (!martin) continue;
      const theirs = await targets(martin.origin, (z, x, y) => `/${kind}/${z}/${x}/${y}`);
      if (theirs.length !== paths.length) throw new Error(`${theirs.length} tiles, not ${paths.length}`);
      contenders.push({ name: `Martin, ${kind}, ${what}`, server: martin, paths: theirs, samples: [] });
    }
  }
  return contenders;
}

async function measureServing(contenders: Contender[]): Promise<void> {
  for (let round = 0; round <= rounds; round++) {
    for (const { server, paths, samples, name } of contenders) {
      const headers = { 'accept-encoding': 'gzip' };
      const options = { ...server, paths, headers, seconds, connections: 32, core: LOAD_CORE };
      const sample = await load(options);
      if (sample.errors > 0) throw new Error(`${name}: ${sample.errors} errors`);
      if (round > 0) samples.push(sample);
    }
  }
}

const files = ['from-pmtiles.pmtiles', 'from-mbtiles.mbtiles'].map((name) => join(folder, name));
for (const file of files) {
  const args = ['dist/cli/main.js', 'export', 'countries', '--tiles', file, '--zooms', '0-6'];
  execFileSync('node', [...args, '--source', 'demo/data', '--data-dir', join(folder, 'data')], {
    stdio: 'ignore',
  });
}
const writing = measureWriting();
const contenders = await contendersOf(files);
await measureServing(contenders);
for (const server of new Set(contenders.map((one) => one.server))) await server.stop();
rmSync(folder, { recursive: true });

const cpu = (name: string) =>
  contenders.find((one) => one.name === name)?.samples.map((s) => s.cpuMicrosPerRequest);
const ratios = contenders
  .filter(({ name }) => name.startsWith('Graticule'))
  .flatMap(({ name }): Ratio[] => {
    const theirs = cpu(name.replace('Graticule', 'Martin'));
    if (!theirs) return [];
    const what = `serving, CPU per request, Martin / ${name}`;
    return [{ what, rounds: cpu(name)!.map((ours, i) => theirs[i]! / ours), goal: 1 }];
  });
publish({
  bench: 'archives',
  command: `./run bench archives --rounds ${rounds} --seconds ${seconds}`,
  about: `Writing ${count} SYNTHETIC tiles (every fourth the same; parts of ${PART}, each durable) to archives, against the same bytes written to one file. Serving ${contenders[0]!.paths.length} vector tiles of the demo countries from archives that \`graticule export\` made, shuffled, 32 connections; servers on core ${SERVER_CORE} with one worker, wrk on core ${LOAD_CORE}.`,
  figures: [
    ...Object.entries(writing.figures).map(([name, { cpu: cpuMicros, wall }]) => ({
      name: `writing: ${name}`,
      rounds: {
        'CPU us/tile': cpuMicros,
        'tiles/s': wall.map((micros) => 1e6 / micros),
      },
    })),
    ...contenders.map(({ name, samples }) => ({
      name,
      rounds: {
        'CPU us/tile': samples.map((s) => s.cpuMicrosPerRequest),
        'tiles/s': samples.map((s) => s.requestsPerSecond),
      },
    })),
  ],
  ratios: [...writing.ratios, ...ratios],
});
