import { beforeAll, expect, it } from 'vitest';
import { pythonOfClients } from '../../support/python.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';
import { run } from '../support/http.js';

/** xarray and rioxarray, from PyPI with a GDAL of their own. */
let server: SharedServer;

beforeAll(async () => {
  server = await sharedServer();
});

it('xarray and rioxarray find the values of the files: a scene, a window of it, and a cube of twelve months', async () => {
  const files = ['demo/data/L7_ETMs.tif', 'demo/data/years/bcsd_obs_1999.nc'];
  const text = await run(pythonOfClients(), ['test/e2e/clients/read_with_xarray.py', server.url, ...files]);
  expect(JSON.parse(text)).toEqual({
    dims: ['band', 'y', 'x'],
    shape: [6, 352, 349],
    crs: 31985,
    valuesEqual: true,
    placesEqual: true,
    windowEqual: true,
    windowShape: [6, 71, 72],
    bands: 6,
    reprojected: 4326,
    months: 12,
    monthsEqual: true,
    mean: expect.any(Number),
  });
});
