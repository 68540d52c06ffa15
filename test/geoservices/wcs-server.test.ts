import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { run } from '../e2e/support/http.js';
import { pythonOfClients } from '../support/python.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Image services as WCS: clients that others wrote read the pixels of the file. */

const FILE = 'demo/data/L7_ETMs.tif';
const home = mkdtempSync(join(tmpdir(), 'graticule-wcs-'));
let server: SharedServer;
let service: string;
let id: string;

beforeAll(async () => {
  server = await sharedServer();
  const landing = (await (await fetch(`${server.url}/?f=json`)).json()) as { collections: { id: string }[] };
  id = landing.collections.find((one) => /l7_etm/i.test(one.id))!.id;
  service = `${server.url}/rest/services/${id}/ImageServer/WCSServer`;
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Places and values of the fourth band, as GDAL reads them. */
const valuesOf = (file: string, ...options: string[]) =>
  execFileSync('gdal_translate', ['-q', '-of', 'XYZ', '-b', '4', ...options, file, '/vsistdout/'], {
    maxBuffer: 1 << 26,
  })
    .toString()
    .split('\n')
    .map((line) =>
      line
        .split(' ')
        .map((one) => Number(one).toFixed(1))
        .join(' '),
    );

it('OWSLib reads a part', async () => {
  const part = join(home, 'part.tif');
  const text = await run(pythonOfClients(), ['test/geoservices/wcs_with_owslib.py', service, part], {});
  expect(JSON.parse(text)).toMatchObject({
    ...{ name: id, version: '2.0.1', formats: ['image/tiff'], axes: ['i', 'j'], high: ['348', '351'] },
  });
  // All pixels that the window touches.
  const window = ['-srcwin', '42', '167', '177', '141'];
  expect(valuesOf(part)).toEqual(valuesOf(FILE, ...window));
}, 60_000);

it('GDAL reads the whole, and a part of it smaller', async () => {
  const env = { HOME: home, GDAL_PAM_ENABLED: 'YES' };
  const url = `WCS:${service}?VERSION=2.0.1&COVERAGE=${id}`;
  const info = JSON.parse(await run('gdalinfo', ['-json', url], env));
  const own = JSON.parse(execFileSync('gdalinfo', ['-json', FILE]).toString());
  expect(info.size).toEqual(own.size);
  expect(info.geoTransform).toEqual(own.geoTransform.map((value: number) => expect.closeTo(value, 3)));
  const whole = join(home, 'whole.tif');
  await run('gdal_translate', ['-q', url, whole], env);
  expect(valuesOf(whole)).toEqual(valuesOf(FILE));
  const query = `SERVICE=WCS&VERSION=2.0.1&REQUEST=GetCoverage&COVERAGEID=${id}`;
  for (const [scale, size] of [
    ['SCALESIZE=E(20),N(10)', [20, 10]],
    ['SCALEFACTOR=0.5', [175, 176]],
  ] as const) {
    const small = join(home, 'small.tif');
    const response = await fetch(`${service}?${query}&RANGESUBSET=band_2&${scale}`);
    writeFileSync(small, Buffer.from(await response.arrayBuffer()));
    const read = JSON.parse(execFileSync('gdalinfo', ['-json', small]).toString());
    expect([read.size, read.bands.length]).toEqual([size, 1]);
  }
}, 120_000);

it('takes the CRS of the coverage by its names', async () => {
  const query = `SERVICE=WCS&VERSION=2.0.1&REQUEST=GetCoverage&COVERAGEID=${id}&SCALESIZE=E(20),N(10)`;
  const bytesOf = async (more: string) => (await fetch(`${service}?${query}${more}`)).text();
  const bytes = await bytesOf('');
  const { spatialReference } = (await (
    await fetch(`${service.replace('/WCSServer', '')}?f=json`)
  ).json()) as { spatialReference: { latestWkid: number } };
  const uri = `http://www.opengis.net/def/crs/EPSG/0/${spatialReference.latestWkid}`;
  expect(await bytesOf(`&SUBSETTINGCRS=${uri}&OUTPUTCRS=EPSG:${spatialReference.latestWkid}`)).toBe(bytes);
});

it.each([
  ['COVERAGEID', 'COVERAGEID=other', 'NoSuchCoverage'],
  ['VERSION', 'COVERAGEID=ID&VERSION=1.0.0', 'InvalidParameterValue'],
  ['SUBSET', 'COVERAGEID=ID&SUBSET=E(5,1)', 'InvalidSubsetting'],
  ['SUBSET', 'COVERAGEID=ID&SUBSET=Z(1,2)', 'InvalidSubsetting'],
  ['SUBSET', 'COVERAGEID=ID&SUBSET=E(1,2)', 'InvalidSubsetting'],
  ['RANGESUBSET', 'COVERAGEID=ID&RANGESUBSET=band_9', 'NoSuchField'],
  ['SCALESIZE', 'COVERAGEID=ID&SCALESIZE=E(0)', 'InvalidExtent'],
  ['SCALEFACTOR', 'COVERAGEID=ID&SCALEFACTOR=0', 'InvalidScaleFactor'],
  ['FORMAT', 'COVERAGEID=ID&FORMAT=image/bmp', 'InvalidParameterValue'],
  ['OUTPUTCRS', 'COVERAGEID=ID&OUTPUTCRS=EPSG:4326', 'InvalidParameterValue'],
  ['SUBSETTINGCRS', 'COVERAGEID=ID&SUBSETTINGCRS=nonsense', 'InvalidParameterValue'],
  ['MEDIATYPE', 'COVERAGEID=ID&MEDIATYPE=multipart/related', 'InvalidParameterValue'],
])('says what is wrong with %s', async (name, query, code) => {
  const response = await fetch(
    `${service}?SERVICE=WCS&VERSION=2.0.1&REQUEST=GetCoverage&${query.replace('=ID', `=${id}`)}`,
  );
  expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/xml']);
  expect(await response.text()).toContain(`exceptionCode="${code}" locator="${name}"`);
});
