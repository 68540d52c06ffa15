import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gdalTool } from '../support/gdal-tools.js';
import { startServer, type TestServer } from '../support/server.js';
import { writeOcean } from './support.js';

/** Band math, ranges and colour maps of maps and tiles, on the Landsat scene and the terrain of the demo data. */

const SCENE = 'demo/data/L7_ETMs.tif';
const work = mkdtempSync(join(tmpdir(), 'graticule-looks-'));
let server: TestServer;

beforeAll(async () => {
  // Classes and holes: 0, 1, 2 and 255 for nothing, and a picture with a colour table.
  const at = ['-a_srs', 'EPSG:4326', '-a_ullr', '0', '10', '4', '8'];
  const make = (args: string[]) =>
    execFileSync('gdal_create', ['-of', 'GTiff', '-outsize', '4', '2', ...at, ...args]);
  make(['-bands', '1', '-burn', '5', join(work, 'five.tif')]);
  const palette = [
    '-of',
    'GTiff',
    '-outsize',
    '400',
    '400',
    ...['-b', '1', '-b', '2', '-b', '3'],
    SCENE,
    join(work, 'rgb.tif'),
  ];
  gdalTool('gdal_translate', ...palette);
  execFileSync('rgb2pct.py', ['-n', '8', join(work, 'rgb.tif'), join(work, 'indexed.tif')]);
  // Two columns are there and two are not.
  const halves = { gone: join(work, 'gone.tif'), there: join(work, 'there.tif') };
  const values = ['-ot', 'Float32', '-burn', '10', '-burn', '20', '-burn', '30', '-bands', '4'];
  const half = (path: string, west: number, alpha: number) => {
    const place = ['-a_srs', 'EPSG:4326', '-a_ullr', `${west}`, '10', `${west + 2}`, '8'];
    const args = ['-of', 'GTiff', '-outsize', '2', '2', ...place, ...values, '-burn', `${alpha}`, path];
    execFileSync('gdal_create', args);
  };
  half(halves.gone, 0, 0);
  half(halves.there, 2, 255);
  execFileSync('gdalbuildvrt', ['-q', join(work, 'both.vrt'), halves.gone, halves.there]);
  const roles = ['-colorinterp', 'red,green,blue,alpha'];
  gdalTool('gdal_translate', ...roles, join(work, 'both.vrt'), join(work, 'alpha.tif'));
  const gradient = `
import numpy as np
from osgeo import gdal, osr
d = gdal.GetDriverByName('GTiff').Create('${join(work, 'sixteen.tif')}', 100, 100, 3, gdal.GDT_UInt16)
d.SetGeoTransform([0, 0.1, 0, 10, 0, -0.1])
s = osr.SpatialReference(); s.ImportFromEPSG(4326); d.SetProjection(s.ExportToWkt())
a = np.tile(np.arange(100) * 10, (100, 1)); a[0, 0] = 65535
for b in (1, 2, 3): d.GetRasterBand(b).WriteArray(a)
d = None
d = gdal.GetDriverByName('HFA').Create('${join(work, 'cover.img')}', 2, 1, 1, gdal.GDT_Byte)
d.SetGeoTransform([0, 1, 0, 10, 0, -1]); d.SetProjection(s.ExportToWkt())
d.GetRasterBand(1).WriteArray(np.array([[1, 2]]))
t = gdal.ColorTable(); t.SetColorEntry(1, (34, 139, 34, 255)); t.SetColorEntry(2, (60, 120, 220, 255))
d.GetRasterBand(1).SetColorTable(t)
r = gdal.RasterAttributeTable(); r.CreateColumn('Class_Names', gdal.GFT_String, gdal.GFU_Name)
for i, name in enumerate(['', 'Forest', 'Water']): r.SetValueAsString(i, 0, name)
d.GetRasterBand(1).SetDefaultRAT(r)
d = None`;
  execFileSync('/usr/bin/python3', ['-c', gradient], { stdio: ['ignore', 'pipe', 'pipe'] });
  writeOcean(join(work, 'ocean.nc'));
  server = await startServer({
    sources: [
      'demo/data',
      join(work, 'five.tif'),
      join(work, 'indexed.tif'),
      join(work, 'alpha.tif'),
      join(work, 'sixteen.tif'),
      join(work, 'ocean.nc'),
      join(work, 'cover.img'),
    ],
  });
}, 60_000);
afterAll(async () => {
  await server?.stop();
  rmSync(work, { recursive: true, force: true });
});

interface Info {
  size: [number, number];
  geoTransform: [number, number, number, number, number, number];
}
/** Files do not change, so each is looked at once. */
const remember = <T>(read: (of: string) => T) => {
  const known = new Map<string, T>();
  return (of: string): T => {
    if (!known.has(of)) known.set(of, read(of));
    return known.get(of)!;
  };
};
const info = remember((path): Info => JSON.parse(gdalTool('gdalinfo', '-json', path)));

const layerIdOf = remember(async (name): Promise<string> => {
  const { collections } = await (await fetch(`${server.url}/ogc/tiles/collections`)).json();
  return collections.find((one: { name: string }) => one.name === name).id;
});

/** A map of a whole file on its own grid, so that no pixel is interpolated. */
async function mapOf(
  name: string,
  path: string,
  look: Record<string, string>,
  more: Record<string, string> = {},
) {
  const { size, geoTransform } = info(path);
  const [west, dx, , north, , dy] = geoTransform;
  const [east, south] = [west + size[0] * dx, north + size[1] * dy];
  const query = new URLSearchParams({
    width: `${size[0]}`,
    height: `${size[1]}`,
    ...look,
    ...more,
    ...(path === SCENE
      ? { 'bbox-crs': 'EPSG:31985', crs: 'EPSG:31985', bbox: `${west},${south},${east},${north}` }
      : {}),
  });
  return fetch(`${server.url}/ogc/maps/collections/${await layerIdOf(name)}/map?${query}`);
}

async function pixels(response: Response) {
  expect([response.status, response.status === 200 ? '' : await response.clone().text()]).toEqual([200, '']);
  return sharp(Buffer.from(await response.arrayBuffer()))
    .ensureAlpha()
    .raw()
    .toBuffer();
}

/** Values of an expression by gdal_calc.py, in the letters of its bands; not a number where it has none. */
const calculated = remember((expression): Float32Array => {
  const out = join(work, 'calc.bin');
  const letters = ['A', 'B', 'C', 'D', 'E', 'F'].flatMap((letter, i) => [
    `-${letter}`,
    SCENE,
    `--${letter}_band=${i + 1}`,
  ]);
  const args = [
    ...letters,
    `--calc=${expression}`,
    `--outfile=${out}`,
    '--format=ENVI',
    '--type=Float32',
    '--overwrite',
    '--quiet',
  ];
  execFileSync('gdal_calc.py', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const bytes = execFileSync('cat', [out], { maxBuffer: 1 << 26 });
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
});

/** Largest difference of shades from a calculated raster, and how many pixels are transparent in one of both alone. */
function difference(rgba: Buffer, values: Float32Array, [min, max]: [number, number], channel = 0) {
  let [most, holes] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    const shade = Math.min(255, Math.max(0, Math.round(((values[i]! - min) * 255) / (max - min))));
    const isThere = rgba[i * 4 + 3] === 255;
    if (isThere !== Number.isFinite(values[i]!)) holes++;
    else if (isThere) most = Math.max(most, Math.abs(rgba[i * 4 + channel]! - shade));
  }
  return { most, holes };
}

describe('the default look', () => {
  it('of a scene without names is in natural colours, the same in all APIs', async () => {
    const usual = await pixels(await mapOf('l7_etms', SCENE, {}));
    const { channels } = await sharp(usual, { raw: { width: 349, height: 352, channels: 4 } }).stats();
    for (const { mean } of channels.slice(0, 3)) expect(mean).toBeGreaterThan(60);
    const coverage = `${server.url}/ogc/coverages/collections/l7_etms/coverage?f=png`;
    expect((await pixels(await fetch(coverage))).equals(usual)).toBe(true);
    const { size, geoTransform: at } = info(SCENE);
    const bbox = [at[0], at[3] + size[1] * at[5], at[0] + size[0] * at[1], at[3]].join();
    const query = new URLSearchParams({
      bbox,
      bboxSR: '31985',
      imageSR: '31985',
      size: '349,352',
      f: 'image',
    });
    const image = await fetch(`${server.url}/rest/services/l7_etms/ImageServer/exportImage?${query}`);
    expect((await pixels(image)).equals(usual)).toBe(true);
    const bands = { bands: '3,2,1', rescale: '0,255' };
    expect((await pixels(await mapOf('l7_etms', SCENE, bands))).equals(usual)).toBe(false);
  });

  it('of several variables is the first one in a colour ramp, with one range for all times', async () => {
    const ocean = `${server.url}/ogc/maps/collections/${await layerIdOf('ocean')}/map?width=36&height=18`;
    const usual = await pixels(await fetch(ocean));
    const looked = (look: string) => fetch(`${ocean}&${look}`);
    expect((await pixels(await looked('bands=1&colormap=viridis'))).equals(usual)).toBe(true);
    const coverage = `${server.url}/ogc/coverages/collections/ocean/coverage?f=png`;
    expect((await pixels(await fetch(coverage))).equals(usual)).toBe(true);
    const anomaly = await pixels(await looked('bands=2&colormap=viridis'));
    expect((await pixels(await fetch(`${coverage}&properties=anom`))).equals(anomaly)).toBe(true);
    const rescaled = await pixels(await looked('bands=1&colormap=viridis&rescale=0,30'));
    expect((await pixels(await looked('rescale=0,30'))).equals(rescaled)).toBe(true);
    const first = await pixels(await looked('datetime=2020-01-31T00:00:00Z'));
    // It is a degree colder.
    expect(first.equals(usual)).toBe(false);
  });
});

describe('the legend', () => {
  const legend = async (name: string, look = '') =>
    (await fetch(`${server.url}/ogc/maps/collections/${name}/legend?f=json${look}`)).json();
  const labels = ({ entries }: { entries: { label: string }[] }) => entries.map(({ label }) => label);

  it('of a variable has its name, its unit, round values, open ends and the first and last date', async () => {
    const usual = await legend('ocean');
    expect(usual).toMatchObject({ name: 'sst', unit: 'degC', dates: ['2020-01-31', '2020-03-31'] });
    expect(labels(usual)).toEqual(['≤ -0.3', '5', '10', '15', '20', '25', '≥ 27.3']);
    const svg = await (await fetch(`${server.url}/ogc/maps/collections/ocean/legend?f=svg`)).text();
    expect(svg).toContain('>sst (degC)<');
    expect(svg).toContain('>2020-01-31 to 2020-03-31<');
  });

  it('follows the parameters of the map', async () => {
    const ice = await legend('ocean', '&bands=4&colormap=blues&rescale=0,80');
    expect(ice).toMatchObject({ name: 'ice', unit: '%' });
    expect(labels(ice)).toEqual(['≤ 0', '20', '40', '60', '≥ 80']);
    expect(ice.entries[0].color).toBe('rgba(247,251,255,1)');
    expect(labels(await legend('ocean', '&rescale=0,30'))[0]).toBe('≤ 0');
    expect(labels(await legend('l7_etms', '&bands=4'))).toEqual(['0', '50', '100', '150', '200', '255']);
    const refused = await fetch(`${server.url}/ogc/maps/collections/countries/legend?bands=1`);
    expect(refused.status).toBe(400);
  });

  it('of a scene names its bands and their ranges', async () => {
    const [red] = labels(await legend('l7_etms'));
    expect(red).toMatch(/^Red: Band 3, \d+ to \d+$/);
    expect(labels(await legend('indexed'))).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
  });
});

describe('band math on maps', () => {
  it.each([
    ['(b4-b3)/(b4+b3)', '(D*1.0-C)/(D*1.0+C)', [-0.5, 0.6]],
    ['where(b4 > b3, sqrt(b4), log10(b1) * 3)', 'where(D>C, sqrt(D*1.0), log10(A*1.0)*3)', [0, 16]],
    ['b6 / (b5 - b6)', 'F*1.0/(E*1.0-F)', [0, 5]],
  ] as const)('agrees with gdal_calc.py: %s', async (expression, calc, range) => {
    const rgba = await pixels(await mapOf('l7_etms', SCENE, { expression, rescale: range.join() }));
    expect(difference(rgba, calculated(calc), [...range])).toEqual({ most: expect.any(Number), holes: 0 });
    expect(difference(rgba, calculated(calc), [...range]).most).toBeLessThanOrEqual(1);
  });

  it('shows three expressions as red, green and blue, each in its range', async () => {
    const look = { expression: 'b5;b4*2;b3-b1', rescale: '0,200,0,300,-80,40' };
    const rgba = await pixels(await mapOf('l7_etms', SCENE, look));
    expect(difference(rgba, calculated('E'), [0, 200], 0).most).toBeLessThanOrEqual(1);
    expect(difference(rgba, calculated('D*2.0'), [0, 300], 1).most).toBeLessThanOrEqual(1);
    expect(difference(rgba, calculated('C*1.0-A'), [-80, 40], 2).most).toBeLessThanOrEqual(1);
  });

  it('chooses bands, as they are or in a range', async () => {
    const plain = await pixels(await mapOf('l7_etms', SCENE, { bands: '4,3,2' }));
    const ranged = await pixels(await mapOf('l7_etms', SCENE, { bands: '4,3,2', rescale: '20,120' }));
    for (const [channel, letter] of ['D', 'C', 'B'].entries()) {
      expect(difference(plain, calculated(letter), [0, 255], channel)).toEqual({ most: 0, holes: 0 });
      expect(difference(ranged, calculated(letter), [20, 120], channel).most).toBeLessThanOrEqual(1);
    }
  });

  it('colours by ramps, stops, values and intervals', async () => {
    const five = join(work, 'five.tif');
    const first = async (look: Record<string, string>) => [
      ...(await pixels(await mapOf('five', five, look))).subarray(0, 4),
    ];
    expect(await first({ colormap: 'viridis', rescale: '5,9' })).toEqual([0x44, 0x01, 0x54, 255]);
    expect(await first({ colormap: 'viridis_r', rescale: '5,9' })).toEqual([0xfd, 0xe7, 0x25, 255]);
    expect(await first({ colormap: '["#000","#f00"]', rescale: '0,10' })).toEqual([128, 0, 0, 255]);
    expect(await first({ colormap: '[[0,"#000000"],[10,[0,200,100,255]]]' })).toEqual([0, 100, 50, 255]);
    expect(await first({ colormap: '{"4":"#ff0000","5":"#00ff0080"}' })).toEqual([0, 255, 0, 128]);
    expect(await first({ colormap: '[[[0,5],"#ff0000"],[[5,6],"#0000ff"]]' })).toEqual([0, 0, 255, 255]);
    expect((await first({ colormap: '{"4":"#ff0000"}' }))[3]).toBe(0);
    expect((await first({ nodata: '5' }))[3]).toBe(0);
    expect(await first({ nodata: '6' })).toEqual([5, 5, 5, 255]);
    expect(await first({ expression: 'b1*10', rescale: '0,255' })).toEqual([50, 50, 50, 255]);
  });

  it('makes WebP, JPEG and GeoTIFF of it', async () => {
    for (const [f, mediaType] of [
      ['webp', 'image/webp'],
      ['jpeg', 'image/jpeg'],
      ['tiff', 'image/tiff'],
    ] as const) {
      const response = await mapOf('l7_etms', SCENE, { expression: 'b4-b3' }, { f });
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        expect.stringContaining(mediaType),
      ]);
    }
  });

  it('finds a range of its own where none is given: the same in all tiles', async () => {
    const rgba = await pixels(await mapOf('l7_etms', SCENE, { expression: '(b4-b3)/(b4+b3)' }));
    const shades = new Set(Array.from({ length: rgba.length / 4 }, (_, i) => rgba[i * 4]));
    expect(shades.size).toBeGreaterThan(100);
  });

  it.each<[Record<string, string>, string]>([
    [{ expression: 'b7' }, 'expression'],
    [{ expression: 'b1+' }, 'expression'],
    [{ expression: '1' }, 'expression'],
    [{ expression: 'b1;b2' }, 'expression'],
    [{ expression: 'b1', bands: '1' }, 'bands'],
    [{ bands: '9' }, 'bands'],
    [{ bands: '1,2' }, 'bands'],
    [{ bands: '0' }, 'bands'],
    [{ rescale: '5' }, 'rescale'],
    [{ rescale: '5,5' }, 'rescale'],
    [{ rescale: '0,1e999' }, 'rescale'],
    [{ expression: 'b1', rescale: '0,1,0,1,0,1' }, 'rescale'],
    [{ colormap: 'rainbow7' }, 'colormap'],
    [{ colormap: '{"a":"#fff"}' }, 'colormap'],
    [{ colormap: '["#fff"' }, 'colormap'],
    [{ colormap: '[[1,"#fff"],[0,"#000"]]' }, 'colormap'],
    [{ colormap: 'viridis', bands: '1,2,3' }, 'colormap'],
    [{ nodata: 'none' }, 'nodata'],
  ])('refuses %j, naming the parameter', async (look, name) => {
    const response = await mapOf('l7_etms', SCENE, look);
    const { errors } = await response.json();
    expect([response.status, errors[0].name]).toEqual([400, name]);
  });

  it('refuses quantities of a colour table, and looks of features', async () => {
    const indexed = join(work, 'indexed.tif');
    expect((await mapOf('indexed', indexed, { expression: 'b1*2' })).status).toBe(400);
    expect((await mapOf('indexed', indexed, { rescale: '0,10' })).status).toBe(400);
    const features = await fetch(
      `${server.url}/ogc/maps/collections/${await layerIdOf('countries')}/map?bands=1`,
    );
    expect(features.status).toBe(400);
    const all = await fetch(`${server.url}/ogc/maps/map?bands=1`);
    expect(all.status).toBe(400);
  });
});

it('lists classes with the names of the file in the legend and on the page', async () => {
  const legend = `${server.url}/ogc/maps/collections/${await layerIdOf('cover')}/legend?f=svg`;
  const svg = await (await fetch(legend)).text();
  expect(svg).toMatch(/>Cover<.*rgb\(34,139,34\).*>Forest<.*rgb\(60,120,220\).*>Water</s);
  const page = await fetch(`${server.url}/ogc/coverages/collections/cover?f=html`);
  const html = await page.text();
  expect(html).toContain('Legend: Cover, Forest, Water');
  expect(html).toContain('2 classes');
  expect(html).toContain('1 × 1 °');
  expect(html).not.toContain('name="rescale"');
  const values = `${server.url}/ogc/coverages/collections/cover/position?coords=0.5%209.5&f=html`;
  expect(await (await fetch(values)).text()).toContain('Forest (1)');
});

describe('imagery of 16 bits', () => {
  it('is not darkened by a few bright pixels', async () => {
    const rgba = await pixels(await mapOf('sixteen', join(work, 'sixteen.tif'), {}));
    // Half way up the gradient, far from the one bright pixel.
    const middle = (50 * 100 + 50) * 4;
    expect(rgba[middle]).toBeGreaterThan(110);
    expect(rgba[middle]).toBeLessThan(145);
  });
});

describe('an alpha band', () => {
  it('makes pixels transparent, whatever is shown', async () => {
    const path = join(work, 'alpha.tif');
    for (const look of [
      {},
      { rescale: '0,300' },
      { bands: '2', colormap: 'viridis' },
      { expression: 'b1+b2' },
    ]) {
      const rgba = await pixels(await mapOf('alpha', path, look as Record<string, string>));
      const opacities = [rgba[3], rgba[rgba.length - 1]];
      expect([look, opacities]).toEqual([look, [0, 255]]);
    }
  });
});

describe('band math on tiles', () => {
  it('draws it by the query of either path', async () => {
    const query = new URLSearchParams({
      expression: '(b4-b3)/(b4+b3)',
      colormap: 'rdylgn',
      rescale: '-0.5,0.6',
    });
    const paths = ['/tiles/l7_etms/12/1651/2139.webp', '/tiles/l7_etms/12/1651/2139.png'];
    for (const path of paths) {
      const usual = await fetch(`${server.url}${path}`);
      const look = await fetch(`${server.url}${path}?${query}`);
      expect([usual.status, look.status]).toEqual([200, 200]);
      const [first, second] = [Buffer.from(await look.arrayBuffer()), Buffer.from(await usual.arrayBuffer())];
      expect(first.equals(second)).toBe(false);
    }
    const id = await layerIdOf('l7_etms');
    const tile = `${server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/12/2139/1651`;
    expect((await fetch(`${tile}?f=png&${query}`)).status).toBe(200);
    expect((await fetch(`${tile}?f=png&expression=b99`)).status).toBe(400);
    const features = await fetch(`${server.url}/tiles/countries/0/0/0.mvt?bands=1`);
    expect(features.status).toBe(400);
  });
});
