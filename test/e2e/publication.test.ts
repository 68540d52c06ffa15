import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorLines, gateways } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { json, raw, run } from './support/http.js';

/** A table name with every character that SQL, paths and pages could stumble over. */
const HOSTILE = `x'; DROP TABLE "t"; --\u00e9\u4e2d<script>alert(1)</script>`;

let server: TestServer;
let data: string;
let outside: string;
let gateway: number | undefined;

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), 'graticule-publishing-'));
  outside = mkdtempSync(join(tmpdir(), 'graticule-outside-'));
  await makeFolder();
  server = await startServerProcess({ sources: [data] });
  [gateway] = gateways(server.process.pid!);
}, 90_000);

afterAll(async () => {
  await server?.stop();
  for (const folder of [data, outside]) rmSync(folder, { recursive: true, force: true });
});

async function makeFolder(): Promise<void> {
  const raster = readFileSync('demo/data/L7_ETMs.tif');
  const gpkg = readFileSync('demo/data/world_map.gpkg');
  copyFileSync('demo/data/olinda_dem_utm25s.tif', join(data, 'good.tif'));
  copyFileSync('demo/data/world_map.gpkg', join(data, 'good.gpkg'));
  writeFileSync(join(data, 'cut-header.tif'), raster.subarray(0, 6));
  writeFileSync(join(data, 'cut-directory.tif'), raster.subarray(0, 200));
  writeFileSync(join(data, 'cut-half.tif'), raster.subarray(0, raster.length >> 1));
  writeFileSync(join(data, 'empty.tif'), '');
  writeFileSync(join(data, 'empty.gpkg'), '');
  writeFileSync(join(data, 'empty.geojson'), '');
  writeFileSync(join(data, 'noise.gpkg'), noise(50_000, 1));
  writeFileSync(join(data, 'noise.tif'), noise(50_000, 2));
  writeFileSync(join(data, 'noise.geojson'), noise(5_000, 3));
  writeFileSync(join(data, 'cut-schema.gpkg'), gpkg.subarray(0, 4096));
  writeFileSync(join(data, 'text.gpkg'), `SQLite format 3\0${'a'.repeat(4000)}`);
  writeFileSync(
    join(data, 'wrong.geojson'),
    '{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[1,',
  );
  flipped(gpkg, join(data, 'flipped.gpkg'));
  for (const [name, target] of [
    ['passwd', '/etc/passwd'],
    ['remote', '/vsicurl/http://127.0.0.1:9/x.tif'],
  ] as const) {
    writeFileSync(join(data, `${name}.vrt`), vrt(target));
  }
  copyFileSync('demo/data/L7_ETMs.tif', join(outside, 'secret.tif'));
  symlinkSync(join(outside, 'secret.tif'), join(data, 'linked-file.tif'));
  symlinkSync(outside, join(data, 'linked-folder'));
  symlinkSync(join(data, 'nowhere.tif'), join(data, 'dangling.tif'));
  symlinkSync(data, join(data, 'circle'));
  writeFileSync(join(data, 'outside.vrt'), vrt(join(outside, 'secret.tif')));
  mkdirSync(join(data, 'sub'));
  await run('ogr2ogr', [
    '-f',
    'GPKG',
    join(data, 'sub', 'hostile.gpkg'),
    'demo/data/world_map.gpkg',
    'disputed_borders',
    '-nln',
    HOSTILE,
  ]);
}

/** The same bytes in every run. */
function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = seed * 2_654_435_761;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[i] = state >>> 16;
  }
  return bytes;
}

/** A GeoPackage with one byte of each page behind the first hundred changed: rows and geometries are damaged. */
function flipped(gpkg: Buffer, path: string): void {
  const damaged = Buffer.from(gpkg);
  const places = noise(damaged.length >> 10, 7);
  for (let page = 100; page * 4096 < damaged.length; page++) {
    const at = page * 4096 + places[page % places.length]! * 16;
    if (at < damaged.length) damaged[at] = damaged[at]! ^ 0x5a;
  }
  writeFileSync(path, damaged);
}

function vrt(target: string): string {
  return `<VRTDataset rasterXSize="16" rasterYSize="16"><SRS>EPSG:4326</SRS><GeoTransform>0,1,0,16,0,-1</GeoTransform>
<VRTRasterBand dataType="Byte" band="1" subClass="VRTRawRasterBand"><SourceFilename relativeToVRT="0">${target}</SourceFilename>
<ImageOffset>0</ImageOffset><PixelOffset>1</PixelOffset><LineOffset>16</LineOffset></VRTRasterBand></VRTDataset>`;
}

async function published(): Promise<{ id: string; title: string; layerId: number; kind: string }[]> {
  return (await json(`${server.url}/?f=json`)).collections;
}

/** The reason that the start printed for a file. */
function reasonFor(name: string): string | undefined {
  // Terminal and log are one stream here: the log lists each refusal once.
  const entry = server
    .log()
    .split('\n')
    .filter((text) => text.includes('"@i":1205'))
    .map((text) => JSON.parse(text) as { Source: string; '@m': string })
    .find(({ Source: source }) => source.endsWith(`/${name}`));
  return entry?.['@m'].slice(entry['@m'].indexOf(name) + name.length);
}

describe('a folder with broken and hostile files', () => {
  it('is published as far as it is good', async () => {
    const ids = (await published()).map((collection) => collection.id);
    expect(ids).toEqual(expect.arrayContaining(['good', 'disputed_borders']));
    expect(
      ids.filter((id) =>
        /noise|empty|cut-header|cut-directory|passwd|remote|linked|dangling|secret|wrong|text/.test(id),
      ),
    ).toEqual([]);
  });

  it.each([
    'cut-header.tif',
    'cut-directory.tif',
    'empty.tif',
    'empty.gpkg',
    'empty.geojson',
    'noise.gpkg',
    'noise.tif',
    'noise.geojson',
    'cut-schema.gpkg',
    'text.gpkg',
    'wrong.geojson',
    'passwd.vrt',
    'remote.vrt',
    'outside.vrt',
    'linked-file.tif',
    'linked-folder',
    'dangling.tif',
  ])('names %s with a reason', async (name) => {
    await expect.poll(() => reasonFor(name), { timeout: 10_000 }).toBeDefined();
    const reason = reasonFor(name);
    expect(
      reason,
      server
        .log()
        .split('\n')
        .filter((line) => !line.startsWith('{'))
        .join('\n'),
    ).toMatch(/\w{3,} \w+/);
    expect(reason).not.toMatch(/node:|\.js:\d|undefined/);
  });

  it('serves the good files beside them whole', async () => {
    const dem = await raw(`${server.url}/ogc/coverages/collections/good/coverage`);
    expect(dem.status).toBe(200);
    const good = (await published()).filter(
      (collection) => collection.kind === 'vector' && /countries/.test(collection.id),
    );
    const counts = await Promise.all(
      good.map(
        async ({ id }) =>
          (await json(`${server.url}/ogc/features/collections/${id}/items?limit=1`)).numberMatched,
      ),
    );
    expect(counts).toContain(240);
  });

  it('never answers a fault that ends the process for what is damaged', async () => {
    const statuses = new Map<string, number>();
    for (const { id, layerId, kind } of await published()) {
      const paths =
        kind === 'vector'
          ? [
              `/ogc/features/collections/${id}/items?limit=2000`,
              `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/0/0/0`,
              `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/3/2/4`,
            ]
          : [`/ogc/coverages/collections/${id}/coverage`];
      for (const path of [...paths, `/ogc/maps/collections/${layerId}/map?width=64&height=64`]) {
        const { status } = await raw(`${server.url}${path}`);
        statuses.set(`${id} ${path}`, status);
      }
    }
    // Damaged data may be left out or refused; the process stays.
    expect([...statuses].filter(([, status]) => ![200, 204, 500].includes(status))).toEqual([]);
    expect([...statuses].filter(([key, status]) => status === 500 && !/flipped|cut-half/.test(key))).toEqual(
      [],
    );
    expect(gateways(server.process.pid!)).toEqual([gateway]);
    expect((await raw(`${server.url}/healthz/ready`)).status).toBe(200);
  }, 60_000);

  it('does not log a stack of our own for a damaged file', () => {
    expect(
      errorLines(server.log()).filter((line) => /TypeError|RangeError|ReferenceError/.test(line['@x'] ?? '')),
    ).toEqual([]);
  });
});

describe('a table with a hostile name', () => {
  const hostile = async () => {
    const found = (await published()).find((collection) => /drop/i.test(collection.id));
    expect(found).toBeDefined();
    return found!;
  };

  it('gets an id that is safe in a path', async () => {
    expect((await hostile()).id).toMatch(/^[a-z0-9_-]+$/);
  });

  it('is served whole as features, single features and tiles', async () => {
    const { id, layerId } = await hostile();
    const items = await json(`${server.url}/ogc/features/collections/${id}/items?limit=100`);
    expect([items.numberMatched, items.features.length]).toEqual([46, 46]);
    const boxed = await json(`${server.url}/ogc/features/collections/${id}/items?bbox=60,20,100,40`);
    expect(boxed.features.length).toBeGreaterThan(0);
    const one = await json(`${server.url}/ogc/features/collections/${id}/items/${items.features[0].id}`);
    expect(one.geometry).toEqual(items.features[0].geometry);
    const tile = await raw(`${server.url}/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/0/0/0`);
    expect(Object.keys(new VectorTile(new PbfReader(tile.body)).layers)).toEqual([id]);
  });

  it('is text, not markup, in every page', async () => {
    const { id, layerId } = await hostile();
    for (const path of [
      '/',
      '/ogc/features/collections',
      `/ogc/features/collections/${id}`,
      `/ogc/features/collections/${id}/items`,
      `/ogc/tiles/collections/${layerId}`,
    ]) {
      const page = (await raw(`${server.url}${path}?f=html`)).body.toString();
      expect(page).not.toContain('<script>alert');
    }
  });
});
