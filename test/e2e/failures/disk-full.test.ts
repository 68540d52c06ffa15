import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProcessClient } from '../../processes/support.js';
import { fillDisk } from '../../support/full-disk.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { isFullRun } from '../../support/soak.js';

/** A brief run has one refused request, one import and one job. */
const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);
const ADMIN = '/api/v1/admin';
const MIB = 1 << 20;

let folder: string;
let server: TestServer;
/** The data folder as the server sees it: a file system of 24 MiB in a mount namespace of its own. */
let disk: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-full-'));
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  server = await startServerProcess({
    dataDir,
    launcher: [
      'unshare',
      '-rm',
      'sh',
      '-c',
      `mount -t tmpfs -o size=24m tmpfs ${dataDir} && exec "$@"`,
      'sh',
    ],
  });
  disk = `/proc/${server.process.pid}/root${dataDir}`;
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const filler = () => join(disk, 'filler');

const fill = () => fillDisk(filler());
const free = () => rmSync(filler(), { force: true });

async function send(path: string, init: RequestInit & { headers?: Record<string, string> }) {
  const response = await fetch(`${server.url}${path}`, {
    ...init,
    headers: { 'x-api-key': server.adminKey, ...init.headers },
  });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: documents are looked into
  return { status: response.status, body: (text ? JSON.parse(text) : undefined) as any };
}

const json = (path: string, body: unknown, method = 'POST') =>
  send(path, { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });

function upload(path: string, file: Buffer, name: string, fields: Record<string, string>) {
  const form = new FormData();
  for (const [key, value] of Object.entries(fields)) form.set(key, value);
  form.set('file', new Blob([new Uint8Array(file)]), name);
  return send(path, { method: 'POST', body: form });
}

/** SQLite's log may have room for some changes more: the work is repeated until it takes new blocks. */
async function untilRefused<T extends { status: number }>(work: () => Promise<T>): Promise<T> {
  let answer = await work();
  for (let i = 0; i < 2000 && answer.status < 400; i++) answer = await work();
  return answer;
}

/** A point for each cell of a grid: about 100 bytes each. */
function points(count: number): Buffer {
  const features = Array.from({ length: count }, (_, i) => ({
    type: 'Feature',
    properties: { name: `point number ${i}` },
    geometry: { type: 'Point', coordinates: [(i % 360) - 180, (Math.floor(i / 360) % 180) - 90] },
  }));
  return Buffer.from(JSON.stringify({ type: 'FeatureCollection', features }));
}

const SIDE = 2000;

/** A GeoTIFF of noise: nothing of it compresses, so its cloud optimized copy is as large. */
function raster(): Buffer {
  const raw = join(folder, 'noise.bil');
  writeFileSync(raw, randomBytes(SIDE * SIDE));
  const header = `ENVI\nsamples = ${SIDE}\nlines = ${SIDE}\nbands = 1\ndata type = 1\ninterleave = bsq\n`;
  writeFileSync(join(folder, 'noise.hdr'), header);
  const path = join(folder, 'noise.tif');
  const place = ['-a_srs', 'EPSG:4326', '-a_ullr', '0', '1', '1', '0'];
  execFileSync('gdal_translate', ['-q', '-of', 'GTiff', ...place, raw, path]);
  return readFileSync(path);
}

/** Leaves so many bytes free. */
function leave(bytes: number): void {
  const reserve = join(disk, 'reserve');
  writeFileSync(reserve, Buffer.alloc(bytes));
  fill();
  rmSync(reserve);
}

/** The end of an import: at once, or as its job tells it. */
async function ended(answer: Awaited<ReturnType<typeof send>>): Promise<string> {
  if (answer.status !== 202) return `${answer.status} ${answer.body.detail}`;
  for (;;) {
    const { body } = await send(`${ADMIN}/import/jobs/${answer.body.data?.jobId ?? answer.body.jobId}`, {});
    const { status, errorMessage } = body.data ?? body;
    if (status === 'Failed') return `507 ${errorMessage}`;
    if (status === 'Completed') return '200';
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('a disk that is full', () => {
  const STYLE = { mapLibreStyle: { version: 8, sources: {}, layers: [] } };
  const cases: [string, () => Promise<{ status: number; body: { detail: string } }>][] = [
    ['creating a key', () => json(`${ADMIN}/api-keys`, { name: 'full' })],
    [
      'putting a style',
      async () => {
        const { body } = await send('/ogc/tiles/collections', {});
        return json(`${ADMIN}/metadata/layers/${body.collections[0].id}/style`, STYLE, 'PUT');
      },
    ],
    [
      'importing features',
      () => upload(`${ADMIN}/import/upload`, points(1000), 'points.geojson', { TableName: 'points' }),
    ],
    [
      'importing a raster',
      () => upload(`${ADMIN}/import/raster`, raster(), 'noise.tif', { layerId: '1', name: 'noise' }),
    ],
  ];

  describe.each(cases)('and a request for %s', (name, work) => {
    const run = it.runIf(IS_FULL || name === 'importing features');
    run('answers 507 with the reason, and serves on', async () => {
      fill();
      try {
        const { status, body } = await untilRefused(work);
        expect([status, body?.detail]).toEqual([507, expect.stringMatching(/no space|disk.*full/i)]);
        expect((await send('/ogc/features/collections/countries/items?limit=1', {})).status).toBe(200);
      } finally {
        free();
      }
      const { status } = await json(`${ADMIN}/api-keys`, { name: 'there is room again' });
      expect(status).toBe(201);
    });
  });

  it('fails an import that runs out of space half way, keeps nothing of it, and takes it afterwards', async () => {
    const fields = { TableName: 'many' };
    const big = points(60_000);
    leave(big.length + MIB);
    try {
      expect(await ended(await upload(`${ADMIN}/import/upload`, big, 'many.geojson', fields))).toMatch(
        /^507 .*full/,
      );
    } finally {
      free();
    }
    expect((await send('/ogc/features/collections/many', {})).status).toBe(404);
    const again = await upload(`${ADMIN}/import/upload`, points(1000), 'many.geojson', fields);
    expect(again.status).toBe(200);
    expect((await send('/ogc/features/collections/many', {})).status).toBe(200);
  });

  full('reads a store that was edited, also after an edit that was refused', async () => {
    await upload(`${ADMIN}/import/upload`, points(10), 'edited.geojson', { TableName: 'edited' });
    const items = '/ogc/features/collections/edited/items';
    const feature = { type: 'Feature', geometry: null, properties: { name: 'new' } };
    const edit = () => json(items, feature);
    const read = async (ms: number) => {
      const found: number[] = [];
      for (const end = Date.now() + ms; Date.now() < end; await new Promise((next) => setTimeout(next, 100)))
        found.push((await send(`${items}?limit=1`, {})).status);
      return [...new Set(found)];
    };
    expect((await edit()).status).toBe(201);
    fill();
    try {
      // Edits come to rest meanwhile, and their log cannot be moved into the file.
      expect(await read(2500)).toEqual([200]);
      expect((await untilRefused(edit)).status).toBe(507);
      expect(await read(1500)).toEqual([200]);
    } finally {
      free();
    }
    expect((await edit()).status).toBe(201);
  });

  it('refuses changes before they are made', async () => {
    fill();
    try {
      const { status, body } = await send('/ogc/features/collections/countries/items/999999', {
        method: 'DELETE',
      });
      expect([status, body.detail]).toEqual([507, expect.stringMatching(/cannot record changes: .*full/)]);
    } finally {
      free();
    }
  });

  full('fails a raster that fits but whose copy does not', async () => {
    const file = raster();
    const layers = await send('/ogc/tiles/collections', {});
    const fields = { layerId: String(layers.body.collections[0].id), name: 'noise' };
    leave(file.length + MIB);
    try {
      expect(await ended(await upload(`${ADMIN}/import/raster`, file, 'noise.tif', fields))).toMatch(
        /^507 .*full/,
      );
    } finally {
      free();
    }
  });

  const countries = { collection: 'countries' };
  describe.each([
    ['geometry.densify', { features: countries, segmentLength: 1, unit: 'kilometre' }],
    ['conversion.feature-export', { features: { collection: 'states_provinces' }, format: 'geojson' }],
    ['raster.resample', { raster: { collection: 'olinda_dem_utm25s' }, cellSize: 1 }],
  ])('and a job of %s that runs out of space half way', (process, inputs) => {
    const run = it.runIf(IS_FULL || process === 'conversion.feature-export');
    run('fails it, and keeps nothing of it', async () => {
      const client = new ProcessClient(server);
      leave(2 * MIB);
      try {
        const { status, message, jobID } = await client.run(process, { inputs });
        expect([status, message]).toEqual(['failed', expect.stringMatching(/no space|disk.*full/i)]);
        expect(existsSync(join(disk, 'processes', jobID))).toBe(false);
      } finally {
        free();
      }
      expect((await client.run('geometry.envelope', { inputs: { features: countries } })).status).toBe(
        'successful',
      );
    });
  });
});
