import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gdalTool } from '../support/gdal-tools.js';
import { OgcSchemas } from '../support/ogc-schemas.js';
import { startServer, type TestServer } from '../support/server.js';

/** Data in a CRS that no authority has a code for: it has a URI on this server, which leads to its definition. */

const AROUND_OLINDA = '+proj=laea +lat_0=-8 +lon_0=-34.9 +x_0=1000 +y_0=2000 +ellps=GRS80 +units=m +no_defs';
const folder = mkdtempSync(join(tmpdir(), 'graticule-own-crs-'));
let server: TestServer;

beforeAll(async () => {
  gdalTool(
    'gdalwarp',
    '-q',
    '-t_srs',
    AROUND_OLINDA,
    'demo/data/olinda_dem_utm25s.tif',
    join(folder, 'dem.tif'),
  );
  const points = [-35, -34.9].map((x) => ({
    type: 'Feature',
    properties: {},
    geometry: { type: 'Point', coordinates: [x, -8] },
  }));
  writeFileSync(join(folder, 'points.json'), JSON.stringify({ type: 'FeatureCollection', features: points }));
  gdalTool(
    'ogr2ogr',
    '-t_srs',
    AROUND_OLINDA,
    join(folder, 'spots.gpkg'),
    join(folder, 'points.json'),
    '-nln',
    'spots',
  );
  rmSync(join(folder, 'points.json'));
  copyFileSync(join(folder, 'dem.tif'), join(folder, '2020 dem.tif'));
  server = await startServer({ sources: [folder] });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
const json = async (path: string): Promise<any> => {
  const response = await fetch(path.startsWith('http') ? path : server.url + path);
  expect(response.status, path).toBe(200);
  return response.json();
};
const storageCrs = async (path: string): Promise<string> => {
  const { storageCrs: uri, crs } = await json(path);
  expect(crs).toContain(uri);
  return uri;
};

it.each(['/ogc/coverages/collections/dem', '/ogc/features/collections/spots'])(
  'the URI of %s leads to WKT 2 and PROJJSON',
  async (path) => {
    const uri = await storageCrs(path);
    expect(uri).toMatch(new RegExp(`^${server.url}/ogc/crs/[0-9a-f]{16}$`));
    const wkt = await (await fetch(uri)).text();
    const expected = gdalTool('gdalsrsinfo', '-o', 'proj4', '--single-line', AROUND_OLINDA).trim();
    expect(gdalTool('gdalsrsinfo', '-o', 'proj4', '--single-line', wkt).trim()).toBe(expected);
    const projjson = await fetch(`${uri}?f=json`);
    expect(projjson.headers.get('content-type')).toBe('application/projjson+json');
    expect(gdalTool('gdalsrsinfo', '-o', 'proj4', '--single-line', await projjson.text()).trim()).toBe(
      expected,
    );
    expect((await fetch(`${server.url}/ogc/crs/0000000000000000`)).status).toBe(404);
  },
);

it('/req/core/response-headers: coverages are in it, name it, and take boxes in it', async () => {
  const uri = await storageCrs('/ogc/coverages/collections/dem');
  const coverage = `${server.url}/ogc/coverages/collections/dem/coverage`;
  const whole = await fetch(coverage);
  expect(whole.headers.get('content-crs')).toBe(`<${uri}>`);
  const [minx, miny, maxx, maxy] = whole.headers.get('content-bbox')!.split(',').map(Number);
  const box = [minx, miny, (minx! + maxx!) / 2, maxy];
  const half = await fetch(
    `${coverage}?bbox=${box}&bbox-crs=${encodeURIComponent(uri)}&crs=${encodeURIComponent(uri)}`,
  );
  expect([half.status, half.headers.get('content-crs')]).toEqual([200, `<${uri}>`]);
  expect(Number(half.headers.get('content-bbox')!.split(',')[2])).toBeLessThan(maxx!);
});

it('/req/crs/crs-uri: features are written in it and found by boxes in it', async () => {
  const uri = encodeURIComponent(await storageCrs('/ogc/features/collections/spots'));
  const items = `/ogc/features/collections/spots/items?crs=${uri}`;
  const { features } = await json(items);
  expect(features).toHaveLength(2);
  const [x, y] = features[1].geometry.coordinates;
  expect([x, y]).toEqual([expect.closeTo(1000, 1), expect.closeTo(2000, 1)]);
  const { features: near } = await json(`${items}&bbox=990,1990,1010,2010&bbox-crs=${uri}`);
  expect(near).toHaveLength(1);
});

it('/req/core/map-response: maps are in it', async () => {
  const uri = await storageCrs('/ogc/coverages/collections/dem');
  const { collections } = await json('/ogc/maps/collections');
  const { id } = collections.find(({ name }: { name: string }) => name === 'dem');
  const map = await fetch(`${server.url}/ogc/maps/collections/${id}/map?width=32`);
  expect([map.status, map.headers.get('content-crs')]).toEqual([200, `<${uri}>`]);
});

it('WCS describes and returns a raster in degrees, in pixels of the described size', async () => {
  const service = `${server.url}/rest/services/dem/ImageServer/WCSServer?service=WCS&version=2.0.1`;
  const description = await (await fetch(`${service}&request=DescribeCoverage&coverageId=dem`)).text();
  expect(description).toContain('axisLabels="Long Lat"');
  const [, columns, rows] = /<gml:high>(\d+) (\d+)</.exec(description)!;
  const sizeOf = async (query: string) => {
    const response = await fetch(`${service}&request=GetCoverage&coverageId=dem${query}`);
    const file = join(folder, 'answer.tiff');
    writeFileSync(file, Buffer.from(await response.arrayBuffer()));
    return JSON.parse(gdalTool('gdalinfo', '-json', file)).size;
  };
  const [width, height] = [Number(columns) + 1, Number(rows) + 1];
  expect(await sizeOf('')).toEqual([width, height]);
  expect(await sizeOf('&SCALEFACTOR=0.5')).toEqual([Math.round(width / 2), Math.round(height / 2)]);
  expect(await sizeOf('&SUBSET=Lat(-8)')).toEqual([expect.any(Number), 1]);
});

it('WCS has XML names for coverages, and takes those of collections, too', async () => {
  const service = `${server.url}/rest/services/2020-dem/ImageServer/WCSServer?service=WCS&version=2.0.1`;
  const capabilities = await (await fetch(`${service}&request=GetCapabilities`)).text();
  const [, name] = /<wcs:CoverageId>([^<]+)</.exec(capabilities)!;
  expect(name).toBe('_x0032_020-dem');
  const describe = async (id: string) =>
    (await fetch(`${service}&request=DescribeCoverage&coverageId=${id}`)).text();
  const description = await describe(name!);
  const schemas = new OgcSchemas();
  try {
    schemas.validate('ogc/wcs/2.0/wcsAll.xsd', description);
  } finally {
    schemas.remove();
  }
  expect(await describe('2020-dem')).toBe(description);
});

describe('STAC', () => {
  it('items spell it out', async () => {
    const { features } = await json('/stac/collections/dem/items');
    const { properties } = features[0];
    expect(properties['proj:epsg']).toBeNull();
    expect(properties['proj:wkt2']).toMatch(/^PROJCRS\[/);
    expect(properties['proj:projjson']).toMatchObject({ type: 'ProjectedCRS' });
  });

  it("GDAL's STACIT driver reads them", async () => {
    const url = `${server.url}/stac/collections/dem/items`;
    const info = JSON.parse(gdalTool('gdalinfo', '-json', `STACIT:"${url}":asset=data`));
    const own = JSON.parse(gdalTool('gdalinfo', '-json', join(folder, 'dem.tif')));
    expect(info.size).toEqual(own.size);
    expect(info.coordinateSystem.wkt).toMatch(/Lambert Azimuthal Equal Area/);
  });
});
