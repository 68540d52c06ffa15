import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import gdal from 'gdal-async';
import sharp from 'sharp';
import { pin } from './support/core.js';
import { EPSG, imagery, ORIGIN, PIXEL } from './support/imagery.js';
import { median, option, publish } from './support/report.js';
import { startGraticule, startScript } from './support/server.js';
import { costOf, InProcess, type ServerCost } from './support/server-cost.js';
import { hasTitiler, startTitiler, TITILER } from './support/titiler.js';

/**
 * Image tiles of eight scenes that lie over each other, read over HTTP from this machine: our mosaic of a STAC API, and
 * TiTiler's of the same files as MosaicJSON. Servers on core 0, the client and the host of the files on core 1. The floor
 * is GDAL in one process, which reads the files from the disk and warps all scenes, but merges and encodes nothing.
 */
const rounds = option('rounds', 4);
/** Rounds before those that count: servers run for days, and V8 compiles what runs often. */
const warmUp = option('warm-up', 4);
const JOBS = option('jobs', 24);
const CLIENTS = 4;
const SCENES = 8;
/** Pixels of a scene's side, and those by which the next one is shifted. */
const SIDE = 6144;
const SHIFT = 128;
const ZOOM = 14;
const HALF_WORLD = 20037508.342789244;
const TILE_SPAN = (2 * HALF_WORLD) / 2 ** ZOOM;
/** Ours, and what it is called there. */
const MERGES = { first: 'first', mean: 'mean', median: 'median', highest: 'highest' } as const;
type MergeName = keyof typeof MERGES;
const NAMES = Object.keys(MERGES) as MergeName[];
const HOST = 8171;

type Tile = readonly [column: number, row: number];

interface Contender {
  name: string;
  run(merge: MergeName, tiles: readonly Tile[]): Promise<ServerCost>;
  stop(): void | Promise<void>;
}

interface Server extends Omit<Contender, 'run'> {
  pid: number;
  url(merge: MergeName, tile: Tile): string;
}

pin(1);
const source = await imagery(8192);
const folder = mkdtempSync(join(tmpdir(), 'graticule-stac-mosaic-'));
const hrefs = Array.from({ length: SCENES }, (_, i) => `http://127.0.0.1:${HOST}/scene-${i}.tif`);
for (let i = 0; i < SCENES; i++) makeScene(i);
writeItems();

/** Each scene is a little brighter than the one before: merges of them differ. Made once and kept. */
function makeScene(i: number): void {
  const path = resolve('.cache/bench', `stac-scene-1-${i}.tif`);
  if (!existsSync(path)) {
    const window = ['-srcwin', i * SHIFT, i * SHIFT, SIDE, SIDE].map(String);
    const values = ['-scale', '0', '255', String(4 * i), String(200 + 4 * i), '-a_nodata', 'none'];
    const form = ['-of', 'COG', '-co', 'COMPRESS=DEFLATE', '-co', 'PREDICTOR=YES'];
    execFileSync('gdal_translate', ['-q', ...window, ...values, ...form, source, `${path}.part`]);
    renameSync(`${path}.part`, path);
  }
  symlinkSync(path, join(folder, `scene-${i}.tif`));
}

function writeItems(): void {
  const toDegrees = new gdal.CoordinateTransformation(
    gdal.SpatialReference.fromEPSG(EPSG),
    gdal.SpatialReference.fromEPSGA(4326),
  );
  const features = hrefs.map((href, i) => {
    const [west, north] = [ORIGIN[0] + i * SHIFT * PIXEL, ORIGIN[1] - i * SHIFT * PIXEL];
    const corners = [0, 1].flatMap((x) =>
      [0, 1].map((y) => toDegrees.transformPoint(west + x * SIDE * PIXEL, north - y * SIDE * PIXEL)),
    );
    const [lats, lons] = [corners.map(({ x }) => x), corners.map(({ y }) => y)];
    return {
      ...{ type: 'Feature', stac_version: '1.0.0', id: `scene-${i}`, collection: 'scenes', links: [] },
      bbox: [Math.min(...lons), Math.min(...lats), Math.max(...lons), Math.max(...lats)],
      geometry: null,
      properties: { datetime: `2024-06-0${i + 1}T10:00:00Z` },
      assets: { data: { href } },
    };
  });
  writeFileSync(
    join(folder, 'items.json'),
    JSON.stringify({ type: 'FeatureCollection', features, links: [] }),
  );
}

/** Tiles that all scenes cover, in an order of their own. */
function tilesOfAll(): Tile[] {
  const toMercator = new gdal.CoordinateTransformation(
    gdal.SpatialReference.fromEPSG(EPSG),
    gdal.SpatialReference.fromEPSG(3857),
  );
  const at = (pixel: number) => {
    const { x, y } = toMercator.transformPoint(ORIGIN[0] + pixel * PIXEL, ORIGIN[1] - pixel * PIXEL);
    return [Math.floor((x + HALF_WORLD) / TILE_SPAN), Math.floor((HALF_WORLD - y) / TILE_SPAN)] as const;
  };
  const [[left, top], [right, bottom]] = [at(SCENES * SHIFT + 100), at(SIDE - 100)];
  const all = Array.from(
    { length: (right - left) * (bottom - top) },
    (_, i): Tile => [left + (i % (right - left)), top + Math.floor(i / (right - left))],
  );
  let seed = 7;
  const rank = new Map(
    all.map((tile) => [tile, (seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff)]),
  );
  return all.sort((a, b) => rank.get(a)! - rank.get(b)!);
}

async function graticule(port: number): Promise<Server> {
  const api = `stac+http://127.0.0.1:${HOST}/?collections=scenes&asset=data&crs=EPSG:${EPSG}`;
  const server = await startGraticule(
    NAMES.map((merge) => `${api}&merge=${merge}&name=${merge}`),
    { port, cores: '0', env: { SVC_REMOTE__ALLOW: '127.0.0.1' } },
  );
  const { collections } = (await (await fetch(`${server.origin}/ogc/tiles/collections`)).json()) as {
    collections: { id: string; title: string }[];
  };
  const ids = new Map(collections.map(({ id, title }) => [title.toLowerCase(), id]));
  const stat = readFileSync(`/proc/${server.pid}/stat`, 'utf8');
  return {
    name: 'graticule',
    // The supervisor above the gateway: with it all processes of the server are counted.
    pid: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]),
    url: (merge, [column, row]) =>
      `${server.origin}/ogc/tiles/collections/${ids.get(merge)}/tiles/WebMercatorQuad/${ZOOM}/${row}/${column}?f=png`,
    stop: server.stop,
  };
}

async function titiler(port: number): Promise<Server | undefined> {
  if (!hasTitiler()) return undefined;
  const list = join(folder, 'list.txt');
  const mosaic = join(folder, 'mosaic.json');
  writeFileSync(list, hrefs.join('\n'));
  execFileSync(join(TITILER, 'cogeo-mosaic'), ['create', list, '-q', '--quadkey-zoom', '9', '-o', mosaic]);
  const server = await startTitiler(port, {
    ...{ GDAL_HTTP_MERGE_CONSECUTIVE_RANGES: 'YES', VSI_CACHE_SIZE: '5000000' },
    CPL_VSIL_CURL_ALLOWED_EXTENSIONS: '.tif',
  });
  const { origin, pid, stop } = server!;
  const method = `url=${encodeURIComponent(mosaic)}&resampling=bilinear&reproject=bilinear`;
  return {
    name: 'TiTiler',
    pid,
    url: (merge, [column, row]) =>
      `${origin}/mosaicjson/tiles/WebMercatorQuad/${ZOOM}/${column}/${row}.png?${method}&pixel_selection=${MERGES[merge]}`,
    stop,
  };
}

/** Asks for all tiles once, several at a time. */
const ask = ({ pid, url }: Server, merge: MergeName, tiles: readonly Tile[]): Promise<ServerCost> =>
  costOf(
    pid,
    tiles.map((tile) => url(merge, tile)),
    CLIENTS,
  );

async function floor(): Promise<Contender> {
  const paths = hrefs.map((_, i) => join(folder, `scene-${i}.tif`));
  const gdalAlone = await new InProcess('bench/support/mosaic-floor.mjs', paths).start();
  return {
    name: 'GDAL alone',
    run: (_, tiles) => gdalAlone.run(tiles.map(boxOf), tiles.length),
    stop: () => gdalAlone.stop(),
  };
}

function boxOf([column, row]: Tile): readonly number[] {
  const [minx, maxy] = [column * TILE_SPAN - HALF_WORLD, HALF_WORLD - row * TILE_SPAN];
  return [minx, maxy - TILE_SPAN, minx + TILE_SPAN, maxy];
}

/** Mean difference of a tile of both; throws when they are not alike. */
async function compared(merge: MergeName, tile: Tile, pair: readonly Server[]): Promise<number> {
  const [left, right] = await Promise.all(
    pair.map(async ({ url }) => {
      const bytes = await (await fetch(url(merge, tile))).arrayBuffer();
      return sharp(new Uint8Array(bytes)).removeAlpha().toColourspace('srgb').raw().toBuffer();
    }),
  );
  if (left!.length !== right!.length)
    throw new Error(`${merge}: ${left!.length} and ${right!.length} samples`);
  if (new Set(left!).size < 8) throw new Error(`${merge}: the tile is empty`);
  const mean = left!.reduce((sum, value, at) => sum + Math.abs(value - right![at]!), 0) / left!.length;
  if (mean > 3) throw new Error(`${merge}: values differ by ${mean} in the mean`);
  return mean;
}

const host = await startScript('bench/support/stac-files.mjs', [folder], { port: HOST, core: 1 });
const stops: (() => void | Promise<void>)[] = [
  () => host.stop(),
  () => rmSync(folder, { recursive: true, force: true }),
];
try {
  const ours = await graticule(8172);
  stops.push(ours.stop);
  const peer = await titiler(8173);
  if (peer) stops.push(peer.stop);
  const least = await floor();
  stops.push(least.stop);
  const servers = (peer ? [ours, peer] : [ours]).map((server) => ({
    name: server.name,
    run: (merge: MergeName, jobs: readonly Tile[]) => ask(server, merge, jobs),
  }));
  const [first, ...tiles] = tilesOfAll();
  const differences: string[] = [];
  if (peer)
    for (const merge of NAMES)
      differences.push(`${merge} ${(await compared(merge, first!, [ours, peer])).toFixed(3)}`);
  const samples = new Map<string, ServerCost[]>();
  if (tiles.length < (warmUp + rounds) * NAMES.length * JOBS)
    throw new Error(`There are ${tiles.length} tiles.`);
  for (let round = -warmUp; round < rounds; round++) {
    for (const merge of NAMES) {
      // Other tiles for each merge: none has its pixels in memory from another.
      const jobs = tiles.splice(0, JOBS);
      // One scene may be enough for the first value: the floor is that of the others.
      const contenders = merge === 'first' ? servers : [least, ...servers];
      for (const one of round % 2 ? contenders : contenders.toReversed()) {
        const spent = await one.run(merge, jobs);
        const name = `${merge}: ${one.name}`;
        if (round >= 0) samples.set(name, [...(samples.get(name) ?? []), spent]);
      }
    }
  }
  report(samples, differences);
} finally {
  for (const stop of stops.toReversed()) await stop();
}

function report(samples: Map<string, ServerCost[]>, differences: readonly string[]): void {
  const rows = [...samples].map(([name, spent]) => ({
    name,
    rounds: {
      'CPU ms': spent.map(({ cpuMs }) => cpuMs),
      'requests/s': spent.map(({ perSecond }) => perSecond),
    },
  }));
  const ratio = (merge: MergeName, above: string, below: string) => {
    const [upper, lower] = [above, below].map((name) => samples.get(`${merge}: ${name}`));
    if (!upper || !lower) return [];
    return [
      {
        what: `CPU, ${above} / ${below}, ${merge}`,
        rounds: upper.map(({ cpuMs }, i) => cpuMs / lower[i]!.cpuMs),
        ...(below === 'graticule' ? { goal: 5 } : {}),
      },
    ];
  };
  const ratios = NAMES.flatMap((merge) => [
    ...ratio(merge, 'TiTiler', 'graticule'),
    ...ratio(merge, 'graticule', 'GDAL alone'),
    ...ratio(merge, 'TiTiler', 'GDAL alone'),
  ]);
  publish({
    bench: 'stac-mosaic',
    command: `./run bench stac-mosaic --rounds ${rounds} --warm-up ${warmUp} --jobs ${JOBS}`,
    about:
      `Tiles of 256 x 256 as PNG, ${JOBS} in a round, ${CLIENTS} clients, none asked for twice, each covered by all of ${SCENES} scenes ` +
      `(SYNTHETIC imagery, COGs of ${SIDE} x ${SIDE} pixels, three bands, UTM, DEFLATE) on a host of this machine. TiTiler has the scenes as ` +
      `MosaicJSON, two workers and the settings that its documentation advises. CPU of all processes of a server. GDAL alone reads the files from the disk, in one process, and warps all scenes; it merges and encodes nothing. ` +
      `Mean differences of a tile from TiTiler's: ${differences.join(', ')}.`,
    figures: rows,
    ratios,
    data: { medians: rows.map(({ name, rounds: of }) => [name, median(of['CPU ms'])]) },
  });
}
