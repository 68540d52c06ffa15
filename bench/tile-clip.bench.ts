import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import gdal from 'gdal-async';
import { PbfReader } from 'pbf';
import { transformPoints } from '../src/native/index.js';
import Database from '../src/native/sqlite.js';
import { pin } from './support/core.js';
import { median, option, publish } from './support/report.js';

/**
 * What it costs that polygons which the clip box cuts get rings that do not touch themselves along it: the encoder of
 * another commit (`--base`) and that of the checkout, from blobs in memory to tiles. And what it brings: polygons that
 * are not valid, of both.
 */
const rounds = option('rounds', 9);
const CORE = 1;
const SLICE_MS = 300;
const FOLDER = resolve('.cache/bench/tile-clip');
const WORLD_MAP = 'demo/data/world_map.gpkg';
const TABLES = ['countries', 'states_provinces'];
const ZOOMS = [4, 5, 6, 7, 8];
/** Tiles of a zoom that are looked at, evenly spread. */
const TILES = 256;
const BUFFER = 64;
const EXTENT = 4096;
const HALF_WORLD = 20037508.342789244;

const at = process.argv.indexOf('--base');
/** The commit before rings were linked along the border. */
const base = at < 0 ? '0d2e2fb' : process.argv[at + 1]!;

const SOURCES = [
  'clip',
  'clipped_polygon',
  'crs',
  'generalise',
  'grid_ring',
  'json',
  'number',
  'options',
  'reprojector',
  'simplify',
  'text',
  'tile_geometry',
  'tile_layer',
  'tile_values',
  'wkb',
];
const COMPILER_FLAGS = ['-std=c++17', '-O3', '-fno-math-errno', '-fno-trapping-math', '-fvisibility=hidden'];

/** Compiles polygon_rate with the core in a folder, as far as it has the sources. */
function compile(native: string, name: string): string {
  const program = join(FOLDER, name);
  const config = (what: string) =>
    execFileSync('pkg-config', [what, 'proj', 'libdeflate'], { encoding: 'utf8' }).trim().split(/\s+/);
  const sources = SOURCES.map((source) => join(native, 'core', `${source}.cpp`)).filter(existsSync);
  const main = join(native, 'bench', 'polygon_rate.cpp');
  const includes = ['-I', join(native, 'third_party/h3/include'), ...config('--cflags').filter(Boolean)];
  execFileSync('g++', [...COMPILER_FLAGS, ...includes, '-o', program, main, ...sources, ...config('--libs')]);
  return program;
}

function compileBase(): string {
  const folder = join(FOLDER, 'base');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', base, 'src/native'], { maxBuffer: 1 << 28 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  const native = join(folder, 'src/native');
  writeFileSync(
    join(native, 'bench/polygon_rate.cpp'),
    readFileSync('src/native/bench/polygon_rate.cpp', 'utf8'),
  );
  return compile(native, 'polygon_rate_base');
}

/** The WKB of a GeoPackage blob of polygons, in EPSG:3857. */
function projected(blob: Buffer): Buffer {
  const wkb = Buffer.from(blob.subarray(8 + [0, 32, 48, 48, 64][(blob[3]! >> 1) & 7]!));
  let p = 1;
  const count = () => wkb.readUInt32LE((p += 4) - 4);
  const polygon = () => {
    for (let rings = count(); rings > 0; rings--) {
      const n = 2 * count();
      const xy = Float64Array.from({ length: n }, (_, i) => wkb.readDoubleLE(p + 8 * i));
      transformPoints(xy, 'EPSG:4326', 'EPSG:3857');
      for (const [i, v] of xy.entries()) wkb.writeDoubleLE(v, p + 8 * i);
      p += 8 * n;
    }
  };
  if (count() === 3) polygon();
  else
    for (let members = count(); members > 0; members--) {
      p += 5;
      polygon();
    }
  return wkb;
}

const longitude = (x: number) => (x / HALF_WORLD) * 180;
const latitude = (y: number) => (Math.atan(Math.sinh((y / HALF_WORLD) * Math.PI)) * 180) / Math.PI;

const uint32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

/** Writes the tiles of a table at a zoom with the blobs that each reads. */
function writeInput(db: Database.Database, table: string, zoom: number): string {
  const rowsIn = db.prepare<number[], { fid: number; geom: Buffer }>(
    `SELECT t.fid, t.geom FROM rtree_${table}_geom r JOIN ${table} t ON t.fid = r.id
      WHERE r.maxx >= ? AND r.minx <= ? AND r.maxy >= ? AND r.miny <= ?`,
  );
  const blobs = new Map<number, Buffer>();
  const parts: Buffer[] = [];
  const n = 2 ** zoom;
  const side = (2 * HALF_WORLD) / n;
  const margin = (side * BUFFER) / EXTENT;
  // A step that no row of tiles is a multiple of.
  for (let k = 0, step = Math.max(1, Math.floor((n * n) / TILES)) | 1; k < n * n; k += step) {
    const minx = (k % n) * side - HALF_WORLD;
    const maxy = HALF_WORLD - Math.floor(k / n) * side;
    const box = [minx, maxy - side, minx + side, maxy];
    const rows = rowsIn.all(
      longitude(minx - margin),
      longitude(minx + side + margin),
      latitude(maxy - side - margin),
      latitude(maxy + margin),
    );
    if (rows.length === 0) continue;
    parts.push(Buffer.from(Float64Array.from(box).buffer), uint32(rows.length));
    for (const { fid, geom } of rows) {
      if (!blobs.has(fid)) blobs.set(fid, projected(geom));
      const blob = blobs.get(fid)!;
      parts.push(uint32(blob.length), blob);
    }
  }
  const path = join(FOLDER, `${table}-${zoom}.bin`);
  writeFileSync(path, Buffer.concat(parts));
  return path;
}

interface Count {
  polygons: number;
  invalid: number;
}

/** Polygons of tiles as GEOS sees them. */
function countPolygons(path: string): Count {
  const bytes = readFileSync(path);
  const count = { polygons: 0, invalid: 0 };
  for (let p = 0; p < bytes.length; ) {
    const size = bytes.readUInt32LE(p);
    const layer = new VectorTile(new PbfReader(bytes.subarray(p + 4, p + 4 + size))).layers.polygons;
    p += 4 + size;
    for (let i = 0; i < (layer?.length ?? 0); i++) {
      const polygons: gdal.Polygon[] = [];
      for (const ring of layer!.feature(i).loadGeometry()) {
        const area = ring.slice(1).reduce((sum, b, k) => sum + ring[k]!.x * b.y - b.x * ring[k]!.y, 0);
        if (area > 0) polygons.push(new gdal.Polygon());
        const linear = new gdal.LinearRing();
        for (const { x, y } of ring) linear.points.add(x, y);
        polygons.at(-1)!.rings.add(linear);
      }
      count.polygons += polygons.length;
      count.invalid += polygons.filter((polygon) => !polygon.isValid()).length;
    }
  }
  return count;
}

mkdirSync(FOLDER, { recursive: true });
const programs = { before: compileBase(), after: compile(resolve('src/native'), 'polygon_rate') };
type Contender = keyof typeof programs;
const CONTENDERS: Contender[] = ['before', 'after'];
const db = new Database(WORLD_MAP, { readonly: true });
const inputs = TABLES.flatMap((table) =>
  ZOOMS.map((zoom) => ({ name: `${table}, zoom ${zoom}`, path: writeInput(db, table, zoom) })),
);
db.close();

const counts: Record<Contender, Count> = {
  before: { polygons: 0, invalid: 0 },
  after: { polygons: 0, invalid: 0 },
};
for (const { path } of inputs) {
  for (const who of CONTENDERS) {
    const tiles = join(FOLDER, 'tiles.bin');
    execFileSync(programs[who], [path, '0', tiles]);
    const { polygons, invalid } = countPolygons(tiles);
    counts[who].polygons += polygons;
    counts[who].invalid += invalid;
  }
}

pin(CORE);
const ms = inputs.map(() => ({ before: [] as number[], after: [] as number[] }));
for (let round = 0; round <= rounds; round++) {
  for (const [i, { path }] of inputs.entries()) {
    for (const who of round % 2 ? CONTENDERS : [...CONTENDERS].reverse()) {
      const output = execFileSync(programs[who], [path, String(SLICE_MS)], { encoding: 'utf8' });
      // The first round warms up.
      if (round > 0) ms[i]![who].push((JSON.parse(output) as { leastNs: number }).leastNs / 1e6);
    }
  }
}
const total = (who: Contender, round: number) => ms.reduce((sum, one) => sum + one[who][round]!, 0);
const share = (i: number) => median(ms[i]!.after.map((value, round) => value / ms[i]!.before[round]!));

publish({
  bench: 'tile-clip',
  command: `./run bench tile-clip --base ${base}`,
  about: `Polygons that the clip box cuts, linked along it into simple rings: the encoder before that and after, from blobs in memory (EPSG:3857, no attributes) to tiles, simplified by 0.5 and with a buffer of ${BUFFER}. Countries and provinces of the demo, up to ${TILES} tiles of each zoom. Milliseconds of CPU for all tiles of a row, the least of the passes of a round: the encoder alone, without reading, projecting and compressing.`,
  figures: inputs.map(({ name }, i) => ({
    name,
    rounds: { 'before, ms': ms[i]!.before, 'after, ms': ms[i]!.after },
  })),
  ratios: [
    {
      what: 'CPU of all rows, before / after',
      rounds: Array.from({ length: rounds }, (_, round) => total('before', round) / total('after', round)),
      goal: 0.95,
    },
  ],
  notes: [
    `the dearest row costs ${((Math.max(...inputs.map((_, i) => share(i))) - 1) * 100).toFixed(1)} % more`,
    ...CONTENDERS.map(
      (who) =>
        `${who}: ${counts[who].polygons} polygons, of which GEOS finds ${counts[who].invalid} not valid`,
    ),
  ],
});
