import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TaskFailure } from '../../src/core/errors/failure.js';
import type { MapTask } from '../../src/core/maps/maps.js';
import { asApiError } from '../../src/gateway/http/replies/problem.js';
import { EnginePool } from '../../src/workers/engine/client.js';
import { scratchDirectory, startEngine } from '../engine/support.js';
import { makeMBTiles } from '../support/archives.js';
import { startServer, type TestServer } from '../support/server.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-maps-'));
let server: TestServer;
const ids: Record<string, number> = {};

/** Two squares of ten degrees, on both sides of the antimeridian. */
const square = (west: number) => ({
  type: 'Feature',
  properties: {},
  geometry: {
    type: 'Polygon',
    coordinates: [
      [
        [west, -10],
        [west + 10, -10],
        [west + 10, 10],
        [west, 10],
        [west, -10],
      ],
    ],
  },
});
const RED = {
  version: 8,
  sources: {},
  layers: [{ id: 'fill', type: 'fill', paint: { 'fill-color': '#ff0000', 'fill-antialias': false } }],
};

beforeAll(async () => {
  const features = [square(170), square(-180)];
  writeFileSync(join(folder, 'squares.geojson'), JSON.stringify({ type: 'FeatureCollection', features }));
  makeMBTiles(join(folder, 'stored.mbtiles'), 0);
  server = await startServer({ sources: [folder] });
  const list = await fetch(`${server.url}/ogc/tiles/collections?f=json`).then((r) => r.json());
  for (const { id, title } of list.collections) ids[title.toLowerCase()] = id;
  const put = await fetch(`${server.url}/api/v1/admin/metadata/layers/${ids['squares']}/style`, {
    method: 'PUT',
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    body: JSON.stringify({ mapLibreStyle: RED }),
  });
  expect(put.status).toBe(200);
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const ask = (query: string, style = '/styles/default') =>
  fetch(`${server.url}/ogc/maps/collections/${ids['squares']}${style}/map?${query}`);

/** Red pixels of each quarter of the map's width, as parts of its area. */
async function redOf(query: string): Promise<number[]> {
  const response = await ask(query);
  expect(response.status).toBe(200);
  const image = sharp(Buffer.from(await response.arrayBuffer())).ensureAlpha();
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < info.width * info.height; i++) {
    const [r, g, , a] = data.subarray(4 * i, 4 * i + 4);
    if (r === 255 && g === 0 && a === 255) counts[Math.floor((4 * (i % info.width)) / info.width)]!++;
  }
  return counts.map((count) => Math.round((400 * count) / (info.width * info.height)));
}

async function sizeOf(query: string): Promise<string> {
  const response = await ask(query);
  expect(response.status, query).toBe(200);
  const { width, height } = await sharp(Buffer.from(await response.arrayBuffer())).metadata();
  return `${width} x ${height}`;
}

describe('a styled map', () => {
  it('shows the collection in its style', async () => {
    expect(await redOf('bbox=170,-10,180,10&width=80&height=80')).toEqual([100, 100, 100, 100]);
    const [styled, plain] = await Promise.all(
      ['/styles/default', ''].map(async (style) => (await ask('width=50', style)).arrayBuffer()),
    );
    expect(Buffer.from(styled!).equals(Buffer.from(plain!))).toBe(true);
  });

  it('is 404 for a style that is not there, and 501 for what cannot be styled', async () => {
    expect((await ask('', '/styles/night')).status).toBe(404);
    const other = await fetch(`${server.url}/ogc/maps/collections/999/styles/default/map`);
    expect(other.status).toBe(404);
    const stored = await fetch(`${server.url}/ogc/maps/collections/${ids['stored']}/styles/default/map`);
    expect(stored.status).toBe(501);
  });

  it('goes on across the antimeridian', async () => {
    const half = 'bbox=160,-10,-160,10&width=80&height=40';
    expect(await redOf(half)).toEqual([0, 100, 100, 0]);
    expect((await ask(half)).headers.get('content-bbox')).toBe('-10,160,10,-160');
    expect(await redOf('bbox=160,-10,200,10&width=80&height=40')).toEqual([0, 100, 100, 0]);
    expect(await redOf('bbox=-200,-10,-160,10&width=80&height=40')).toEqual([0, 100, 100, 0]);
    expect(await redOf('bbox=160,-9,-160,9&crs=EPSG:3857&width=80&height=40')).toEqual([0, 100, 100, 0]);
    // The Pacific is in one piece there.
    expect(await redOf('bbox=160,-9,-160,9&crs=EPSG:3832&width=80&height=40')).toEqual([0, 100, 100, 0]);
    expect(await redOf('bbox=-180,-10,180,10&width=144&height=40')).toEqual([11, 0, 0, 11]);
  });

  it('has the shape of its box where one side is given, or none', async () => {
    const box = 'bbox=170,-5,180,15';
    expect(await sizeOf(`${box}&width=100`)).toBe('100 x 200');
    expect(await sizeOf(`${box}&height=100`)).toBe('50 x 100');
    expect(await sizeOf(box)).toBe('128 x 256');
    expect(await sizeOf(`${box}&width=30&height=20`)).toBe('30 x 20');
    expect(await sizeOf('bbox=-5,170,15,180&bbox-crs=EPSG:4326&width=100')).toBe('100 x 200');
  });

  it('has the size that its scale gives it', async () => {
    // 10 degrees at the equator are 1,113,195 m, of which a pixel at 1:10,000,000 shows 2,800.
    const box = 'bbox=170,-5,180,5&scale-denominator=10000000';
    expect(await sizeOf(box)).toBe('398 x 398');
    expect(await sizeOf(`${box}&mm-per-pixel=0.14`)).toBe('795 x 795');
    expect(await sizeOf(`${box}&scale=2`)).toBe('795 x 795');
    // Over the ground the same everywhere, though not in Mercator.
    expect(await sizeOf('bbox=0,59.9,0.4,60.1&crs=EPSG:3857&scale-denominator=1000000')).toBe('80 x 80');
    expect(await sizeOf('bbox=170,-5,180,5&scale=2')).toBe('512 x 512');
  });

  it.each([
    ['width=4097', 'width'],
    ['height=0', 'height'],
    ['width=1.5', 'width'],
    ['bbox=170,0,170,5', 'bbox'],
    ['bbox=170,5,175,5', 'bbox'],
    ['bbox=170,5,175,0', 'bbox'],
    ['bbox=170,5,175', 'bbox'],
    ['bbox=5,0,1,1&bbox-crs=EPSG:3857', 'bbox'],
    ['crs=EPSG:1', 'crs'],
    ['bgcolor=reddish', 'bgcolor'],
    ['bgcolor=transparent', 'bgcolor'],
    ['quality=101', 'quality'],
    ['transparent=perhaps', 'transparent'],
    ['datetime=yesterday', 'datetime'],
    ['scale-denominator=1000000&width=100', 'width'],
    ['scale-denominator=1000', 'scale-denominator'],
    ['scale-denominator=0', 'scale-denominator'],
    ['mm-per-pixel=0.001', 'mm-per-pixel'],
    ['dpi=100&scale=2', 'scale'],
    ['f=bmp', 'f'],
  ])('is refused for %s', async (query, name) => {
    const response = await ask(query);
    expect(response.status).toBe(400);
    const { detail } = (await response.json()) as { detail: string };
    expect(detail).toMatch(new RegExp(`^${name}: `));
  });

  it('has the background that was asked for', async () => {
    const corner = async (query: string) => {
      const response = await ask(`bbox=0,-5,10,5&width=8&${query}`);
      const image = sharp(Buffer.from(await response.arrayBuffer())).ensureAlpha();
      return [...(await image.raw().toBuffer()).subarray(0, 4)];
    };
    expect(await corner('')).toEqual([0, 0, 0, 0]);
    expect(await corner('transparent=false')).toEqual([255, 255, 255, 255]);
    expect(await corner('bgcolor=0x0000FF')).toEqual([0, 0, 255, 255]);
    expect(await corner('bgcolor=Tomato')).toEqual([255, 99, 71, 255]);
    expect(await corner('f=jpeg')).toEqual([255, 255, 255, 255]);
  });

  it.each([
    ['EPSG:3395', 'bbox=170,-9,180,9'],
    ['EPSG:3832', 'bbox=160,-9,-160,9'],
    ['EPSG:4326', 'bbox=170,-9,180,9'],
  ])('is a GeoTIFF in %s, where it says', async (crs, query) => {
    const response = await ask(`${query}&crs=${crs}&width=60&f=tiff`);
    const box = response.headers.get('content-bbox')!.split(',').map(Number);
    const path = join(folder, 'map.tif');
    writeFileSync(path, Buffer.from(await response.arrayBuffer()));
    const info = JSON.parse(execFileSync('gdalinfo', ['-json', path], { encoding: 'utf8' }));
    expect(info.coordinateSystem.wkt).toContain(`ID["EPSG",${crs.slice(5)}]`);
    const { upperLeft, lowerRight } = info.cornerCoordinates;
    const [west, south, east, north] = [upperLeft[0], lowerRight[1], lowerRight[0], upperLeft[1]];
    // In the axis order of the CRS, as the authority has it.
    const found = crs === 'EPSG:4326' ? [south, west, north, east] : [west, south, east, north];
    for (const [i, value] of found.entries()) expect(value).toBeCloseTo(box[i]!, 3);
  });
});

describe('a map that takes too long', () => {
  it('is given up, answered 503 with Retry-After, and leaves the engine to others', async () => {
    const scratch = scratchDirectory();
    const engine = await startEngine(scratch.path);
    const pool = new EnginePool({ runDir: scratch.path });
    const task: MapTask = {
      width: 4096,
      height: 4096,
      background: '#ffffff',
      layers: [],
      tileExtent: 4096,
      zoom: 0,
      scale: 1,
      format: 'png',
      bbox: [0, 0, 1, 1],
      crs: 'EPSG:4326',
    };
    const late = await pool.run('map.render', task, { deadlineMs: 1 }).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(TaskFailure);
    const { status, headers } = asApiError(late);
    expect([status, Number(headers!['retry-after']) > 0]).toEqual([503, true]);
    const next = await pool.run('map.render', { ...task, width: 8, height: 8 }, { deadlineMs: 60_000 });
    expect(next.width).toBe(8);
    await pool.close();
    await engine.stop();
    scratch.remove();
  });
});
