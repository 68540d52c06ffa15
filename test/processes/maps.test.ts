import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../support/shared-server.js';
import { type Json, ProcessClient } from './support.js';

/** Maps as pictures and on paper. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-process-maps-'));

let server: SharedServer;
let client: ProcessClient;

beforeAll(async () => {
  server = await sharedServer();
  client = new ProcessClient(server);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function fileOf(results: Json): Promise<Buffer> {
  return Buffer.from(await (await client.get(results.href)).arrayBuffer());
}

it('a page has the title in its scripts, the legend, the scale and the map', async () => {
  const inputs = {
    layers: ['countries'],
    bbox: [5, 43, 15, 49],
    crs: 'EPSG:3035',
    title: 'Alps \u0391\u03b2 \u05d0\u05d1',
  };
  const { file } = await client.results('cartography.map', { inputs });
  expect(file.type).toBe('application/pdf');
  const path = join(folder, 'map.pdf');
  writeFileSync(path, await fileOf(file));
  const info = execFileSync('pdfinfo', [path], { encoding: 'utf8' });
  expect(info).toMatch(/Page size: +841\.89 x 595\.276 pts \(A4\)/);
  const text = execFileSync('pdftotext', ['-layout', path, '-'], { encoding: 'utf8' });
  expect(text).toContain('Alps \u0391\u03b2');
  expect(text).toMatch(/[\u05d0\u05d1]{2}/);
  // About 1,100 km over 21 cm.
  const [, scale] = /(\d+) km +1 : ([\d,]+)/.exec(text)!.slice(1);
  expect(Number(scale!.replaceAll(',', ''))).toBeGreaterThan(3_000_000);
  expect(Number(scale!.replaceAll(',', ''))).toBeLessThan(9_000_000);
  expect(text).toMatch(/countries/i);
  const images = execFileSync('pdfimages', ['-list', path], { encoding: 'utf8' });
  expect(images).toMatch(/jpeg/);
  execFileSync('pdftoppm', ['-r', '30', '-png', '-singlefile', path, join(folder, 'page')]);
  const { dominant } = await sharp(join(folder, 'page.png'))
    .extract({ left: 40, top: 50, width: 180, height: 150 })
    .stats();
  // Not an empty sheet.
  expect(Math.min(dominant.r, dominant.g, dominant.b)).toBeLessThan(250);
});

it('a picture shows the box, widened to its shape, and features above the layers', async () => {
  const square = {
    type: 'Polygon',
    coordinates: [
      [
        [8, 45],
        [12, 45],
        [12, 47],
        [8, 47],
        [8, 45],
      ],
    ],
  };
  const inputs = { layers: ['countries'], bbox: [5, 43, 15, 49], crs: 'EPSG:4326', width: 400, height: 240 };
  const pixels = async (body: Json) => {
    const { file } = await client.results('cartography.map', { inputs: { ...body, format: 'png' } });
    expect(file.type).toBe('image/png');
    return sharp(await fileOf(file))
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
  };
  const [bare, covered] = [await pixels(inputs), await pixels({ ...inputs, features: square })];
  expect([bare.info.width, bare.info.height]).toEqual([400, 240]);
  const at = ({ data }: { data: Buffer }, x: number, y: number) => [
    ...data.subarray((y * 400 + x) * 4, (y * 400 + x) * 4 + 4),
  ];
  // 10 degrees are 400 pixels; the square covers 120 to 280 across, 80 to 160 down.
  expect(at(covered, 200, 120)).not.toEqual(at(bare, 200, 120));
  expect(at(covered, 60, 30)).toEqual(at(bare, 60, 30));
});

it('a box across the antimeridian shows what lies there', async () => {
  const inputs = {
    layers: ['countries'],
    bbox: [170, -50, -150, -10],
    crs: 'EPSG:3857',
    format: 'tiff',
    width: 200,
    height: 200,
  };
  const { file } = await client.results('cartography.map', { inputs });
  const path = join(folder, 'pacific.tif');
  writeFileSync(path, await fileOf(file));
  const { cornerCoordinates } = JSON.parse(execFileSync('gdalinfo', ['-json', path], { encoding: 'utf8' }));
  expect(cornerCoordinates.center[0] / 111_319.49).toBeCloseTo(190, 0);
});

it('a map with a place is a GeoTIFF', async () => {
  const inputs = {
    layers: ['countries'],
    bbox: [5, 43, 15, 49],
    crs: 'EPSG:3857',
    format: 'tiff',
    width: 200,
    height: 200,
  };
  const { file } = await client.results('cartography.map', { inputs });
  const path = join(folder, 'map.tif');
  writeFileSync(path, await fileOf(file));
  expect(execFileSync('gdalinfo', [path], { encoding: 'utf8' })).toContain('ID["EPSG",3857]');
});

it('may be the last step of a plan', async () => {
  const steps = [
    {
      kind: 'queryFeatures',
      stepId: 'rows',
      inputs: { features: { collection: 'countries', filter: "iso_a2 = 'FR'" } },
    },
    {
      kind: 'renderMap',
      stepId: 'page',
      inputs: { layers: ['states_provinces'], paper: 'A5', dpi: 96 },
      dependsOn: ['rows'],
    },
  ];
  const inputs = { plan: { planId: 'p', steps, outputs: ['map'] } };
  const { page } = await client.results('svc-geoprocessing', { inputs });
  expect((await fileOf(page)).subarray(0, 5).toString()).toBe('%PDF-');
});

it.each([
  [{ layers: ['nothing'] }, '/inputs/layers/0'],
  [{ layers: ['countries'], bbox: [5, 43] }, '/inputs/bbox'],
  [{ layers: ['countries'], format: 'gif' }, '/inputs/format'],
  [{ layers: ['countries'], dpi: 3000 }, '/inputs/dpi'],
  [{ layers: ['countries'], bbox: [0, 10, 0, -10] }, '/inputs/bbox'],
  [{ layers: ['countries'], bbox: [0, 100, 10, 120] }, '/inputs/bbox'],
  [{ layers: ['countries'], crs: 'EPSG:none' }, '/inputs/crs'],
])('%j is refused', async (inputs, name) => {
  const response = await client.execute('cartography.map', { inputs });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(name)]);
});
