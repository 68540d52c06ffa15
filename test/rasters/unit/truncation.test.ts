import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requireWholeRaster } from '../../../src/workers/gdal/truncated-raster.js';
import { checkClassicHeader } from '../../../src/workers/rasters/sources/gridded/classic-header.js';
import { requireOneFile } from '../../../src/workers/rasters/sources/gridded/hdf5/other-files.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-truncated-'));
const at = (name: string) => join(folder, name);
const NETCDF = 'demo/data/years/bcsd_obs_1999.nc';

/** Complete files, and the check of each. */
const FILES: Record<
  string,
  { check(path: string): Promise<void>; write(path: string): void | Promise<void> }
> = {
  'classic.nc': { check: checkClassicHeader, write: (path) => writeFileSync(path, readFileSync(NETCDF)) },
  'offset.nc': { check: checkClassicHeader, write: (path) => copyNetcdf('64-bit-offset', path) },
  'cdf5.nc': { check: checkClassicHeader, write: (path) => copyNetcdf('cdf5', path) },
  'four.nc': { check: requireOneFile, write: (path) => copyNetcdf('nc4', path) },
  'strips.tif': {
    check: requireWholeRaster,
    write: (path) => writeFileSync(path, readFileSync('demo/data/olinda_dem_utm25s.tif')),
  },
  'overviews.tif': {
    check: requireWholeRaster,
    write: (path) => writeFileSync(path, readFileSync('demo/data/L7_ETMs.tif')),
  },
  'photo.jpg': {
    check: requireWholeRaster,
    write: async (path) =>
      void (await sharp({ create: { width: 300, height: 200, channels: 3, background: '#468' } })
        .jpeg({ progressive: true })
        .toFile(path)),
  },
  'grid.asc': {
    check: requireWholeRaster,
    write: (path) =>
      writeFileSync(
        path,
        `ncols 20\nnrows 10\nxllcorner 7\nyllcorner 47\ncellsize 0.1\nNODATA_value -9999\n${'1.5 2 3 4\r\n'.repeat(50)}`,
      ),
  },
  'N47E007.hgt': {
    check: requireWholeRaster,
    write: (path) => writeFileSync(path, Buffer.alloc(2 * 1201 ** 2)),
  },
};

function copyNetcdf(kind: string, path: string): void {
  execFileSync('nccopy', ['-k', kind, NETCDF, path]);
}

beforeAll(async () => {
  for (const [name, { write }] of Object.entries(FILES)) await write(at(name));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(Object.keys(FILES))('%s', (name) => {
  const { check } = FILES[name]!;

  it('passes when it is complete', async () => {
    await check(at(name));
    await expect(check(at(name))).resolves.toBeUndefined();
  });

  it.each([0.2, 0.5, 0.9, 0.99])(
    'is refused after %s of its bytes, with the byte where it ends',
    async (share) => {
      const bytes = readFileSync(at(name));
      const cut = at(`${share}-${name}`);
      const end = Math.floor(bytes.length * share);
      writeFileSync(cut, bytes.subarray(0, end));
      const refusal = expect(check(cut)).rejects;
      await refusal.toMatchObject({ code: 'source-unreadable' });
      await refusal.toThrow(/ends within its header|truncated/);
      if (share > 0.2) await refusal.toThrow(`at byte ${end.toLocaleString('en')}`);
    },
  );
});

it('accepts sparse tiles, which have no data', async () => {
  execFileSync('gdal_translate', [
    ...['-q', '-co', 'TILED=YES', '-co', 'SPARSE_OK=TRUE', '-scale', '0', '1', '0', '0', '-b', '1'],
    ...['demo/data/L7_ETMs.tif', at('sparse.tif')],
  ]);
  await expect(requireWholeRaster(at('sparse.tif'))).resolves.toBeUndefined();
});
