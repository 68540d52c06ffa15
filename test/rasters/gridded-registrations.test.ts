import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/** Multidimensional coverages and Zarr stores of the management API, in a server of two gateways. */

const work = mkdtempSync(join(tmpdir(), 'graticule-grids-'));
const folder = join(work, 'grids');
let server: TestServer;

beforeAll(async () => {
  mkdirSync(folder);
  cpSync('demo/data/years/bcsd_obs_1999.nc', join(folder, 'series.nc'));
  execFileSync('gdalmdimtranslate', ['-of', 'Zarr', join(folder, 'series.nc'), join(folder, 'series.zarr')]);
  writeFileSync(join(folder, 'broken.nc'), 'CDF\u0001 but not much more');
  writeFileSync(join(work, 'secret.nc'), 'not to be read');
  symlinkSync(join(work, 'secret.nc'), join(folder, 'link.nc'));
  mkdirSync(join(folder, 'empty.zarr'));
  mkdirSync(join(folder, 'three.zarr'));
  writeFileSync(join(folder, 'three.zarr', 'zarr.json'), '{"zarr_format":3,"node_type":"group"}');
  server = await startServer({ sources: [folder], args: ['--processes', '2'] });
}, 60_000);
afterAll(async () => {
  await server?.stop();
  rmSync(work, { recursive: true, force: true });
});

async function api(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json', connection: 'close' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

/** Asks often enough, each time on a connection of its own, to reach both gateways. */
async function everywhere(path: string, status: number): Promise<void> {
  await vi.waitFor(
    async () => {
      for (let i = 0; i < 12; i++) {
        const response = await fetch(`${server.url}${path}`, { headers: { connection: 'close' } });
        await response.arrayBuffer();
        expect(response.status).toBe(status);
      }
    },
    { timeout: 20_000, interval: 300 },
  );
}

const SERIES = {
  layerId: 700,
  name: 'Rain',
  provider: 'Local',
  bucket: 'grids',
  objectKey: 'series.nc',
  format: 'NetCdf4',
  createLayer: true,
};

describe('multidimensional coverages', () => {
  it('become a layer with a time axis, in all gateways', async () => {
    const { status, body } = await api('POST', '/multidim-coverages', SERIES);
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(Number),
        layerId: 700,
        name: 'Rain',
        description: null,
        provider: 'Local',
        bucket: 'grids',
        objectKey: 'series.nc',
        format: 'NetCdf4',
        variables: ['pr', 'tas'],
        variableCount: 2,
        srid: expect.anything(),
        status: null,
        metadataScannedAt: expect.any(String),
        createdAt: expect.any(String),
      },
    ]);
    await everywhere('/ogc/coverages/collections/rain', 200);
    await everywhere('/tiles/rain/3/2/3.png', 200);
    const { extent } = await (await fetch(`${server.url}/stac/collections/rain`)).json();
    expect(extent.temporal.interval[0][0]).toContain('1999-01');
    expect((await api('POST', '/multidim-coverages', SERIES)).status).toBe(409);
    expect((await api('GET', '/multidim-coverages?layerId=700')).body).toEqual([body]);

    const job = await api('POST', `/multidim-coverages/${body.id}/refresh`);
    expect([job.status, job.body]).toEqual([
      202,
      {
        jobId: expect.any(String),
        status: expect.stringMatching(/queued|running|succeeded/),
        statusUrl: `/api/v1/admin/multidim-coverages/jobs/${job.body.jobId}`,
        coverage: null,
        error: null,
      },
    ]);
    await vi.waitFor(async () => {
      const now = await api('GET', `/multidim-coverages/jobs/${job.body.jobId}`);
      expect(now.body).toMatchObject({ status: 'succeeded', coverage: { id: body.id, variableCount: 2 } });
    }, 20_000);
    expect((await api('DELETE', `/multidim-coverages/${body.id}`)).status).toBe(204);
    expect((await api('POST', `/multidim-coverages/${body.id}/refresh`)).status).toBe(404);
    expect((await api('GET', '/multidim-coverages/jobs/nothing')).status).toBe(404);
    await everywhere('/ogc/coverages/collections/rain', 404);
  }, 60_000);

  it('take only the variables that are named', async () => {
    const { body } = await api('POST', '/multidim-coverages', {
      ...SERIES,
      name: 'Warmth',
      variables: ['tas'],
    });
    expect(body).toMatchObject({ variables: ['tas'], variableCount: 2 });
    await api('DELETE', `/multidim-coverages/${body.id}`);
  });

  it('are kept without a reader, and say so', async () => {
    const grib = { ...SERIES, layerId: 701, objectKey: 'gfs.grib2', format: 'Grib', variables: ['t'] };
    const { status, body } = await api('POST', '/multidim-coverages', grib);
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ status: 'reader-not-enabled', variables: ['t'], metadataScannedAt: null }),
    ]);
  });

  it.each<[string, object, number, string]>([
    ['an unknown layer', { createLayer: false, layerId: 799 }, 404, '799'],
    ['an ending of another format', { format: 'CloudOptimizedHdf5' }, 400, 'must end with'],
    ['a folder that is not published', { bucket: 'etc' }, 400, 'no published folder'],
    ['a key that leads up', { objectKey: '../secret.nc' }, 400, '..'],
    [
      'a link out of the folder',
      { objectKey: 'link.nc' },
      400,
      'The link refers to a file outside the published folder.',
    ],
    ['a file that is not there', { objectKey: 'other.nc' }, 404, "There is no 'other.nc' in 'grids'"],
    ['a broken file', { objectKey: 'broken.nc' }, 400, ''],
    ['an unknown variable', { variables: ['snow'] }, 400, "'snow'"],
    ['too many variables', { variables: Array.from({ length: 65 }, (_, i) => `v${i}`) }, 400, 'variables'],
  ])('refuse %s', async (_what, wrong, status, reason) => {
    const answer = await api('POST', '/multidim-coverages', { ...SERIES, layerId: 702, ...wrong });
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringContaining(reason)]);
    expect((await api('GET', '/multidim-coverages?layerId=702')).body).toEqual([]);
  });
});

describe('Zarr stores', () => {
  const STORE = {
    layerId: 710,
    name: 'Chunks',
    provider: 'Local',
    bucket: 'grids',
    rootPath: 'series.zarr',
    createLayer: true,
  };

  it('become a layer, with their arrays described', async () => {
    const { status, body } = await api('POST', '/zarr-stores', STORE);
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ zarrFormat: 2, primaryVariable: 'pr', rootPath: 'series.zarr' }),
    ]);
    expect(body.variableCount).toBe(body.variables.length);
    expect(body.variables.find(({ name }: { name: string }) => name === 'tas')).toEqual({
      name: 'tas',
      dataType: '<f4',
      shape: [12, 33, 81],
      chunks: expect.any(Array),
      dimensionNames: ['time', 'latitude', 'longitude'],
      compressor: null,
    });
    await everywhere('/tiles/chunks/3/2/3.png', 200);
    const again = await api('POST', `/zarr-stores/${body.id}/refresh`);
    expect([again.status, again.body.variables]).toEqual([200, body.variables]);
    expect((await api('POST', '/zarr-stores', STORE)).status).toBe(409);
    expect((await api('DELETE', `/zarr-stores/${body.id}`)).status).toBe(204);
    expect((await api('GET', `/zarr-stores/${body.id}`)).status).toBe(404);
  }, 60_000);

  it.each<[string, object, number, string]>([
    ['an unknown layer', { createLayer: false, layerId: 799 }, 404, '799'],
    ['a backslash', { rootPath: 'a\\b.zarr' }, 400, 'backslash'],
    ['an empty folder', { rootPath: 'empty.zarr' }, 400, 'The folder is not a Zarr store: it has no array.'],
    ['a store of version 3', { rootPath: 'three.zarr' }, 400, 'version 3'],
    ['a store in a bucket', { provider: 'AwsS3', bucket: 'stores' }, 400, ''],
  ])('refuse %s', async (_what, wrong, status, reason) => {
    const answer = await api('POST', '/zarr-stores', { ...STORE, layerId: 711, ...wrong });
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringContaining(reason)]);
  });
});

describe('an import through either gateway', () => {
  it('is answered once it is shown there', async () => {
    const tiff = join(work, 'one.tif');
    const place = ['-a_srs', 'EPSG:4326', '-a_ullr', '0', '10', '6', '6'];
    execFileSync('gdal_create', ['-of', 'GTiff', '-outsize', '60', '40', '-burn', '7', ...place, tiff]);
    for (let i = 0; i < 4; i++) {
      const form = new FormData();
      form.append('layerId', `${720 + i}`);
      form.append('name', `Import ${i}`);
      form.append('tileZoomLevels', '0,1');
      form.append('file', new Blob([new Uint8Array(readFileSync(tiff))]), 'one.tif');
      const headers = { 'x-api-key': server.adminKey, connection: 'close' };
      const url = `${server.url}/api/v1/admin/import/raster`;
      const response = await fetch(url, { method: 'POST', headers, body: form });
      expect([response.status, await response.json()]).toEqual([
        200,
        expect.objectContaining({ layerId: 720 + i, warnings: expect.any(Array) }),
      ]);
      await everywhere(`/ogc/coverages/collections/import-${i}`, 200);
    }
  }, 90_000);
});
