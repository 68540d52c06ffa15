import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildings } from './support/buildings.js';
import { load, type Sample } from './support/load.js';
import { option, publish } from './support/report.js';
import { startGraticule, startScript } from './support/server.js';

/**
 * Single features out of a GeoPackage, 1,000 different ones, against a bare
 * uWebSockets.js handler that sends the same bytes and headers from a map. An answer is read from the file once, and given
 * again after a look at the file's data version, which each request takes.
 */
const rounds = option('rounds', 7);
const seconds = option('seconds', 3);
const SERVER_CORE = 0;
const LOAD_CORE = 1;
const ITEMS = 1000;
const ROWS = 200_000;
const VARIABLE = new Set([
  'date',
  'content-length',
  'connection',
  'keep-alive',
  'server-timing',
  'uwebsockets',
]);

const { path } = buildings(ROWS, 4326);
const graticule = await startGraticule([path], { port: 18_081, cores: String(SERVER_CORE) });
const { collections } = (await (await fetch(`${graticule.origin}/ogc/features/collections`)).json()) as {
  collections: { id: string }[];
};
const paths = Array.from(
  { length: ITEMS },
  (_, i) => `/ogc/features/collections/${collections[0]!.id}/items/${1 + i * (ROWS / ITEMS)}`,
);
const answers = [];
for (const item of paths) {
  const response = await fetch(graticule.origin + item, { headers: { 'accept-encoding': 'identity' } });
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !VARIABLE.has(name)));
  const body = Buffer.from(await response.arrayBuffer()).toString('base64');
  if (response.status !== 200) throw new Error(`${item}: ${response.status}`);
  answers.push({ path: item, body, headers });
}
const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
writeFileSync(join(folder, 'answers.json'), JSON.stringify(answers));
const raw = await startScript('bench/support/raw-uws.mjs', [join(folder, 'answers.json')], {
  port: 18_082,
  core: SERVER_CORE,
});

const contenders = { graticule, 'raw uWebSockets.js': raw };
const samples: Record<string, Sample[]> = { graticule: [], 'raw uWebSockets.js': [] };
for (let round = 0; round <= rounds; round++) {
  for (const [name, server] of Object.entries(contenders)) {
    const sample = await load({ ...server, paths, seconds, connections: 32, core: LOAD_CORE });
    if (sample.errors > 0) throw new Error(`${name}: ${sample.errors} errors`);
    if (round > 0) samples[name]!.push(sample);
  }
}
await graticule.stop();
await raw.stop();
rmSync(folder, { recursive: true });

const by = (key: 'requestsPerSecond' | 'cpuMicrosPerRequest', invert: boolean) =>
  samples['graticule']!.map((sample, i) => {
    const other = samples['raw uWebSockets.js']![i]!;
    return invert ? other[key] / sample[key] : sample[key] / other[key];
  });
publish({
  bench: 'item',
  command: `./run bench item --rounds ${rounds} --seconds ${seconds}`,
  about: `${ITEMS} features (synthetic buildings) of a GeoPackage, shuffled, 32 connections; server with all its threads on core ${SERVER_CORE}, wrk on core ${LOAD_CORE}.`,
  figures: Object.entries(samples).map(([name, list]) => ({
    name,
    rounds: {
      'requests/s': list.map((sample) => sample.requestsPerSecond),
      'CPU us/request': list.map((sample) => sample.cpuMicrosPerRequest),
      'p50 ms': list.map((sample) => sample.p50Ms),
      'p99 ms': list.map((sample) => sample.p99Ms),
    },
  })),
  ratios: [
    {
      what: 'requests per second, graticule / raw handler',
      rounds: by('requestsPerSecond', false),
      goal: 0.5,
    },
    { what: 'CPU per request, raw handler / graticule', rounds: by('cpuMicrosPerRequest', true) },
  ],
});
