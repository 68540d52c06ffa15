import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

/** `graticule inspect`: what would be published, and why. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-inspected-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string | Buffer): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const inspect = (...args: string[]) =>
  execFileSync(process.execPath, ['dist/cli/main.js', 'inspect', ...args], { encoding: 'utf8' });

it('tells of each guess about a CSV file, and what changes it', () => {
  const text = inspect(
    file(
      'places.csv',
      Buffer.from('name;lat;lon;code\nKöln;50,94;6,96;7\nMünchen;48,1;11,6;0123\n', 'latin1'),
    ),
  );
  expect(text).toMatch(/^collection places \(Places\)$/m);
  expect(text).toMatch(/encoding +windows-1252: it is not UTF-8.*FILE\.cpg/);
  expect(text).toMatch(/separator +semicolons/);
  expect(text).toMatch(/geometry +from the columns lon and lat$/m);
  expect(text).toMatch(/decimals +with commas in lat, lon$/m);
  expect(text).toMatch(/text +code, as "0123" in record 2 has a leading zero$/m);
  expect(text).toMatch(/features +2 of type Point$/m);
  expect(text).toMatch(/crs +OGC:CRS84 .*can be degrees; override it with --crs$/m);
  expect(text).toMatch(/attribute +code, string$/m);
});

it('tells where the CRS comes from', () => {
  const path = file('grid.csv', 'x,y\n530000,180000\n');
  expect(inspect(path)).toMatch(
    /the file names no CRS, and the coordinates cannot be degrees\n +warning +No coord.*--crs/,
  );
  expect(inspect(path, '--crs', 'grid.csv=EPSG:27700')).toMatch(/crs +EPSG:27700 \(OSGB.*\): from --crs$/m);
  file('grid.prj', execFileSync('gdalsrsinfo', ['-o', 'wkt1', 'EPSG:27700']));
  expect(inspect(path)).toMatch(/crs +EPSG:27700 .*: from a file in the same folder$/m);
});

it('tells of rasters, and of what is not published', () => {
  expect(inspect('demo/data/L7_ETMs.tif')).toMatch(
    /size +349 x 352 pixels, GTiff\n +crs +EPSG:31985 .*\n.*\n +band +1, Byte/,
  );
  const { status, stdout } = spawnSync(
    process.execPath,
    ['dist/cli/main.js', 'inspect', file('no.csv', 'a,b\n1,2\n')],
    {
      encoding: 'utf8',
    },
  );
  expect(status).toBe(1);
  expect(stdout).toMatch(/^not published: no\.csv: /);
});

it('leaves nothing behind', () => {
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith('graticule-inspect-'));
  inspect(file('one.csv', 'lon,lat\n1,2\n'));
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('graticule-inspect-'))).toEqual(before);
});
