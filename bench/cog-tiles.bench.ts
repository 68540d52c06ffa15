import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import gdal from 'gdal-async';
import sharp from 'sharp';
import { type CogKind, cogOf } from './support/cogs.js';
import { pin } from './support/core.js';
import { EPSG, ORIGIN, PIXEL } from './support/imagery.js';
import { parentOf, treeCpuMs } from './support/peers.js';
import { median, option, publish, textOption } from './support/report.js';
import { answers, childrenTitled, startGraticule } from './support/server.js';
import { fetchAll } from './support/server-cost.js';
import { hasTitiler, startTitiler, TITILER } from './support/titiler.js';

/**
 * What a tile of a COG takes, step by step, against the least that GDAL takes for it in one process, and against other
 * servers. Screens of 20 tiles, none asked for twice; servers on core 0, clients on core 1.
 */
const rounds = option('rounds', 5);
/** Rounds before those that count: servers run for days, and V8 compiles what runs often. */
const warmUp = option('warm-up', 5);
const SIDE = option('side', 16_384);
const CLIENTS = 4;
const COLUMNS = 5;
const ROWS = 4;
const HALF_WORLD = 20037508.342789244;
/** tileserver-rs is in no registry: the path of a binary that was built from its repository. */
const TILESERVER_RS = process.env['TILESERVER_RS'];

interface Case {
  kind: CogKind;
  zoom: number;
  format: 'png' | 'webp';
}

const CASES: readonly Case[] = [
  { kind: 'UTM, DEFLATE', zoom: 13, format: 'png' },
  { kind: 'UTM, DEFLATE', zoom: 12, format: 'png' },
  { kind: 'UTM, DEFLATE', zoom: 13, format: 'webp' },
  { kind: 'UTM, JPEG', zoom: 13, format: 'png' },
  { kind: 'UTM, floats', zoom: 13, format: 'png' },
  { kind: 'EPSG:3857, DEFLATE', zoom: 13, format: 'png' },
  { kind: 'EPSG:3857, DEFLATE', zoom: 12, format: 'png' },
  { kind: 'EPSG:3857, JPEG', zoom: 13, format: 'webp' },
];
const only = textOption('only');
const cases = CASES.filter((one) => !only || labelOf(one).includes(only));

function labelOf({ kind, zoom, format }: Case): string {
  return `${kind}, zoom ${zoom}, ${format === 'png' ? 'PNG' : 'WebP'}`;
}

type Box = readonly [number, number, number, number];
interface Screen {
  column: number;
  row: number;
}

interface Spent {
  cpuMs: number;
  bytes: number;
  parts: Record<string, number>;
}

interface Contender {
  name: string;
  run(one: Case, screens: readonly Screen[]): Promise<Spent>;
  stop(): Promise<void> | void;
}

pin(1);
const files = new Map<CogKind, string>();
for (const { kind } of cases) if (!files.has(kind)) files.set(kind, await cogOf(kind, SIDE));

const [utm, mercator] = [EPSG, 3857].map((code) => gdal.SpatialReference.fromEPSG(code));
const toMercator = new gdal.CoordinateTransformation(utm!, mercator!);
const toUtm = new gdal.CoordinateTransformation(mercator!, utm!);
const spanOf = (zoom: number) => (2 * HALF_WORLD) / 2 ** zoom;

/** Screens side by side well inside of the raster, in an order that is the same in every run. */
function screensOf(zoom: number): Screen[] {
  const span = spanOf(zoom);
  const reach = SIDE * PIXEL;
  const corner = (x: number, y: number) => {
    const place = toMercator.transformPoint(ORIGIN[0] + x * reach, ORIGIN[1] - y * reach);
    return [Math.floor((place.x + HALF_WORLD) / span), Math.floor((HALF_WORLD - place.y) / span)] as const;
  };
  const [west, north] = corner(0.05, 0.05);
  const [east, south] = corner(0.95, 0.95);
  const screens: Screen[] = [];
  for (let row = north + 1; row + ROWS < south; row += ROWS)
    for (let column = west + 1; column + COLUMNS < east; column += COLUMNS) screens.push({ column, row });
  let seed = 11;
  for (let i = screens.length - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    const j = seed % (i + 1);
    [screens[i], screens[j]] = [screens[j]!, screens[i]!];
  }
  return screens;
}

function boxOf(zoom: number, { column, row }: Screen): Box {
  const span = spanOf(zoom);
  const [minx, maxy] = [column * span - HALF_WORLD, HALF_WORLD - row * span];
  return [minx, maxy - ROWS * span, minx + COLUMNS * span, maxy];
}

function utmBox([minx, miny, maxx, maxy]: Box): Box {
  const corners = [minx, maxx].flatMap((x) => [miny, maxy].map((y) => toUtm.transformPoint(x, y)));
  const [xs, ys] = [corners.map(({ x }) => x), corners.map(({ y }) => y)];
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

const native = resolve('dist/native/index.js');

function floorOf(path: string): ChildProcess {
  return fork('bench/support/cog-floor.mjs', [path, native], { execArgv: [] });
}

async function floor(): Promise<Contender> {
  const children = new Map<CogKind, ChildProcess>();
  for (const [kind, path] of files) {
    const child = floorOf(path);
    await once(child, 'message');
    pin(0, child.pid);
    children.set(kind, child);
  }
  return {
    name: 'floor',
    async run({ kind, zoom, format }, screens) {
      const child = children.get(kind)!;
      const tasks = screens.map((screen) => {
        const box = boxOf(zoom, screen);
        const isUtm = kind.startsWith('UTM');
        const sourceBox = isUtm ? utmBox(box) : box;
        const pixel = isUtm ? PIXEL : pixelOf(kind);
        const shrink = (sourceBox[2] - sourceBox[0]) / pixel / (COLUMNS * 256);
        return { box, ...(isUtm ? { sourceBox } : {}), columns: COLUMNS, rows: ROWS, shrink, format };
      });
      child.send(tasks);
      const [{ cpuMs, bytes, steps }] = await once(child, 'message');
      const tiles = screens.length * COLUMNS * ROWS;
      const parts = Object.fromEntries(
        Object.entries(steps as Record<string, number>).map(([name, ms]) => [name, ms / tiles]),
      );
      return { cpuMs: cpuMs / tiles, bytes: bytes / tiles, parts };
    },
    stop: () => {
      for (const child of children.values()) child.kill();
    },
  };
}

function pixelOf(kind: CogKind): number {
  const dataset = gdal.open(files.get(kind)!);
  const [, pixel] = dataset.geoTransform!;
  dataset.close();
  return pixel!;
}

interface Server {
  name: string;
  /** The root of its processes. */
  pid: number;
  url(one: Case, column: number, row: number): string;
  /** Names processes of which the time is told apart. */
  parts?: Readonly<Record<string, number>>;
  stop(): Promise<void> | void;
}

/** Asks for all tiles once, several at a time. */
function contender(server: Server): Contender {
  return {
    name: server.name,
    async run(one, screens) {
      const urls = screens.flatMap(({ column, row }) =>
        Array.from({ length: COLUMNS * ROWS }, (_, i) =>
          server.url(one, column + (i % COLUMNS), row + Math.floor(i / COLUMNS)),
        ),
      );
      const parts = Object.entries(server.parts ?? {});
      const before = [server.pid, ...parts.map(([, pid]) => pid)].map(treeCpuMs);
      const tiles = urls.length;
      const bytes = await fetchAll(urls, CLIENTS);
      const after = [server.pid, ...parts.map(([, pid]) => pid)].map(treeCpuMs);
      const [cpuMs, ...rest] = after.map((ms, i) => (ms - before[i]!) / tiles);
      const split = Object.fromEntries(parts.map(([name], i) => [name, rest[i]!]));
      return { cpuMs: cpuMs!, bytes: bytes / tiles, parts: split };
    },
    stop: server.stop,
  };
}

async function graticule(port: number): Promise<Server> {
  const server = await startGraticule([...files.values()], { port, cores: '0' });
  const root = `${server.origin}/ogc/tiles/collections`;
  const { collections } = (await (await fetch(root)).json()) as {
    collections: { id: number | string; title?: string }[];
  };
  const words = (text: string) => text.toLowerCase().replace(/\W+/g, ' ');
  const ids = new Map(collections.map(({ id, title }) => [words(title ?? ''), id]));
  const supervisor = parentOf(server.pid);
  return {
    name: 'graticule',
    pid: supervisor,
    parts: { gateway: server.pid, engine: childrenTitled(supervisor, 'graticule: engine')[0]! },
    url({ kind, zoom, format }, column, row) {
      const id = ids.get(words(basename(files.get(kind)!, '.tif')));
      const look = kind === 'UTM, floats' ? '&rescale=0,1000&colormap=gray' : '';
      return `${root}/${id}/tiles/WebMercatorQuad/${zoom}/${row}/${column}?f=${format}${look}`;
    },
    stop: server.stop,
  };
}

async function titiler(port: number): Promise<Server | undefined> {
  const server = await startTitiler(port);
  if (!server) return undefined;
  const { origin, pid, stop } = server;
  return {
    name: 'TiTiler',
    pid,
    url({ kind, zoom, format }, column, row) {
      const method = `resampling=bilinear&reproject=bilinear${kind === 'UTM, floats' ? '&rescale=0,1000' : ''}`;
      const url = `url=${encodeURIComponent(files.get(kind)!)}`;
      return `${origin}/cog/tiles/WebMercatorQuad/${zoom}/${column}/${row}.${format}?${url}&${method}`;
    },
    stop,
  };
}

const sourceName = (kind: CogKind) => kind.replace(/\W+/g, '-').toLowerCase();

/** It serves PNG only, and warps with GDAL's bilinear kernel from the full resolution, whatever it is told. */
async function tileserverRs(port: number): Promise<Server | undefined> {
  if (!TILESERVER_RS) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
  const sources = [...files].map(
    ([kind, path]) =>
      `[[sources]]\nid = "${sourceName(kind)}"\ntype = "cog"\npath = "${path}"\nresampling = "bilinear"\n`,
  );
  const config = join(folder, 'config.toml');
  writeFileSync(config, `[server]\nhost = "127.0.0.1"\nport = ${port}\n\n${sources.join('\n')}`);
  const child = spawn('taskset', ['-c', '0', TILESERVER_RS, '--config', config], { stdio: 'ignore' });
  const origin = `http://127.0.0.1:${port}`;
  await answers(`${origin}/health`, child);
  return {
    name: 'tileserver-rs',
    pid: child.pid!,
    url: ({ kind, zoom }, column, row) => `${origin}/data/${sourceName(kind)}/${zoom}/${column}/${row}.png`,
    stop: () => {
      child.kill('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function versions(): string {
  const all = [`GDAL ${gdal.version}`, `sharp ${sharp.versions['sharp']}, libvips ${sharp.versions['vips']}`];
  if (hasTitiler()) {
    const list = execFileSync(join(TITILER, 'pip'), ['list', '--format', 'json'], {
      encoding: 'utf8',
    });
    for (const { name, version } of JSON.parse(list) as { name: string; version: string }[])
      if (['titiler.application', 'titiler-application', 'rasterio', 'rio-tiler'].includes(name))
        all.push(`${name} ${version}`);
  } else all.push('TiTiler is not there (bench/peers/install.sh)');
  all.push(
    TILESERVER_RS
      ? execFileSync(TILESERVER_RS, ['--version'], { encoding: 'utf8' }).trim()
      : 'tileserver-rs is not there (TILESERVER_RS names its binary)',
  );
  return all.join('; ');
}

const servers = [await graticule(8171), await titiler(8172), await tileserverRs(8173)];
const contenders = [await floor(), ...servers.flatMap((server) => (server ? [contender(server)] : []))];
const PNG_ONLY = 'tileserver-rs';

const samples = new Map<string, Spent[]>();
const next = new Map<number, number>();
const screens = new Map([12, 13].map((zoom) => [zoom, screensOf(zoom)]));
for (let round = -warmUp; round < rounds; round++) {
  for (const one of cases) {
    const label = labelOf(one);
    const all = screens.get(one.zoom)!;
    // Each case has a collection or a zoom of its own, or another format: the same screens are new to it.
    const at = next.get(one.zoom) ?? 0;
    const chosen = [all[at % all.length]!, all[(at + 1) % all.length]!];
    for (const { name, run } of contenders) {
      if (name === PNG_ONLY && one.format !== 'png') continue;
      const spent = await run(one, chosen);
      if (round >= 0) samples.set(`${label}: ${name}`, [...(samples.get(`${label}: ${name}`) ?? []), spent]);
    }
  }
  for (const zoom of screens.keys()) next.set(zoom, (next.get(zoom) ?? 0) + 2);
}
for (const { stop } of contenders) await stop();

const cpu = (name: string) => samples.get(name)!.map(({ cpuMs }) => cpuMs);
const ratio = (above: string, below: string) => cpu(above).map((value, i) => value / cpu(below)[i]!);
const partsOf = (name: string) => {
  const spent = samples.get(name)!;
  return Object.keys(spent[0]!.parts)
    .map((part) => `${part} ${median(spent.map(({ parts }) => parts[part]!)).toFixed(2)}`)
    .join(', ');
};
publish({
  bench: 'cog-tiles',
  command: `./run bench cog-tiles --rounds ${rounds} --warm-up ${warmUp}`,
  about: `Two screens of ${COLUMNS} x ${ROWS} tiles of 256 pixels a round and case, bilinear, of SYNTHETIC imagery in COGs of ${SIDE} x ${SIDE} pixels (${PIXEL} m, UTM; zoom 12 reads the first overview) and what GDAL makes of them in EPSG:3857 on the grid of the tiles; none asked for twice, ${CLIENTS} clients, milliseconds of CPU a tile of all processes. The floor is GDAL in one process and thread without HTTP: blocks decoded once, one warp of the screen (or a copy of the pixels), our encoder. ${versions()}.`,
  figures: [...samples.keys()].map((name) => ({
    name,
    rounds: { 'CPU ms': cpu(name), bytes: samples.get(name)!.map(({ bytes }) => bytes) },
  })),
  ratios: cases.flatMap((one) => {
    const label = labelOf(one);
    const peers = ['TiTiler', PNG_ONLY].filter((name) => samples.has(`${label}: ${name}`));
    return [
      {
        what: `CPU, graticule / floor, ${label}`,
        rounds: ratio(`${label}: graticule`, `${label}: floor`),
        most: 1.3,
      },
      ...peers.map((name) => ({
        what: `CPU, ${name} / graticule, ${label}`,
        rounds: ratio(`${label}: ${name}`, `${label}: graticule`),
        ...(name === 'TiTiler' ? { goal: 8 } : {}),
      })),
    ];
  }),
  notes: cases.flatMap((one) =>
    ['floor', 'graticule'].map((name) => `${labelOf(one)}, ${name}: ${partsOf(`${labelOf(one)}: ${name}`)}`),
  ),
});
process.exit(0);
