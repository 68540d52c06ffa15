import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import gdal from 'gdal-async';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COVERAGES_CONFORMANCE } from '../../src/gateway/rasters/operations.js';
import { readCog } from '../support/cog.js';
import { gdalTool } from '../support/gdal-tools.js';
import { startServer, type TestServer } from '../support/server.js';
import { repetitions } from '../support/soak.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-coverages-'));
/** Where the engines of the server keep their sockets and scratch files. */
const scratch = mkdtempSync(join(tmpdir(), 'graticule-scratch-'));
const COVERAGES = '/ogc/coverages/collections';
const LANDSAT = `${COVERAGES}/l7_etms/coverage`;
const WORLD = `${COVERAGES}/world/coverage`;
const UTM = 'http://www.opengis.net/def/crs/EPSG/0/31985';
let server: TestServer;

beforeAll(async () => {
  const asc = join(folder, 'world.txt');
  const row = Array.from({ length: 360 }, (_, column) => column).join(' ');
  const rows = Array.from({ length: 180 }, () => row).join('\n');
  writeFileSync(asc, `ncols 360\nnrows 180\nxllcorner -180\nyllcorner -90\ncellsize 1\n${rows}\n`);
  gdalTool(
    'gdal_translate',
    '-q',
    '-a_srs',
    'EPSG:4326',
    '-ot',
    'Int16',
    '-of',
    'GTiff',
    asc,
    join(folder, 'world.tif'),
  );
  gdalTool(
    'gdal_create',
    '-q',
    '-of',
    'GTiff',
    '-outsize',
    20000,
    9000,
    '-bands',
    1,
    '-burn',
    7,
    '-a_srs',
    'EPSG:3857',
    '-a_ullr',
    0,
    9000,
    20000,
    0,
    '-co',
    'TILED=YES',
    '-co',
    'SPARSE_OK=TRUE',
    '-co',
    'COMPRESS=DEFLATE',
    join(folder, 'wide.tif'),
  );
  gdalTool('gdal_translate', '-q', 'demo/data/L7_ETMs.tif', join(folder, 'broken.tif'));
  server = await startServer({ sources: [folder, 'demo/data'], env: { TMPDIR: scratch } });
});
afterAll(async () => {
  await server?.stop();
  for (const made of [folder, scratch]) rmSync(made, { recursive: true, force: true });
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, { headers });

interface Answer {
  headers: Headers;
  bytes: Uint8Array;
  /** What GDAL says of the file. */
  info: {
    size: [number, number];
    geoTransform: number[];
    bands: number;
    areaOrPoint: string | undefined;
    epsg: number;
  };
}

async function tiff(path: string): Promise<Answer> {
  const answer = await get(path);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  expect(answer.status, Buffer.from(bytes.subarray(0, 400)).toString()).toBe(200);
  expect(answer.headers.get('content-type')).toBe('image/tiff; application=geotiff');
  const file = join(folder, 'answer.tiff');
  writeFileSync(file, bytes);
  return { headers: answer.headers, bytes, info: infoOf(file) };
}

function infoOf(file: string): Answer['info'] {
  const dataset = gdal.open(file);
  const { rasterSize, geoTransform, bands, srs } = dataset;
  const info = {
    size: [rasterSize.x, rasterSize.y] as [number, number],
    geoTransform: geoTransform!,
    bands: bands.count(),
    areaOrPoint: (dataset.getMetadata() as Record<string, string>)['AREA_OR_POINT'],
    epsg: Number(srs!.getAuthorityCode()),
  };
  dataset.close();
  return info;
}

/** The 400 of a path; it must name the parameter. */
async function refusal(path: string, parameter: string): Promise<void> {
  const answer = await get(path);
  const body = await answer.json();
  expect(answer.status, JSON.stringify(body)).toBe(400);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(body.errors.map(({ name }: { name: string }) => name)).toContain(parameter);
}

describe('a window', () => {
  it.each([
    ['CRS84', '-34.90,-8.02,-34.85,-7.97', ''],
    [
      'an EPSG URI, in its own axis order',
      '-8.02,-34.90,-7.97,-34.85',
      'http://www.opengis.net/def/crs/EPSG/0/4326',
    ],
    ['a URN', '-8.02,-34.90,-7.97,-34.85', 'urn:ogc:def:crs:EPSG::4326'],
    ['EPSG:n', '290600,9113400,296100,9118900', 'EPSG:31985'],
    ['a bare code', '290600,9113400,296100,9118900', '31985'],
  ])('may be given in %s', async (_, bbox, crs) => {
    const answer = await tiff(`${LANDSAT}?bbox=${bbox}${crs ? `&bbox-crs=${crs}` : ''}`);
    const [minx, miny, maxx, maxy] = answer.headers.get('content-bbox')!.split(',').map(Number);
    expect(Math.abs(minx! - 290700)).toBeLessThan(300);
    expect(Math.abs(maxy! - 9118800)).toBeLessThan(400);
    expect(answer.info.geoTransform[0]).toBeCloseTo(minx!, 6);
    expect(answer.info.geoTransform[3]).toBeCloseTo(maxy!, 6);
    expect(answer.info.size).toEqual([
      Math.round((maxx! - minx!) / 28.5),
      Math.round((maxy! - miny!) / 28.5),
    ]);
  });

  it('/req/core/response-headers: names its CRS where it is not that of GPS, and its box in the order of that CRS', async () => {
    const native = await tiff(LANDSAT);
    expect(native.headers.get('content-crs')).toBe(`<${UTM}>`);
    const degrees = await tiff(`${LANDSAT}?crs=EPSG:4326`);
    expect(degrees.headers.get('content-crs')).toBeNull();
    expect(Number(degrees.headers.get('content-bbox')!.split(',')[0])).toBeCloseTo(-34.9166, 3);
    expect(degrees.info.epsg).toBe(4326);
  });

  it('of which a part lies on the coverage is cut to it', async () => {
    const answer = await tiff(`${LANDSAT}?bbox=-180,-90,180,90`);
    expect(answer.info.size).toEqual([349, 352]);
  });

  it('across the antimeridian is one grid', async () => {
    const answer = await tiff(`${WORLD}?bbox=175,-10,-176,10`);
    expect(answer.info.size).toEqual([9, 20]);
    expect(answer.info.geoTransform).toEqual([175, 1, 0, 10, 0, -1]);
    expect(answer.headers.get('content-bbox')).toBe('175,-10,-176,10');
  });

  it.each([
    ['bbox=10,10,11,11', 'bbox'],
    ['bbox=1,1,1,1', 'bbox'],
    ['bbox=-34.9,-8,-34.9,-7.9', 'bbox'],
    ['bbox=-34.8,-7.9,-34.9,-8', 'bbox'],
    ['bbox=1e308,-90,1e308,90', 'bbox'],
    ['bbox=NaN,1,2,3', 'bbox'],
    ['bbox=290000,9112000,280000,9113000&bbox-crs=EPSG:31985', 'bbox'],
    ['bbox-crs=EPSG:25832&bbox=1,2,3,4', 'bbox-crs'],
    ['crs=EPSG:25832', 'crs'],
    ['crs=EPSG:999999', 'crs'],
    ['properties=band_7', 'properties'],
    ['properties=band_1,band_2,band_1', 'properties'],
    ['properties=*', 'properties'],
    ['resampling=magic', 'resampling'],
    ['subset=time("1999-01-01":"1999-02-01"),pressure(5)', 'subset'],
    ['subset=E(1:2)', 'subset'],
    ['subset=Lat(1:2', 'subset'],
    ['subset=Lat(2:1)', 'subset'],
    ['subset=Lat(1:2),Lat(2:3)', 'subset'],
    ['subset=Lat(-8.02:-7.97)&bbox=-34.9,-8.02,-34.85,-7.97', 'bbox'],
    ['subset=time("2020-01-01")&datetime=2020-01-01', 'datetime'],
    ['subset=Lat(-8)&height=5', 'subset'],
    ['subset=Lat(-8)&scale-factor=2', 'subset'],
    ['subset=Lat(-8)&scale-axes=Lat(2)', 'subset'],
    ['properties=band_1,', 'properties'],
    ['subset=Lat(-8:-7.9)&subset-crs=EPSG:25832', 'subset-crs'],
    ['scale-axes=Lat(0)', 'scale-axes'],
    ['scale-axes=time(2)', 'scale-axes'],
    ['resolution=Lat(0.1)', 'resolution'],
    ['resolution=E(-1)', 'resolution'],
    ['width=0', 'width'],
    ['width=9000', 'width'],
    ['width=5&scale-factor=2', 'width'],
    ['properties=band_1&exclude-properties=band_2', 'exclude-properties'],
    ['exclude-properties=band_7', 'exclude-properties'],
    ['exclude-properties=band_1,band_2,band_3,band_4,band_5,band_6', 'exclude-properties'],
    ['scale-factor=2&resolution=30', 'scale-factor'],
    ['f=jpeg', 'f'],
  ])(
    '/req/subsetting-spatial/{subset-bbox-exclusivity,subset-invalid-axis}, /req/scaling-spatial/resolution-invalid-axis: of %s is refused',
    async (query, parameter) => {
      await refusal(`${LANDSAT}?${query}`, parameter);
      expect((await get(`${LANDSAT}?scale-size=8,8`)).status).toBe(200);
    },
  );
});

it('/req/core/conformance-success: the declaration lists what we build', async () => {
  const { conformsTo } = (await (await get('/ogc/coverages/conformance')).json()) as { conformsTo: string[] };
  expect(conformsTo).toEqual(COVERAGES_CONFORMANCE);
});

it('/req/geodata-coverage/links: documents lead to values', async () => {
  const landing = (await (await get('/ogc/coverages/')).json()) as { links: { rel: string; href: string }[] };
  for (const { href, rel } of landing.links) expect((await fetch(href)).status, rel).toBe(200);
  const { collections } = (await (await get(COVERAGES)).json()) as {
    collections: { crs: string[]; links: { rel: string; href: string; type: string }[] }[];
  };
  for (const { links } of collections) {
    const rels = links.map(({ rel }) => rel);
    expect(rels).toEqual(expect.arrayContaining(['self', 'http://www.opengis.net/def/rel/ogc/1.0/coverage']));
  }
  expect((await get(COVERAGES, { accept: 'text/html' })).headers.get('content-type')).toMatch(/html/);
});

it('/req/core/get-coverage, /req/geotiff/{coverage,raster-type}, /req/field-selection/properties, /req/crs/crs-definition, /req/fieldselection/properties: in each CRS of the list, with the bands asked for', async () => {
  const { crs } = (await (await get(`${COVERAGES}/l7_etms`)).json()) as { crs: string[] };
  for (const uri of crs) {
    const { info } = await tiff(
      `${LANDSAT}?properties=band_2&scale-size=20,20&crs=${encodeURIComponent(uri)}`,
    );
    expect([uri, info.size, info.bands]).toEqual([uri, [20, 20], 1]);
    expect(info.areaOrPoint).toBe('Area');
  }
});

it('is the same for f=json, which clients send by habit', async () => {
  const { bytes } = await tiff(`${COVERAGES}/world/coverage?scale-factor=0.1`);
  expect((await tiff(`${COVERAGES}/world/coverage?scale-factor=0.1&f=json`)).bytes).toEqual(bytes);
});

it('links to itself by the type that it has', async () => {
  const { headers } = await tiff(`${LANDSAT}?scale-size=8,8`);
  expect(headers.get('link')).toContain(`rel="self"; type="${headers.get('content-type')}"`);
});

it('carries an entity tag, and is not sent again', async () => {
  const path = `${LANDSAT}?scale-size=8,8`;
  const tag = (await get(path)).headers.get('etag')!;
  expect(tag).toMatch(/^"[0-9a-f]{16}"$/);
  expect((await get(path, { 'if-none-match': tag })).status).toBe(304);
  expect((await get(`${LANDSAT}?scale-size=8,9`, { 'if-none-match': tag })).status).toBe(200);
});

describe('subset', () => {
  const boxes = async (query: string) => {
    const { headers, info } = await tiff(`${LANDSAT}?${query}`);
    return [headers.get('content-bbox'), info.size];
  };

  it('/req/subsetting-spatial/{subset,subset-crs,bbox-definition,bbox-crs}: keeps what bbox does, in CRS84 or another CRS', async () => {
    const asked = await boxes('bbox=-34.90,-8.02,-34.85,-7.97');
    expect(await boxes('subset=Lat(-8.02:-7.97),Lon(-34.90:-34.85)')).toEqual(asked);
    expect(await boxes('subset=lon(-34.90:-34.85),latitude(-8.02:-7.97)&subset-crs=[OGC:CRS84]')).toEqual(
      asked,
    );
    const metres = await boxes('bbox=290600,9113400,296100,9118900&bbox-crs=EPSG:31985');
    expect(
      await boxes(`subset=E(290600:296100),N(9113400:9118900)&subset-crs=${encodeURIComponent(UTM)}`),
    ).toEqual(metres);
  });

  it('/req/subsetting-spatial/multiple-subset: may be given several times', async () => {
    expect(await boxes('subset=Lat(-8.02:-7.97)&subset=Lon(-34.90:-34.85)')).toEqual(
      await boxes('subset=Lat(-8.02:-7.97),Lon(-34.90:-34.85)'),
    );
  });

  it('/req/subsetting-spatial/wildcard-limits: open ends, and axes that are not named, reach to the edge', async () => {
    const { info } = await tiff(`${WORLD}?subset=Lat(80:*)`);
    expect([info.size, info.geoTransform[3]]).toEqual([[360, 10], 90]);
    expect((await tiff(`${WORLD}?subset=Lat(*:-80),Lon(*:*)`)).info.size).toEqual([360, 10]);
  });

  it('/req/subsetting-spatial/wrap-around: low above high lies across the antimeridian', async () => {
    const { info, headers } = await tiff(`${WORLD}?subset=Lon(175:-176),Lat(-10:10)`);
    expect([info.size, headers.get('content-bbox')]).toEqual([[9, 20], '175,-10,-176,10']);
  });

  it('/req/subsetting-spatial/out-of-bounds: what lies elsewhere is not found', async () => {
    for (const query of ['subset=Lat(10:20)', 'subset=Lat(100:110)', 'subset=Lon(50:60)'])
      expect((await get(`${LANDSAT}?${query}`)).status, query).toBe(404);
  });

  it('/req/subsetting-spatial/subset: a single number is the cells of that place', async () => {
    const row = await tiff(`${WORLD}?subset=Lat(10.5)`);
    expect([row.info.size, row.info.geoTransform[3]]).toEqual([[360, 1], 11]);
    const cell = await tiff(`${WORLD}?subset=Lat(10.5),Lon(20.5)`);
    expect([cell.info.size, cell.info.geoTransform[0]]).toEqual([[1, 1], 20]);
    // A place between two cells is in the later one, and the edge of the coverage in the last one.
    const between = await tiff(`${WORLD}?subset=Lat(10),Lon(20)`);
    expect([between.info.size, between.info.geoTransform[0], between.info.geoTransform[3]]).toEqual([
      ...[[1, 1], 20, 10],
    ]);
    const last = await tiff(`${WORLD}?subset=Lat(-90),Lon(180)`);
    expect([last.info.size, last.info.geoTransform[0], last.info.geoTransform[3]]).toEqual([
      [1, 1],
      179,
      -89,
    ]);
    const scaled = await tiff(`${WORLD}?subset=Lat(10)&scale-axes=Lon(2)`);
    expect(scaled.info.size).toEqual([180, 1]);
  });

  it('of WCS is clipped to the coverage, and does not go round the globe', async () => {
    const wcs =
      '/rest/services/world/ImageServer/WCSServer?SERVICE=WCS&VERSION=2.0.1&REQUEST=GetCoverage&COVERAGEID=world';
    const { info } = await tiff(`${wcs}&SUBSET=Long(170,185)&SUBSET=Lat(80,1e6)&SCALEFACTOR=2`);
    expect([info.size, info.geoTransform[0], info.geoTransform[3]]).toEqual([[20, 20], 170, 90]);
    expect((await tiff(`${wcs}&SUBSET=Lat(10)&SUBSET=Long(*,-170)`)).info.size).toEqual([10, 1]);
    expect((await get(`${wcs}&SUBSET=Long(181)`)).status).toBe(404);
    expect((await get(`${wcs}&SUBSET=Long(170,-170)`)).status).toBe(404);
  });

  it('/req/subsetting-temporal/subset, /req/subsetting-temporal/wildcard-limits: selects a step of time', async () => {
    const series = `${COVERAGES}/bcsd_obs_1999`;
    const { values } = (await (await get(series)).json()).domain.axes.t;
    const instant = (query: string) =>
      get(`${series}/coverage?properties=band_1&${query}`).then(({ headers }) =>
        headers.get('content-datetime'),
      );
    const may = new Date(values[4]).toISOString();
    expect(await instant(`datetime=${values[4]}`)).toBe(may);
    for (const time of [
      `time("${values[4]}")`,
      `time("${values[4].slice(0, 10)}")`,
      `t("${values[4]}":"${values[4]}")`,
    ])
      expect(await instant(`subset=${encodeURIComponent(time)}`), time).toBe(may);
    const newest = new Date(values[11]).toISOString();
    expect(await instant('subset=time(*)')).toBe(newest);
    expect(await instant('')).toBe(newest);
    await refusal(`${series}/coverage?subset=${encodeURIComponent('time("1999-01-01":*)')}`, 'datetime');
  });
});

it('what is of no time is of every time', async () => {
  for (const query of ['datetime=2020-01-01', 'datetime=../..', 'subset=time(%222020-01-01%22)']) {
    const answer = await get(`${LANDSAT}?scale-size=8,8&${query}`);
    expect([query, answer.status, answer.headers.get('content-datetime')]).toEqual([query, 200, null]);
  }
});

describe('scaling by axis', () => {
  const size = async (query: string) => (await tiff(`${LANDSAT}?${query}`)).info.size;
  it('/req/scaling-spatial/width-and-height: as many cells as asked for, and the own number elsewhere', async () => {
    expect(await size('width=100&height=50')).toEqual([100, 50]);
    expect(await size('width=100')).toEqual([100, 352]);
    expect(await size('height=50')).toEqual([349, 50]);
    expect(await size('height=50&crs=EPSG:4326')).toEqual([expect.any(Number), 50]);
  });

  it('/req/scaling-spatial/resolution: in units of the CRS of the answer', async () => {
    const { info } = await tiff(`${LANDSAT}?resolution=E(57),N(114)`);
    expect([info.size, info.geoTransform[1]]).toEqual([[174, 88], expect.closeTo(57, 0)]);
    const degrees = await tiff(`${LANDSAT}?resolution=Lat(0.001),Lon(0.002)&crs=EPSG:4326`);
    expect(degrees.info.geoTransform[1]).toBeCloseTo(0.002, 4);
    expect(degrees.info.geoTransform[5]).toBeCloseTo(-0.001, 4);
  });

  it('/req/scaling-spatial/native-resolution: nothing means that of the raster', async () => {
    for (const query of ['resolution=', 'resolution=E(),N()', 'resolution=N()'])
      expect(await size(query), query).toEqual([349, 352]);
  });

  it('scale-axes multiplies the size of cells, axis by axis', async () => {
    expect(await size('scale-axes=E(2),N(4)')).toEqual([175, 88]);
    expect(await size('scale-axes=Lat(2)')).toEqual([349, 176]);
  });
});

describe('bands', () => {
  it('/req/field-selection/exclude-properties: are all but those left out', async () => {
    expect((await tiff(`${LANDSAT}?exclude-properties=band_1,band_4`)).info.bands).toBe(4);
    expect((await tiff(`${LANDSAT}?exclude-properties=`)).info.bands).toBe(6);
  });

  it('are named by number or by title: the variable of a file with axes', async () => {
    const series = `${COVERAGES}/bcsd_obs_1999`;
    const { properties } = (await (await get(`${series}/schema`)).json()) as {
      properties: Record<string, { title: string }>;
    };
    const titles = Object.values(properties).map(({ title }) => title);
    expect(titles).toEqual(expect.arrayContaining(['tas', 'pr']));
    const number = Object.keys(properties)[titles.indexOf('tas')];
    const tas = await tiff(`${series}/coverage?properties=tas`);
    expect(tas.info.bands).toBe(1);
    expect(tas.bytes).toEqual((await tiff(`${series}/coverage?properties=${number}`)).bytes);
    await refusal(`${series}/coverage?properties=tas,${number}`, 'properties');
    await refusal(`${series}/coverage?exclude-properties=tax`, 'exclude-properties');
  });

  it('come in the order asked for', async () => {
    const means = ({ bytes }: Answer) => {
      const file = join(folder, 'bands.tiff');
      writeFileSync(file, bytes);
      return JSON.parse(gdalTool('gdalinfo', '-json', file)).bands.map(
        (band: { metadata: { '': Record<string, string> } }) => band.metadata['']['STATISTICS_MEAN'],
      );
    };
    const all = means(await tiff(LANDSAT));
    expect(means(await tiff(`${LANDSAT}?properties=band_5,band_2`))).toEqual([all[4], all[1]]);
  });
});

describe('a time axis', () => {
  const SERIES = `${COVERAGES}/bcsd_obs_1999`;
  /** Sum of the values of the first variable, by the number of the month. */
  const month = (number: number) => {
    const file = join(folder, 'month.tif');
    gdalTool('gdal_translate', '-q', '-b', number, 'NETCDF:"demo/data/years/bcsd_obs_1999.nc":pr', file);
    return statistics(file);
  };
  const statistics = (file: string) => {
    const { minimum, maximum, mean } = JSON.parse(gdalTool('gdalinfo', '-json', '-stats', file)).bands[0];
    return [minimum, maximum, mean];
  };
  const answered = async (query: string) => {
    const file = join(folder, 'step.tif');
    writeFileSync(file, (await tiff(`${SERIES}/coverage?${query}`)).bytes);
    return statistics(file);
  };

  it('is in the document of the collection', async () => {
    const document = await (await get(SERIES)).json();
    const { values } = document.domain.axes.t;
    expect(values).toHaveLength(12);
    expect(document.extent.temporal.interval).toEqual([[values[0], values[11]]]);
    expect(document.extent.temporal.grid.cellsCount).toBe(12);
  });

  it('gives the newest step, or the one that datetime selects', async () => {
    const { values } = (await (await get(SERIES)).json()).domain.axes.t;
    expect(await answered('properties=band_1')).toEqual(month(12));
    expect(await answered(`properties=band_1&datetime=${values[4]}`)).toEqual(month(5));
    expect(await answered(`properties=band_1&datetime=../${values[0]}`)).toEqual(month(1));
    expect(await answered(`properties=band_1&datetime=${values[6].slice(0, 10)}`)).toEqual(month(7));
  });

  it('refuses what selects several steps, or none', async () => {
    for (const datetime of ['../..', '1999-01-01/1999-12-31', '1998-01-01', '2020-01-01/..'])
      await refusal(`${SERIES}/coverage?datetime=${datetime}`, 'datetime');
  });
});

describe('scaling', () => {
  it.each([
    ['scale-factor=2', [175, 176]],
    ['scale-factor=0.5', [698, 704]],
    ['resolution=57', [175, 176]],
    ['resolution=57,28.5', [175, 352]],
    ['scale-size=120,90', [120, 90]],
    ['scale-size=x(120),y(90)', [120, 90]],
    ['scale-size=Lat(90),Lon(120)', [120, 90]],
  ])('%s', async (query, size) => {
    const { info } = await tiff(`${LANDSAT}?${query}`);
    expect(Math.abs(info.size[0] - size[0]!)).toBeLessThanOrEqual(1);
    expect(Math.abs(info.size[1] - size[1]!)).toBeLessThanOrEqual(1);
  });

  it('by resolution is in units of the storage CRS, before reprojection', async () => {
    const { info } = await tiff(`${LANDSAT}?resolution=100&crs=EPSG:3857`);
    // Pixels of 100 m on the ground are a hundredth larger at 8 degrees south.
    expect(info.geoTransform[1]! / 100).toBeGreaterThan(0.99);
    expect(info.geoTransform[1]! / 100).toBeLessThan(1.03);
  });

  it('stops at 8192 pixels a side of the box that was asked for', async () => {
    const { info } = await tiff(
      `${COVERAGES}/wide/coverage?bbox=0,0,8192,10&bbox-crs=EPSG:3857&resolution=1`,
    );
    expect(info.size).toEqual([8192, 10]);
    for (const query of ['bbox=0,0,8193,10&bbox-crs=EPSG:3857&resolution=1', 'resolution=1'])
      await refusal(`${COVERAGES}/wide/coverage?${query}`, 'resolution');
    await refusal(`${COVERAGES}/wide/coverage?scale-factor=2.4`, 'scale-factor');
    // Where the coverage ends does not matter: the contract counts the box.
    await refusal(
      `${COVERAGES}/wide/coverage?bbox=-90000,0,8000,10&bbox-crs=EPSG:3857&resolution=1`,
      'resolution',
    );
    await refusal(`${COVERAGES}/wide/coverage?scale-size=8193,1`, 'scale-size');
    await refusal(`${COVERAGES}/wide/coverage`, 'scale-size');
  });
});

describe('a large answer', () => {
  it('is streamed from a file that is gone afterwards', async () => {
    // Answers from 32 MiB on are files.
    const height = repetitions(import.meta.url, 8000, 4200);
    const { bytes, info } = await tiff(`${COVERAGES}/wide/coverage?scale-size=8192,${height}`);
    expect(info.size).toEqual([8192, height]);
    expect(readCog(bytes).overviews[0]).toEqual([4096, height / 2]);
    expect(gdalTool('find', scratch, '-name', 'engine-*').match(/engine-\S+/g)).not.toBeNull();
    expect(gdalTool('find', scratch, '-name', '*.tif')).toBe('');
  });

  it('is refused beyond what fits into the time of a request', async () => {
    await expect(
      get(`${LANDSAT}?scale-size=8192,8192`).then((answer) => answer.json()),
    ).resolves.toMatchObject({
      status: 400,
      detail: expect.stringMatching(/402653184 bytes before compression/),
    });
    const dem = await get(`${COVERAGES}/olinda_dem_utm25s/coverage?f=png&scale-size=8192,8192`);
    expect(dem.status).toBe(400);
  });
});

describe('formats', () => {
  it.each([
    ['', { accept: 'image/png' }, 'image/png'],
    ['', { accept: 'image/tiff' }, 'image/tiff; application=geotiff'],
    ['', {}, 'image/tiff; application=geotiff'],
    ['?f=image/png', {}, 'image/png'],
    ['?f=tif', { accept: 'image/png' }, 'image/tiff; application=geotiff'],
  ])('%s %j', async (query, headers: Record<string, string>, type) => {
    const answer = await get(`${LANDSAT}${query}`, headers);
    expect(answer.headers.get('content-type')).toBe(type);
    const links = answer.headers.get('link')!;
    expect(links).toMatch(/rel="self"/);
    expect(links).toMatch(/rel="alternate"/);
  });

  it('nobody has are answered 406', async () => {
    expect((await get(LANDSAT, { accept: 'application/x-netcdf' })).status).toBe(406);
  });
});

describe('documents', () => {
  it('/req/core/collection-description: tell the extent, the grid and its axes', async () => {
    const document = await (await get(`${COVERAGES}/l7_etms`)).json();
    expect(document).toMatchObject({
      id: 'l7_etms',
      itemType: 'coverage',
      storageCrs: UTM,
      grid: { type: 'RegularGrid', width: 349, height: 352 },
      domain: { type: 'Grid', axes: { x: { num: 349 }, y: { num: 352 } } },
    });
    expect(document.defaultFields).toEqual([1, 2, 3, 4, 5, 6].map((band) => `band_${band}`));
    expect(document.domain.axes.x.start).toBeCloseTo(288776.25 + 14.25, 3);
    expect(document.domain.axes.y.stop).toBeCloseTo(9110728.75 + 14.25, 3);
    expect(document.extent.spatial.grid[0].cellsCount).toBe(349);
  });

  it('/req/core/coverage-fields-schema: describe the bands as a schema', async () => {
    const answer = await get(`${COVERAGES}/l7_etms/schema`);
    expect(answer.headers.get('content-type')).toBe('application/schema+json');
    const schema = await answer.json();
    expect(schema.type).toBe('object');
    expect(Object.keys(schema.properties)).toEqual([1, 2, 3, 4, 5, 6].map((band) => `band_${band}`));
  });
});

describe('a file that is cut off while it is served', () => {
  it('gives an error, and the server goes on', async () => {
    const path = join(folder, 'broken.tif');
    truncateSync(path, Math.floor(readFileSync(path).length / 3));
    const status = (await get(`${COVERAGES}/broken/coverage`)).status;
    expect([404, 500, 503]).toContain(status);
    expect((await get(`${LANDSAT}?scale-size=8,8`)).status).toBe(200);
  });
});
