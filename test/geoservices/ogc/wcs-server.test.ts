import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import gdal from 'gdal-async';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../e2e/support/http.js';
import { OgcSchemas } from '../../support/ogc-schemas.js';
import { pythonOfClients } from '../../support/python.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Image services as WCS: clients that others wrote read the pixels of the file. */

const FILE = 'demo/data/L7_ETMs.tif';
const home = mkdtempSync(join(tmpdir(), 'graticule-wcs-'));
let server: SharedServer;
let service: string;
let id: string;
let schemas: OgcSchemas;

beforeAll(async () => {
  schemas = new OgcSchemas();
  server = await sharedServer();
  const landing = (await (await fetch(`${server.url}/?f=json`)).json()) as { collections: { id: string }[] };
  id = landing.collections.find((one) => /l7_etm/i.test(one.id))!.id;
  service = `${server.url}/rest/services/${id}/ImageServer/WCSServer`;
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
  schemas?.remove();
});

const ask = (query: string) => fetch(`${service}?SERVICE=WCS&VERSION=2.0.1&${query}`);
const cover = (query: string) => ask(`REQUEST=GetCoverage&COVERAGEID=${id}&${query}`);

/** The coverage as a file, and what GDAL says of it. */
async function fileOf(query: string) {
  const response = await cover(query);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.status, bytes.subarray(0, 400).toString()).toBe(200);
  const path = join(home, 'coverage.tif');
  writeFileSync(path, bytes);
  const dataset = gdal.open(path);
  const [{ x, y }, bands] = [dataset.rasterSize, dataset.bands.count()];
  dataset.close();
  return { path, bytes, size: [x, y], bands };
}

/** Places of the first and the last pixel of the fourth band or another one, and all its values, of a window. */
function valuesOf(file: string, window?: readonly string[], number = 4) {
  const dataset = gdal.open(file);
  const [x0, dx, , y0, , dy] = dataset.geoTransform!;
  const whole = [0, 0, dataset.rasterSize.x, dataset.rasterSize.y];
  const [left, top, width, height] = (window?.map(Number) ?? whole) as [number, number, number, number];
  const pixels = dataset.bands.get(number).pixels.read(left, top, width, height);
  dataset.close();
  const place = (column: number, row: number) =>
    [x0! + dx! * (column + 0.5), y0! + dy! * (row + 0.5)].map((one) => one.toFixed(1));
  return {
    first: place(left, top),
    last: place(left + width - 1, top + height - 1),
    values: Array.from(pixels as ArrayLike<number>, (one) => one.toFixed(1)).join(' '),
  };
}

/** Whether two files are the same: an expectation compares their bytes one by one. */
const isSame = (one: Buffer, other: ArrayBuffer | Buffer) =>
  one.equals(other instanceof ArrayBuffer ? Buffer.from(other) : other);

it('OWSLib reads a part', async () => {
  const part = join(home, 'part.tif');
  const text = await run(pythonOfClients(), ['test/geoservices/ogc/wcs_with_owslib.py', service, part], {});
  expect(JSON.parse(text)).toMatchObject({
    ...{ name: id, version: '2.0.1', formats: ['image/tiff'], axes: ['i', 'j'], high: ['348', '351'] },
  });
  // All pixels that the window touches.
  const window = ['42', '167', '177', '141'];
  expect(valuesOf(part)).toEqual(valuesOf(FILE, window));
  const { values } = valuesOf(`${part}.slice.tif`, undefined, 1);
  expect(values).toBe(valuesOf(FILE, ['42', '167', '1', '141']).values);
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
  const small = join(home, 'small.tif');
  await run('gdal_translate', ['-q', '-outsize', '20', '10', url, small], env);
  expect(valuesOf(small)).toEqual(valuesOf((await fileOf('SCALESIZE=E(20),N(10)')).path));
}, 120_000);

it('takes the CRS of the coverage by its names', async () => {
  const bytesOf = async (more: string) => (await cover(`SCALESIZE=E(20),N(10)${more}`)).text();
  const bytes = await bytesOf('');
  const { spatialReference } = (await (
    await fetch(`${service.replace('/WCSServer', '')}?f=json`)
  ).json()) as { spatialReference: { latestWkid: number } };
  const uri = `http://www.opengis.net/def/crs/EPSG/0/${spatialReference.latestWkid}`;
  expect(await bytesOf(`&SUBSETTINGCRS=${uri}&OUTPUTCRS=EPSG:${spatialReference.latestWkid}`)).toBe(bytes);
});

it('describes itself as the schemas of WCS want it', async () => {
  const landing = (await (await fetch(`${server.url}/?f=json`)).json()) as {
    collections: { id: string; type: string }[];
  };
  const documents: string[] = [];
  for (const name of ['olinda_dem_utm25s', 'bcsd_obs_1999', id]) {
    expect(landing.collections.map((one) => one.id)).toContain(name);
    const address = `${server.url}/rest/services/${name}/ImageServer/WCSServer?service=WCS&version=2.0.1`;
    for (const request of ['GetCapabilities', `DescribeCoverage&coverageid=${name}`])
      documents.push(await (await fetch(`${address}&request=${request}`)).text());
  }
  schemas.validate('ogc/wcs/2.0/wcsAll.xsd', ...documents);
  const report = await (await ask('REQUEST=Odd')).text();
  schemas.validate('ogc/ows/2.0/owsExceptionReport.xsd', report);
});

it('negotiates the version, and gives the sections that are wanted', async () => {
  const capabilities = (query: string) => fetch(`${service}?service=WCS&request=GetCapabilities&${query}`);
  const accepted = await (await capabilities('AcceptVersions=2.1.0,2.0.1')).text();
  expect(accepted).toContain('version="2.0.1"');
  const failed = await capabilities('acceptversions=1.0.0,2.1.0');
  expect(failed.status).toBe(400);
  expect(await failed.text()).toContain('exceptionCode="VersionNegotiationFailed">');
  const part = await (await capabilities('SECTIONS=ServiceProvider,Contents')).text();
  schemas.validate('ogc/wcs/2.0/wcsAll.xsd', part);
  expect(part).toMatch(/<ows:ServiceProvider>.*<wcs:Contents>/);
  expect(part).not.toMatch(/ServiceIdentification|OperationsMetadata|ServiceMetadata/);
  expect(await (await capabilities('Sections=All')).text()).toBe(await (await capabilities('')).text());
});

describe('subsets', () => {
  it.each([
    ['one column', 'SUBSET=E(290000)', ['42', '0', '1', '352']],
    // A place between two columns is in the eastern one.
    ['a column by its edge', 'SUBSET=E(288833.25)', ['2', '0', '1', '352']],
    ['the last column by its edge', 'SUBSET=E(298722.75)', ['348', '0', '1', '352']],
    ['one row', 'subset=N(9112000)', ['0', '307', '349', '1']],
    ['one pixel', 'Subset=E(290000)&Subset=N(9112000)', ['42', '307', '1', '1']],
    ['open ends', 'SUBSET=E(290000,*)&subset=N(*,9112000)', ['42', '307', '307', '45']],
    ['what there is of a larger interval', 'SUBSET=E(0,290000)', ['0', '0', '43', '352']],
    ['nothing left out', 'SUBSET=E(*,*)', ['0', '0', '349', '352']],
    ['an equal one twice', 'SUBSET=E(290000)&SUBSET=E(290000)', ['42', '0', '1', '352']],
  ])('keep %s', async (_, query, window) => {
    const { path, size } = await fileOf(query);
    expect(size).toEqual(window.slice(2).map(Number));
    expect(valuesOf(path)).toEqual(valuesOf(FILE, window));
  });

  it('are in another CRS, which the response is in, too', async () => {
    const crs = 'http://www.opengis.net/def/crs/EPSG/0/4326';
    const query = `SUBSETTINGCRS=${crs}&SUBSET=Lat(-8.02,-7.97)&SUBSET=Long(-34.9,-34.85)`;
    const same = await fetch(
      `${server.url}/ogc/coverages/collections/${id}/coverage?bbox=-34.9,-8.02,-34.85,-7.97&crs=${crs}`,
    );
    expect(isSame((await fileOf(query)).bytes, await same.arrayBuffer())).toBe(true);
    expect((await fileOf(`SUBSETTINGCRS=${crs}&SUBSET=Lat(-8)`)).size[1]).toBe(1);
    const own = 'http://www.opengis.net/def/crs/EPSG/0/31985';
    const [other, first] = [await fileOf(`${query}&OUTPUTCRS=${own}`), await fileOf(query)];
    expect(isSame(other.bytes, first.bytes)).toBe(false);
  });
});

describe('scaling', () => {
  it.each([
    ['SCALEFACTOR=2', 'scale-factor=0.5', [698, 704]],
    ['SCALEAXES=i(0.5)', 'scale-axes=x(2)', [175, 352]],
    ['SCALEAXES=E(0.5),N(0.25)', 'scale-axes=E(2),N(4)', [175, 88]],
    ['SCALESIZE=j(20)', 'height=20', [349, 20]],
    ['SCALESIZE=http://www.opengis.net/def/axis/OGC/1/i(50),j(20)', 'scale-size=50,20', [50, 20]],
    ['SCALEEXTENT=i(10:20),j(20:24)', 'scale-size=11,5', [11, 5]],
    ['SCALEFACTOR=0.5&SUBSET=E(290000)', 'subset=E(290000)&subset-crs=EPSG:31985&scale-axes=y(2)', [1, 176]],
    [
      'RANGESUBSET=band_4,band_1:band_2&SCALESIZE=i(9),j(8)',
      'properties=band_4,band_1,band_2&scale-size=9,8',
      [9, 8],
    ],
  ])('%s is %s of OGC API Coverages', async (query, other, size) => {
    const file = await fileOf(query);
    expect(file.size).toEqual(size);
    const same = await fetch(`${server.url}/ogc/coverages/collections/${id}/coverage?${other}`);
    expect(isSame(file.bytes, await same.arrayBuffer())).toBe(true);
  });

  it('takes a band several times', async () => {
    const { path, bands } = await fileOf('RANGESUBSET=band_4,band_4,band_2:band_4&SCALESIZE=i(5),j(5)');
    const read = (band: number) => valuesOf(path, undefined, band);
    expect([bands, read(1), read(1)]).toEqual([5, read(2), read(5)]);
    expect(read(1)).not.toEqual(read(3));
  });
});

describe('two parts', () => {
  it('are a valid document of GML and the file', async () => {
    const query =
      'SUBSET=E(290000,291000)&SUBSET=N(9112000,9113000)&RANGESUBSET=band_4,band_4&SCALEEXTENT=i(10:20),j(5:9)';
    const response = await cover(`${query}&MEDIATYPE=multipart/related`);
    const [, boundary] = /^multipart\/related; boundary="([^"]+)"/.exec(
      response.headers.get('content-type')!,
    )!;
    const body = Buffer.from(await response.arrayBuffer());
    expect(Number(response.headers.get('content-length'))).toBe(body.length);
    const [before, gml, file, after] = body.toString('latin1').split(`--${boundary}`);
    expect([before, after]).toEqual(['', '--\r\n']);
    const [head, document] = gml!.split(/\r\n\r\n(.*)\r\n$/s);
    expect(head).toMatch(/^\r\nContent-Type: application\/gml\+xml\r\n/);
    schemas.validate('ogc/gmlcov/1.0/gmlcovAll.xsd', document!);
    expect(document).toContain('<gml:low>10 5</gml:low><gml:high>20 9</gml:high>');
    expect(document).toContain('<gml:fileReference>cid:coverage.tif</gml:fileReference>');
    // The middle of the first pixel of the file, which is in column 10 and row 5.
    const [, x, y] = /<gml:pos>(\S+) (\S+)<\/gml:pos>/.exec(document!)!;
    const [dx, dy] = [1000 / 11, -200];
    expect(Number(x) + 10 * dx - dx / 2).toBeCloseTo(290_000, 6);
    expect(Number(y) + 5 * dy - dy / 2).toBeCloseTo(9_113_000, 6);
    expect(file).toMatch(/^\r\nContent-Type: image\/tiff[^\r]*\r\nContent-ID: <coverage.tif>\r\n/);
    const [, bytes] = file!.split(/\r\n\r\n(.*)\r\n$/s);
    expect(isSame(Buffer.from(bytes!, 'latin1'), (await fileOf(query)).bytes)).toBe(true);
  });

  it('are read by GDAL, pixel by pixel', async () => {
    const env = { HOME: home, GDAL_PAM_ENABLED: 'YES' };
    const path = join(home, 'parts.tif');
    const option = 'GetCoverageExtra=&MEDIATYPE=multipart/related';
    const url = `WCS:${service}?VERSION=2.0.1&COVERAGE=${id}`;
    await run('gdal_translate', ['-q', '-oo', option, '-srcwin', '5', '7', '40', '30', url, path], env);
    expect(valuesOf(path)).toEqual(valuesOf(FILE, ['5', '7', '40', '30']));
  }, 60_000);
});

it.each([
  ['', '', 400, 'MissingParameterValue', 'service'],
  ['', 'SERVICE=WMS&REQUEST=GetCapabilities', 400, 'InvalidParameterValue', 'service'],
  ['', 'SERVICE=WCS', 400, 'MissingParameterValue', 'request'],
  ['', 'SERVICE=WCS&REQUEST=GetTile', 501, 'OperationNotSupported', 'GetTile'],
  ['', 'SERVICE=WCS&REQUEST=GetCapabilities&SECTIONS=Odd', 400, 'InvalidParameterValue', 'sections'],
  ['', 'SERVICE=WCS&REQUEST=GetCoverage&COVERAGEID=ID', 400, 'MissingParameterValue', 'version'],
  [
    '',
    'SERVICE=WCS&REQUEST=GetCoverage&COVERAGEID=ID&VERSION=1.0.0',
    400,
    'InvalidParameterValue',
    'version',
  ],
  ['DescribeCoverage', '', 404, 'emptyCoverageIdList', 'coverageId'],
  ['DescribeCoverage', 'COVERAGEID=ID,other', 404, 'NoSuchCoverage', 'other'],
  ['GetCoverage', '', 400, 'MissingParameterValue', 'coverageId'],
  ['GetCoverage', 'COVERAGEID=other', 404, 'NoSuchCoverage', 'other'],
  ['GetCoverage', 'COVERAGEID=ID&SUBSET=E(295000,290000)', 404, 'InvalidSubsetting', 'E'],
  ['GetCoverage', 'COVERAGEID=ID&SUBSET=E(0,280000)', 404, 'InvalidSubsetting', 'E'],
  ['GetCoverage', 'COVERAGEID=ID&SUBSET=N(1)', 404, 'InvalidSubsetting', 'N'],
  ['GetCoverage', 'COVERAGEID=ID&SUBSET=N(*)', 404, 'InvalidSubsetting', 'N'],
  ['GetCoverage', 'COVERAGEID=ID&SUBSET=N(low,high)', 404, 'InvalidSubsetting', 'N'],
  ['GetCoverage', 'COVERAGEID=ID&SUBSET=Z(1,2)', 404, 'InvalidAxisLabel', 'Z'],
  ['GetCoverage', 'COVERAGEID=ID&SUBSET=Lat(1,2)', 404, 'InvalidAxisLabel', 'Lat'],
  ['GetCoverage', 'COVERAGEID=ID&SUBSET=E(290000)&subset=E(290001)', 404, 'InvalidAxisLabel', 'E'],
  ['GetCoverage', 'COVERAGEID=ID&SUBSET=E(1', 400, 'InvalidEncodingSyntax', 'subset'],
  ['GetCoverage', 'COVERAGEID=ID&SUBSET=E(1,2,3)', 400, 'InvalidEncodingSyntax', 'subset'],
  ['GetCoverage', 'COVERAGEID=ID&RANGESUBSET=band_9', 404, 'NoSuchField', 'band_9'],
  ['GetCoverage', 'COVERAGEID=ID&RANGESUBSET=band_3:band_1', 404, 'IllegalFieldSequence', 'band_3:band_1'],
  ['GetCoverage', 'COVERAGEID=ID&RANGESUBSET=band_3:', 400, 'InvalidEncodingSyntax', 'rangeSubset'],
  ['GetCoverage', 'COVERAGEID=ID&SCALEFACTOR=0', 404, 'InvalidScaleFactor', '0'],
  ['GetCoverage', 'COVERAGEID=ID&SCALEFACTOR=1000', 404, 'InvalidScaleFactor', '1000'],
  ['GetCoverage', 'COVERAGEID=ID&SCALEAXES=i(-1)', 404, 'InvalidScaleFactor', '-1'],
  ['GetCoverage', 'COVERAGEID=ID&SCALEAXES=k(2)', 404, 'ScaleAxisUndefined', 'k'],
  ['GetCoverage', 'COVERAGEID=ID&SCALEAXES=i(2)&SUBSET=E(290000)', 404, 'ScaleAxisUndefined', 'i'],
  ['GetCoverage', 'COVERAGEID=ID&SCALEAXES=i2', 400, 'InvalidEncodingSyntax', 'scaleAxes'],
  ['GetCoverage', 'COVERAGEID=ID&SCALESIZE=E(0)', 404, 'InvalidExtent', '0'],
  ['GetCoverage', 'COVERAGEID=ID&SCALESIZE=i(8193)', 404, 'InvalidExtent', '8193'],
  ['GetCoverage', 'COVERAGEID=ID&SCALESIZE=i(8192),j(8192)', 400, 'InvalidParameterValue', 'scaleSize'],
  ['GetCoverage', 'COVERAGEID=ID&SCALEEXTENT=i(20:10)', 404, 'InvalidExtent', '20:10'],
  ['GetCoverage', 'COVERAGEID=ID&SCALEEXTENT=i(1:9000)', 404, 'InvalidExtent', '1:9000'],
  ['GetCoverage', 'COVERAGEID=ID&SCALESIZE=i(5)&SCALEFACTOR=2', 400, 'InvalidParameterValue', 'scaleSize'],
  ['GetCoverage', 'COVERAGEID=ID&FORMAT=image/bmp', 400, 'InvalidParameterValue', 'format'],
  ['GetCoverage', 'COVERAGEID=ID&MEDIATYPE=text/xml', 400, 'InvalidParameterValue', 'mediaType'],
  ['GetCoverage', 'COVERAGEID=ID&OUTPUTCRS=EPSG:2056', 404, 'OutputCrs-NotSupported', 'outputCrs'],
  ['GetCoverage', 'COVERAGEID=ID&SUBSETTINGCRS=odd', 404, 'SubsettingCrs-NotSupported', 'subsettingCrs'],
])('%s %s is %i %s', async (request, query, status, code, locator) => {
  const basics = request ? `SERVICE=WCS&VERSION=2.0.1&REQUEST=${request}&` : '';
  const response = await fetch(`${service}?${basics}${query.replace('=ID', `=${id}`)}`);
  expect([response.status, response.headers.get('content-type')]).toEqual([status, 'text/xml']);
  expect(await response.text()).toContain(`exceptionCode="${code}" locator="${locator}"`);
});
