import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RasterSource } from '../../src/core/rasters/rasters.js';
import { findFiles } from '../../src/services/catalog/publish/find.js';
import { DEM, fileRaster, LANDSAT, ROOT, suiteEngine } from '../engine/support.js';
import { isFullRun, repetitions } from '../support/soak.js';
import { writeFilesWithCrs } from './crs-files.js';
import { range, tiffWithMetadata, writeNetcdf, writeZarr } from './support.js';

/** Mutations of each kind of file. */
const ROUNDS = repetitions(import.meta.url, 200, isFullRun(import.meta.url) ? 20 : 4);
const suite = suiteEngine();
const inScratch = (name: string) => join(suite.scratch.path, name);

/** A file of test/fixtures/hdf5, which make.py wrote. */
function unpack(name: string): string {
  const path = inScratch(`${name}.h5`);
  writeFileSync(path, gunzipSync(readFileSync(join(ROOT, 'test/fixtures/hdf5', `${name}.h5.gz`))));
  return path;
}

/** Linear congruential: the same mutations every time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
}

function mutated(bytes: Buffer, random: () => number): Buffer {
  const changed = Buffer.from(bytes);
  for (let hit = 0; hit < 12; hit++)
    changed[random() % (hit < 8 ? Math.min(2048, changed.length) : changed.length)] = random() & 255;
  return random() % 4 === 0 ? changed.subarray(0, random() % changed.length) : changed;
}

const GRID = {
  lons: range(12, 0, 1),
  lats: range(8, 0, 1),
  times: [0, 1, 2],
  value: (time: number, _level: number, row: number, column: number) => time * 100 + row * 12 + column,
};

/** Whatever a file claims, it is read or refused: with a meaning, in time, without the engine's end. */
async function readAll(path: string): Promise<void> {
  const options = { deadlineMs: 20_000 };
  const outcome = await suite.pool
    .run('raster.layers', { path }, options)
    .then(async ({ layers: [layer] }) => {
      if (!layer) return;
      await suite.pool.run('raster.inspect', { source: layer.source }, options);
      const window = { bbox: [0, 0, 5, 5] as const, crs: 'EPSG:4326', width: 32, height: 32 };
      await suite.pool.run('raster.image', { source: layer.source, ...window, format: 'raw' }, options);
    })
    .catch((error) => error);
  if (outcome instanceof Error) expect(outcome).toMatchObject({ name: 'TaskFailure' });
}

describe('mutated', () => {
  it.each(['classic', 'netCDF-4'] as const)(
    'netCDF files (%s) are read or refused',
    async (kind) => {
      const path = inScratch(`whole-${kind}.nc`);
      writeNetcdf(path, GRID, kind);
      const bytes = readFileSync(path);
      const random = seeded(kind === 'classic' ? 7 : 8);
      for (let round = 0; round < ROUNDS; round++) {
        const file = inScratch(`${kind}-${round}.nc`);
        writeFileSync(file, mutated(bytes, random));
        await readAll(file);
      }
      await readAll(path);
      expect(suite.engine.process.exitCode).toBeNull();
    },
    120_000,
  );

  it('Zarr stores are read or refused', async () => {
    const whole = inScratch('whole.zarr');
    writeZarr(whole, GRID);
    const random = seeded(9);
    for (let round = 0; round < ROUNDS; round++) {
      const store = inScratch(`store-${round}.zarr`);
      cpSync(whole, store, { recursive: true });
      const files = (readdirSync(store, { recursive: true }) as string[])
        .map((name) => join(store, name))
        .filter((name) => statSync(name).isFile());
      for (let hit = 0; hit < 3; hit++) {
        const file = files[random() % files.length]!;
        writeFileSync(file, mutated(readFileSync(file), random));
      }
      await readAll(store);
    }
    expect(suite.engine.process.exitCode).toBeNull();
  }, 120_000);
});

describe('what GDAL keeps beside a raster', () => {
  // Tests switch it off, so that it does not write into their data.
  const own = suiteEngine({ GDAL_PAM_ENABLED: 'YES' });

  it('names no overviews', async () => {
    const inspect = (name: string) =>
      own.pool.run('raster.inspect', { source: fileRaster(join(own.scratch.path, name)) });
    const write = (name: string, key: string) => {
      const path = join(own.scratch.path, name);
      writeFileSync(path, tiffWithMetadata('<GDALMetadata/>'));
      const metadata = `<Metadata domain="OVERVIEWS"><MDI key="${key}">${LANDSAT}</MDI></Metadata>`;
      writeFileSync(`${path}.aux.xml`, `<PAMDataset>${metadata}</PAMDataset>`);
    };
    write('plain.tif', 'OTHER');
    write('named.tif', 'OVERVIEW_FILE');
    expect(await inspect('plain.tif')).toMatchObject({ width: 1, overviewCount: 0 });
    await expect(inspect('named.tif')).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringContaining('OVERVIEW_FILE'),
    });
  });

  it('and its CRS open no file that a definition names', async () => {
    // Short enough for the definition in a file geodatabase. Programs that open a pipe for reading wait.
    const place = mkdtempSync('/tmp/g-');
    const pipe = join(place, 'p');
    writeFileSync(pipe, 'no grid');
    const folder = join(own.scratch.path, 'crs');
    const { rasters, vectors } = writeFilesWithCrs(folder, pipe);
    rmSync(pipe);
    execFileSync('mkfifo', [pipe]);
    const { pool } = own;
    const options = { deadlineMs: 20_000 };
    const read = async (name: string) => {
      const path = join(folder, name);
      if (vectors.includes(name)) return pool.run('ogr.inspect', { path }, options);
      if (!/\.(nc|zarr)$/.test(name))
        return pool.run('raster.inspect', { source: fileRaster(path) }, options);
      const { layers } = await pool.run('raster.layers', { path }, options);
      return pool.run('raster.inspect', { source: layers[0]!.source }, options);
    };
    try {
      const outcomes: unknown[] = [];
      for (const name of [...rasters, ...vectors])
        outcomes.push([
          name,
          await read(name).then(
            () => 'read',
            ({ code }) => code,
          ),
        ]);
      // A task that waits for the pipe ends with its deadline.
      const ends = expect.stringMatching(/^(read|invalid-input|source-unreadable)$/);
      expect(outcomes).toEqual([...rasters, ...vectors].map((name) => [name, ends]));
      expect(outcomes).toContainEqual(['beside-wkt1.tif', 'invalid-input']);
    } finally {
      rmSync(place, { recursive: true });
    }
  }, 120_000);
});

describe('files that name others', () => {
  const canary = createServer();
  let connections = 0;
  let port: number;
  beforeAll(async () => {
    canary.on('connection', (socket) => {
      connections += 1;
      socket.destroy();
    });
    canary.listen(0, '127.0.0.1');
    await once(canary, 'listening');
    port = (canary.address() as AddressInfo).port;
  });
  afterAll(() => canary.close());

  const vrt = (name: string) =>
    `<VRTDataset rasterXSize="111" rasterYSize="111"><SRS>EPSG:31985</SRS><GeoTransform>0,1,0,0,0,-1</GeoTransform>
      <VRTRasterBand dataType="Float32" band="1"><SimpleSource><SourceFilename relativeToVRT="0">${name}</SourceFilename><SourceBand>1</SourceBand></SimpleSource></VRTRasterBand></VRTDataset>`;

  it.each<[string, string, () => string]>([
    ['a local file', 'a.vrt', () => vrt(DEM)],
    ['a local file, as a TIFF', 'a.tif', () => vrt(DEM)],
    ['a URL', 'b.tif', () => vrt(`/vsicurl/http://127.0.0.1:${port}/a.tif`)],
    ['a URL to be streamed', 'c.tif', () => vrt(`/vsicurl_streaming/http://127.0.0.1:${port}/a.tif`)],
    ['a URL of a bucket', 'd.asc', () => vrt('/vsis3/bucket/a.tif')],
    [
      'a tile server',
      'e.tif',
      () =>
        `<GDAL_WMS><Service name="TMS"><ServerUrl>http://127.0.0.1:${port}/</ServerUrl></Service></GDAL_WMS>`,
    ],
    [
      'a map server',
      'f.tif',
      () => `<GDAL_WMTS><GetCapabilitiesUrl>http://127.0.0.1:${port}/</GetCapabilitiesUrl></GDAL_WMTS>`,
    ],
    [
      'a script',
      'g.tif',
      () => vrt(DEM).replace('<VRTRasterBand', '<VRTRasterBand subClass="VRTDerivedRasterBand"'),
    ],
  ])('such as %s are refused, and nothing is asked', async (_what, name, text) => {
    writeFileSync(inScratch(name), text());
    const task = suite.pool.run('raster.inspect', { source: fileRaster(inScratch(name)) });
    await expect(task).rejects.toMatchObject({ code: 'source-unreadable' });
    expect(connections).toBe(0);
  });

  it('as a netCDF or HDF5 file are refused, and nothing is asked', async () => {
    for (const text of [vrt(DEM), `http://127.0.0.1:${port}/a.nc`, '<GDAL_WMS/>']) {
      writeFileSync(inScratch('other.nc'), text);
      await expect(suite.pool.run('raster.layers', { path: inScratch('other.nc') })).rejects.toMatchObject({
        code: 'source-unreadable',
      });
    }
    expect(connections).toBe(0);
  });

  it('as a member of a mosaic are refused, and nothing is asked', async () => {
    writeFileSync(inScratch('member.tif'), vrt(`/vsicurl/http://127.0.0.1:${port}/a.tif`));
    const source: RasterSource = {
      kind: 'mosaic',
      members: [{ id: 'a', source: { kind: 'file', path: inScratch('member.tif') }, extent84: [0, 0, 1, 1] }],
    };
    await expect(suite.pool.run('raster.inspect', { source })).rejects.toMatchObject({
      code: 'source-unreadable',
    });
    expect(connections).toBe(0);
  });

  it('as overviews are refused, and nothing is read of them', async () => {
    const overviews = `<GDALMetadata><Item name="OVERVIEW_FILE" domain="OVERVIEWS">${LANDSAT}</Item></GDALMetadata>`;
    const named = [inScratch('named.tif'), inScratch('named-url.tif')];
    writeFileSync(named[0]!, tiffWithMetadata(overviews));
    const url = `/vsicurl/http://127.0.0.1:${port}/a.tif`;
    writeFileSync(named[1]!, tiffWithMetadata(overviews.replace(LANDSAT, url)));
    // What is refused is the name, not the way in which the file is written.
    const plain = inScratch('plain.tif');
    writeFileSync(plain, tiffWithMetadata(overviews.replace('OVERVIEW_FILE', 'OTHER')));
    await suite.pool.run('raster.inspect', { source: fileRaster(plain) });
    for (const path of named) {
      const refused = { code: 'source-unreadable', message: expect.stringContaining('OVERVIEW_FILE') };
      await expect(suite.pool.run('raster.inspect', { source: fileRaster(path) })).rejects.toMatchObject(
        refused,
      );
      const task = { path, output: inScratch('imported.tif') };
      await expect(suite.pool.run('raster.import', task)).rejects.toMatchObject(refused);
    }
    expect(connections).toBe(0);
  });

  it('as their pixels are refused where these lie in another folder', async () => {
    const elsewhere = inScratch('elsewhere');
    mkdirSync(elsewhere);
    const pixels = join(elsewhere, 'pixels.ige');
    // As long as the path, which takes its place.
    const name = 'a'.repeat(pixels.length - 4);
    const path = inScratch(`${name}.img`);
    execFileSync('gdal_translate', ['-q', '-of', 'HFA', '-co', 'USE_SPILL=YES', DEM, path]);
    await suite.pool.run('raster.inspect', { source: fileRaster(path) });
    copyFileSync(inScratch(`${name}.ige`), pixels);
    const bytes = readFileSync(path, 'latin1');
    const other = inScratch('other.img');
    writeFileSync(other, bytes.replaceAll(`${name}.ige`, pixels), 'latin1');
    await expect(suite.pool.run('raster.inspect', { source: fileRaster(other) })).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringContaining('another folder'),
    });
  });

  it.each([
    ['old-few-ext', 'external storage'],
    ['old-many-ext', 'external storage'],
    ['new-few-ext', 'external storage'],
    ['new-many-ext', 'external storage'],
    ['new-few-virtual', 'a virtual dataset'],
    ['new-few-link', 'an external link'],
    ['new-many-link', 'an external link'],
  ])('for values of HDF5 are refused (%s)', async (name, what) => {
    await expect(suite.pool.run('raster.layers', { path: unpack(name) })).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringContaining(`refers to other files (${what})`),
    });
  });

  it('may be of a newer HDF5, which is refused', async () => {
    // The library ends the process on these, once it has read another file.
    await suite.pool.run('raster.layers', { path: unpack('new-few-plain') });
    await expect(suite.pool.run('raster.layers', { path: unpack('newest-few-plain') })).rejects.toMatchObject(
      {
        code: 'source-unreadable',
        message: expect.stringContaining('newer version'),
      },
    );
    expect(suite.engine.process.exitCode).toBeNull();
  });

  it.each(['old-few', 'old-many', 'new-few', 'new-many'])(
    'are not named by plain HDF5 (%s)',
    async (kind) => {
      const { layers } = await suite.pool.run('raster.layers', { path: unpack(`${kind}-plain`) });
      expect(layers).toMatchObject([{ source: { variables: ['leak'] } }]);
    },
  );

  it('by links beside it are refused', async () => {
    const [folder, elsewhere] = [inScratch('own'), inScratch('not-own')];
    for (const path of [folder, elsewhere]) mkdirSync(path);
    copyFileSync(DEM, join(folder, 'dem.tif'));
    copyFileSync(DEM, join(folder, 'dem2.tif'));
    const inspect = (name: string) =>
      suite.pool.run('raster.inspect', { source: fileRaster(join(folder, name)) });
    const refusal = (name: string) => ({
      code: 'source-unreadable',
      message: expect.stringContaining(`${name}: the link refers to another folder`),
    });
    execFileSync('gdal_translate', [
      '-q',
      '-of',
      'GTiff',
      '-outsize',
      '50%',
      '50%',
      DEM,
      join(elsewhere, 'other.ovr'),
    ]);
    symlinkSync(join(elsewhere, 'other.ovr'), join(folder, 'dem.tif.ovr'));
    await expect(inspect('dem.tif')).rejects.toMatchObject(refusal('dem.tif.ovr'));
    expect(await inspect('dem2.tif')).toMatchObject({ overviewCount: 0 });
    renameSync(join(elsewhere, 'other.ovr'), join(folder, 'kept.ovr'));
    rmSync(join(folder, 'dem.tif.ovr'));
    symlinkSync(join(folder, 'kept.ovr'), join(folder, 'dem.tif.ovr'));
    expect(await inspect('dem.tif')).toMatchObject({ overviewCount: 1 });

    const source = join(elsewhere, 'point.geojson');
    writeFileSync(
      source,
      JSON.stringify({
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [7, 47] },
        properties: { a: 1 },
      }),
    );
    execFileSync('ogr2ogr', [join(folder, 'town.shp'), source]);
    const read = (name: string) => suite.pool.run('ogr.inspect', { path: join(folder, name) });
    expect(await read('town.shp')).toMatchObject([{ featureCount: 1 }]);
    renameSync(join(folder, 'town.dbf'), join(elsewhere, 'secret.dbf'));
    symlinkSync(join(elsewhere, 'secret.dbf'), join(folder, 'TOWN.dbf'));
    await expect(read('town.shp')).rejects.toMatchObject(refusal('TOWN.dbf'));

    execFileSync('ogr2ogr', ['-f', 'OpenFileGDB', join(folder, 'town.gdb'), source]);
    expect(await read('town.gdb')).toMatchObject([{ featureCount: 1 }]);
    const table = 'a00000001.gdbtable';
    renameSync(join(folder, 'town.gdb', table), join(elsewhere, table));
    symlinkSync(join(elsewhere, table), join(folder, 'town.gdb', table));
    await expect(read('town.gdb')).rejects.toMatchObject({
      message: expect.stringContaining(`${table}: a link`),
    });

    writeZarr(join(folder, 'linked.zarr'), GRID);
    const [chunk] = readdirSync(join(folder, 'linked.zarr'), { recursive: true })
      .map(String)
      .filter((name) => /\/0[.\d]*$/.test(name));
    renameSync(join(folder, 'linked.zarr', chunk!), join(elsewhere, 'chunk'));
    symlinkSync(join(elsewhere, 'chunk'), join(folder, 'linked.zarr', chunk!));
    await expect(
      suite.pool.run('raster.layers', { path: join(folder, 'linked.zarr') }),
    ).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringContaining('a link'),
    });
  });

  it('by links out of the folder are no files of it', async () => {
    const folder = inScratch('linked');
    mkdirSync(folder);
    copyFileSync(LANDSAT, inScratch('outside.tif'));
    symlinkSync(inScratch('outside.tif'), join(folder, 'link.tif'));
    writeZarr(inScratch('outside.zarr'), GRID);
    symlinkSync(inScratch('outside.zarr'), join(folder, 'link.zarr'));
    const found = await findFiles([folder]);
    expect(found).toHaveLength(2);
    for (const file of found) expect(file.problem).toContain('refers to a file outside');
  });

  it.each([
    'NETCDF:"/etc/hostname":x',
    '/vsicurl/http://127.0.0.1:9/a.nc',
    'http://127.0.0.1:9/a.zarr',
    '/etc/passwd',
  ])('have no layers: %s', async (path) => {
    await expect(suite.pool.run('raster.layers', { path })).rejects.toMatchObject({ name: 'TaskFailure' });
  });
});

it('a TIFF whose size is a lie is refused before it takes memory', async () => {
  const path = inScratch('lie.tif');
  execFileSync('gdal_create', [
    '-q',
    '-of',
    'GTiff',
    '-outsize',
    '400000',
    '400000',
    '-co',
    'SPARSE_OK=TRUE',
    '-co',
    'BLOCKYSIZE=100000',
    '-a_srs',
    'EPSG:4326',
    '-a_ullr',
    '-180',
    '90',
    '180',
    '-90',
    path,
  ]);
  const task = suite.pool.run('raster.inspect', { source: fileRaster(path) });
  await expect(task).rejects.toMatchObject({ code: 'too-large' });
});
