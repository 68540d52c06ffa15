import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { MosaicMember, RasterMosaic } from '../../../src/core/rasters/rasters.js';
import { suiteEngine } from '../../engine/support.js';
import { type StacApi, sendRange, startStacApi } from '../../support/stac-api.js';

const suite = suiteEngine({ GRATICULE_REMOTE_ALLOW: '["127.0.0.1"]' });

let host: StacApi;
let file: Buffer;

beforeAll(async () => {
  const path = join(suite.scratch.path, 'scene.tif');
  const place = ['-a_srs', 'EPSG:32632', '-a_ullr', '500000', '5600000', '500160', '5599840'];
  const values = ['-outsize', '16', '16', '-bands', '1', '-ot', 'Byte', '-burn', '50', '-a_nodata', '0'];
  execFileSync('gdal_create', ['-q', '-of', 'GTiff', ...values, ...place, path]);
  file = readFileSync(path);
  host = await startStacApi();
});
afterAll(() => host.close());

/** Each test has addresses of its own. */
let count = 0;
beforeEach(() => {
  count += 1;
  host.requests.length = 0;
  host.answer = (request, response) => sendRange(request, response, sceneOf(numberOf(request.url!)));
});

const numberOf = (url: string) => Number(/(\d+)\.tif$/.exec(url)![1]);

/** The scene of a number lies east of those before it. */
function sceneOf(number: number): Buffer {
  const scene = Buffer.from(file);
  const west = Buffer.alloc(8);
  west.writeDoubleLE(500_000);
  scene.writeDoubleLE(500_000 + 160 * number, scene.indexOf(west));
  return scene;
}

function scenes(number: number): RasterMosaic {
  const members = Array.from({ length: number }, (_, i): MosaicMember => {
    const source = { kind: 'remote', url: `${host.origin}/${count}/${i}.tif` } as const;
    return { id: String(i), source, extent84: [9, 50, 10, 51] };
  });
  const geoTransform: [number, number, number, number, number, number] = [500_000, 10, 0, 5_600_000, 0, -10];
  const grid = { crs: 'EPSG:32632', geoTransform, width: 16 * number, height: 16 };
  return { kind: 'mosaic', members, grid, bandTypes: ['Byte'] };
}

/** How many scenes are seen, and how many are left out. */
async function map(source: RasterMosaic) {
  const width = source.members.length;
  const { data, lost = [] } = await suite.pool.run('raster.image', {
    ...{ source, crs: 'EPSG:32632', width, height: 1, format: 'raw' as const },
    bbox: [500_000, 5_599_840, 500_000 + 160 * width, 5_600_000],
    ranges: [[0, 255]],
  });
  return { seen: data.filter((value, i) => i % 4 === 0 && value === 50).length, lost: lost.length };
}

it('many scenes are read, each once', async () => {
  const source = scenes(140);
  expect(await map(source)).toEqual({ seen: 140, lost: 0 });
  expect(host.requests).toHaveLength(140);
});

it('a scene whose host does not answer for it costs its own pixels, each time', async () => {
  const answer = host.answer;
  host.answer = (request, response, body) => {
    if (numberOf(request.url!) !== 7) answer(request, response, body);
  };
  const source = scenes(20);
  for (let i = 0; i < 2; i++) expect(await map(source)).toEqual({ seen: 19, lost: 1 });
  expect(host.requests).toHaveLength(20);
}, 30_000);

it.each([503, 429])('scenes beside one that is answered %i are read', async (status) => {
  const answer = host.answer;
  host.answer = (request, response, body) => {
    if (numberOf(request.url!) === 7) response.writeHead(status).end();
    else answer(request, response, body);
  };
  // Others of its host can be opened meanwhile.
  expect(await map(scenes(12))).toEqual({ seen: 11, lost: 1 });
  expect(await map(scenes(20))).toEqual({ seen: 19, lost: 1 });
});

it('scenes of a host that cannot be reached cost their own pixels', async () => {
  const gone = await startStacApi();
  gone.close();
  const { members, ...rest } = scenes(20);
  const some = members.map((member, i): MosaicMember => {
    const url = `${i % 2 ? gone.origin : host.origin}/${count}/${i}.tif`;
    return { ...member, source: { kind: 'remote', url } };
  });
  expect(await map({ ...rest, members: some })).toEqual({ seen: 10, lost: 10 });
});

it('a host none of whose scenes can be opened is left alone', async () => {
  host.answer = (_, response) => response.writeHead(503).end();
  await expect(map(scenes(60))).rejects.toMatchObject({ code: 'store-unavailable' });
  expect(host.requests.length).toBeLessThan(40);
});
