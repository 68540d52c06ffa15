import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SceneQuery, SceneSearch } from '../../../src/core/stac/stac-scenes.js';
import { searchScenes } from '../../../src/workers/exchange/ingest/stac/search.js';
import { AllowedHosts } from '../../../src/workers/storage/remote/allowed-hosts.js';
import { Cancellation } from '../../../src/workers/threads/cancellation.js';
import { freePort } from '../../support/ports.js';
import { OWNER, startPostgres, type TestPostgres } from '../../support/postgres.js';
import { pythonOfClients } from '../../support/python.js';
import { startServer, type TestServer } from '../../support/server.js';
import { type StacApi, sendRange, startStacApi } from '../../support/stac-api.js';

/** Against stac-fastapi with pgstac. */

/** More than are asked for at once. */
const MANY = 260;
const SCENES = [
  { id: 'west', value: 50, x: 500_000, day: 1, cloudCover: 40 },
  { id: 'east', value: 100, x: 510_000, day: 2, cloudCover: 80 },
  { id: 'over-east', value: 150, x: 510_000, day: 3, cloudCover: 10 },
];

let folder: string;
let files: StacApi;
let database: TestPostgres;
let api: ChildProcess;
let url: string;
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-stac-fastapi-'));
  files = await startStacApi();
  files.answer = (request, response) =>
    sendRange(request, response, readFileSync(join(folder, request.url!)));
  for (const one of SCENES) makeScene(one);
  database = await startPostgres();
  load();
  await startApi();
  const source = `stac+${url}?collections=scenes&asset=data&crs=EPSG:32632`;
  const filter = encodeURIComponent('"eo:cloud_cover" < 50');
  server = await startServer({
    sources: [
      `${source}&name=newest`,
      `${source}&merge=lowest&name=lowest`,
      `${source}&filter=${filter}&merge=lowest&name=clear`,
      `${source}&filter=${filter}&merge=lowest&search=window&name=searched`,
    ],
    env: { SVC_REMOTE__ALLOW: '127.0.0.1' },
  });
}, 180_000);

afterAll(async () => {
  await server?.stop();
  api?.kill();
  await database?.stop();
  files?.close();
  rmSync(folder, { recursive: true, force: true });
});

function makeScene({ id, value, x }: (typeof SCENES)[number]): void {
  const place = ['-a_ullr', x, 5_600_000, x + 10_000, 5_590_000].map(String);
  const pixels = ['-outsize', '100', '100', '-bands', '1', '-burn', String(value), '-ot', 'Byte'];
  const form = ['-of', 'GTiff', '-co', 'TILED=YES', '-a_nodata', '0', '-a_srs', 'EPSG:32632'];
  execFileSync('gdal_create', ['-q', ...form, ...pixels, ...place, join(folder, `${id}.tif`)]);
}

const item = (collection: string, id: string, [w, s, e, n]: number[], properties: object) => ({
  ...{ type: 'Feature', stac_version: '1.0.0', stac_extensions: [], id, collection, links: [] },
  bbox: [w, s, e, n],
  geometry: {
    type: 'Polygon',
    coordinates: [
      [
        [w, s],
        [e, s],
        [e, n],
        [w, n],
        [w, s],
      ],
    ],
  },
  properties,
  assets: { data: { href: `${files.origin}/${id}.tif`, type: 'image/tiff; application=geotiff' } },
});

/** Items by the tool that pgstac has for it. */
function load(): void {
  const pypgstac = (...args: string[]) =>
    execFileSync(join(dirname(pythonOfClients()), 'pypgstac'), [...args, `--dsn=${database.url}`], {
      stdio: 'pipe',
    });
  const loadLines = (table: string, documents: readonly object[]) => {
    const path = join(folder, `${table}.ndjson`);
    writeFileSync(path, documents.map((one) => JSON.stringify(one)).join('\n'));
    pypgstac('load', table, path);
  };
  pypgstac('migrate');
  loadLines('collections', ['scenes', 'many'].map(collection));
  loadLines('items', [
    ...SCENES.map(({ id, day, cloudCover }, i) => {
      const [west, east] = i === 0 ? [9, 9.1413] : [9.1411, 9.2825];
      const properties = { datetime: `2024-06-0${day}T10:00:00Z`, 'eo:cloud_cover': cloudCover };
      return item('scenes', id, [west, 50.46, east, 50.552], properties);
    }),
    ...Array.from({ length: MANY }, (_, i) =>
      item('many', `item-${i}`, [i / 2, 10, i / 2 + 0.4, 11], {
        datetime: new Date(Date.UTC(2024, 0, 1, i)).toISOString(),
      }),
    ),
  ]);
}

const collection = (id: string) => ({
  ...{ type: 'Collection', stac_version: '1.0.0', id, description: id, license: 'other', links: [] },
  extent: {
    spatial: { bbox: [[9, 50, 10, 51]] },
    temporal: { interval: [['2024-01-01T00:00:00Z', null]] },
  },
});

async function startApi(): Promise<void> {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const host = new URL(database.url).searchParams.get('host')!;
  const env = {
    ...process.env,
    ...{ PGHOST: encodeURIComponent(host), PGPORT: '5432', PGUSER: OWNER, PGPASSWORD: '' },
    PGDATABASE: 'postgres',
  };
  const app = ['--factory', 'stac_fastapi.pgstac.app:create_app', '--port', String(port)];
  api = spawn(pythonOfClients(), ['-m', 'uvicorn', ...app, '--log-level', 'warning'], {
    env,
    cwd: folder,
    stdio: 'ignore',
  });
  const until = Date.now() + 60_000;
  while (!(await fetch(url).catch(() => undefined))?.ok) {
    if (Date.now() > until || api.exitCode !== null) throw new Error('stac-fastapi does not start.');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function search(query: Partial<SceneQuery>, maxScenes = 500): Promise<SceneSearch> {
  return searchScenes(
    {
      ...{ url, timeoutMs: 20_000, maxScenes },
      query: { collections: ['many'], assets: ['data'], ...query },
    },
    { allowed: new AllowedHosts(['127.0.0.1']), cancellation: new Cancellation() },
  );
}

const idsOf = ({ scenes }: SceneSearch) => scenes.map(({ id }) => id);

describe('a search of stac-fastapi', () => {
  it('has the items of all pages', async () => {
    const answer = await search({});
    expect(new Set(idsOf(answer))).toEqual(new Set(Array.from({ length: MANY }, (_, i) => `item-${i}`)));
    expect(answer).toMatchObject({ isCut: false, refused: 0, problems: [] });
  });

  it('has the newest where they are preferred', async () => {
    expect(idsOf(await search({ prefers: 'newest' }, 3))).toEqual(['item-259', 'item-258', 'item-257']);
  });

  it('has the clearest where they are preferred', async () => {
    const query = { collections: ['scenes'], prefers: 'lowest-cloud' } as const;
    expect(idsOf(await search(query))).toEqual(['over-east', 'west', 'east']);
  });

  it('is of a place, a time and what a filter says', async () => {
    expect(idsOf(await search({ bbox: [10.1, 10.2, 10.3, 10.4] }))).toEqual(['item-20']);
    const hours = await search({ datetime: '2024-01-01T04:00:00Z/2024-01-01T06:00:00Z' });
    expect(idsOf(hours).sort()).toEqual(['item-4', 'item-5', 'item-6']);
    expect(idsOf(await search({ filter: "id = 'item-7' OR id = 'item-9'" })).sort()).toEqual([
      'item-7',
      'item-9',
    ]);
  });

  it('for a collection that it lacks finds nothing', async () => {
    expect(idsOf(await search({ collections: ['nowhere'] }))).toEqual([]);
  });
});

/** Values in the middle of the western and of the eastern half. */
async function halves(id: string): Promise<number[]> {
  const crs = 'http://www.opengis.net/def/crs/EPSG/0/32632';
  const box = `bbox=500000,5590000,520000,5600000&bbox-crs=${crs}&crs=${crs}&width=20&height=10`;
  const response = await fetch(`${server.url}/ogc/coverages/collections/${id}/coverage?f=geotiff&${box}`);
  expect(response.status).toBe(200);
  const file = join(folder, 'answer.tif');
  writeFileSync(file, Buffer.from(await response.arrayBuffer()));
  return [5, 15].map((x) =>
    Number(execFileSync('gdallocationinfo', ['-valonly', file, String(x), '5'], { encoding: 'utf8' })),
  );
}

it.each([
  ['newest', [50, 150]],
  ['lowest', [50, 100]],
  ['clear', [50, 150]],
  ['searched', [50, 150]],
])('the mosaic %s has the pixels of its scenes', async (id, values) => {
  expect(await halves(id)).toEqual(values);
});
