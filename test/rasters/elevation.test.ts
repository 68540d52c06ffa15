import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../e2e/support/http.js';
import { gdalTool } from '../support/gdal-tools.js';
import { pythonOfClients } from '../support/python.js';
import { startServer, type TestServer } from '../support/server.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-elevation-'));
const ALPS = join(folder, 'alps.tif');
const METRES = join(folder, 'metres.tif');
const LINE = 'LINESTRING(7.013 46.982, 7.49 46.52, 7.97 46.61)';
const VOID = [20, 30] as const;
let server: TestServer;

/** 600 x 600 pixels of 0.00175 degrees; heights fall to the south and wave to the east. One pixel has no data. */
beforeAll(async () => {
  const rows = Array.from({ length: 600 }, (_, row) =>
    Array.from({ length: 600 }, (__, column) =>
      column === VOID[0] && row === VOID[1]
        ? -9999
        : (3000 - row * 3.5 + 200 * Math.sin(column / 30)).toFixed(2),
    ).join(' '),
  );
  const head = 'ncols 600\nnrows 600\nxllcorner 7\nyllcorner 45.95\ncellsize 0.00175\nNODATA_value -9999\n';
  writeFileSync(join(folder, 'alps.asc.txt'), head + rows.join('\n'));
  const grid = join(folder, 'alps.asc.txt');
  gdalTool('gdal_translate', '-q', '-a_srs', 'EPSG:4326+5773', '-co', 'TILED=YES', grid, ALPS);
  gdalTool('gdalwarp', '-q', '-s_srs', 'EPSG:4326', '-t_srs', 'EPSG:2056', grid, METRES);
  rmSync(grid);
  server = await startServer({ sources: [folder, 'demo/data'] });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Heights {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: documents of several operations.
  body: any;
}

async function get(path: string): Promise<Heights> {
  const response = await fetch(`${server.url}/elevation/${path}`);
  return { status: response.status, body: await response.json() };
}

/** The value that GDAL reads; null for no data and outside. */
function read(path: string, srs: string, x: number, y: number): number | null {
  return readAll(path, srs, [[x, y]])[0]!;
}

function readAll(
  path: string,
  srs: string,
  positions: readonly (readonly [number, number])[],
): (number | null)[] {
  const args = ['-valonly', '-l_srs', srs, path];
  const input = positions.map(([x, y]) => `${x} ${y}\n`).join('');
  const lines = execFileSync('gdallocationinfo', args, { input, stdio: 'pipe' }).toString().split('\n');
  return positions.map((_, i) => {
    const text = lines[i]!.trim();
    return text === '' || text === '-9999' ? null : Math.fround(Number(text));
  });
}

describe('the height at a position', () => {
  it.each([
    ['alps', ALPS],
    ['metres', METRES],
  ])('is the value of %s that gdallocationinfo reads', async (id, path) => {
    for (const [x, y] of [
      [7.1234, 46.5],
      [7.5, 46.2],
      [8.01, 46.97],
      [7.0003, 46.9996],
    ] as const) {
      const { status, body } = await get(`${id}/value?x=${x}&y=${y}`);
      expect(status).toBe(200);
      const expected = read(path, 'EPSG:4326', x, y);
      expect({ x, y, height: body.elevation }).toEqual({ x, y, height: expected });
    }
  });

  it('has the datum and unit of the vertical CRS', async () => {
    const { body } = await get('alps/value?x=7.5&y=46.5');
    expect(body.source).toEqual({
      rasterIds: [],
      rasterCount: 1,
      sourceSrid: null,
      sourceCrs: expect.any(String),
      pixelType: 'Float32',
      noDataValue: -9999,
      verticalUnit: 'metre',
      verticalDatum: 'EGM96 height',
      verticalUnitAssumption: null,
      band: 1,
    });
  });

  it('reports an assumed unit', async () => {
    const { body } = await get('metres/value?x=7.5&y=46.5');
    const { verticalUnit, verticalDatum, verticalUnitAssumption } = body.source;
    expect({ verticalUnit, verticalDatum }).toEqual({ verticalUnit: 'metre', verticalDatum: null });
    expect(verticalUnitAssumption).toMatch('assumed to be the metre');
  });

  it('is read with coordinates of another CRS', async () => {
    const { body } = await get('alps/value?x=2600000&y=1200000&srid=2056');
    expect(body).toMatchObject({ querySrid: 2056, noData: false, outOfBounds: false });
    const [lon, lat] = execFileSync('cs2cs', ['-f', '%.12f', 'EPSG:2056', 'OGC:CRS84'], {
      input: '2600000 1200000\n',
    })
      .toString()
      .split(/\s+/);
    expect(body.elevation).toBe(read(ALPS, 'EPSG:4326', Number(lon), Number(lat)));
  });

  it('is the value that the Coverages API has there', async () => {
    const url = `${server.url}/ogc/coverages/collections/alps/position?coords=7.5,46.2`;
    const { ranges } = (await (await fetch(url)).json()) as { ranges: { band_1: { values: number[] } } };
    expect(ranges.band_1.values).toEqual([read(ALPS, 'EPSG:4326', 7.5, 46.2)]);
  });

  it('is null without data and outside', async () => {
    const x = 7 + (VOID[0] + 0.5) * 0.00175;
    const y = 47 - (VOID[1] + 0.5) * 0.00175;
    expect((await get(`alps/value?x=${x}&y=${y}`)).body).toMatchObject({
      elevation: null,
      noData: true,
      outOfBounds: false,
    });
    expect((await get('alps/value?x=20&y=10')).body).toMatchObject({
      elevation: null,
      noData: true,
      outOfBounds: true,
    });
  });

  it('needs valid parameters', async () => {
    for (const [query, name] of [
      ['y=46', 'x'],
      ['x=seven&y=46', 'x'],
      ['x=7&y=146', 'x'],
      ['x=7&y=46&srid=99', 'srid'],
      ['x=7&y=46&mosaicRule=sum', 'mosaicRule'],
    ] as const) {
      const { status, body } = await get(`alps/value?${query}`);
      expect({ query, status, names: body.errors?.map((one: { name: string }) => one.name) }).toEqual({
        query,
        status: 400,
        names: [name],
      });
    }
    expect((await get('nowhere/value?x=7&y=46')).status).toBe(404);
    expect((await get('countries/value?x=7&y=46')).status).toBe(404);
  });
});

describe('a profile', () => {
  it('has the heights of GDAL at equal distances', async () => {
    const { status, body } = await get(`alps/profile?line=${encodeURIComponent(LINE)}&sampleCount=50`);
    expect(status).toBe(200);
    // geod: the pieces of the line, each divided into 400.
    const vertices = LINE.match(/[\d.]+ [\d.]+/g)!.map(
      (text) => text.split(' ').map(Number) as [number, number],
    );
    const path = vertices
      .slice(1)
      .flatMap((to, i) =>
        Array.from({ length: 400 }, (_, k) =>
          [0, 1].map((n) => interpolate(vertices[i]!, to, (k + n) / 400)),
        ),
      );
    const input = path.map(([a, b]) => `${a![1]} ${a![0]} ${b![1]} ${b![0]}`).join('\n');
    const lengths = execFileSync('geod', ['-I', '-f', '%.3f', '-F', '%.6f', '+ellps=WGS84'], { input })
      .toString()
      .trim()
      .split('\n')
      .map((text) => Number(text.trim().split(/\s+/).at(-1)));
    const total = lengths.reduce((sum, one) => sum + one, 0);
    expect(body.lineLengthMeters).toBeCloseTo(total, 1);
    expect(body.samples).toHaveLength(50);
    const positions: [number, number][] = [];
    for (const [i, { distanceMeters }] of body.samples.entries()) {
      expect(distanceMeters).toBeCloseTo((i * total) / 49, 1);
      let piece = 0;
      let before = 0;
      while (piece < lengths.length - 1 && before + lengths[piece]! < distanceMeters)
        before += lengths[piece++]!;
      const [from, to] = path[piece]!;
      positions.push(interpolate(from!, to!, (distanceMeters - before) / lengths[piece]!));
    }
    expect(body.samples.map((one: { elevation: number }) => one.elevation)).toEqual(
      readAll(ALPS, 'EPSG:4326', positions),
    );
  });

  it('ends at the end of the line with an interval', async () => {
    const line = encodeURIComponent('LINESTRING(7.2 46.5, 7.3 46.5)');
    const { body } = await get(`alps/profile?line=${line}&interval=1000`);
    expect(body.sampleCount).toBe(body.samples.length);
    expect(body.samples.map((one: { distanceMeters: number }) => one.distanceMeters)).toEqual([
      ...Array.from({ length: 8 }, (_, i) => i * 1000),
      body.lineLengthMeters,
    ]);
  });

  it('has null where the line leaves the raster', async () => {
    const line = encodeURIComponent('LINESTRING(6.6 46.5, 7.5 46.5)');
    const { body } = await get(`alps/profile?line=${line}&sampleCount=3`);
    expect(body.samples.map((one: { noData: boolean }) => one.noData)).toEqual([true, false, false]);
    expect(body.isAllNoData).toBe(false);
    const far = encodeURIComponent('LINESTRING(16 46.5, 17 46.5)');
    expect((await get(`alps/profile?line=${far}`)).body).toMatchObject({
      isAllNoData: true,
      sampleCount: 100,
    });
  });

  it('needs valid parameters', async () => {
    const line = 'LINESTRING(7.2 46.5, 7.3 46.5)';
    for (const [query, name] of [
      ['', 'line'],
      ['line=POINT(7 46)', 'line'],
      ['line=LINESTRING(7 46)', 'line'],
      ['line=LINESTRING(7 46, 8 b)', 'line'],
      ['line=LINESTRING(7 46, 8 460)', 'line'],
      [`line=${line}&sampleCount=1`, 'sampleCount'],
      [`line=${line}&sampleCount=5001`, 'sampleCount'],
      [`line=${line}&interval=0`, 'interval'],
      [`line=${line}&interval=5&sampleCount=5`, 'interval'],
      [`line=${line}&interval=0.1`, 'interval'],
    ] as const) {
      const { status, body } = await get(`alps/profile?${query}`);
      expect({ query, status, names: body.errors?.map((one: { name: string }) => one.name) }).toEqual({
        query,
        status: 400,
        names: [name],
      });
    }
  });
});

it('honua-sdk reads heights and profiles', async () => {
  const args = ['test/rasters/read_heights.py', server.url, 'alps', '7.5', '46.5', LINE, '5000'];
  const { value, profile } = JSON.parse(await run(pythonOfClients(), args));
  expect(value).toMatchObject({
    dataset_id: 'alps',
    elevation: read(ALPS, 'EPSG:4326', 7.5, 46.5),
    no_data: false,
    out_of_bounds: false,
    query_srid: 4326,
    source: { vertical_datum: 'EGM96 height', vertical_unit: 'metre', raster_count: 1 },
  });
  const { body } = await get(`alps/profile?line=${encodeURIComponent(LINE)}&interval=5000`);
  expect(profile).toMatchObject({ sample_count: body.samples.length, is_all_no_data: false });
  expect(profile.samples.map((one: { elevation: number }) => one.elevation)).toEqual(
    body.samples.map((one: { elevation: number }) => one.elevation),
  );
});

function interpolate(from: readonly number[], to: readonly number[], share: number): [number, number] {
  return [from[0]! + share * (to[0]! - from[0]!), from[1]! + share * (to[1]! - from[1]!)];
}
