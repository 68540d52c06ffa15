import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Collection } from '../../src/core/catalog/collection.js';
import { WEB_MERCATOR } from '../../src/core/tiles/tile-matrix.js';
import { MAPS_CONFORMANCE } from '../../src/gateway/maps/operations.js';
import { mapWindow } from '../../src/services/maps/window.js';
import { vectorCollection } from '../pages/collections.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** A test for each conformance class of maps that is declared, named after requirements of the class. */

interface Link {
  rel: string;
  href: string;
  type?: string;
}
interface MapCollection {
  id: string;
  name: string;
  crs: string[];
  storageCrs?: string;
  extent: { spatial: { bbox: number[][]; storageCrsBbox?: number[][] }; temporal?: { interval: string[][] } };
  links: Link[];
}

const MAPS = '/ogc/maps';
const EPSG_4326 = 'http://www.opengis.net/def/crs/EPSG/0/4326';
const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84';

let server: SharedServer;
const ids: Record<string, string> = {};
let all: MapCollection[];

beforeAll(async () => {
  server = await sharedServer();
  all = ((await json('/collections')) as { collections: MapCollection[] }).collections;
  for (const { id, name } of all) ids[name] = id;
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(path.startsWith('http') ? path : server.url + MAPS + path, { headers });
const json = async (path: string): Promise<unknown> => {
  const response = await get(path);
  expect(response.status, path).toBe(200);
  return response.json();
};
const named = (name: string) => all.find((one) => one.name === name)!;
const mapOf = (name: string, query = '') => get(`/collections/${ids[name]}/map?width=64&height=64${query}`);
const boxOf = (response: Response) => response.headers.get('content-bbox')!.split(',').map(Number);
const rels = ({ links }: { links: Link[] }) => links.map(({ rel }) => rel);

describe('the landing page', () => {
  it('/req/core/conformance-success: the declaration lists what we build', async () => {
    expect(await json('/conformance')).toMatchObject({ conformsTo: MAPS_CONFORMANCE });
  });

  it('/req/dataset-map/landingpage, /req/tilesets/desc-links: leads to maps, tilesets and collections', async () => {
    const page = (await json('')) as { links: Link[] };
    expect(rels(page)).toEqual(
      expect.arrayContaining([
        'self',
        'service-desc',
        'conformance',
        'data',
        '[ogc-rel:map]',
        'http://www.opengis.net/def/rel/ogc/1.0/map',
        'http://www.opengis.net/def/rel/ogc/1.0/tilesets-map',
      ]),
    );
    for (const { href, rel } of page.links) expect((await get(href)).status, `${rel} ${href}`).toBe(200);
  });

  it('/req/dataset-map/desc-extent, /req/dataset-map/desc-crs: tells of the dataset as a whole', async () => {
    const { extent, crs } = (await json('')) as {
      extent: { spatial: { bbox: number[][] }; temporal: { interval: string[][] } };
      crs: string[];
    };
    const [west, south, east, north] = extent.spatial.bbox[0]!;
    for (const { extent: own } of all) {
      const [w, s, e, n] = own.spatial.bbox[0]!;
      expect([west! <= w!, south! <= s!, east! >= e!, north! >= n!]).toEqual(Array(4).fill(true));
    }
    for (const uri of all.flatMap((one) => one.crs)) expect(crs).toContain(uri);
    const { interval } = extent.temporal;
    expect(Date.parse(interval[0]![0]!)).toBeLessThanOrEqual(Date.parse(interval[0]![1]!));
  });
});

describe('collections', () => {
  it('/req/collection-map/desc-links: are described, as JSON and as a page', async () => {
    expect(all.length).toBeGreaterThan(3);
    for (const { id, links } of all) {
      const one = (await json(`/collections/${id}`)) as MapCollection;
      expect(one.id).toBe(id);
      expect(rels(one)).toEqual(expect.arrayContaining(['self', 'alternate', '[ogc-rel:map]']));
      expect(rels(one)).toContain('http://www.opengis.net/def/rel/ogc/1.0/tilesets-map');
      for (const { href, rel } of links) expect((await get(href)).status, `${rel} ${href}`).toBe(200);
      const page = await get(`/collections/${id}`, { accept: 'text/html' });
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    }
    expect((await get('/collections', { accept: 'text/html' })).headers.get('content-type')).toMatch(/html/);
    expect((await get('/collections/999')).status).toBe(404);
  });

  it('/req/collection-map/desc-crs: name the CRS of the data, and where it lies in it', () => {
    for (const { crs, storageCrs, extent } of all) {
      expect(crs).toContain(CRS84);
      if (storageCrs === undefined) continue;
      expect(crs).toContain(storageCrs);
      const [a, b, c, d] = extent.spatial.storageCrsBbox![0]!;
      expect([a! < c!, b! < d!]).toEqual([true, true]);
    }
    // Latitude first, as the authority has it.
    const [south, west] = named('countries').extent.spatial.storageCrsBbox![0]!;
    expect([Math.round(west!), south]).toEqual([-180, named('countries').extent.spatial.bbox[0]![1]]);
  });

  it('are linked from the other surfaces', async () => {
    for (const path of ['/ogc/features/collections/countries', '/ogc/coverages/collections/l7_etms']) {
      const { links } = (await json(server.url + path)) as { links: Link[] };
      expect(links.map(({ href }) => href)).toContainEqual(
        expect.stringMatching(/\/ogc\/maps\/collections\/\d+$/),
      );
    }
  });
});

describe('maps', () => {
  it('/req/core/{map-op,map-response}, /req/collection-map/map-operation: are in the CRS of the data, which headers tell with the place', async () => {
    const utm = await mapOf('l7_etms');
    expect([utm.status, utm.headers.get('content-crs')]).toEqual([200, `<${named('l7_etms').storageCrs}>`]);
    expect(boxOf(utm)).toEqual(named('l7_etms').extent.spatial.storageCrsBbox![0]);
    const degrees = await mapOf('countries', '&bbox=10,20,30,50');
    expect(degrees.headers.get('content-crs')).toBe(`<${EPSG_4326}>`);
    expect(boxOf(degrees)).toEqual([20, 10, 50, 30]);
    const asked = await mapOf('l7_etms', `&crs=${encodeURIComponent(CRS84)}`);
    expect(asked.headers.get('content-crs')).toBe(`<${CRS84}>`);
    const [west, south, east, north] = boxOf(asked);
    expect([west! > -35, east! < -34, south! > -9, north! < -7]).toEqual(Array(4).fill(true));
  });

  it('a box that the CRS of the data cannot express is cut at its area', () => {
    const stored = {
      kind: 'vector',
      storageCrs: WEB_MERCATOR,
      extent84: [5, 45, 15, 55],
    } as unknown as Collection;
    const asked = { bbox: [-180, -90, 180, 90] } as unknown as Parameters<typeof mapWindow>[1];
    const { bbox, crs } = mapWindow([stored], asked, stored);
    expect([crs, bbox.map(Math.round)]).toEqual([WEB_MERCATOR, [-20037508, -20037508, 20037508, 20037508]]);
  });

  it('all of data across 180 degrees is one box', () => {
    const extent84 = [179, -17, -179, -16] as const;
    const stored = { ...vectorCollection({ extent84 }, 'Polygon') };
    for (const resource of [stored, undefined]) {
      const { bbox } = mapWindow([stored], { width: 64, height: 64 } as never, resource);
      expect(bbox).toEqual([179, -17, 181, -16]);
    }
  });

  it.each([
    ['a single point', [7.44, 46.95, 7.44, 46.95], [7.435, 46.945, 7.445, 46.955]],
    ['points in a row', [7, 46, 8, 46], [7, 45.5, 8, 46.5]],
  ] as const)('of %s show it with what is around it', (_, extent84, expected) => {
    const { bbox } = mapWindow(
      [vectorCollection({ extent84 }, 'Point')],
      { width: 64, height: 64 } as never,
      undefined,
    );
    bbox.forEach((side, i) => void expect(side).toBeCloseTo(expected[i]!, 9));
  });

  it('/req/dataset-map/operation: of the dataset are in CRS84', async () => {
    const response = await get('/map?width=64');
    expect([response.status, response.headers.get('content-crs')]).toEqual([200, `<${CRS84}>`]);
  });

  it('/req/crs/{crs-definition,map-success}: are in every CRS of the list', async () => {
    for (const crs of named('l7_etms').crs) {
      const response = await mapOf('l7_etms', `&crs=${encodeURIComponent(crs)}`);
      expect(response.headers.get('content-crs')).toBe(`<${crs}>`);
    }
  });

  it('/req/styled-map/map-operation, /req/styled-map/desc-links: styles lead to their maps', async () => {
    const { styles } = (await json(`/collections/${ids['countries']}/styles`)) as {
      styles: { links: Link[] }[];
    };
    for (const { links } of styles) {
      const map = links.find(({ rel }) => /rel\/ogc\/1.0\/map$|ogc-rel:map/.test(rel));
      expect((await get(map!.href)).headers.get('content-type')).toBe('image/png');
    }
  });

  it('/req/collections-selection/collections-parameter: show the collections that ids and URLs name', async () => {
    const pixels = async (collections: string) => {
      const path = `/map?width=64&height=64&bbox=-35,-9,-34,-7&collections=${collections}`;
      const response = await get(path);
      expect(response.status, path).toBe(200);
      return Buffer.from(await response.arrayBuffer());
    };
    const byId = await pixels('countries,l7_etms');
    const at = (path: string) => encodeURIComponent(`${server.url}${path}`);
    const urls = [
      at('/ogc/features/collections/countries'),
      at(`/ogc/maps/collections/${ids['l7_etms']}?f=json`),
    ];
    expect(await pixels(urls.join(','))).toEqual(byId);
    expect(await pixels(`${ids['countries']},${at('/stac/collections/l7_etms')}`)).toEqual(byId);
    for (const wrong of [
      'http://example.org/ogc/features/collections/countries',
      `${server.url}/ogc/features`,
    ])
      expect((await get(`/map?collections=${encodeURIComponent(wrong)}`)).status).toBe(400);
    expect((await get(`/map?collections=${at('/ogc/features/collections/none')}`)).status).toBe(404);
  });

  it('/req/collections-selection/collections-response: are drawn from the first to the last, and hold no others', async () => {
    const pixels = async (collections: string) => {
      const path = `/map?width=64&height=64&bbox=-34.9,-8,-34.85,-7.95&f=png&collections=${collections}`;
      const response = await get(path);
      expect(response.status, path).toBe(200);
      return sharp(Buffer.from(await response.arrayBuffer()))
        .ensureAlpha()
        .raw()
        .toBuffer();
    };
    const [land, scene] = [await pixels('countries'), await pixels('l7_etms')];
    expect(land.equals(scene)).toBe(false);
    // Nothing of what lies below an opaque picture is to be seen.
    expect((await pixels('countries,l7_etms')).equals(scene)).toBe(true);
    expect((await pixels('l7_etms,countries')).equals(scene)).toBe(false);
  });

  it('/req/scaling/scale-denominator-definition: are as large as the ground at their scale, at 0.28 mm a pixel', async () => {
    const size = async (query: string) => {
      const response = await get(`/collections/${ids['l7_etms']}/map?${query}`);
      expect(response.status, query).toBe(200);
      const { width, height } = await sharp(Buffer.from(await response.arrayBuffer())).metadata();
      const [west, south, east, north] = boxOf(response);
      return { width: width!, height: height!, ground: [east! - west!, north! - south!] };
    };
    for (const scale of [100_000, 250_000]) {
      const { width, height, ground } = await size(`scale-denominator=${scale}`);
      const metres = scale * 0.28e-3;
      // The CRS is UTM: within its zone metres are those of the ground. The server takes the earth for a sphere.
      expect(Math.abs(width - ground[0]! / metres)).toBeLessThan(1 + width / 100);
      expect(Math.abs(height - ground[1]! / metres)).toBeLessThan(1 + height / 100);
    }
    for (const wrong of ['0', '-1', 'x'])
      expect((await get(`/map?scale-denominator=${wrong}`)).status, wrong).toBe(400);
  });

  it('/req/scaling/width-definition, /req/scaling/height-definition: are as large as asked for', async () => {
    const image = await get(`/collections/${ids['countries']}/map?width=90&height=45&bbox=-180,-90,180,90`);
    const { width, height } = await sharp(Buffer.from(await image.arrayBuffer())).metadata();
    expect([width, height]).toEqual([90, 45]);
    for (const wrong of ['width=0', 'height=1.5', 'width=99999', 'width=64&scale-denominator=1000000'])
      expect((await get(`/collections/${ids['countries']}/map?${wrong}`)).status, wrong).toBe(400);
  });

  it('/req/background/{bgcolor-definition,transparent-definition,map-success}: have the background that is asked for', async () => {
    const { paths } = (await json('/openapi.json')) as {
      paths: Record<string, { get: { parameters: { name: string; schema: { type: string } }[] } }>;
    };
    const { parameters } = paths[`${MAPS}/map`]!.get;
    for (const [name, type] of [
      ['bgcolor', 'string'],
      ['transparent', 'boolean'],
    ])
      expect(parameters.find((one) => one.name === name)?.schema.type).toBe(type);
    const corner = async (query: string) => {
      const image = await get(`/collections/${ids['countries']}/map?width=8&bbox=-40,-5,-30,5&${query}`);
      const pixels = sharp(Buffer.from(await image.arrayBuffer())).ensureAlpha();
      return [...(await pixels.raw().toBuffer()).subarray(0, 4)];
    };
    expect(await corner('bgcolor=0x0000FF')).toEqual([0, 0, 255, 255]);
    expect(await corner('bgcolor=navy')).toEqual([0, 0, 128, 255]);
    expect((await corner('transparent=true'))[3]).toBe(0);
    expect((await corner('transparent=false'))[3]).toBe(255);
  });

  it('/req/png/content, /req/jpeg/content, /req/tiff/content: are of the type asked for', async () => {
    const types = [
      ['png', 'image/png', 'png'],
      ['jpeg', 'image/jpeg', 'jpeg'],
      ['jpg', 'image/jpeg', 'jpeg'],
      ['tiff', 'image/tiff; application=geotiff', 'tiff'],
      ['tif', 'image/tiff; application=geotiff', 'tiff'],
      ['geotiff', 'image/tiff; application=geotiff', 'tiff'],
    ];
    for (const [f, type, format] of types) {
      const response = await mapOf('countries', `&f=${f}`);
      expect(response.headers.get('content-type'), f).toBe(type);
      expect((await sharp(Buffer.from(await response.arrayBuffer())).metadata()).format).toBe(format);
    }
  });

  it('Content-Datetime tells of what time a map is', async () => {
    const dated = all.find(({ extent }) => extent.temporal)!;
    const { interval } = dated.extent.temporal!;
    const now = await mapOf(dated.name);
    const [start, end = start] = now.headers.get('content-datetime')!.split('/');
    expect(Date.parse(start!)).toBeGreaterThanOrEqual(Date.parse(interval[0]![0]!));
    expect(Date.parse(end!)).toBeLessThanOrEqual(Date.parse(interval[0]![1]!));
    const first = await mapOf(dated.name, `&datetime=${interval[0]![0]}`);
    expect(first.headers.get('content-datetime')).toBe(new Date(interval[0]![0]!).toISOString());
    expect((await mapOf('countries')).headers.get('content-datetime')).toBeNull();
  });

  it('carry an entity tag, and are not sent again', async () => {
    for (const path of [`/collections/${ids['countries']}`, `/collections/${ids['l7_etms']}`, '']) {
      const first = await get(`${path}/map?width=64`);
      const tag = first.headers.get('etag')!;
      expect(tag).toMatch(/^"[0-9a-f]{16}"$/);
      const again = await get(`${path}/map?width=64`, { 'if-none-match': tag });
      expect([again.status, (await again.arrayBuffer()).byteLength]).toEqual([304, 0]);
      expect((await get(`${path}/map?width=65`, { 'if-none-match': tag })).status).toBe(200);
    }
  });
});

describe('map tilesets', () => {
  it('/req/tilesets-list/tileset-links, /req/tilesets/desc-links: lead to tiles of maps', async () => {
    for (const owner of ['', `/collections/${ids['countries']}`]) {
      const { tilesets } = (await json(`${owner}/map/tiles`)) as {
        tilesets: { dataType: string; links: Link[] }[];
      };
      expect(tilesets.length).toBeGreaterThan(0);
      expect(tilesets.every(({ dataType }) => dataType === 'map')).toBe(true);
      const self = tilesets[0]!.links.find(({ rel }) => rel === 'self')!;
      const { links } = (await json(self.href)) as { links: Link[] };
      const item = links.find(({ rel, type }) => rel === 'item' && type === 'image/png')!;
      const tile = item.href.replace('{tileMatrix}/{tileRow}/{tileCol}', '0/0/0');
      expect((await get(tile)).headers.get('content-type')).toBe('image/png');
    }
  });

  it('/req/tilesets/tiles-parameters: tiles are scaled as maps are', async () => {
    const tile = `${server.url}/ogc/tiles/collections/${ids['countries']}/tiles/WebMercatorQuad/0/0/0`;
    const size = async (query: string) => {
      const response = await get(`${tile}?f=png&${query}`);
      expect(response.status, query).toBe(200);
      const { width, height } = await sharp(Buffer.from(await response.arrayBuffer())).metadata();
      return [width, height];
    };
    expect(await size('width=100')).toEqual([100, 256]);
    expect(await size('width=100&height=50')).toEqual([100, 50]);
    // Twice the scale of the tile matrix, so half of its pixels.
    expect(await size(`scale-denominator=${2 * 559082264.028717}`)).toEqual([128, 128]);
    for (const wrong of [
      'width=0',
      'width=5000',
      'scale-denominator=1',
      'width=10&scale-denominator=559082264',
      'width=10&scale=2',
    ])
      expect((await get(`${tile}?f=png&${wrong}`)).status, wrong).toBe(400);
    expect((await get(`${tile}?f=mvt&width=10`)).status).toBe(400);
  });
});
