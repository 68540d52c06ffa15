import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { gdalTool } from '../../support/gdal-tools.js';
import { browserClients } from '../../support/saved-page.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Esri's decoder of LERC reads the values that a GeoTIFF of the same window has, and those that GDAL writes. */

const FILE = 'demo/data/olinda_dem_utm25s.tif';
const SERVICE = '/rest/services/olinda_dem_utm25s/ImageServer/exportImage';
const folder = mkdtempSync(join(tmpdir(), 'graticule-lerc-'));

interface Decoder {
  load(): Promise<void>;
  decode(bytes: ArrayBuffer): {
    readonly width: number;
    readonly height: number;
    readonly pixels: readonly ArrayLike<number>[];
    readonly mask: Uint8Array | null;
  };
}
const Lerc = createRequire(import.meta.url)(join(browserClients(), 'lerc@4.2.0/LercDecode.js')) as Decoder;
let server: SharedServer;

beforeAll(async () => {
  await Lerc.load();
  server = await sharedServer();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function bytes(members: Record<string, string>, service = SERVICE): Promise<ArrayBuffer> {
  const query = new URLSearchParams({ f: 'image', bboxSR: '4326', size: '90,80', ...members });
  const response = await fetch(`${server.url}${service}?${query}`);
  const type = response.headers.get('content-type');
  if (type?.includes('json')) throw new Error(await response.text());
  return response.arrayBuffer();
}

const INSIDE = { bbox: '-34.9,-8.02,-34.86,-7.98', interpolation: 'RSP_NearestNeighbor' };
const ACROSS = { bbox: '-34.95,-8.02,-34.86,-7.94', interpolation: 'RSP_NearestNeighbor' };

/** Row by row from the top, as GDAL reads a file. */
const valuesOf = (file: string): number[] =>
  gdalTool('gdal_translate', '-of', 'XYZ', file, '/vsistdout/')
    .trim()
    .split('\n')
    .map((line) => Math.fround(Number(line.split(' ')[2])));
const near = (values: number[]) => values.map((value) => expect.closeTo(value, 4));

it('has the values of a GeoTIFF', async () => {
  const { width, height, pixels, mask } = Lerc.decode(await bytes({ ...INSIDE, format: 'lerc' }));
  expect([width, height, mask]).toEqual([90, 80, null]);
  const values = Array.from(pixels[0]!);
  const first = Lerc.decode(await bytes({ ...INSIDE, format: 'lerc', lercVersion: '1' }));
  expect(Array.from(first.pixels[0]!)).toEqual(near(values));
  const file = join(folder, 'values.tif');
  writeFileSync(file, Buffer.from(await bytes({ ...INSIDE, format: 'tiff' })));
  expect(values).toEqual(near(valuesOf(file)));
});

it('is of the whole window, with a mask where the raster does not lie', async () => {
  const { pixels, mask } = Lerc.decode(await bytes({ ...ACROSS, format: 'lerc' }));
  const expected = join(folder, 'expected.tif');
  const [west, south, east, north] = ACROSS.bbox.split(',');
  const middle = (Number(west) + Number(east)) / 2;
  // 90 x 80 pixels of a square are a window that is wider.
  const half = ((Number(north) - Number(south)) / 80) * 45;
  const window = ['-te', `${middle - half}`, south!, `${middle + half}`, north!, '-ts', '90', '80'];
  const target = ['-t_srs', 'EPSG:4326', ...window, '-dstnodata', '-9999', '-r', 'near'];
  gdalTool('gdalwarp', ...target, FILE, expected);
  const values = valuesOf(expected);
  expect(Array.from(mask!, (one) => one !== 0)).toEqual(values.map((value) => value !== -9999));
  const valid = (_: number, i: number) => mask![i] !== 0;
  expect(Array.from(pixels[0]!).filter(valid)).toEqual(near(values.filter(valid)));
});

it('is smaller where values may be off, and these are by no more', async () => {
  const exact = await bytes({ ...INSIDE, format: 'lerc' });
  const loose = await bytes({ ...INSIDE, format: 'lerc', compressionTolerance: '2' });
  expect(loose.byteLength).toBeLessThan(exact.byteLength / 2);
  const [a, b] = [Float64Array.from(Lerc.decode(exact).pixels[0]!), Lerc.decode(loose).pixels[0]!];
  const off = Array.from(a, (value, i) => Math.abs(value - b[i]!));
  expect(Math.max(...off)).toBeGreaterThan(0.1);
  expect(Math.max(...off)).toBeLessThanOrEqual(2);
});

it('has all bands, those of them that are masked, too', async () => {
  const home = (await (await fetch(`${server.url}/?f=json`)).json()) as { collections: { id: string }[] };
  const { id } = home.collections.find((one) => /l7_etm/i.test(one.id))!;
  const service = `/rest/services/${id}/ImageServer/exportImage`;
  const document = await (await fetch(`${server.url}/rest/services/${id}/ImageServer?f=json`)).json();
  const { bandCount, extent } = document as { bandCount: number; extent: Record<string, number> };
  const [width, height] = [extent['xmax']! - extent['xmin']!, extent['ymax']! - extent['ymin']!];
  for (const part of [0.2, 0.8]) {
    const [x, y] = [extent['xmin']! + part * width, extent['ymin']! + part * height];
    const window = { bbox: `${x},${y},${x + width / 2},${y + height / 2}`, bboxSR: '', format: 'lerc' };
    const all = Lerc.decode(await bytes(window, service));
    expect(all.mask === null).toBe(part === 0.2);
    const bands = all.pixels.map((pixels) => Array.from(pixels));
    expect(bands).toHaveLength(bandCount);
    const last = Lerc.decode(await bytes({ ...window, bandIds: `${bandCount - 1}` }, service));
    expect(Array.from(last.pixels[0]!)).toEqual(bands.at(-1));
    expect(bands[0]).not.toEqual(bands.at(-1));
  }
});
