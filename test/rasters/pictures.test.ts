import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/** Pictures with a world file are rasters; others are named. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-pictures-'));
const at = (name: string) => join(folder, name);
const SCENE = 'demo/data/L7_ETMs.tif';
let server: TestServer;
let corners: { crs: string; box: [number, number, number, number] };

/** A picture of the scene, with what `gdal_translate` says of its place beside it. */
function picture(name: string, driver: string, worldFile: string): void {
  const made = at(`made-${name}`);
  const bands = ['-b', '3', '-b', '2', '-b', '1'];
  execFileSync('gdal_translate', ['-q', '-of', driver, '-co', 'WORLDFILE=YES', ...bands, SCENE, made]);
  const stem = made.slice(0, made.lastIndexOf('.'));
  copyFileSync(made, at(name));
  copyFileSync(`${stem}.wld`, at(worldFile));
  for (const path of [made, `${stem}.wld`, `${made}.aux.xml`]) rmSync(path, { force: true });
  expect(existsSync(`${at(name)}.aux.xml`)).toBe(false);
}

beforeAll(async () => {
  const info = JSON.parse(execFileSync('gdalinfo', ['-json', SCENE], { encoding: 'utf8' })) as {
    coordinateSystem: { wkt: string };
    cornerCoordinates: { lowerLeft: [number, number]; upperRight: [number, number] };
  };
  const { lowerLeft, upperRight } = info.cornerCoordinates;
  corners = { crs: info.coordinateSystem.wkt, box: [...lowerLeft, ...upperRight] };
  picture('scan.png', 'PNG', 'scan.pgw');
  picture('photo.jpg', 'JPEG', 'photo.jgw');
  picture('plan.jpeg', 'JPEG', 'plan.wld');
  picture('nowhere.png', 'PNG', 'nowhere.pgw');
  picture('logo.png', 'PNG', 'logo.wld');
  rmSync(at('logo.wld'));
  writeFileSync(at('scan.prj'), corners.crs);
  writeFileSync(at('plan.jpeg.prj'), corners.crs);
  server = await startServer({ sources: [folder], args: ['--crs', 'photo.jpg=EPSG:31985'] });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Collection {
  storageCrs?: string;
  extent: { spatial: { bbox: number[][] } };
}

const collection = async (id: string) =>
  (await (await fetch(`${server.url}/ogc/coverages/collections/${id}`)).json()) as Collection;

it.each([
  ['scan', 'a .prj file'],
  ['photo', 'a statement'],
  ['plan', 'a .jpeg.prj file'],
])('%s lies where the scene does, by its world file and %s', async (id) => {
  const [box] = (await collection(id)).extent.spatial.bbox;
  expect(box).toEqual([
    expect.closeTo(-34.9, 0),
    expect.closeTo(-8.1, 0),
    expect.closeTo(-34.8, 0),
    expect.closeTo(-7.9, 0),
  ]);
  const url = `${server.url}/ogc/coverages/collections/${id}/coverage?f=geotiff`;
  const tiff = at(`answer-${id}.bin`);
  writeFileSync(tiff, new Uint8Array(await (await fetch(url)).arrayBuffer()));
  const info = JSON.parse(execFileSync('gdalinfo', ['-json', tiff], { encoding: 'utf8' })) as {
    bands: unknown[];
    cornerCoordinates: { lowerLeft: number[]; upperRight: number[] };
  };
  expect(info.bands).toHaveLength(3);
  const { lowerLeft, upperRight } = info.cornerCoordinates;
  for (const [i, value] of [...lowerLeft, ...upperRight].entries())
    expect(value).toBeCloseTo(corners.box[i]!, 0);
});

it('has the pixels of the file', () => {
  const pixel = (path: string) =>
    execFileSync('gdallocationinfo', ['-valonly', path, '100', '200'], { encoding: 'utf8' });
  expect(pixel(at('answer-scan.bin'))).toBe(pixel(at('scan.png')));
});

describe('a picture that nothing places', () => {
  const lineOf = (name: string) =>
    server
      .log()
      .split('\n')
      .find((line) => line.includes(`not published: `) && line.includes(`/${name}`));

  it('is named with the reason', () => {
    expect(lineOf('logo.png')).toMatch(
      /not published: \S+\/logo\.png: The image has no georeference\. Add a world file \(logo\.pgw\) in the same folder\./,
    );
    expect(lineOf('nowhere.png')).toMatch(/has no coordinate reference system/);
  });

  it('is published when the file that places it appears', async () => {
    copyFileSync(at('scan.pgw'), at('logo.pgw'));
    copyFileSync(at('scan.prj'), at('logo.prj'));
    server.reload();
    await vi.waitFor(
      async () => expect((await fetch(`${server.url}/ogc/coverages/collections/logo`)).status).toBe(200),
      20_000,
    );
  });
});
