import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Box } from '../../src/core/geometry/box.js';
import { multipart } from '../admin/support/multipart.js';
import { startServer, type TestServer } from '../support/server.js';

/** Files that name no coordinate reference system: what they are taken for, and how people state it. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-unknown-crs-'));
const city = join(folder, 'city');
const site = join(folder, 'site');
const old = join(folder, 'old');
const alone = join(folder, 'alone');
let server: TestServer;

const run = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: 'utf8' });

function squares(path: string, crs: string | undefined, corners: readonly [number, number][], side: number) {
  const json = join(folder, 'squares.json');
  const features = corners.map(([x, y], i) => ({
    type: 'Feature',
    properties: { n: i },
    geometry: {
      type: 'Polygon',
      coordinates: [
        [
          [x, y],
          [x + side, y],
          [x + side, y + side],
          [x, y + side],
          [x, y],
        ],
      ],
    },
  }));
  writeFileSync(json, JSON.stringify({ type: 'FeatureCollection', features }));
  run('ogr2ogr', '-a_srs', crs ?? 'EPSG:27700', '-nln', basename(path).replace(/\..*$/, ''), path, json);
  if (crs === undefined) rmSync(path.replace(/\.shp$/, '.prj'));
  rmSync(json);
}

/** Charing Cross, in the grid of Britain. */
const LONDON: [number, number] = [530_000, 180_400];

beforeAll(async () => {
  for (const path of [city, site, old, alone]) mkdirSync(path);
  squares(join(city, 'wards.shp'), 'EPSG:27700', [[525_000, 175_000]], 12_000);
  squares(join(city, 'plots.shp'), undefined, [LONDON, [531_000, 181_000]], 100);
  squares(
    join(site, 'plan.shp'),
    undefined,
    [
      [1000, 5000],
      [1400, 5668],
    ],
    100,
  );
  squares(join(site, 'survey.shp'), undefined, [LONDON], 100);
  copyFileSync(join(city, 'wards.prj'), join(site, 'measured.prj'));
  writeFileSync(join(site, 'measured.csv'), 'x,y,name\n530000,180400,Charing Cross\n');
  squares(join(site, 'trees.shp'), undefined, [[-0.1, 51.5]], 0.01);
  writeFileSync(join(site, 'stops.csv'), 'lon,lat\n-0.1,51.5\n');
  squares(join(alone, 'chosen.shp'), undefined, [LONDON], 100);
  writeFileSync(join(site, 'points.csv'), 'x,y\n-0.1,51.5\n');
  squares(join(site, 'utm.shp'), 'EPSG:32618', [[500_000, 4_500_000]], 1000);
  writeFileSync(join(site, 'utm.prj'), run('gdalsrsinfo', '-o', 'wkt_esri', '--single-line', 'EPSG:32618'));
  squares(join(old, 'legacy.gpkg'), 'EPSG:27700', [LONDON], 100);
  run('sqlite3', join(old, 'legacy.gpkg'), 'UPDATE gpkg_geometry_columns SET srs_id = -1');
  // As GDAL writes data of no CRS from 3.9 on.
  squares(join(old, 'modern.gpkg'), 'EPSG:27700', [LONDON], 100);
  run(
    'sqlite3',
    join(old, 'modern.gpkg'),
    `INSERT INTO gpkg_spatial_ref_sys VALUES ('Undefined SRS', 99999, 'GDAL', 99999,
       'LOCAL_CS["Undefined SRS",LOCAL_DATUM["unknown",32767],UNIT["unknown",0],AXIS["Easting",EAST],AXIS["Northing",NORTH]]', NULL);
     UPDATE gpkg_geometry_columns SET srs_id = 99999`,
  );
  server = await startServer({
    sources: [folder],
    args: ['--crs', 'survey.shp=EPSG:27700', '--crs', 'absent.shp=EPSG:27700'],
  });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Collection {
  extent: { spatial?: { bbox: [Box] } };
  crs: string[];
  storageCrs: string;
  description: string;
  links: { rel: string; href: string }[];
}

const json = async <T>(path: string): Promise<T> => (await (await fetch(server.url + path)).json()) as T;
const collection = (id: string) => json<Collection>(`/ogc/features/collections/${id}`);
const epsg = (code: number) => `http://www.opengis.net/def/crs/EPSG/0/${code}`;

async function isInLondon(id: string): Promise<void> {
  const { storageCrs, extent } = await collection(id);
  expect(storageCrs).toBe(epsg(27700));
  const [west, south, east, north] = extent.spatial!.bbox[0];
  expect(west).toBeGreaterThan(-0.2);
  expect(east).toBeLessThan(-0.05);
  expect(south).toBeGreaterThan(51.5);
  expect(north).toBeLessThan(51.52);
}

describe('a CRS that a file does not name', () => {
  it('is guessed by the neighbours, with the reason', async () => {
    await isInLondon('plots');
    const { description } = await collection('plots');
    expect(description).toContain('The place is assumed: ');
    expect(description).toContain('EPSG:27700 was guessed.');
    expect(server.log()).toContain(
      "plots: No coordinate reference system is declared. EPSG:27700 was guessed, because the data then overlaps 'Wards', which has this CRS.",
    );
  });

  it('is not taken for degrees without a warning, unless columns are named longitude and latitude', async () => {
    for (const id of ['trees', 'points']) expect(server.log().split(`warning: ${id}: `)).toHaveLength(2);
    expect(server.log()).toMatch(
      /warning: points: No .* Longitudes and latitudes \(WGS 84\) were assumed, because x -0\.1 to -0\.1, y 51\.5 to 51\.5 can be degrees\. Declare/,
    );
    expect(server.log()).not.toContain('warning: stops');
    expect((await collection('stops')).description).not.toContain('assumed');
    const headers = { 'x-api-key': server.adminKey };
    const list = await fetch(`${server.url}/api/v1/admin/sources?state=warning`, { headers });
    const { data } = (await list.json()) as {
      data: { sources: { source: string; reason: string; remedy: string; assumedCrs: unknown }[] };
    };
    const found = data.sources.map(({ source, assumedCrs }) => [basename(source), assumedCrs]);
    expect(Object.fromEntries(found)).toMatchObject({
      'trees.shp': { as: 'degrees', crs: null },
      'plan.shp': { as: 'plane', crs: null },
      'plots.shp': { as: 'guess', crs: 'EPSG:27700' },
    });
    const points = data.sources.find(({ source }) => source.endsWith('points.csv'))!;
    expect(points.reason).toMatch(/can be degrees\.$/);
    expect(points.remedy).toMatch(/^Declare the CRS if that is wrong: .*--crs points\.csv=EPSG:n/);
  });

  it('is explained to operators; readers see that the place is unknown or assumed', async () => {
    const page = async (id: string, key?: string) => {
      const headers: Record<string, string> = key === undefined ? {} : { 'x-api-key': key };
      return (await fetch(`${server.url}/ogc/features/collections/${id}?f=html`, { headers })).text();
    };
    for (const [id, text] of [
      ['plan', 'Unknown place: '],
      ['trees', 'The place is assumed: '],
      ['plots', 'The place is assumed: '],
    ] as const) {
      const [forReader, forOwner] = await Promise.all([page(id), page(id, server.adminKey)]);
      expect(forReader).toContain(text);
      expect(forReader).not.toContain('--crs');
      expect(forReader).not.toContain('data.crs');
      expect((await collection(id)).description).not.toContain('--crs');
      expect(forOwner).toContain('No coordinate reference system is declared');
    }
  });

  it('is stated on the command line', () => isInLondon('survey'));

  it('is stated by a .prj file beside a CSV', () => isInLondon('measured'));

  it('is chosen on the running server, with a preview before', async () => {
    const admin = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${server.url}/api/v1/admin${path}`, {
        method,
        headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, ...(text && JSON.parse(text)) };
    };
    const asAdmin = () => ({ headers: { 'x-api-key': server.adminKey } });
    const find = async (name: string) => (await admin('GET', `/sources?q=${name}`)).data.sources[0].sourceId;
    const id = await find('chosen.shp');
    const path = `/sources/${id}/crs`;
    expect((await admin('GET', path)).data).toMatchObject({
      origin: 'assumed',
      chosen: null,
      configuredBy: null,
    });
    const { systems } = (await admin('GET', '/crs?q=british%20national&limit=1')).data;
    expect(systems).toMatchObject([{ crs: 'EPSG:27700', isGeographic: false }]);
    const preview = await admin('GET', `${path}/preview?crs=EPSG:27700`);
    expect(preview).toMatchObject({
      crsName: 'OSGB36 / British National Grid',
      isInArea: true,
      isSample: false,
    });
    const [x, y] = preview.features[0].geometry.coordinates.flat(3);
    expect([x, y]).toEqual([expect.closeTo(-0.13, 1), expect.closeTo(51.5, 1)]);
    expect(await admin('GET', `${path}/preview?crs=EPSG:4326`)).toMatchObject({
      extent: null,
      isInArea: false,
    });
    expect((await collection('chosen')).extent.spatial).toBeUndefined();
    for (const crs of ['EPSG:99', 'EPSG:5773', 'roads.prj', '']) {
      expect((await admin('GET', `${path}/preview?crs=${crs}`)).status, crs).toBe(400);
      expect((await admin('PUT', path, { crs })).status, crs).toBe(400);
    }
    expect((await admin('PUT', path, { crs: 'EPSG:27700' })).data).toMatchObject({
      crs: 'EPSG:27700',
      origin: 'chosen',
      chosen: { crs: 'EPSG:27700' },
    });
    await isInLondon('chosen');
    expect((await collection('chosen')).description).not.toContain('place');
    const configured = await admin('PUT', `/sources/${await find('survey.shp')}/crs`, { crs: 'EPSG:2056' });
    expect(configured.status).toBe(409);
    expect(configured.detail).toContain("data.crs (--crs) assigns EPSG:27700 to 'survey.shp'");
    expect((await admin('PUT', path, { crs: 'EPSG:2056' })).data).toMatchObject({
      origin: 'chosen',
      extent: [530_000, 180_400, 530_100, 180_500],
      warning: expect.stringMatching(/^The data is outside the area of use of CH1903\+ \/ LV95: /),
    });
    const html = async (page: string) => (await fetch(`${server.url}${page}`, asAdmin())).text();
    expect(await html(path)).toContain('The data is outside the area of use of CH1903+ / LV95');
    expect(await html('/ogc/tiles/collections/chosen?f=html')).toContain(
      'x 530000 to 530100, y 180400 to 180500',
    );
    const local = await admin('PUT', path, { crs: 'local' });
    expect(local.data).toMatchObject({ origin: 'chosen', chosen: { crs: 'local' }, warning: null });
    expect(await admin('GET', `${path}/preview?crs=local`)).toMatchObject({ features: [], extent: null });
    expect((await collection('chosen')).extent.spatial).toBeUndefined();
    expect((await collection('chosen')).description).toContain('Unknown place: the data has local units');
    expect((await admin('GET', '/sources?q=chosen.shp')).data.sources).toMatchObject([
      { state: 'published' },
    ]);
    expect(await html(path)).toMatch(/value="local" checked/);
    expect((await admin('DELETE', path)).status).toBe(204);
    expect((await collection('chosen')).extent.spatial).toBeUndefined();
    expect((await admin('DELETE', path)).status).toBe(404);
  });

  it('is reported when there is no such file', () => {
    expect(server.log()).toContain(
      'absent.shp: The setting data.crs names this file, but the file does not exist.',
    );
  });

  it('is stated in the configuration, and then all is right after a reload, and after an import', async () => {
    const config = join(folder, 'graticule.yaml');
    const later = join(folder, 'later');
    mkdirSync(later);
    const state = (crs: string, ...others: string[]) => {
      const sources = [join(old, 'legacy.gpkg'), ...others];
      writeFileSync(config, JSON.stringify({ data: { sources, crs: { 'legacy.gpkg': crs } } }));
    };
    state('EPSG:32631');
    const own = await startServer({ sources: [], args: ['--config', config] });
    try {
      const stored = async () => {
        const response = await fetch(`${own.url}/ogc/features/collections/legacy`);
        return ((await response.json()) as Collection).storageCrs;
      };
      expect(await stored()).toBe(epsg(32631));
      state('EPSG:27700', later);
      own.reload();
      await vi.waitFor(async () => expect(await stored()).toBe(epsg(27700)), 20_000);
      const { contentType, body } = multipart([
        { name: 'TableName', content: 'imported' },
        { name: 'SourceSrid', content: '4326' },
        { name: 'file', filename: 'imported.csv', content: 'longitude,latitude\n1,2\n' },
      ]);
      const answer = await fetch(`${own.url}/api/v1/admin/import/upload`, {
        method: 'POST',
        headers: { 'content-type': contentType, 'x-api-key': own.adminKey },
        body: new Uint8Array(body),
      });
      expect(answer.status, await answer.text()).toBe(200);
      expect(await stored()).toBe(epsg(27700));
      squares(join(later, 'late.shp'), 'EPSG:27700', [LONDON], 100);
      await vi.waitFor(async () => {
        expect((await fetch(`${own.url}/ogc/features/collections/late`)).status).toBe(200);
      }, 20_000);
    } finally {
      await own.stop();
    }
  });

  it('is refused when it is none', async () => {
    await expect(startServer({ sources: [site], args: ['--crs', 'plan.shp=EPSG:99'] })).rejects.toThrow(
      /'EPSG:99' for plan.shp is not a CRS that PROJ knows/,
    );
    await expect(startServer({ sources: [site], args: ['--crs', 'plan.shp'] })).rejects.toThrow(
      /--crs: must be FILE=CRS, for example roads\.shp=EPSG:27700, not 'plan\.shp'\./,
    );
  });
});

it('WKT of Esri is identified', async () => {
  expect(readFileSync(join(site, 'utm.prj'), 'utf8')).toMatch(/WGS_1984_UTM_Zone_18N/);
  const { storageCrs, crs } = await collection('utm');
  expect(storageCrs).toBe(epsg(32618));
  expect(crs).toContain(epsg(32618));
});

describe.each(['plan', 'legacy', 'modern'])('the plane of %s', (id) => {
  it('is told, and has no extent on Earth', async () => {
    const { extent, crs, storageCrs, description } = await collection(id);
    expect(extent.spatial).toBeUndefined();
    expect(crs).toEqual([storageCrs]);
    expect(storageCrs).toMatch(/\/ogc\/crs\/[0-9a-f]{16}$/);
    expect(await (await fetch(storageCrs)).text()).toContain('ENGCRS["Plane of ');
    expect(description).toMatch(/^Unknown place: /);
    const health = await fetch(`${server.url}/healthz/metrics`, {
      headers: { 'x-api-key': server.adminKey },
    });
    const { catalog } = (await health.json()) as {
      catalog: { warnings: { collection: string; warning: string }[] };
    };
    const { warning } = catalog.warnings.find((one) => one.collection === id)!;
    expect(warning).toContain('cannot be degrees');
    expect(warning).toContain(`--crs ${id}.`);
    expect(server.log()).toContain(`warning: ${id}: No coordinate reference system is declared`);
  });

  it('has its features, in its own coordinates alone', async () => {
    const path = `/ogc/features/collections/${id}/items`;
    const response = await fetch(server.url + path);
    expect(response.headers.get('content-crs')).toBe(`<${(await collection(id)).storageCrs}>`);
    const page = (await response.json()) as {
      features: { geometry: { coordinates: [[[Box]]] | [[Box]] } }[];
    };
    const [x, y] = page.features[0]!.geometry.coordinates.flat(3) as unknown as number[];
    const within = await json<{ numberMatched: number }>(`${path}?bbox=${x},${y},${x! + 1},${y! + 1}`);
    expect(within.numberMatched).toBe(1);
    for (const parameter of ['crs', 'bbox-crs', 'filter-crs']) {
      const query = `${parameter}=${epsg(4326)}&bbox=1,1,2,2&filter=S_INTERSECTS(geom,POINT(1 1))`;
      const answer = await fetch(`${server.url}${path}?${query}`);
      expect(answer.status).toBe(400);
      expect(((await answer.json()) as { errors: { name: string }[] }).errors[0]!.name).toBe(parameter);
    }
    for (const format of ['gml', 'csv', 'html'])
      expect((await fetch(`${server.url}${path}?f=${format}`)).status).toBe(200);
  });

  it('is drawn', async () => {
    const { links } = await collection(id);
    const map = links.find(({ rel }) => rel.endsWith('/rel/ogc/1.0/map'))!;
    const response = await fetch(`${map.href}?width=200`);
    expect(response.status).toBe(200);
    const { channels } = await sharp(Buffer.from(await response.arrayBuffer())).stats();
    expect(channels[3]!.max).toBeGreaterThan(100);
  });

  it('is on no map of the Earth', async () => {
    const { collections } = await json<{ collections: { id: string; name: string }[] }>(
      '/ogc/maps/collections',
    );
    const { id: layerId } = collections.find(({ name }) => name === id)!;
    const paths = [
      `/ogc/tiles/collections/${layerId}`,
      `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad`,
      `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/0/0/0?f=mvt`,
      `/ogc/maps/collections/${layerId}/map/tiles`,
      `/tiles/${id}/0/0/0`,
      `/stac/collections/${id}`,
    ];
    for (const path of paths) {
      const response = await fetch(server.url + path, { headers: { accept: 'application/json' } });
      expect(response.status, path).toBe(404);
      expect(((await response.json()) as { detail: string }).detail, path).toContain(
        'has no known coordinate reference system',
      );
    }
    for (const path of ['/ogc/tiles/collections', '/stac/collections', '/ogc/maps/map/tiles/WebMercatorQuad'])
      expect(await (await fetch(server.url + path)).text(), path).not.toContain(id);
    expect((await fetch(`${server.url}/ogc/maps/map`)).status).toBe(200);
  });

  it('has pages that say so', async () => {
    const path = `/ogc/features/collections/${id}`;
    for (const place of ['', '/items', '/items/1']) {
      const response = await fetch(`${server.url}${path}${place}?f=html`);
      expect(response.status).toBe(200);
      const page = await response.text();
      expect(page.includes('Drawn in a local CRS')).toBe(place !== '/items/1');
      expect(page).not.toContain('data-map-state');
    }
  });

  it('is no other CRS, either', async () => {
    const { storageCrs } = await collection(id);
    const answer = await fetch(`${server.url}/ogc/features/collections/wards/items?crs=${storageCrs}`);
    expect(answer.status).toBe(400);
    expect((await fetch(`${server.url}/ogc/maps/map?crs=${storageCrs}`)).status).toBe(400);
  });
});

describe('an export', () => {
  const work = mkdtempSync(join(tmpdir(), 'graticule-unknown-crs-export-'));
  afterAll(() => rmSync(work, { recursive: true, force: true }));
  const write = (id: string, name: string) => {
    const out = join(work, name);
    const config = join(work, 'export.yaml');
    writeFileSync(
      config,
      JSON.stringify({ data: { sources: [city, site, old], crs: { 'survey.shp': 'EPSG:27700' } } }),
    );
    run(
      process.execPath,
      'dist/cli/main.js',
      'export',
      id,
      out,
      '--config',
      config,
      '--data-dir',
      join(work, 'data'),
    );
    return readFileSync(out, 'utf8');
  };

  it.each(['plots', 'survey'])('of %s is in the CRS that the collection has', (id) => {
    const { features } = JSON.parse(write(id, `${id}.geojson`));
    const [west, south] = features[0].geometry.coordinates.flat(3);
    expect([west, south]).toEqual([expect.closeTo(-0.128, 2), expect.closeTo(51.507, 2)]);
  });

  it('has the coordinates of a plane where the format takes any, and fails with the reason where it does not', () => {
    expect(write('legacy', 'legacy.csv')).toContain('530000 180400');
    expect(() => write('legacy', 'legacy.geojson')).toThrow(/has no coordinate reference system/);
  });
});

it('a .prj file that comes later gives the data its place at once', async () => {
  writeFileSync(join(site, 'plan.prj'), readFileSync(join(city, 'wards.prj')));
  await vi.waitFor(
    async () => expect((await collection('plan')).extent.spatial?.bbox[0][1]).toBeCloseTo(49.8, 0),
    20_000,
  );
  expect(await (await fetch(`${server.url}/ogc/tiles/collections`)).text()).toContain('"plan"');
});
