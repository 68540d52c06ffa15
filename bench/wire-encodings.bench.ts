import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gunzipSync, gzip } from 'node:zlib';
import { compressBytes } from '../src/native/index.js';
import { buildings } from './support/buildings.js';
import { pin } from './support/core.js';
import { median, option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';

/**
 * Bytes and processor time of the content codings at all their levels, of bodies as the server makes them. A level is worth
 * what it takes while a further millisecond saves what a line of 100 Mbit/s carries in that time.
 */
const rounds = option('rounds', 3);
/** Of a coding at a level in a round, at least. */
const MIN_CPU_MS = option('cpu', 25);
const KB_PER_MS = 12.5;
const CORE = 1;

const graticule = await startGraticule(['demo/data', buildings(100_000).path], { port: 18_093, cores: '0' });
const collections = (
  (await (await fetch(`${graticule.origin}/?f=json`)).json()) as {
    collections: { id: string; layerId: number }[];
  }
).collections;

async function body(path: string): Promise<Uint8Array> {
  const response = await fetch(graticule.origin + path, { headers: { 'accept-encoding': 'identity' } });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The largest script of the pages, as the build wrote it. */
function script(): Uint8Array {
  const folder = 'dist/public';
  const names = readdirSync(folder).filter((name) => name.endsWith('.js.gz'));
  const sizes = names.map((name) => statSync(join(folder, name)).size);
  const name = names[sizes.indexOf(Math.max(...sizes))]!;
  return gunzipSync(readFileSync(join(folder, name)));
}

const STATES = 'states_provinces';
const idOf = (name: string) => collections.find(({ id }) => id.includes(name))!;
const [states, houses] = [idOf(STATES), idOf('buildings')];
const items = (id: string, format: string, limit: number) =>
  `/ogc/features/collections/${id}/items?f=${format}&limit=${limit}`;
const tile = (id: string, address: string, format: string) =>
  `/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/${address}?f=${format}`;
const query = `/rest/services/default/FeatureServer/${houses.layerId}/query?where=1%3D1&outFields=*&resultRecordCount=1000`;
const BODIES: Record<string, Uint8Array> = {
  'items, GeoJSON, 1,000 buildings': await body(items(houses.id, 'json', 1000)),
  'items, GeoJSON, 1,000 states': await body(items(states.id, 'json', 1000)),
  'items, GeoJSON, 2,000 buildings': await body(items(houses.id, 'json', 2000)),
  'items, CSV, 1,000 buildings': await body(items(houses.id, 'csv', 1000)),
  'items, GML, 1,000 buildings': await body(items(houses.id, 'gml', 1000)),
  'query, JSON, 1,000 buildings': await body(`${query}&f=json`),
  'query, pbf, 1,000 buildings': await body(`${query}&f=pbf`),
  'tile, MVT, buildings': await body(tile(houses.id, '14/5701/8602', 'mvt')),
  'tile, MLT, buildings': await body(tile(houses.id, '14/5701/8602', 'mlt')),
  'tile, MVT, states': await body(tile(states.id, '4/5/8', 'mvt')),
  'tile set, JSON': await body(`/ogc/tiles/collections/${houses.id}/tiles/WebMercatorQuad?f=json`),
  'interface document, JSON': await body('/ogc/features/api?f=json'),
  'page, HTML': await body(`/ogc/features/collections/${states.id}?f=html`),
  'script of pages': script(),
  'glyphs, 256': await body('/ogc/maps/fonts/Noto%20Sans%20Regular/0-255.pbf'),
};
await graticule.stop();

const zlibGzip = promisify(gzip);
const brotli = promisify(brotliCompress);
interface Way {
  coding: string;
  level: number;
  compress(data: Uint8Array): Promise<Uint8Array>;
}
const span = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const WAYS: Way[] = [
  ...span(1, 9).map((level) => ({
    ...{ coding: 'gzip, zlib', level },
    compress: (data: Uint8Array) => zlibGzip(data, { level }),
  })),
  ...span(1, 12).map((level) => ({
    ...{ coding: 'gzip, libdeflate', level },
    compress: (data: Uint8Array) => compressBytes(data, 'gzip', level),
  })),
  ...span(0, 11).map((level) => ({
    ...{ coding: 'br', level },
    compress: (data: Uint8Array) => brotli(data, { params: brotliParams(level, data.length) }),
  })),
  ...[-5, -3, -1, ...span(1, 19)].map((level) => ({
    ...{ coding: 'zstd', level },
    compress: (data: Uint8Array) => compressBytes(data, 'zstd', level),
  })),
  ...[1, 3, 6, 9, 12].map((level) => ({
    ...{ coding: 'zstd, window of 8 MiB', level },
    compress: (data: Uint8Array) => compressBytes(data, 'zstd', level, 23),
  })),
];

function brotliParams(level: number, size: number) {
  return { [constants.BROTLI_PARAM_QUALITY]: level, [constants.BROTLI_PARAM_SIZE_HINT]: size };
}

async function cpuMs(way: Way, data: Uint8Array): Promise<number> {
  const cpu = process.cpuUsage();
  for (let times = 1; ; times++) {
    await way.compress(data);
    const { user, system } = process.cpuUsage(cpu);
    if (user + system >= 1e3 * MIN_CPU_MS) return (user + system) / 1e3 / times;
  }
}

interface Sample {
  kind: string;
  coding: string;
  level: number;
  KB: number;
  cpuMs: number;
  rounds: number[];
  /** Until a client has all of it by a line of 100 Mbit/s. */
  ms: number;
}

pin(CORE);
const samples: Sample[] = [];
for (const [kind, data] of Object.entries(BODIES)) {
  for (const way of WAYS) {
    const KB = (await way.compress(data)).length / 1e3;
    const costs: number[] = [];
    for (let round = 0; round < rounds; round++) costs.push(await cpuMs(way, data));
    const ms = median(costs);
    const { coding, level } = way;
    samples.push({ kind, coding, level, KB, cpuMs: ms, rounds: costs, ms: ms + KB / KB_PER_MS });
  }
  console.error(kind);
}

const CODINGS = [...new Set(WAYS.map(({ coding }) => coding))];
const best = (kind: string, coding: string) =>
  samples.filter((one) => one.kind === kind && one.coding === coding).reduce((a, b) => (b.ms < a.ms ? b : a));
const figures = Object.entries(BODIES).flatMap(([kind, data]) =>
  CODINGS.map((coding) => {
    const { level, KB, cpuMs: cpu, ms } = best(kind, coding);
    const plain = data.length / 1e3;
    const rows = {
      level,
      'plain, KB': plain,
      KB,
      'CPU ms': cpu,
      'ms at 100 Mbit/s': ms,
      'plain, ms': plain / KB_PER_MS,
    };
    return {
      name: `${kind}: ${coding}`,
      rounds: Object.fromEntries(Object.entries(rows).map(([key, value]) => [key, [value]])),
    };
  }),
);
/** The mean of all kinds, by round. */
function against(coding: string, level: number): number[] {
  const of = (kind: string, name: string, at: number) =>
    samples.find((one) => one.kind === kind && one.coding === name && one.level === at)!;
  const kinds = Object.keys(BODIES);
  return Array.from({ length: rounds }, (_, r) => {
    const time = ({ rounds: costs, KB }: Sample) => costs[r]! + KB / KB_PER_MS;
    const ratios = kinds.map((kind) => time(of(kind, coding, level)) / time(of(kind, 'zstd', 1)));
    return ratios.reduce((sum, one) => sum + one, 0) / kinds.length;
  });
}

publish({
  bench: 'wire-encodings',
  command: `./run bench wire-encodings --rounds ${rounds}`,
  about: `Bodies as the server sends them, by every content coding: gzip by zlib (1 to 9) and libdeflate (1 to 12), brotli (0 to 11), zstd (-5 to 19, and with windows of 8 MiB). Shown is the level by which a client with a line of 100 Mbit/s has all of the body first: a further millisecond of CPU then saves less than the ${KB_PER_MS} KB that the line carries in it. All levels stand in wire-encodings.json. One core; buildings are SYNTHETIC, states are of Natural Earth.`,
  figures,
  ratios: [
    ['gzip, libdeflate', 1] as const,
    ['gzip, zlib', 1] as const,
    ['gzip, zlib', 4] as const,
    ['br', 1] as const,
    ['br', 4] as const,
  ].map(([coding, level]) => ({
    what: `ms at 100 Mbit/s, ${coding} ${level} / zstd 1, mean of all`,
    rounds: against(coding, level),
  })),
  data: samples,
});
