import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Box } from '../../src/core/geometry/box.js';
import { computeEnvelope, globeExtent, imageWithin } from '../../src/core/geometry/box.js';
import { transformBox } from '../../src/native/index.js';
import { startServer, type TestServer } from '../support/server.js';

/** Extents that hold what is written, and are boxes that may be asked for. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-extents-'));
let server: TestServer;

/** Coordinates with more places than are written, so that rounding them may go either way. */
const PLACES = [
  [7.44744744747, 46.94994994996],
  [8.12345678949, 47.99999999994],
  [-0.00000004, -0.00000006],
];

/** Positions along a parallel, which bend away from the straight edges of a box in UTM. */
const PARALLEL = Array.from({ length: 121 }, (_, i) => [3 + i / 20, 60]);

function geojson(name: string, positions: number[][]): void {
  const features = positions.map((coordinates) => ({
    type: 'Feature',
    properties: { name },
    geometry: { type: 'Point', coordinates },
  }));
  writeFileSync(join(folder, `${name}.geojson`), JSON.stringify({ type: 'FeatureCollection', features }));
}

beforeAll(async () => {
  geojson('places', PLACES);
  geojson('parallel', PARALLEL);
  execFileSync('ogr2ogr', [
    '-t_srs',
    'EPSG:32632',
    join(folder, 'utm.gpkg'),
    join(folder, 'parallel.geojson'),
  ]);
  // Coordinates that are no degrees, in a file that does not say what they are.
  geojson('strange', [...Array.from({ length: 10 }, (): [number, number] => [10, 20]), [12.5, 99.3]]);
  execFileSync('ogr2ogr', [join(folder, 'surveyed.shp'), join(folder, 'strange.geojson')]);
  for (const file of ['surveyed.prj', 'strange.geojson', 'parallel.geojson']) rmSync(join(folder, file));
  server = await startServer({ sources: [folder] });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Collection {
  id: string;
  extent: { spatial: { bbox: [Box] } };
}
interface Page {
  features: { geometry: object }[];
}
const get = async (path: string) => {
  const response = await fetch(`${server.url}/ogc/features/collections${path}`);
  expect(response.status, path).toBe(200);
  return response.json();
};

it.each(['places', 'parallel'])(
  '/req/core/fc-md-extent: every position of %s lies in the extent',
  async (id) => {
    const [west, south, east, north] = ((await get(`/${id}`)) as Collection).extent.spatial.bbox[0];
    const { features } = (await get(`/${id}/items`)) as Page;
    expect(features.length).toBeGreaterThan(2);
    for (const { geometry } of features) {
      const [x0, y0, x1, y1] = computeEnvelope(geometry)!;
      expect([x0 >= west, y0 >= south, x1 <= east, y1 <= north], JSON.stringify(geometry)).toEqual(
        Array(4).fill(true),
      );
    }
  },
);

it('a layer whose coordinates are none of its CRS is published with a warning, and its extent can be asked for', async () => {
  const { extent } = (await get('/surveyed')) as Collection;
  expect(extent.spatial.bbox[0]).toEqual([10, 20, 10, 20]);
  expect(
    ((await get(`/surveyed/items?bbox=${extent.spatial.bbox[0]}&limit=50`)) as Page).features,
  ).toHaveLength(10);
  expect(((await get('/surveyed/items?limit=50')) as Page).features).toHaveLength(11);
  expect(server.log()).toMatch(/surveyed: .*Coordinates contradict the coordinate reference system/);
});

describe('extents', () => {
  it('are rounded outwards, and stay as they are where they have few places', () => {
    expect(globeExtent([1.1, 46.1, 7.7, 47.3])).toEqual([1.1, 46.1, 7.7, 47.3]);
    expect(globeExtent([0.12345678, -0.12345672, 0.12345678, 0.12345672])).toEqual([
      0.1234567, -0.1234568, 0.1234568, 0.1234568,
    ]);
    expect(globeExtent([-180, -90, 180, 90])).toEqual([-180, -90, 180, 90]);
  });

  it('have latitudes and longitudes that exist', () => {
    expect(globeExtent([0, -95, 359.5, 99])).toEqual([0, -90, 359.5, 90]);
    expect(globeExtent([-1e308, 0, 1e308, 1])).toEqual([-180, 0, 180, 1]);
    expect(globeExtent([500_000, 5_000_000, 600_000, 5_100_000])).toBeUndefined();
  });

  it('hold the image of a box between the places that are looked at', () => {
    // The parallel of 60 degrees bends by kilometres over six degrees of UTM.
    const box: Box = [166_000, 6_650_000, 834_000, 6_660_000];
    const once = transformBox(box, 'EPSG:32632', 'OGC:CRS84');
    const held = imageWithin(box, (part) => transformBox(part, 'EPSG:32632', 'OGC:CRS84'));
    for (let x = 166_000; x <= 834_000; x += 500) {
      const [west, south, east, north] = transformBox(
        [x, 6_660_000, x, 6_660_000],
        'EPSG:32632',
        'OGC:CRS84',
      );
      expect(north).toBeLessThanOrEqual(held[3]);
      expect([west >= held[0], east <= held[2], south >= held[1]]).toEqual([true, true, true]);
    }
    expect(held[3] - once[3]).toBeLessThan(0.01);
  });
});
