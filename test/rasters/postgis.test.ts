import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PostgisRaster } from '../../src/core/rasters/rasters.js';
import { fileRaster, LANDSAT, suiteEngine } from '../engine/support.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';

const suite = suiteEngine();
let postgres: TestPostgres;
let server: TestServer;
let source: PostgisRaster;

async function sql(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(text);
  await client.end();
}

beforeAll(async () => {
  postgres = await startPostgres();
  await sql('CREATE EXTENSION postgis_raster');
  const loaded = execFileSync(
    'raster2pgsql',
    ['-s', '31985', '-t', '100x100', '-P', '-C', '-I', LANDSAT, 'public.scene'],
    {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  await sql(loaded);
  // Read by the last test only: nothing of it is in memory before.
  await sql(loaded.replaceAll('"scene"', '"other"').replaceAll("'scene'", "'other'"));
  source = {
    kind: 'postgis-raster',
    database: postgres.url,
    schema: 'public',
    table: 'scene',
    column: 'rast',
  };
  server = await startServer({ sources: [postgres.url] });
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
});

const window = {
  bbox: [-3884000, -893000, -3880000, -889000] as const,
  crs: 'EPSG:3857',
  width: 128,
  height: 128,
};

describe('a raster column', () => {
  it('is described as the file is that it was loaded from', async () => {
    const info = await suite.pool.run('raster.inspect', { source });
    const file = await suite.pool.run('raster.inspect', { source: fileRaster(LANDSAT) });
    expect(info).toMatchObject({ driver: 'PostGISRaster', epsg: 31985 });
    expect(info.bands).toHaveLength(6);
    expect(info.extent[0]).toBeCloseTo(file.extent[0], 3);
    expect(info.extent[3]).toBeCloseTo(file.extent[3], 3);
  });

  it('shows what the file shows', async () => {
    const [column, file] = await Promise.all(
      [source, fileRaster(LANDSAT)].map((one) =>
        suite.pool.run('raster.image', { source: one, ...window, format: 'raw' }),
      ),
    );
    const differing = column!.data.filter((value, index) => Math.abs(value - file!.data[index]!) > 2).length;
    expect(differing).toBeLessThan(file!.data.length / 1000);
  });

  it('is a collection of the database', async () => {
    const response = await fetch(
      `${server.url}/ogc/coverages/collections/scene/coverage?f=geotiff&scale-size=100,100`,
    );
    expect(response.status).toBe(200);
    const path = join(suite.scratch.path, 'answer.tif');
    writeFileSync(path, Buffer.from(await response.arrayBuffer()));
    expect(JSON.parse(execFileSync('gdalinfo', ['-json', path], { encoding: 'utf8' })).bands).toHaveLength(6);
    const listed = JSON.stringify(await (await fetch(`${server.url}/ogc/coverages/collections`)).json());
    expect(listed).not.toContain(encodeURIComponent(new URL(postgres.url).searchParams.get('host')!));
  });

  it.each(["pub'lic", 'a b', 'x\\'])(
    'of a schema %j is refused before anything is connected to',
    async (schema) => {
      const task = suite.pool.run('raster.inspect', { source: { ...source, schema } });
      await expect(task).rejects.toMatchObject({ code: 'source-unreadable' });
    },
  );

  it('of a database that is down says so, and comes back', async () => {
    await postgres.halt();
    const image = () => suite.pool.run('raster.inspect', { source: { ...source, table: 'other' } });
    await expect(image()).rejects.toMatchObject({ name: 'TaskFailure' });
    await postgres.start();
    await expect
      .poll(
        () =>
          image().then(
            ({ width }) => width > 300,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
  });
});
