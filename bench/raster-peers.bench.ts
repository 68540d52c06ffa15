import gdal from 'gdal-async';
import { pin } from './support/core.js';
import { EPSG, imagery, ORIGIN, PIXEL } from './support/imagery.js';
import { parentOf } from './support/peers.js';
import { median, option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';
import { costOf, InProcess, type ServerCost } from './support/server-cost.js';
import { startTitiler } from './support/titiler.js';

/**
 * Windows of a large COG that no cache holds: this server and TiTiler over HTTP, and GDAL in one process without HTTP.
 * Servers on core 0, clients on core 1; CPU is that of all processes of a server. Tiles are in `cog-tiles`.
 */
const rounds = option('rounds', 5);
const SIDE = 16_384;
const JOBS = 48;
const CLIENTS = 4;
/** Times that servers do as many windows before they are measured: they run for days, and V8 compiles what runs often. */
const warmUp = option('warm-up', 5);
const HALF_WORLD = 20037508.342789244;
/** In Web Mercator; about 12 m at 51 degrees north, where the raster has 10 m. */
const WARP_PIXEL = (2 * HALF_WORLD) / 2 ** 13 / 256;

type Box = [number, number, number, number];
type Kind = 'crop' | 'warp';

interface Job {
  side: number;
  /** In Web Mercator. */
  box: Box;
  /** Columns and rows of the raster. */
  window: [number, number, number, number];
}

interface Contender {
  name: string;
  pid: number;
  url(kind: Kind, job: Job): string;
  stop(): void | Promise<void>;
}

pin(1);
const file = await imagery(SIDE);
const small = await imagery(4096);

const toMercator = new gdal.CoordinateTransformation(
  gdal.SpatialReference.fromEPSG(EPSG),
  gdal.SpatialReference.fromEPSG(3857),
);

/** Windows spread over the raster, the same in every run: no window twice, so that nothing comes out of a cache. */
function jobsOf(count: number, side: number, start: number, rasterSide = SIDE): Job[] {
  let seed = start;
  const random = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
  return Array.from({ length: count }, () => {
    // Away from the edges: every pixel has a value.
    const [left, top] = [0, 0].map(() => Math.floor((0.1 + random() * 0.6) * rasterSide));
    const { x, y } = toMercator.transformPoint(ORIGIN[0] + left! * PIXEL, ORIGIN[1] - top! * PIXEL);
    const reach = side * WARP_PIXEL;
    return { side, box: [x, y - reach, x + reach, y], window: [left!, top!, side, side] };
  });
}

const nativeBox = ({ window: [left, top, width, height] }: Job) =>
  [
    ORIGIN[0] + left * PIXEL,
    ORIGIN[1] - (top + height) * PIXEL,
    ORIGIN[0] + (left + width) * PIXEL,
    ORIGIN[1] - top * PIXEL,
  ] as Box;

async function graticule(path: string, port: number): Promise<Contender> {
  const server = await startGraticule([path], { port, cores: '0' });
  const list = (await (await fetch(`${server.origin}/ogc/coverages/collections`)).json()) as {
    collections: { id: string }[];
  };
  const coverage = `${server.origin}/ogc/coverages/collections/${list.collections[0]!.id}/coverage`;
  return {
    name: 'graticule',
    pid: parentOf(server.pid),
    url(kind, job) {
      if (kind === 'crop') return `${coverage}?bbox=${nativeBox(job)}&bbox-crs=EPSG:${EPSG}`;
      return `${coverage}?bbox=${job.box}&bbox-crs=EPSG:3857&crs=EPSG:3857&scale-size=${job.side},${job.side}`;
    },
    stop: server.stop,
  };
}

async function titiler(port: number): Promise<Contender | undefined> {
  const server = await startTitiler(port);
  if (!server) return undefined;
  const { origin, pid, stop } = server;
  const url = `url=${encodeURIComponent(file)}`;
  return {
    name: 'TiTiler',
    pid,
    url(kind, job) {
      const method = 'resampling=bilinear&reproject=bilinear';
      const size = `${job.side}x${job.side}.tif?${url}&${method}`;
      if (kind === 'crop')
        return `${origin}/cog/bbox/${nativeBox(job)}/${size}&coord_crs=epsg:${EPSG}&dst_crs=epsg:${EPSG}`;
      return `${origin}/cog/bbox/${job.box}/${size}&coord_crs=epsg:3857&dst_crs=epsg:3857`;
    },
    stop,
  };
}

/** Asks for all jobs once, several at a time. */
const ask = ({ pid, url }: Contender, kind: Kind, jobs: readonly Job[]): Promise<ServerCost> =>
  costOf(
    pid,
    jobs.map((job) => url(kind, job)),
    CLIENTS,
  );

/** Red, green and blue of an answer, as bytes. */
function colors(answer: ArrayBuffer): Uint8Array {
  const path = '/vsimem/compared.tif';
  gdal.vsimem.set(Buffer.from(answer), path);
  const dataset = gdal.open(path);
  const { x, y } = dataset.rasterSize;
  const bands = [1, 2, 3].map((band) => dataset.bands.get(band).pixels.read(0, 0, x, y) as Uint8Array);
  dataset.close();
  gdal.vsimem.release(path);
  return Buffer.concat(bands.map((band) => Buffer.from(band)));
}

/** Mean difference of two answers; throws when they are not of one size or not of one place. */
async function compared(kind: Kind, job: Job, a: Contender, b: Contender): Promise<number> {
  const [left, right] = await Promise.all(
    [a, b].map(async (one) => colors(await (await fetch(one.url(kind, job))).arrayBuffer())),
  );
  if (left!.length !== right!.length)
    throw new Error(`${kind}: ${left!.length} and ${right!.length} samples`);
  const sum = left!.reduce((total, value, at) => total + Math.abs(value - right![at]!), 0);
  const mean = sum / left!.length;
  if (mean > 2) throw new Error(`${kind}: values differ by ${mean} in the mean`);
  return mean;
}

const KINDS: readonly Kind[] = ['crop', 'warp'];
const SIZES = [256, 512, 1024, 2048];
const floor = await new InProcess('bench/support/gdal-windows.mjs', [file]).start();
const ours = await graticule(file, 8161);
const ofSmall = await graticule(small, 8162);
const peer = await titiler(8163);
const differences: string[] = [];
if (peer) {
  for (const kind of KINDS)
    differences.push(`${kind} ${(await compared(kind, jobsOf(1, 512, 3)[0]!, ours, peer)).toFixed(3)}`);
}

const samples = new Map<string, ServerCost[]>();
const keep = (name: string, round: number, spent: ServerCost) => {
  // The first round fills caches.
  if (round > 0) samples.set(name, [...(samples.get(name) ?? []), spent]);
};
let seed = 100;
for (let i = 0; i < warmUp; i++) {
  for (const kind of KINDS) {
    const jobs = jobsOf(JOBS, 512, 1000 + i);
    await ask(ours, kind, jobs);
    if (peer) await ask(peer, kind, jobs);
  }
}
for (let round = 0; round <= rounds; round++) {
  for (const kind of KINDS) {
    seed += 1;
    const jobs = jobsOf(JOBS, 512, seed);
    keep(`${kind} GDAL`, round, await floor.run({ kind, jobs }, jobs.length));
    keep(`${kind} graticule`, round, await ask(ours, kind, jobs));
    if (peer) keep(`${kind} TiTiler`, round, await ask(peer, kind, jobs));
  }
  for (const side of SIZES)
    keep(`side ${side}`, round, await ask(ours, 'warp', jobsOf(8, side, seed + side)));
  keep('source 4096', round, await ask(ofSmall, 'warp', jobsOf(JOBS / 2, 512, seed, 4096)));
  keep('source 16384', round, await ask(ours, 'warp', jobsOf(JOBS / 2, 512, seed + 5000)));
}
floor.stop();
await peer?.stop();
await ours.stop();
await ofSmall.stop();

const cpu = (name: string) => samples.get(name)!.map(({ cpuMs }) => cpuMs);
const LABELS: Readonly<Record<Kind, string>> = {
  crop: 'window of 512 x 512, as stored',
  warp: 'window of 512 x 512, reprojected',
};
const ratio = (above: string, below: string) => cpu(above).map((value, i) => value / cpu(below)[i]!);
publish({
  bench: 'raster-peers',
  command: `./run bench raster-peers --rounds ${rounds} --warm-up ${warmUp}`,
  about: `${JOBS} windows (COG, DEFLATE, bilinear) of SYNTHETIC imagery in a COG of ${SIDE} x ${SIDE} pixels, three bands, UTM; none asked for twice, ${CLIENTS} clients. GDAL is the same warp, written by its COG driver with DEFLATE level 1 and predictor, in one process, one at a time, without HTTP; we write the COG ourselves, smaller. TiTiler has two workers and the settings that its documentation advises; its GeoTIFF is not compressed. CPU of all processes of a server.${peer ? ` Mean differences from TiTiler's values: ${differences.join(', ')}.` : ''}`,
  figures: [...samples.keys()].map((name) => ({
    name: name.replace(/^(crop|warp)/, (kind) => `${LABELS[kind as Kind]}:`),
    rounds: { 'CPU ms': cpu(name), 'requests/s': samples.get(name)!.map(({ perSecond }) => perSecond) },
  })),
  ratios: [
    ...KINDS.flatMap((kind) => [
      {
        what: `CPU, GDAL in process / graticule, ${LABELS[kind]}`,
        rounds: ratio(`${kind} GDAL`, `${kind} graticule`),
        goal: 0.91,
      },
      ...(peer
        ? [
            {
              what: `CPU, TiTiler / graticule, ${LABELS[kind]}`,
              rounds: ratio(`${kind} TiTiler`, `${kind} graticule`),
              goal: 2,
            },
          ]
        : []),
    ]),
    {
      what: 'CPU per window, source of 4096 / of 16384 pixels a side (1: the size of the source costs nothing)',
      rounds: ratio('source 4096', 'source 16384'),
    },
  ],
  notes: SIZES.map(
    (side) =>
      `${side} x ${side} pixels: ${median(cpu(`side ${side}`)).toFixed(1)} ms CPU, **${((median(cpu(`side ${side}`)) * 1e6) / side ** 2).toFixed(0)} ns per pixel**`,
  ),
});
process.exit(0);
