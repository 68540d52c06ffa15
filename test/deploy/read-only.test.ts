import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServerProcess, type TestServer } from '../support/server.js';
import { copyDemoData } from './support/data.js';

/** A server on a machine where it can write to its data folder and to /tmp, and nowhere else, as images and units have it. */

// Not in /tmp, which the server has for itself.
const dataDir = mkdtempSync('/var/tmp/graticule-read-only-');
const data = copyDemoData();

/** A namespace of mounts in which all of this machine is read-only but the data folder and a /tmp of its own. */
const LAUNCHER = [
  'unshare',
  '--mount',
  'bash',
  '-euc',
  `mount --make-rprivate /
mount --bind "$0" "$0"
checkout="$PWD"
mkdir "$0/checkout"
mount --bind "$checkout" "$0/checkout"
mount -t tmpfs -o mode=1777 tmp /tmp
# A checkout below /tmp is there all the same, and can be read.
mkdir -p "$checkout"
mount --move "$0/checkout" "$checkout"
rmdir "$0/checkout"
mount -o remount,bind,ro "$checkout"
cd "$checkout"
for place in $(findmnt -rno TARGET | grep -vE '^/(proc|sys|dev|tmp)(/|$)' | grep -vxF "$0"); do
  mount -o remount,bind,ro "$place"
done
exec "$@"`,
  dataDir,
];

/** Where the server could write. */
function writablePlaces(): string[] {
  const mounts = readFileSync(`/proc/${server.process.pid}/mountinfo`, 'utf8').trim().split('\n');
  const places = mounts
    .map((line) => line.split(' '))
    .filter(([, , , , , options]) => options!.startsWith('rw'));
  return [...new Set(places.map(([, , , , place]) => place!))].filter(
    (place) => !/^\/(proc|sys|dev)\b/.test(place),
  );
}

const isRoot = process.getuid?.() === 0;
let server: TestServer;

beforeAll(async () => {
  if (!isRoot) return;
  server = await startServerProcess({ dataDir, launcher: LAUNCHER, sources: [data.folder] });
});
afterAll(async () => {
  await server?.stop();
  data.remove();
  rmSync(dataDir, { recursive: true, force: true });
});

const ask = async (path: string, init?: RequestInit) => {
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, bytes: (await response.arrayBuffer()).byteLength };
};

describe.skipIf(!isRoot)('with a root that is read-only', () => {
  it('can write to its data folder and to /tmp', () => {
    expect(writablePlaces().sort()).toEqual(['/tmp', dataDir]);
  });

  it.each([
    '/ogc/tiles/collections/3/tiles/WebMercatorQuad/0/0/0',
    '/ogc/maps/collections/3/map?bbox=5,45,15,55&width=300',
    '/ogc/coverages/collections/l7_etms/coverage?f=geotiff',
    '/ogc/features/collections/countries/items?limit=1000&crs=EPSG:3035',
    '/stac/search',
    '/',
  ])('answers %s', async (path) => {
    expect(await ask(path)).toMatchObject({
      status: 200,
      bytes: expect.toSatisfy((bytes: number) => bytes > 200),
    });
  });

  it('imports a file, by GDAL, and publishes it', async () => {
    const body = new FormData();
    const point = {
      type: 'Feature',
      properties: { n: 1 },
      geometry: { type: 'Point', coordinates: [7, 46] },
    };
    body.set('TableName', 'stations');
    body.set(
      'file',
      new Blob([JSON.stringify({ type: 'FeatureCollection', features: [point] })]),
      'stations.geojson',
    );
    const headers = { 'x-api-key': server.adminKey };
    expect((await ask('/api/v1/admin/import/upload', { method: 'POST', headers, body })).status).toBeLessThan(
      300,
    );
    await expect
      .poll(() => ask('/ogc/features/collections/stations/items').then(({ status }) => status), {
        timeout: 60_000,
      })
      .toBe(200);
  });

  it('and complains of nothing', () => {
    expect(server.log()).not.toMatch(/EROFS|read-only|EACCES/i);
  });
});
