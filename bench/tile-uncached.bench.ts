import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { Box } from '../src/core/geometry/box.js';
import type { VectorTileTask } from '../src/core/tasks/vector-tasks.js';
import { closeAll, reader, statement } from '../src/workers/providers/geopackage/connection.js';
import { tileLayer } from '../src/workers/providers/geopackage/tile.js';
import { buildings, TILE_SIDE, tilesInside, ZOOM } from './support/buildings.js';
import { type Cost, cost, pin } from './support/core.js';
import { median, option, publish } from './support/report.js';

/**
 * Vector tiles that no cache holds: the worker's own function, file to bytes, on one core, against the floor: what the
 * rtree and a scan of the same rows cost, plus the bare arithmetic of their vertices. Then the same tiles out of tables
 * of three sizes.
 */
const rounds = option('rounds', 9);
const passes = option('passes', 4);
const CORE = 1;
const EXTENT = 4096;
const BUFFER = 64;
const ENCODE_RATE = '.cache/bench/encode-rate';
const VERTICES = '.cache/bench/vertices.bin';

type Source = ReturnType<typeof buildings>;

const taskOf = (source: Source, bbox: Box): VectorTileTask => ({
  layers: [{ filter: undefined, name: 'buildings', source }],
  crs: 'EPSG:3857',
  bbox,
  extent: EXTENT,
  buffer: BUFFER,
  simplify: 0,
  encoding: 'identity',
});

/** The window of a tile as the rtree is asked for it: maxx, minx, maxy, miny, the clip buffer included. */
function windowOf([minx, miny, maxx, maxy]: Box): number[] {
  const margin = (TILE_SIDE / EXTENT) * BUFFER;
  return [maxx + margin, minx - margin, maxy + margin, miny - margin];
}

const ROWS = `FROM rtree_buildings_geom r JOIN buildings t ON t.fid = r.id
  WHERE r.minx <= ? AND r.maxx >= ? AND r.miny <= ? AND r.maxy >= ?`;
const SCAN = `SELECT sum(length(t.geom)), sum(length(t.name)), sum(length(t.kind)), sum(t.levels), sum(t.height), count(*) ${ROWS}`;

/** Head, envelope and counts before the positions of a polygon of one ring. */
const BLOB_HEAD = 53;

function vertices(source: Source, bbox: Box): Buffer {
  const blobs = reader(source.path)
    .prepare(`SELECT t.geom ${ROWS}`)
    .pluck()
    .all(...windowOf(bbox)) as Buffer[];
  return Buffer.concat(blobs.map((blob) => blob.subarray(BLOB_HEAD)));
}

function encodeRate(bbox: Box): { nsPerVertex: number; bytesPerVertex: number } {
  const values = [EXTENT / TILE_SIDE, bbox[0], bbox[3], 100].map(String);
  return JSON.parse(execFileSync(ENCODE_RATE, [VERTICES, ...values], { encoding: 'utf8' }));
}

function perTile(tiles: readonly Box[], work: (bbox: Box) => void): Cost {
  return cost(
    passes * tiles.length,
    (() => {
      let next = 0;
      return () => work(tiles[next++ % tiles.length]!);
    })(),
  );
}

mkdirSync('.cache/bench', { recursive: true });
execFileSync('g++', ['-std=c++17', '-O3', '-o', ENCODE_RATE, 'src/native/bench/encode_rate.cpp']);

const encode = (task: VectorTileTask) => tileLayer(task, task.layers[0]!);

const ROW_COUNTS = [20_000, 200_000, 1_000_000];
const sources = ROW_COUNTS.map((rows) => buildings(rows));
pin(CORE);
const source = sources[1]!;
const tiles = tilesInside(ROW_COUNTS[1]!, 16);
writeFileSync(VERTICES, Buffer.concat(tiles.map((bbox) => vertices(source, bbox))));
const vertexCount = tiles.reduce((sum, bbox) => sum + vertices(source, bbox).length / 16, 0) / tiles.length;
const results = tiles.map((bbox) => encode(taskOf(source, bbox)));
const features = results.reduce((sum, tile) => sum + tile.features, 0) / tiles.length;
const bytes = results.reduce((sum, tile) => sum + tile.tile.length, 0) / tiles.length;

const samples = { tile: [] as Cost[], scan: [] as Cost[], rate: [] as number[] };
for (let round = 0; round <= rounds; round++) {
  const tile = perTile(tiles, (bbox) => encode(taskOf(source, bbox)));
  const scan = perTile(tiles, (bbox) => statement(source.path, SCAN).get(...windowOf(bbox)));
  const rate = encodeRate(tiles[0]!).nsPerVertex;
  // The first round warms up.
  if (round === 0) continue;
  samples.tile.push(tile);
  samples.scan.push(scan);
  samples.rate.push(rate);
}

interface Series {
  rows: number;
  zoom: number;
  source: Source;
  tiles: Box[];
  /** Mean per tile. */
  features: number;
  costs: Cost[];
}

/** As many tiles of every table, so that caches have the same to do; deeper tiles are the corner of those of ZOOM. */
function series(rows: number, zoom: number): Series {
  const source = sources[ROW_COUNTS.indexOf(rows)]!;
  const side = TILE_SIDE / 2 ** (zoom - ZOOM);
  const tiles = tilesInside(rows, 4).map(([minx, miny]): Box => [minx, miny, minx + side, miny + side]);
  const total = tiles.reduce((sum, bbox) => sum + encode(taskOf(source, bbox)).features, 0);
  return { rows, zoom, source, tiles, features: total / tiles.length, costs: [] };
}

const tables = ROW_COUNTS.map((rows) => series(rows, ZOOM));
const zooms = [ZOOM + 1, ZOOM + 2].map((zoom) => series(ROW_COUNTS.at(-1)!, zoom));
for (let round = 0; round <= rounds; round++) {
  for (const one of [...tables, ...zooms]) {
    const sample = perTile(one.tiles, (bbox) => encode(taskOf(one.source, bbox)));
    if (round > 0) one.costs.push(sample);
  }
}
const perFeature = (one: Series) => one.costs.map(({ cpuMs }) => (cpuMs * 1e3) / one.features);
const seriesNotes = [...tables, ...zooms].map((one) => {
  const [ms, us] = [median(one.costs.map(({ cpuMs }) => cpuMs)), median(perFeature(one))];
  return `${one.rows} rows, zoom ${one.zoom}: ${Math.round(one.features)} features in a tile, ${ms.toFixed(2)} ms CPU, **${us.toFixed(2)} us per feature**`;
});
closeAll();

const arithmetic = samples.rate.map((ns) => (ns * vertexCount) / 1e6);
const floor = samples.scan.map((scan, i) => scan.cpuMs + arithmetic[i]!);
publish({
  bench: 'tile-uncached',
  command: `./run bench tile-uncached --rounds ${rounds} --passes ${passes}`,
  about: `${tiles.length} different tiles (zoom 14) of 200,000 SYNTHETIC building polygons, EPSG:3857, 4 attributes; mean ${Math.round(features)} features, ${Math.round(vertexCount)} vertices, ${Math.round(bytes)} bytes uncompressed; no cache but SQLite's and the file system's; one core. The tile is the worker's own function; the floor is the same rtree window with an aggregate over every column, plus affine, round, delta, zigzag and varint of the same vertices in a bare C++ loop (-O3).`,
  figures: [
    {
      name: 'tile',
      rounds: {
        'CPU ms/tile': samples.tile.map((s) => s.cpuMs),
        'wall ms/tile': samples.tile.map((s) => s.wallMs),
      },
    },
    {
      name: 'floor: rtree and row scan',
      rounds: {
        'CPU ms/tile': samples.scan.map((s) => s.cpuMs),
        'wall ms/tile': samples.scan.map((s) => s.wallMs),
      },
    },
    {
      name: 'floor: vertices in a bare loop',
      rounds: { 'CPU ms/tile': arithmetic, 'wall ms/tile': arithmetic },
    },
    {
      name: 'floor',
      rounds: { 'CPU ms/tile': floor, 'wall ms/tile': samples.scan.map((s, i) => s.wallMs + arithmetic[i]!) },
    },
  ],
  ratios: [
    { what: 'CPU, floor / tile', rounds: samples.tile.map((s, i) => floor[i]! / s.cpuMs), goal: 0.4 },
    {
      what: 'CPU per feature, table of 20,000 rows / of 1,000,000 rows (1: the size of the table costs nothing)',
      rounds: perFeature(tables[0]!).map((us, i) => us / perFeature(tables[2]!)[i]!),
    },
  ],
  notes: [
    `bare loop: ${(1e3 / median(samples.rate)).toFixed(0)} M vertices/s; tile: ${((median(samples.tile.map((s) => s.cpuMs)) * 1e3) / features).toFixed(3)} us per feature`,
    ...seriesNotes,
  ],
});
