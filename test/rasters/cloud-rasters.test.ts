import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TaskFailure } from '../../src/core/errors/failure.js';
import { adminHarness } from '../admin/support/admin.js';

let admin: Awaited<ReturnType<typeof adminHarness>>;
beforeAll(async () => {
  admin = await adminHarness();
});
afterAll(() => admin.close());

const WANTED = {
  layerId: 40,
  name: 'Scene 7',
  provider: 'AwsS3',
  bucket: 'scenes',
  objectKey: '2026/a b.tif',
  createLayer: true,
};

describe('cloud rasters', () => {
  it('registers, shows, refreshes and unregisters one', async () => {
    const made = await admin.call('POST /cloud-rasters', { body: WANTED });
    expect(made.status).toBe(201);
    expect(made.headers.location).toBe(`/api/v1/admin/cloud-rasters/${made.body.id}`);
    expect(made.body).toEqual({
      id: expect.any(Number),
      layerId: 40,
      name: 'Scene 7',
      description: null,
      provider: 'AwsS3',
      bucket: 'scenes',
      objectKey: '2026/a b.tif',
      width: 60,
      height: 40,
      bandCount: 1,
      srid: 4326,
      compression: 'DEFLATE',
      overviewLevelCount: 2,
      metadataScannedAt: expect.any(String),
      createdAt: expect.any(String),
      connection: null,
    });
    const path = { id: `${made.body.id}` };
    const get = await admin.call('GET /cloud-rasters/{id}', { path });
    expect(get.body).toEqual(made.body);
    const list = await admin.call('GET /cloud-rasters', { query: { layerId: '40' } });
    expect(list.body).toEqual([made.body]);
    const again = await admin.call('POST /cloud-rasters/{id}/refresh', { path });
    expect([again.status, again.body.createdAt]).toEqual([200, made.body.createdAt]);
    expect((await admin.call('DELETE /cloud-rasters/{id}', { path })).status).toBe(204);
    const item = '/cloud-rasters/{id}';
    for (const route of [`GET ${item}`, `DELETE ${item}`, `POST ${item}/refresh`])
      await expect(admin.call(route, { path })).rejects.toMatchObject({ status: 404 });
  });

  it('refuses the same object twice', async () => {
    await admin.call('POST /cloud-rasters', { body: WANTED });
    const twice = admin.call('POST /cloud-rasters', { body: { ...WANTED, name: 'other' } });
    await expect(twice).rejects.toMatchObject({ status: 409 });
  });

  it.each<[string, object, number]>([
    ['the Local provider', { provider: 'Local' }, 400],
    ['an unknown provider', { provider: 'Gcs' }, 400],
    ['no layer', { layerId: 0 }, 400],
    ['a layer that is not there', { layerId: 41, createLayer: false }, 404],
    ['a key that leads up', { objectKey: 'a/../../b.tif' }, 400],
    ['an absolute key', { objectKey: '/a.tif' }, 400],
    ['a key with a backslash', { objectKey: 'a\\b.tif' }, 400],
    ['a bucket that is a host', { bucket: 'evil.com/x' }, 400],
    ['a container without an account', { provider: 'AzureBlob' }, 400],
  ])('refuses %s', async (_what, wrong, status) => {
    const call = admin.call('POST /cloud-rasters', { body: { ...WANTED, objectKey: 'other.tif', ...wrong } });
    await expect(call).rejects.toMatchObject({ status });
  });

  it('says why an object cannot be read, and keeps nothing', async () => {
    const body = { ...WANTED, objectKey: 'broken.tif' };
    admin.pools.failures.set('raster.inspect', new TaskFailure('source-unreadable', 'It is no GeoTIFF.'));
    const call = admin.call('POST /cloud-rasters', { body });
    await expect(call).rejects.toMatchObject({ status: 400, message: 'It is no GeoTIFF.' });
    admin.pools.failures.clear();
    expect((await admin.call('POST /cloud-rasters', { body })).status).toBe(201);
  });

  it('lists a layer only when it is named', async () => {
    const call = admin.call('GET /cloud-rasters');
    await expect(call).rejects.toMatchObject({ status: 400, message: expect.stringContaining('layerId') });
  });

  it.each(['0', '-1', 'x', '12345678901'])('refuses the id %s with the smallest allowed one', async (id) => {
    const fault = {
      status: 400,
      message: expect.stringContaining(`must be an integer of at least 1, not '${id}'`),
    };
    await expect(admin.call('GET /cloud-rasters', { query: { layerId: id } })).rejects.toMatchObject(fault);
    if (id.length < 5)
      await expect(admin.call('GET /cloud-rasters/{id}', { path: { id } })).rejects.toMatchObject(fault);
  });
});
