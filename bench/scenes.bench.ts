import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Box } from '../src/core/geometry/box.js';
import { buildSceneTree, computeCellBox, type SceneNode } from '../src/core/scenes/scene-cells.js';
import type { GeoPackageSource } from '../src/core/sources/vector-source.js';
import { gzip } from '../src/native/index.js';
import { closeAll, reader, statement } from '../src/workers/providers/geopackage/connection.js';
import { encodeScene } from '../src/workers/providers/geopackage/scene-tile.js';
import { countSceneCells } from '../src/workers/scenes/scene-tile.js';
import { buildings } from './support/buildings.js';
import { type Cost, cost, pin } from './support/core.js';
import { median, option, publish } from './support/report.js';

/**
 * Tiles of a scene that no cache holds: the worker's own function, from the file to glb, on one core. Compared with
 * reading the same rows, and with py3dtiles, which converts solids of the same footprints to a tileset in a batch.
 */
const rounds = option('rounds', 7);
const ROWS = 200_000;
const TILE_FEATURES = 1000;
const TILES = 16;
const LEVEL = 18;
const GZIP_LEVEL = 1;
/** Buildings that py3dtiles converts in a round: it takes milliseconds for each. */
const PEER_BUILDINGS = 500;
const PEER = '.cache/peers/scenes/bin/py3dtiles';
const PEER_FOLDER = '.cache/bench/scenes';

const source = buildings(ROWS, 4326) as GeoPackageSource;
pin(1);

const common = { source, filter: undefined, shape: 'extrusion', height: { field: 'height' } } as const;
const leavesOf = (node: SceneNode): SceneNode[] =>
  node.children.length === 0 ? [node] : node.children.flatMap(leavesOf);

const planned: Cost[] = [];
let leaves: SceneNode[] = [];
let features = 0;
const plan = async () => {
  const cells = await countSceneCells({ ...common, level: LEVEL });
  features = cells.features;
  leaves = buildSceneTree(cells.cells, LEVEL, TILE_FEATURES).flatMap(leavesOf);
};
await plan();
// Large tiles, spread over the data.
const spread = leaves.filter((leaf) => leaf.features > TILE_FEATURES / 2);
const tiles = Array.from({ length: TILES }, (_, i) => spread[Math.floor((i * spread.length) / TILES)]!);
const windows = tiles.map((tile) => computeCellBox(tile));
const inTiles = tiles.reduce((sum, tile) => sum + tile.features, 0);

const encode = (window: Box) =>
  encodeScene({ ...common, fields: ['name', 'kind', 'levels', 'height'], window, encoding: 'identity' });

const SCAN = `SELECT sum(length(t.geom)), sum(length(t.name)), sum(length(t.kind)), sum(t.levels), sum(t.height)
  FROM rtree_buildings_geom r JOIN buildings t ON t.fid = r.id
  WHERE r.minx <= ? AND r.maxx >= ? AND r.miny <= ? AND r.maxy >= ?`;
const scan = ([minx, miny, maxx, maxy]: Box) => statement(source.path, SCAN).get(maxx, minx, maxy, miny);

const files = windows.map(encode);
const bytes = files.reduce((sum, file) => sum + file.length, 0);
const packed = files.reduce((sum, file) => sum + gzip(file, GZIP_LEVEL).length, 0);

/** Walls, roof and floor of each footprint as a MultiPolygon Z in WKB, a file for each building. */
function writeSolids(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const rows = reader(source.path)
    .prepare('SELECT geom, height FROM buildings LIMIT ?')
    .all(PEER_BUILDINGS) as { geom: Buffer; height: number }[];
  for (const [i, { geom, height }] of rows.entries())
    writeFileSync(join(folder, `${i}.wkb`), solidOf(geom, height));
}

/** Head, envelope, type, number of rings before the first ring of a polygon. */
const HEAD = 8 + 32 + 9;
const METRES = 111_320;

function solidOf(geom: Buffer, height: number): Buffer {
  const count = geom.readUInt32LE(HEAD);
  const ring = Array.from({ length: count }, (_, i) =>
    [0, 8].map((at) => geom.readDoubleLE(HEAD + 4 + i * 16 + at) * METRES),
  ) as [number, number][];
  const faces = [
    ring.map(([x, y]) => [x, y, height]),
    ring.map(([x, y]) => [x, y, 0]).toReversed(),
    ...ring.slice(1).map(([x, y], i) => {
      const [u, v] = ring[i]!;
      return [
        [u, v, 0],
        [x, y, 0],
        [x, y, height],
        [u, v, height],
        [u, v, 0],
      ];
    }),
  ];
  const parts = [wkbHead(1006, faces.length)];
  for (const face of faces) {
    parts.push(wkbHead(1003, 1), Buffer.alloc(4 + face.length * 24));
    const body = parts.at(-1)!;
    body.writeUInt32LE(face.length);
    for (const [i, value] of face.flat().entries()) body.writeDoubleLE(value, 4 + i * 8);
  }
  return Buffer.concat(parts);
}

function wkbHead(type: number, count: number): Buffer {
  const head = Buffer.alloc(9);
  head.writeUInt8(1);
  head.writeUInt32LE(type, 1);
  head.writeUInt32LE(count, 5);
  return head;
}

/** Processor time of py3dtiles for one building, without its start. */
function runPeer(folder: string): number {
  const output = join(PEER_FOLDER, 'output');
  rmSync(output, { recursive: true, force: true });
  const text = execFileSync(
    'bash',
    [
      '-c',
      `TIMEFORMAT='%U %S'; { time ${PEER} export -d ${folder} -s ${output} --spec-version 1.1 >/dev/null 2>&1; } 2>&1`,
    ],
    { encoding: 'utf8' },
  );
  const [user, system] = text.trim().split(/\s+/).slice(-2).map(Number);
  return (user! + system!) * 1e6;
}

const peer: number[] = [];
const hasPeer = existsSync(PEER);
const one = join(PEER_FOLDER, 'one');
const many = join(PEER_FOLDER, 'many');
if (hasPeer) {
  writeSolids(many);
  rmSync(one, { recursive: true, force: true });
  mkdirSync(one, { recursive: true });
  const [first] = readdirSync(many);
  writeFileSync(join(one, first!), readFileSync(join(many, first!)));
}

const samples = { tile: [] as number[], gzip: [] as number[], scan: [] as number[] };
for (let round = 0; round <= rounds; round++) {
  const tile = cost(1, () => windows.forEach((window) => void encode(window)));
  const compress = cost(1, () => files.forEach((file) => void gzip(file, GZIP_LEVEL)));
  const read = cost(4, () => windows.forEach((window) => void scan(window)));
  const begin = process.cpuUsage();
  const start = process.hrtime.bigint();
  await plan();
  const { user, system } = process.cpuUsage(begin);
  const reading = { cpuMs: (user + system) / 1e3, wallMs: Number(process.hrtime.bigint() - start) / 1e6 };
  const theirs = hasPeer ? (runPeer(many) - runPeer(one)) / (PEER_BUILDINGS - 1) : Number.NaN;
  // The first round warms up.
  if (round === 0) continue;
  const perBuilding = ({ cpuMs }: Cost) => (cpuMs * 1e3) / inTiles;
  samples.tile.push(perBuilding(tile));
  samples.gzip.push(perBuilding(compress));
  samples.scan.push(perBuilding(read));
  planned.push(reading);
  if (hasPeer) peer.push(theirs);
}
closeAll();

const withGzip = samples.tile.map((us, i) => us + samples.gzip[i]!);
publish({
  bench: 'scenes',
  command: `./run bench scenes --rounds ${rounds}`,
  about: `${TILES} tiles of ${ROWS} SYNTHETIC building polygons, EPSG:4326, ${Math.round(inTiles / TILES)} buildings each, extruded by an attribute, with 4 attributes and the id: ${Math.round(bytes / inTiles)} bytes per building, ${Math.round(packed / inTiles)} with gzip. Processor time of one core per building. The tree of the scene is computed from all ${features} buildings. py3dtiles 12.1.1 converts ${PEER_BUILDINGS} solids of the same footprints without attributes (\`export -d\`); its start is subtracted.`,
  figures: [
    { name: 'tile', rounds: { 'us per building': samples.tile } },
    { name: 'gzip of the tile', rounds: { 'us per building': samples.gzip } },
    { name: 'floor: index window and row scan', rounds: { 'us per building': samples.scan } },
    {
      name: 'tree of the scene',
      rounds: { 'us per building': planned.map(({ cpuMs }) => (cpuMs * 1e3) / features) },
    },
    ...(hasPeer ? [{ name: 'py3dtiles', rounds: { 'us per building': peer } }] : []),
  ],
  ratios: [
    ...(hasPeer
      ? [
          {
            what: 'py3dtiles / tile with gzip, CPU',
            rounds: peer.map((us, i) => us / withGzip[i]!),
            goal: 100,
          },
        ]
      : []),
    { what: 'tile with gzip, us per building', rounds: withGzip, most: 30 },
    { what: 'tile of 1,000 buildings without gzip, ms', rounds: samples.tile, most: 10 },
    { what: 'tile / floor, CPU', rounds: samples.tile.map((us, i) => us / samples.scan[i]!) },
  ],
  notes: [
    `The tree takes ${median(planned.map(({ wallMs }) => wallMs)).toFixed(0)} ms for ${features} buildings.`,
    ...(hasPeer ? [] : ['py3dtiles is missing: bench/peers/install.sh fetches it.']),
    `Size of the file: ${(statSync(source.path).size / 1e6).toFixed(0)} MB.`,
  ],
});
