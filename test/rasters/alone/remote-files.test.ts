import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { RemoteFiles } from '../../../src/workers/rasters/sources/remote/files.js';
import { RangeProxy } from '../../../src/workers/rasters/sources/remote/proxy.js';
import { AllowedHosts } from '../../../src/workers/storage/remote/allowed-hosts.js';
import { type StacApi, sendRange, startStacApi } from '../../support/stac-api.js';

let host: StacApi;
let proxy: RangeProxy;
let files: RemoteFiles;
/** What is answered in place of the file. */
let status: number | undefined;

beforeAll(async () => {
  host = await startStacApi();
  host.answer = (request, response) =>
    status === undefined ? sendRange(request, response, Buffer.alloc(100)) : response.writeHead(status).end();
  proxy = await RangeProxy.start();
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterAll(() => {
  vi.useRealTimers();
  host.close();
});

let count = 0;
beforeEach(() => {
  count += 1;
  status = undefined;
  host.requests.length = 0;
  files = new RemoteFiles(new AllowedHosts(['127.0.0.1']), proxy);
});
const look = (name = 'a') => files.current({ url: `${host.origin}/${count}/${name}.tif` });
const failure = { code: 'store-unavailable' };

it.each([404, 503])('a file that is answered %i later is let go of', async (later) => {
  const name = proxy.nameOf(await look());
  expect(proxy.fileOf(name)).toBeDefined();
  vi.setSystemTime(Date.now() + 61_000);
  status = later;
  await expect(look()).rejects.toThrow();
  expect(proxy.fileOf(name)).toBeUndefined();
});

it('a file is left alone for longer after each failure', async () => {
  status = 503;
  for (const ms of [3000, 6000, 12_000, 24_000, 48_000, 60_000]) {
    const before = host.requests.length;
    await expect(look()).rejects.toMatchObject(failure);
    vi.setSystemTime(Date.now() + ms - 1);
    await expect(look()).rejects.toMatchObject(failure);
    expect(host.requests.length).toBe(before + 1);
    vi.setSystemTime(Date.now() + 1);
  }
  status = undefined;
  await expect(look()).resolves.toMatchObject({ size: 100 });
});

it('of a host whose files fail one after the other only what is in memory is there', async () => {
  await look();
  status = 503;
  for (let i = 0; i < 8; i++) await expect(look(`bad-${i}`)).rejects.toMatchObject(failure);
  status = undefined;
  const before = host.requests.length;
  await expect(look('other')).rejects.toMatchObject(failure);
  await expect(look()).resolves.toMatchObject({ size: 100 });
  expect(host.requests.length).toBe(before);
  vi.setSystemTime(Date.now() + 3001);
  await expect(look('other')).resolves.toMatchObject({ size: 100 });
});
