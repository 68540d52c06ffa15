import type { ItemsTask } from '../src/core/features/features.js';
import { closeAll, statement } from '../src/workers/providers/geopackage/connection.js';
import { items } from '../src/workers/providers/geopackage/queries/items.js';
import { buildings } from './support/buildings.js';
import { type Cost, cost, pin } from './support/core.js';
import { option, publish } from './support/report.js';

/**
 * A page of 1,000 polygons as GeoJSON, file to bytes: the worker's own function against JSON.stringify of the same
 * features when they are JavaScript objects already, and against the whole way through JavaScript.
 */
const rounds = option('rounds', 15);
const passes = option('passes', 20);
const CORE = 1;
const LIMIT = 1000;
const ROWS = 200_000;
/** The second page: the first is the only one that skips nothing. */
const OFFSET = 1000;
const PRECISION = 7;

type Position = [x: number, y: number];

interface Feature {
  type: 'Feature';
  id: number;
  geometry: { type: 'Polygon'; coordinates: Position[][] };
  properties: Record<string, string | number>;
}

interface Row {
  fid: number;
  geom: Buffer;
  name: string;
  kind: string;
  levels: number;
  height: number;
}

const source = buildings(ROWS, 4326);
const task: ItemsTask = {
  filter: undefined,
  format: 'geojson',
  source,
  limit: LIMIT,
  offset: OFFSET,
  crs: 'OGC:CRS84',
  swapAxes: false,
  precision: PRECISION,
};

const native = () => items(task).features;

const round = (value: number) => Math.round(value * 10 ** PRECISION) / 10 ** PRECISION;

/** Reads a little-endian GeoPackage polygon: what a JavaScript server does with every geometry. */
function polygon(blob: Buffer): Position[][] {
  const bytes = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  const envelope = [0, 32, 48, 48, 64][(bytes.getUint8(3) >> 1) & 7]!;
  let at = 8 + envelope + 5;
  const rings: Position[][] = new Array(bytes.getUint32(at, true));
  at += 4;
  for (let r = 0; r < rings.length; r++) {
    const ring: Position[] = new Array(bytes.getUint32(at, true));
    at += 4;
    for (let i = 0; i < ring.length; i++, at += 16) {
      ring[i] = [round(bytes.getFloat64(at, true)), round(bytes.getFloat64(at + 8, true))];
    }
    rings[r] = ring;
  }
  return rings;
}

const PAGE = 'SELECT fid, geom, name, kind, levels, height FROM buildings ORDER BY fid LIMIT ? OFFSET ?';

function readFeatures(): Feature[] {
  const rows = statement(source.path, PAGE).all(LIMIT, OFFSET) as Row[];
  return rows.map(({ fid, geom, ...properties }) => ({
    type: 'Feature',
    id: fid,
    geometry: { type: 'Polygon', coordinates: polygon(geom) },
    properties,
  }));
}

const javascript = () => Buffer.from(JSON.stringify(readFeatures()));

/** Throws unless both hold the same features, coordinates within 1e-7. */
function assertEqual(ours: unknown, theirs: unknown, path: string): void {
  if (typeof ours === 'number' && typeof theirs === 'number' && Math.abs(ours - theirs) <= 1e-7) return;
  if (ours === theirs) return;
  if (typeof ours !== 'object' || typeof theirs !== 'object' || !ours || !theirs) {
    throw new Error(`${path}: ${String(ours)} is not ${String(theirs)}`);
  }
  const keys = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  for (const key of keys) {
    const [a, b] = [ours, theirs].map((value) => (value as Record<string, unknown>)[key]);
    assertEqual(a, b, `${path}/${key}`);
  }
}

const parsed = JSON.parse(`[${Buffer.from(native()).toString()}]`) as Feature[];
if (parsed.length !== LIMIT) throw new Error(`the page has ${parsed.length} features`);
assertEqual(parsed, JSON.parse(javascript().toString()), '');
const bytes = native().length;
const vertices = parsed.reduce((sum, { geometry }) => sum + geometry.coordinates.flat().length, 0);

pin(CORE);
const contenders: Record<string, () => unknown> = {
  items: native,
  'JSON.stringify alone': () => JSON.stringify(parsed),
  'JavaScript: rows, WKB, JSON.stringify': javascript,
};
const samples: Record<string, Cost[]> = {};
for (let n = 0; n <= rounds; n++) {
  for (const [name, work] of Object.entries(contenders)) {
    const sample = cost(passes, work);
    samples[name] ??= [];
    // The first round warms up.
    if (n > 0) samples[name].push(sample);
  }
}
closeAll();

const names = Object.keys(contenders);
const ratio = (name: string) => samples[name]!.map((sample, i) => sample.cpuMs / samples.items![i]!.cpuMs);
publish({
  bench: 'geojson',
  command: `./run bench geojson --rounds ${rounds} --passes ${passes}`,
  about: `A page of ${LIMIT} features (${vertices} positions, 4 attributes, ${bytes} bytes) of ${ROWS} SYNTHETIC building polygons in EPSG:4326, ${PRECISION} decimal places, offset ${OFFSET}; one core. Before anything is timed the answers are parsed and compared: equal, coordinates within 1e-7. "JSON.stringify alone" starts from finished objects and ends with a string, so it neither reads nor encodes; the other two go from file to bytes.`,
  figures: names.map((name) => ({
    name,
    rounds: {
      'CPU ms/page': samples[name]!.map(({ cpuMs }) => cpuMs),
      'wall ms/page': samples[name]!.map(({ wallMs }) => wallMs),
      'features per CPU-s': samples[name]!.map(({ cpuMs }) => (LIMIT * 1e3) / cpuMs),
    },
  })),
  ratios: [
    { what: 'CPU, whole JavaScript path / items', rounds: ratio(names[2]!), goal: 4 },
    { what: 'CPU, JSON.stringify alone / items', rounds: ratio(names[1]!) },
  ],
});
