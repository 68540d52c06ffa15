import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/** Every pixel is a number of its own, so that answers are large and one with pixels of another is found out. */
const SIDE = 1024;
const folder = mkdtempSync(join(tmpdir(), 'graticule-test-'));
let server: TestServer;
let coverage: string;

beforeAll(async () => {
  const pixels = new Float64Array(SIDE * SIDE).map((_, i) => Math.imul(i + 1, 2_654_435_761) / 7);
  writeFileSync(join(folder, 'places.raw'), Buffer.from(pixels.buffer));
  writeFileSync(
    join(folder, 'places.vrt'),
    `<VRTDataset rasterXSize="${SIDE}" rasterYSize="${SIDE}"><SRS>EPSG:32633</SRS><GeoTransform>400000,10,0,5800000,0,-10</GeoTransform>
     <VRTRasterBand dataType="Float64" band="1" subClass="VRTRawRasterBand"><SourceFilename relativeToVRT="1">places.raw</SourceFilename></VRTRasterBand></VRTDataset>`,
  );
  execFileSync('gdal_translate', [
    '-q',
    '-co',
    'TILED=YES',
    join(folder, 'places.vrt'),
    join(folder, 'places.tif'),
  ]);
  server = await startServer({ sources: [join(folder, 'places.tif')] });
  const { collections } = await (await fetch(`${server.url}/ogc/coverages/collections`)).json();
  coverage = `${server.url}/ogc/coverages/collections/${collections[0].id}/coverage`;
}, 60_000);

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function urlOf(left: number, top: number, side: number): string {
  const [west, north] = [400_000 + left * 10, 5_800_000 - top * 10];
  return `${coverage}?bbox=${west},${north - side * 10},${west + side * 10},${north}&bbox-crs=EPSG:32633`;
}

async function bytesOf(url: string): Promise<string> {
  const answer = await fetch(url);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer()).toString('base64');
}

it('windows that many clients ask for at once are the same as one by one, also when others go away', async () => {
  const urls = Array.from({ length: 24 }, (_, i) => urlOf(11 * i, 7 * i, 200 + 10 * (i % 5)));
  const alone: string[] = [];
  for (const url of urls) alone.push(await bytesOf(url));
  expect(alone.every((text) => text.length > 100_000)).toBe(true);
  for (let round = 0; round < 3; round++) {
    const leaving = urls.map(async (url, i) => {
      const abort = new AbortController();
      const gone = fetch(url, { signal: abort.signal })
        .then((answer) => answer.body?.getReader().read())
        .catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 5 * i));
      abort.abort();
      await gone;
    });
    const together = await Promise.all(urls.map(bytesOf));
    await Promise.all(leaving);
    expect(together.map((text, i) => text === alone[i])).toEqual(urls.map(() => true));
  }
}, 60_000);
