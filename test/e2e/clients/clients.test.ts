import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';
import { json, raw, run } from '../support/http.js';

const WORLD = 'demo/data/world_map.gpkg';

let server: SharedServer;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-clients-'));
  server = await sharedServer();
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
});

async function sql<T>(query: string): Promise<T[]> {
  const text = await run('sqlite3', ['-json', '-readonly', WORLD, query]);
  return text.trim() === '' ? [] : (JSON.parse(text) as T[]);
}

/** The integer that the tiles and maps surfaces know a collection by. */
async function layerId(name: string): Promise<string> {
  const { collections } = await json(`${server.url}/ogc/tiles/collections`);
  return collections.find((c: { name: string }) => c.name === name).id;
}

async function download(path: string, name: string): Promise<string> {
  const answer = await raw(`${server.url}${path}`);
  expect(answer.status, answer.body.toString('latin1').slice(0, 300)).toBe(200);
  const file = join(folder, name);
  writeFileSync(file, answer.body);
  return file;
}

describe("GDAL's experimental OGCAPI driver", () => {
  // GDAL 3.6 then fails to read tile matrix sets of version 2.0.
  it('lists the collections that have tiles', async () => {
    const text = await run('gdalinfo', [`OGCAPI:${server.url}/ogc/tiles/`]);
    for (const title of ['Countries', 'States provinces', 'L7 ETMs'])
      expect(text).toContain(`DESC=Collection ${title}`);
  });
});

describe('OGR reads features through its OAPIF driver', () => {
  const source = () => `OAPIF:${server.url}/ogc/features`;

  it('lists every vector collection and no raster', async () => {
    const text = await run('ogrinfo', ['-q', source()]);
    expect([...text.matchAll(/^\d+: (\w+)/gm)].map((match) => match[1])).toEqual([
      'countries',
      'disputed_borders',
      'states_provinces',
    ]);
  });

  it('counts 240 countries with the geometry type and the extent of the file', async () => {
    const text = await run('ogrinfo', ['-so', source(), 'countries']);
    expect(text).toContain('Feature Count: 240');
    expect(text).toContain('Geometry: Multi Polygon');
    expect(text).toContain('Extent: (-179.900001, -89.900000) - (179.900001, 83.634101)');
  });

  it('copies a collection whose attributes are those of the file', async () => {
    const copy = join(folder, 'countries.csv');
    await run('ogr2ogr', [
      '-f',
      'CSV',
      copy,
      source(),
      'countries',
      '-select',
      'NAME,ISO_A3',
      '--config',
      'OGR_OAPIF_PAGE_SIZE',
      '100',
    ]);
    const text = await run('ogr2ogr', [
      '-f',
      'CSV',
      '/vsistdout/',
      WORLD,
      'countries',
      '-select',
      'NAME,ISO_A3',
    ]);
    const rows = readFileSync(copy, 'utf8').trim().split('\n').sort();
    expect(rows).toHaveLength(241);
    expect(rows).toEqual(text.trim().split('\n').sort());
  });

  it('reads all 4,556 states over several pages', async () => {
    const text = await run('ogrinfo', [
      '-ro',
      '-q',
      source(),
      'states_provinces',
      '-sql',
      'SELECT COUNT(DISTINCT name) AS names, COUNT(*) AS n FROM states_provinces',
    ]);
    const [file] = await sql<{ names: number }>('SELECT COUNT(DISTINCT name) AS names FROM states_provinces');
    expect(text).toMatch(/ n \(Integer\) = 4556/);
    expect(text).toContain(`names (Integer) = ${file!.names}`);
  });

  it('filters on the server by bounding box', async () => {
    const text = await run('ogrinfo', [
      '-ro',
      '-q',
      source(),
      'countries',
      '-spat',
      '9.5',
      '50',
      '10',
      '50.5',
      '-geom=NO',
    ]);
    expect([...text.matchAll(/NAME \(String\) = (.*)/g)].map((match) => match[1])).toEqual(['Germany']);
  });
});

describe('GDAL reads coverages', () => {
  it('finds the grid, the CRS and the six bands of the file in the GeoTIFF', async () => {
    const file = await download('/ogc/coverages/collections/l7_etms/coverage', 'whole.tif');
    const info = JSON.parse(await run('gdalinfo', ['-json', file]));
    const origin = JSON.parse(await run('gdalinfo', ['-json', 'demo/data/L7_ETMs.tif']));
    expect(info.driverShortName).toBe('GTiff');
    expect(info.size).toEqual([349, 352]);
    expect(info.bands).toHaveLength(6);
    expect(info.bands.map((band: { type: string }) => band.type)).toEqual(
      origin.bands.map((band: { type: string }) => band.type),
    );
    expect(info.stac['proj:epsg']).toBe(31985);
    for (const [i, value] of origin.geoTransform.entries())
      expect(info.geoTransform[i]).toBeCloseTo(value, 6);
  });

  it('keeps every pixel value of the file', async () => {
    const file = await download('/ogc/coverages/collections/l7_etms/coverage', 'values.tif');
    const sums = async (path: string) =>
      [...(await run('gdalinfo', ['-checksum', path])).matchAll(/Checksum=(\d+)/g)].map((m) => m[1]);
    expect(await sums(file)).toEqual(await sums('demo/data/L7_ETMs.tif'));
  });

  it('cuts, reprojects, scales and picks bands as asked', async () => {
    const query =
      'bbox=-34.90,-8.02,-34.85,-7.97&crs=http://www.opengis.net/def/crs/EPSG/0/3857&scale-size=120,90&properties=band_3,band_1';
    const file = await download(`/ogc/coverages/collections/l7_etms/coverage?${query}`, 'window.tif');
    const info = JSON.parse(await run('gdalinfo', ['-json', file]));
    expect(info.size).toEqual([120, 90]);
    expect(info.bands).toHaveLength(2);
    expect(info.stac['proj:epsg']).toBe(3857);
    const { upperLeft, lowerRight } = info.cornerCoordinates;
    const mercatorX = (lon: number) => (lon * 20037508.342789244) / 180;
    expect(Math.abs(upperLeft[0] - mercatorX(-34.9))).toBeLessThan(1);
    expect(Math.abs(lowerRight[0] - mercatorX(-34.85))).toBeLessThan(1);
    expect(upperLeft[1]).toBeGreaterThan(lowerRight[1]);
  });

  it('answers PNG when asked for a picture', async () => {
    const answer = await raw(`${server.url}/ogc/coverages/collections/olinda_dem_utm25s/coverage?f=png`);
    expect(answer.headers['content-type']).toBe('image/png');
    const picture = await sharp(answer.body).metadata();
    expect([picture.width, picture.height]).toEqual([111, 111]);
  });
});

describe('vector tiles', () => {
  const decode = (body: Buffer) => new VectorTile(new PbfReader(body));

  it('carry one layer named like the collection, with every country once', async () => {
    const id = await layerId('countries');
    const answer = await raw(`${server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/0/0/0?f=mvt`);
    expect(answer.headers['content-type']).toBe('application/vnd.mapbox-vector-tile');
    const tile = decode(answer.body);
    expect(Object.keys(tile.layers)).toEqual(['countries']);
    const layer = tile.layers['countries']!;
    expect([layer.version, layer.extent]).toEqual([2, 4096]);
    const ids = new Set(Array.from({ length: layer.length }, (_, i) => layer.feature(i).id));
    expect(ids.size).toBe(layer.length);
    expect(layer.length).toBeGreaterThan(200);
    expect(layer.length).toBeLessThanOrEqual(240);
  });

  it('carry the attributes that SQLite sees in the file', async () => {
    const id = await layerId('countries');
    const { body } = await raw(`${server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/2/1/2?f=mvt`);
    const layer = decode(body).layers['countries']!;
    const rows = await sql<Record<string, unknown>>('SELECT * FROM countries');
    const byId = new Map(rows.map(({ geom: _, fid, ...values }) => [fid as number, values]));
    expect(layer.length).toBeGreaterThan(20);
    for (let i = 0; i < layer.length; i++) {
      const feature = layer.feature(i);
      const expected = Object.fromEntries(
        Object.entries(byId.get(feature.id!)!).filter(([, value]) => value !== null),
      );
      expect(feature.properties).toEqual(expected);
    }
  });

  it('put a country where it is', async () => {
    const id = await layerId('countries');
    const { body } = await raw(`${server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/3/2/4?f=mvt`);
    const layer = decode(body).layers['countries']!;
    const features = Array.from({ length: layer.length }, (_, i) => layer.feature(i));
    const germany = features.find((feature) => feature.properties['ISO_A3'] === 'DEU')!;
    const ring = (germany.toGeoJSON(4, 2, 3).geometry as { coordinates: number[][][] }).coordinates.flat(
      3,
    ) as unknown as number[];
    const longitudes = ring.filter((_, i) => i % 2 === 0);
    // Germany reaches from 5.9 to 15 degrees east.
    expect(Math.min(...longitudes)).toBeCloseTo(5.9, 0);
    expect(Math.max(...longitudes)).toBeCloseTo(15.0, 0);
  });

  it('are read by the MVT driver of GDAL', async () => {
    const id = await layerId('states_provinces');
    const file = await download(`/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/4/5/8?f=mvt`, 'tile.mvt');
    const text = await run('ogrinfo', [
      '-ro',
      '-so',
      '-al',
      '-oo',
      'X=8',
      '-oo',
      'Y=5',
      '-oo',
      'Z=4',
      '-oo',
      'METADATA_FILE=',
      file,
    ]);
    expect(text).toContain('Layer name: states_provinces');
    expect(text).toMatch(/Feature Count: [1-9]/);
    expect(text).toContain('WGS 84 / Pseudo-Mercator');
  });

  it('of several collections carry a layer each', async () => {
    const { body } = await raw(
      `${server.url}/ogc/tiles/tiles/WebMercatorQuad/1/0/1?f=mvt&collections=countries,disputed_borders`,
    );
    expect(Object.keys(decode(body).layers).sort()).toEqual(['countries', 'disputed_borders']);
  });

  it('answer 204 where there is nothing, and 404 outside of the limits', async () => {
    const id = await layerId('disputed_borders');
    const nothing = await raw(`${server.url}/tiles/${id}/6/1/1.mvt`);
    expect([nothing.status, nothing.body.length]).toEqual([204, 0]);
    const outside = await raw(`${server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/6/1/1?f=mvt`);
    expect(outside.status).toBe(404);
  });
});

describe('maps', () => {
  const alphaAt = async (png: Buffer, x: number, y: number): Promise<number> => {
    const { data, info } = await sharp(png).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
    return data[(y * info.width + x) * 4 + 3]!;
  };

  it('have the size asked, land drawn and sea transparent', async () => {
    const id = await layerId('countries');
    const answer = await raw(
      `${server.url}/ogc/maps/collections/${id}/map?f=png&width=720&height=360&bbox=-180,-90,180,90`,
    );
    expect(answer.headers['content-type']).toBe('image/png');
    const picture = await sharp(answer.body).metadata();
    expect([picture.format, picture.width, picture.height]).toEqual(['png', 720, 360]);
    // Two pixels a degree: the Sahara at 20 E 22 N, the south Pacific at 130 W 30 S.
    expect(await alphaAt(answer.body, 400, 136)).toBeGreaterThan(0);
    expect(await alphaAt(answer.body, 100, 240)).toBe(0);
  });

  it('show a raster where it lies and nothing beside it', async () => {
    const id = await layerId('l7_etms');
    const answer = await raw(
      `${server.url}/ogc/maps/collections/${id}/map?f=png&width=200&height=200&bbox=-34.95,-8.07,-34.79,-7.91`,
    );
    expect(await alphaAt(answer.body, 100, 100)).toBe(255);
    expect(await alphaAt(answer.body, 3, 3)).toBe(0);
  });

  it('are JPEG and TIFF as well', async () => {
    const id = await layerId('countries');
    for (const [f, format] of [
      ['jpeg', 'jpeg'],
      ['jpg', 'jpeg'],
      ['tiff', 'tiff'],
    ] as const) {
      const answer = await raw(`${server.url}/ogc/maps/collections/${id}/map?f=${f}&width=64&height=32`);
      expect((await sharp(answer.body).metadata()).format).toBe(format);
      expect(answer.headers['content-type']).toMatch(new RegExp(`^image/${format}`));
    }
  });

  it('are tiles too', async () => {
    const id = await layerId('countries');
    const answer = await raw(`${server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/1/0/1?f=png`);
    expect((await sharp(answer.body).metadata()).width).toBe(256);
  });
});

describe('STAC documents', () => {
  it('have the members that STAC 1.0.0 requires of a catalog', async () => {
    const catalog = await json(`${server.url}/stac`);
    expect(catalog).toMatchObject({
      type: 'Catalog',
      stac_version: '1.0.0',
      id: expect.any(String),
      description: expect.any(String),
    });
    const rels = catalog.links.map((link: { rel: string }) => link.rel);
    expect(rels).toEqual(expect.arrayContaining(['self', 'root', 'service-desc', 'conformance', 'data']));
    expect(rels.filter((rel: string) => rel === 'child')).toHaveLength(6);
    expect(catalog.conformsTo).toContain('https://api.stacspec.org/v1.0.0/core');
  });

  it('have the members that STAC 1.0.0 requires of a collection', async () => {
    const { collections } = await json(`${server.url}/stac/collections`);
    expect(collections).toHaveLength(6);
    for (const listed of collections) {
      const collection = await json(`${server.url}/stac/collections/${listed.id}`);
      expect(collection).toMatchObject({
        type: 'Collection',
        stac_version: '1.0.0',
        id: listed.id,
        license: expect.any(String),
        description: expect.stringMatching(/./),
      });
      const [west, south, east, north] = collection.extent.spatial.bbox[0];
      expect(west).toBeLessThan(east);
      expect(south).toBeLessThan(north);
      expect(collection.extent.temporal.interval[0]).toHaveLength(2);
      const rels = collection.links.map((link: { rel: string }) => link.rel);
      expect(rels).toEqual(expect.arrayContaining(['self', 'root', 'parent']));
    }
  });

  it('have assets that can be fetched as the media type they name', async () => {
    const collection = await json(`${server.url}/stac/collections/l7_etms`);
    expect(Object.keys(collection.assets).sort()).toEqual(['coverage', 'map']);
    for (const asset of Object.values<{ href: string; type: string }>(collection.assets)) {
      const answer = await raw(asset.href);
      expect([answer.status, answer.headers['content-type']]).toEqual([200, asset.type]);
    }
  });
});
