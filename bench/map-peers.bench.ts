import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { pin } from './support/core.js';
import { cpuSeconds } from './support/load.js';
import { type MapPeer, mapServer, qgisServer } from './support/map-peers.js';
import { treeCpuMs } from './support/peers.js';
import { option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';

/**
 * Maps of the demo's states and provinces: this server and others over HTTP, and Mapnik alone in one process with the
 * layer in memory. Servers on core 0, clients on core 1; CPU is that of all processes of a server.
 */
const rounds = option('rounds', 7);
const MAPS = 40;
const SIDE = 512;
const CLIENTS = 2;
/** Times that each draws all maps before it is measured: servers run for days, and V8 compiles what is asked for often. */
const warmUp = option('warm-up', 60);
const GEOPACKAGE = 'demo/data/world_map.gpkg';
const TABLE = 'states_provinces';
const [FILL, LINE] = ['#88aadd', '#333333'];

type Box = [number, number, number, number];

pin(1);
const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const shapefile = join(folder, 'layer.shp');
const geojson = join(folder, 'layer.json');
for (const [driver, file] of [
  ['ESRI Shapefile', shapefile],
  ['GeoJSON', geojson],
] as const) {
  const made = spawnSync('ogr2ogr', ['-f', driver, file, GEOPACKAGE, TABLE, '-nlt', 'PROMOTE_TO_MULTI']);
  if (made.status !== 0) throw new Error(`ogr2ogr: ${made.stderr}`);
}
spawnSync('shptree', [shapefile]);

const graticule = await startGraticule([GEOPACKAGE], { port: 18_191, cores: '0' });
const layerId = await styledLayer(graticule.origin);
/** Above the gateway: with it all processes of the server are counted. */
const supervisor = Number(readFileSync(`/proc/${graticule.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[1]);
const layer = { table: TABLE, fill: FILL, line: LINE };
const peers: MapPeer[] = [
  await mapServer(
    'MapServer, shapefile',
    { ...layer, path: shapefile },
    { port: 18_192, core: 0, shapefile: true },
  ),
  await mapServer(
    'MapServer, GeoPackage',
    { ...layer, path: GEOPACKAGE },
    { port: 18_193, core: 0, shapefile: false },
  ),
  await qgisServer({ ...layer, path: GEOPACKAGE }, { port: 18_194, core: 0 }),
];
const mapnik = fork('bench/support/mapnik-loop.mjs', [geojson, FILL, LINE], {
  execPath: '/usr/bin/env',
  execArgv: ['taskset', '-c', '0', process.execPath],
});
await once(mapnik, 'message');

/** Gives the layer its style; returns the collection's number. */
async function styledLayer(origin: string): Promise<number> {
  const { collections } = (await (await fetch(`${origin}/ogc/tiles/collections?f=json`)).json()) as {
    collections: { id: string; name: string }[];
  };
  const id = Number(collections.find(({ name }) => name === TABLE)!.id);
  const mapLibreStyle = {
    version: 8,
    sources: {},
    layers: [
      { id: 'fill', type: 'fill', paint: { 'fill-color': FILL } },
      {
        id: 'line',
        type: 'line',
        layout: { 'line-cap': 'round', 'line-join': 'round' },
        paint: { 'line-color': LINE, 'line-width': 1 },
      },
    ],
  };
  const put = await fetch(`${origin}/api/v1/admin/metadata/layers/${id}/style`, {
    method: 'PUT',
    headers: { 'x-api-key': 'bench-bench-bench-bench', 'content-type': 'application/json' },
    body: JSON.stringify({ mapLibreStyle }),
  });
  if (!put.ok) throw new Error(`style: ${put.status} ${await put.text()}`);
  return id;
}

const ours = (box: Box) =>
  `${graticule.origin}/ogc/maps/collections/${layerId}/map?bbox=${box.join(',')}&width=${SIDE}&height=${SIDE}&f=png&transparent=true`;

/** Square windows over land, 4 to 40 degrees wide: the same in each run. */
function windows(count: number): Box[] {
  let seed = 11;
  const random = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
  return Array.from({ length: count }, (): Box => {
    const span = 4 * 10 ** random();
    const [x, y] =
      random() < 0.5
        ? [-10 + random() * 50, 25 + random() * 30]
        : [-110 + random() * 60, -25 + random() * 60];
    return [x, y, x + span, y + span];
  });
}
const boxes = windows(MAPS);

/** Fetches all maps, a few at a time; returns the seconds that it took. */
async function fetchAll(url: (box: Box) => string): Promise<number> {
  const started = performance.now();
  const left = [...boxes];
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let box = left.pop(); box; box = left.pop()) {
        const response = await fetch(url(box));
        const bytes = await response.arrayBuffer();
        if (!response.ok || !response.headers.get('content-type')?.startsWith('image/png'))
          throw new Error(`${url(box)}: ${response.status} ${Buffer.from(bytes).toString('utf8', 0, 300)}`);
      }
    }),
  );
  return (performance.now() - started) / 1000;
}

interface Spent {
  cpuMs: number;
  perSecond: number;
}

async function overHttp(url: (box: Box) => string, cpuMs: () => number): Promise<Spent> {
  const before = cpuMs();
  const seconds = await fetchAll(url);
  return { cpuMs: (cpuMs() - before) / MAPS, perSecond: MAPS / seconds };
}

async function loop(child: ChildProcess): Promise<Spent> {
  const started = performance.now();
  child.send({ boxes, side: SIDE });
  const [{ cpuMs }] = (await once(child, 'message')) as [{ cpuMs: number }];
  return { cpuMs: cpuMs / MAPS, perSecond: (MAPS * 1000) / (performance.now() - started) };
}

/** Share of pixels that are filled on one map and empty on the other: the maps have to show the same. */
async function difference(a: string, b: string): Promise<number> {
  const alpha = async (url: string) =>
    sharp(Buffer.from(await (await fetch(url)).arrayBuffer()))
      .ensureAlpha()
      .extractChannel(3)
      .raw()
      .toBuffer();
  const [first, second] = await Promise.all([alpha(a), alpha(b)]);
  let count = 0;
  for (let i = 0; i < first.length; i++) if (first[i]! > 128 !== second[i]! > 128) count++;
  return count / first.length;
}

const differences = new Map<string, number>();
for (const peer of peers) {
  const each = await Promise.all(boxes.slice(0, 8).map((box) => difference(ours(box), peer.url(box, SIDE))));
  differences.set(peer.name, Math.max(...each));
  if (Math.max(...each) > 0.02) {
    writeFileSync(
      '/tmp/graticule-map-ours.png',
      Buffer.from(await (await fetch(ours(boxes[0]!))).arrayBuffer()),
    );
    throw new Error(`${peer.name} draws something else: ${each.map((share) => share.toFixed(4)).join(' ')}`);
  }
}

const contenders: Record<string, () => Promise<Spent>> = {
  graticule: () => overHttp(ours, () => treeCpuMs(supervisor)),
  'Mapnik alone, in memory': () => loop(mapnik),
  ...Object.fromEntries(
    peers.map((peer) => [
      peer.name,
      () =>
        overHttp(
          (box) => peer.url(box, SIDE),
          () => peer.pids.reduce((sum, pid) => sum + cpuSeconds(pid) * 1000, 0),
        ),
    ]),
  ),
};
const samples: Record<string, Spent[]> = Object.fromEntries(
  Object.keys(contenders).map((name) => [name, []]),
);
for (const run of Object.values(contenders)) for (let i = 0; i < warmUp; i++) await run();
for (let round = 0; round < rounds; round++) {
  for (const [name, run] of Object.entries(contenders)) samples[name]!.push(await run());
}
await graticule.stop();
for (const peer of peers) await peer.stop();
mapnik.kill();
rmSync(folder, { recursive: true, force: true });

const ratio = (peer: string) => samples[peer]!.map(({ cpuMs }, i) => cpuMs / samples['graticule']![i]!.cpuMs);
publish({
  bench: 'map-peers',
  command: `./run bench map-peers --rounds ${rounds} --warm-up ${warmUp}`,
  about: `${MAPS} different PNG maps of ${SIDE} x ${SIDE} pixels, windows of 4 to 40 degrees, of the ${TABLE} of the demo (4,556 multipolygons, filled and outlined), EPSG:4326, no cache; ${CLIENTS} clients. Ours reads the GeoPackage; FastCGI servers stand behind nginx; Mapnik alone has the features in memory and writes the same PNG. CPU of all processes of a server per map.`,
  figures: Object.keys(contenders).map((name) => ({
    name,
    rounds: {
      'CPU ms/map': samples[name]!.map(({ cpuMs }) => cpuMs),
      'maps/s': samples[name]!.map(({ perSecond }) => perSecond),
    },
  })),
  ratios: [
    { what: 'CPU per map, Mapnik alone / graticule', rounds: ratio('Mapnik alone, in memory'), goal: 0.9 },
    { what: 'CPU per map, MapServer with a shapefile / graticule', rounds: ratio('MapServer, shapefile') },
    {
      what: 'CPU per map, MapServer with the GeoPackage / graticule',
      rounds: ratio('MapServer, GeoPackage'),
      goal: 1.5,
    },
    { what: 'CPU per map, QGIS Server / graticule', rounds: ratio('QGIS Server'), goal: 10 },
  ],
  notes: [...differences].map(
    ([name, share]) => `most pixels that ${name} fills otherwise, of 8 maps: ${(100 * share).toFixed(2)} %`,
  ),
});
