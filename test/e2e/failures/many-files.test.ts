import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';
import { isFullRun, repetitions } from '../../support/soak.js';

/** A folder of many files of which each third is no more what it was: the others are published as if it were not there. */

const KINDS = ['.geojson', '.csv', '.gpkg', '.shp', '.fgb', '.tif'] as const;
/** Twelve: each kind is spoilt in each way. A brief run spoils one of each kind, in turns in each way. */
const OF_EACH = repetitions(import.meta.url, 20, isFullRun(import.meta.url) ? 12 : 3);
const FEATURES = 20;

const originals = mkdtempSync(join(tmpdir(), 'graticule-originals-'));
const folder = mkdtempSync(join(tmpdir(), 'graticule-many-'));
let server: TestServer;

/** What is done to a file; `other` is a file of another kind. */
const SPOILS: Record<string, (path: string, other: string) => void> = {
  cut(path) {
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(0, Math.floor(bytes.length / 2)));
  },
  emptied: (path) => writeFileSync(path, ''),
  replaced: (path, other) => copyFileSync(other, path),
  mixed(path, other) {
    const bytes = readFileSync(path);
    writeFileSync(path, Buffer.concat([bytes.subarray(0, 100), readFileSync(other).subarray(100)]));
  },
};
const WAYS = Object.keys(SPOILS);

const spoilt: string[] = [];
const whole: { id: string; kind: string }[] = [];

beforeAll(async () => {
  makeOriginals();
  for (const [k, kind] of KINDS.entries()) {
    for (let i = 0; i < OF_EACH; i++) {
      const name = `${kind.slice(1)}_${i}`;
      const path = copy(kind, name);
      if (i % 3 !== 2) {
        whole.push({ id: name, kind });
        continue;
      }
      const other = join(originals, `original${KINDS[(k + 1 + (i % 5)) % KINDS.length]}`);
      SPOILS[WAYS[((i - 2) / 3 + k) % WAYS.length]!]!(path, other);
      spoilt.push(path);
    }
  }
  server = await startServer({ sources: [folder] });
});
afterAll(async () => {
  await server?.stop();
  for (const one of [originals, folder]) rmSync(one, { recursive: true, force: true });
});

function makeOriginals(): void {
  const drivers: Record<string, string> = {
    '.geojson': 'GeoJSON',
    '.csv': 'CSV',
    '.gpkg': 'GPKG',
    '.shp': 'ESRI Shapefile',
    '.fgb': 'FlatGeobuf',
  };
  for (const [ending, driver] of Object.entries(drivers)) {
    const geometry = ending === '.csv' ? ['-lco', 'GEOMETRY=AS_WKT'] : [];
    const only = ['-limit', String(FEATURES), '-select', 'NAME,ISO_A3', '-nln', 'original'];
    const out = join(originals, `original${ending}`);
    execFileSync(
      'ogr2ogr',
      ['-f', driver, out, 'demo/data/world_map.gpkg', 'countries', ...only, ...geometry],
      {
        stdio: 'ignore',
      },
    );
  }
  const raster = join(originals, 'original.tif');
  execFileSync('gdal_translate', ['-q', '-outsize', '64', '64', 'demo/data/L7_ETMs.tif', raster]);
}

/** A copy with all that belongs to it; the path of the file itself. */
function copy(kind: string, name: string): string {
  const parts = kind === '.shp' ? ['.shp', '.shx', '.dbf', '.prj', '.cpg'] : [kind];
  const there = new Set(readdirSync(originals).map((file) => extname(file)));
  for (const part of parts)
    if (there.has(part)) copyFileSync(join(originals, `original${part}`), join(folder, `${name}${part}`));
  return join(folder, `${name}${kind}`);
}

const refusals = () =>
  server
    .log()
    .split('\n')
    .filter((line) => line.includes('not published: ') && !line.startsWith('{'));
const files = async () => {
  const headers = { 'x-api-key': server.adminKey };
  const response = await fetch(`${server.url}/healthz/metrics`, { headers });
  return JSON.stringify(await response.json());
};

it('publishes every file that is whole', async () => {
  expect(spoilt.length + whole.length).toBe(KINDS.length * OF_EACH);
  const get = async (url: string) => (await (await fetch(url)).json()) as Record<string, unknown>;
  const ids = async (surface: string) => {
    const { collections } = (await get(`${server.url}/ogc/${surface}/collections`)) as {
      collections: { id: string }[];
    };
    return new Set(collections.map(({ id }) => id));
  };
  const [features, coverages] = [await ids('features'), await ids('coverages')];
  // Layers of formats that name them are all called the same: the file stands in front.
  const idOf = ({ id, kind }: (typeof whole)[number]) =>
    [id, `${id}-original`].find((one) => (kind === '.tif' ? coverages : features).has(one));
  const missing = whole.filter((one) => idOf(one) === undefined);
  expect(missing).toEqual([]);
  for (const kind of KINDS.slice(0, -1)) {
    const one = whole.find((file) => file.kind === kind)!;
    const page = await get(`${server.url}/ogc/features/collections/${idOf(one)}/items?limit=1`);
    expect([kind, page['numberMatched']]).toEqual([kind, FEATURES]);
  }
});

it('names each file that it refuses once, with a reason', async () => {
  const lines = refusals();
  const paths = lines.map((line) => /not published: (\S+?):? /.exec(line)![1]!.split('/').at(-1)!);
  expect(new Set(paths).size).toBe(paths.length);
  const names = new Set(spoilt.map((path) => path.split('/').at(-1)));
  expect(paths.filter((path) => !names.has(path))).toEqual([]);
  for (const line of lines) expect(line).toMatch(/not published: \S+ .{15,}[.:]?/);
  // Half of a CSV file is one, and what has the bytes of another format that is read may be read.
  expect(paths.length).toBeGreaterThan(spoilt.length / 2);
  const snapshot = await files();
  for (const path of paths) expect(snapshot).toContain(path);
});

it('goes on without a fault of its own', async () => {
  expect(server.log()).not.toMatch(/process\.exception|"@l":"(Error|Fatal)"/);
  expect((await fetch(`${server.url}/healthz/ready`)).status).toBe(200);
  expect((await fetch(`${server.url}/ogc/maps/map?width=64&height=64`)).status).toBe(200);
});
