import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildings } from './support/buildings.js';
import { load, type Sample } from './support/load.js';
import { option, publish } from './support/report.js';
import { startGraticule, startScript } from './support/server.js';

/**
 * Pages of 2,000 polygons by GeoServices queries, against the same pages of OGC API Features and, where it is installed
 * (bench/peers/install.sh), against Koop over the same features as GeoJSON.
 */
const rounds = option('rounds', 5);
const seconds = option('seconds', 4);
const SERVER_CORE = 0;
const LOAD_CORE = 1;
const ROWS = 4000;
const PAGE = 2000;
const KOOP = '.cache/peers/koop';

const { path } = buildings(ROWS, 4326);
const graticule = await startGraticule([path], { port: 18_091, cores: String(SERVER_CORE) });
const home = (await (await fetch(`${graticule.origin}/?f=json`)).json()) as {
  collections: { id: string; layerId: number }[];
};
const [{ id, layerId }] = home.collections as [{ id: string; layerId: number }];

interface Page {
  features: unknown[];
  links: { rel: string; href: string }[];
}

/** Pages of OGC API Features lead to one another by links. */
async function itemPages(): Promise<{ paths: string[]; features: unknown[] }> {
  const paths: string[] = [];
  const features: unknown[] = [];
  let next: string | undefined = `/ogc/features/collections/${id}/items?f=json&limit=${PAGE}`;
  while (next) {
    paths.push(next);
    const page = (await (await fetch(graticule.origin + next)).json()) as Page;
    features.push(...page.features);
    next = page.links.find(({ rel }) => rel === 'next')?.href.replace(/^https?:\/\/[^/]+/, '');
  }
  return { paths, features };
}

const items = await itemPages();
const pages = Array.from({ length: ROWS / PAGE }, (_, i) => i * PAGE);
const query = (layer: string, format: string) =>
  pages.map(
    (offset) =>
      `${layer}/query?where=1%3D1&outFields=*&outSR=4326&f=${format}&resultOffset=${offset}&resultRecordCount=${PAGE}`,
  );
const layer = `/rest/services/default/FeatureServer/${layerId}`;
const OGC = 'OGC items, GeoJSON';
const JSON_QUERY = 'query, f=json';
const PBF_QUERY = 'query, f=pbf';
const KOOP_QUERY = 'Koop query, f=json';
const contenders: Record<string, { origin: string; pid: number; paths: string[] }> = {
  [OGC]: {
    ...graticule,
    paths: items.paths,
  },
  [JSON_QUERY]: { ...graticule, paths: query(layer, 'json') },
  [PBF_QUERY]: { ...graticule, paths: query(layer, 'pbf') },
};

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const koop = existsSync(KOOP) ? await startKoop() : undefined;
if (koop)
  contenders[KOOP_QUERY] = {
    ...koop,
    paths: query('/file-geojson/rest/services/buildings/FeatureServer/0', 'json'),
  };
else console.error('Koop is not installed: bench/peers/install.sh');

async function startKoop() {
  const collection = { type: 'FeatureCollection', features: items.features };
  writeFileSync(join(folder, 'buildings.geojson'), JSON.stringify(collection));
  return startScript('bench/support/koop.mjs', [folder, KOOP], { port: 18_092, core: SERVER_CORE });
}

const bytes: Record<string, number> = {};
for (const [name, { origin, paths }] of Object.entries(contenders)) {
  const response = await fetch(origin + paths[0]!, { headers: { 'accept-encoding': 'identity' } });
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200 || body.subarray(0, 9).toString() === '{"error":')
    throw new Error(`${name}: ${response.status} ${body.subarray(0, 200)}`);
  bytes[name] = body.byteLength;
}

const samples: Record<string, Sample[]> = Object.fromEntries(
  Object.keys(contenders).map((name) => [name, []]),
);
for (let round = 0; round <= rounds; round++)
  for (const [name, server] of Object.entries(contenders)) {
    const sample = await load({ ...server, seconds, connections: 4, core: LOAD_CORE });
    if (sample.errors > 0) throw new Error(`${name}: ${sample.errors} errors`);
    if (round > 0) samples[name]!.push(sample);
  }
await graticule.stop();
await koop?.stop();
rmSync(folder, { recursive: true });

const cpu = (name: string, other: string) =>
  samples[name]!.map((sample, i) => sample.cpuMicrosPerRequest / samples[other]![i]!.cpuMicrosPerRequest);
publish({
  bench: 'geoservices',
  command: `./run bench geoservices --rounds ${rounds} --seconds ${seconds}`,
  about: `Pages of ${PAGE} of ${ROWS} synthetic buildings of a GeoPackage, all attributes, EPSG:4326, without compression, 4 connections; server with all its threads on core ${SERVER_CORE}, wrk on core ${LOAD_CORE}. Koop reads the same features from GeoJSON.`,
  figures: Object.entries(samples).map(([name, list]) => ({
    name,
    rounds: {
      'requests/s': list.map((sample) => sample.requestsPerSecond),
      'CPU us/request': list.map((sample) => sample.cpuMicrosPerRequest),
      'bytes/answer': list.map(() => bytes[name]!),
    },
  })),
  ratios: [
    { what: 'CPU per page, OGC items / f=pbf', rounds: cpu(OGC, PBF_QUERY), goal: 1 },
    { what: 'CPU per page, OGC items / f=json', rounds: cpu(OGC, JSON_QUERY), goal: 1 / 1.3 },
    ...(koop ? [{ what: 'CPU per page, Koop / f=json', rounds: cpu(KOOP_QUERY, JSON_QUERY), goal: 10 }] : []),
  ],
  notes: ['Against Koop: it is one thread of JavaScript, and reads a file of GeoJSON.'],
});
