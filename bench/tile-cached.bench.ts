import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load, type Sample } from './support/load.js';
import { startNginx } from './support/nginx.js';
import { option, publish } from './support/report.js';
import { startGraticule, startScript } from './support/server.js';

/**
 * Cached vector tiles: the gateway (routing, parameters, access, cache, metrics, one log line per request)
 * against a bare uWebSockets.js handler that sends the same bytes and headers from a map, and against nginx that sends
 * them from files.
 */
const rounds = option('rounds', 7);
const seconds = option('seconds', 3);
const SERVER_CORE = 0;
const LOAD_CORE = 1;
const HEADERS = { 'accept-encoding': 'gzip' };
/** Headers that differ from answer to answer are left out of the fixed answer's set, not counted against it. */
const VARIABLE = new Set(['date', 'content-length', 'connection', 'keep-alive']);

/** Tiles of the demo countries that hold something, zooms 2 to 5. */
async function tilePaths(origin: string): Promise<string[]> {
  const { collections } = (await (await fetch(`${origin}/ogc/tiles/collections?f=json`)).json()) as {
    collections: { id: string; name: string }[];
  };
  const id = collections.find((c) => c.name === 'countries')!.id;
  const paths: string[] = [];
  for (let zoom = 2; zoom <= 5; zoom++) {
    for (let row = 0; row < 2 ** zoom; row++) {
      for (let column = 0; column < 2 ** zoom; column++) {
        const path = `/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/${zoom}/${row}/${column}`;
        const { status } = await fetch(origin + path, { headers: HEADERS });
        if (status === 200) paths.push(path);
      }
    }
  }
  return paths;
}

async function record(origin: string, paths: readonly string[]) {
  const http = await import('node:http');
  const read = (path: string) =>
    new Promise<{ path: string; body: string; headers: Record<string, string> }>((resolve, reject) => {
      http.get(origin + path, { headers: HEADERS }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const headers = Object.entries(response.headers).filter(([name]) => !VARIABLE.has(name)) as [
            string,
            string,
          ][];
          resolve({
            path,
            body: Buffer.concat(chunks).toString('base64'),
            headers: Object.fromEntries(headers),
          });
        });
        response.on('error', reject);
      });
    });
  return Promise.all(paths.map(read));
}

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const graticule = await startGraticule(['demo/data'], { port: 18_081, cores: String(SERVER_CORE) });
const paths = await tilePaths(graticule.origin);
const answers = await record(graticule.origin, paths);
writeFileSync(join(folder, 'answers.json'), JSON.stringify(answers));
const raw = await startScript('bench/support/raw-uws.mjs', [join(folder, 'answers.json')], {
  port: 18_082,
  core: SERVER_CORE,
});

const bytes = answers.map((answer) => Buffer.from(answer.body, 'base64').length);
const nginx = await startNginx(answers, { port: 18_083, core: SERVER_CORE });
const contenders = { graticule, 'raw uWebSockets.js': raw, 'nginx, static files': nginx };
const samples: Record<string, Sample[]> = {
  graticule: [],
  'raw uWebSockets.js': [],
  'nginx, static files': [],
};
for (let round = 0; round <= rounds; round++) {
  for (const [name, server] of Object.entries(contenders)) {
    const sample = await load({
      ...server,
      paths,
      headers: HEADERS,
      seconds,
      connections: 32,
      core: LOAD_CORE,
    });
    if (sample.errors > 0) throw new Error(`${name}: ${sample.errors} errors`);
    // The first round warms both up.
    if (round > 0) samples[name]!.push(sample);
  }
}
await graticule.stop();
await raw.stop();
await nginx.stop();
rmSync(folder, { recursive: true });

const pick = (name: string, key: keyof Sample) => samples[name]!.map((sample) => sample[key]);
const by = (peer: string, key: keyof Sample, invert: boolean) =>
  samples['graticule']!.map((sample, i) => {
    const other = samples[peer]![i]!;
    return invert ? other[key] / sample[key] : sample[key] / other[key];
  });
publish({
  bench: 'tile-cached',
  command: `./run bench tile-cached --rounds ${rounds} --seconds ${seconds}`,
  about: `${paths.length} vector tiles of the demo countries (${Math.min(...bytes)} to ${Math.max(...bytes)} bytes gzipped, mean ${Math.round(bytes.reduce((a, b) => a + b, 0) / bytes.length)}), shuffled, 32 connections; server on core ${SERVER_CORE}, wrk on core ${LOAD_CORE}.`,
  figures: Object.keys(contenders).map((name) => ({
    name,
    rounds: {
      'requests/s': pick(name, 'requestsPerSecond'),
      'CPU us/request': pick(name, 'cpuMicrosPerRequest'),
      'p50 ms': pick(name, 'p50Ms'),
      'p99 ms': pick(name, 'p99Ms'),
    },
  })),
  ratios: [
    {
      what: 'requests per second, graticule / raw handler',
      rounds: by('raw uWebSockets.js', 'requestsPerSecond', false),
      goal: 0.8,
    },
    {
      what: 'CPU per request, raw handler / graticule',
      rounds: by('raw uWebSockets.js', 'cpuMicrosPerRequest', true),
    },
    {
      what: 'requests per second, graticule / nginx static',
      rounds: by('nginx, static files', 'requestsPerSecond', false),
      goal: 0.8,
    },
    {
      what: 'CPU per request, nginx static / graticule',
      rounds: by('nginx, static files', 'cpuMicrosPerRequest', true),
    },
  ],
});
