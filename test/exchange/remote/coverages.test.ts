import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import gdal from 'gdal-async';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../engine/support.js';
import { startServer, type TestServer } from '../../support/server.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';
import { startMapServer } from './mapserver.js';
import { call, leftovers, REMOTE_HOST, type Remote, sendJson, startRemote } from './support.js';

/** Imports of coverages: of MapServer by WCS, of another server of ours by OGC API, and of servers that answer badly. */

const DEM = 'demo/data/olinda_dem_utm25s.tif';
const scratch = scratchDirectory();
let server: TestServer;
let original: SharedServer;
let mapServer: Remote;
let remote: Remote;
let answer = (_url: URL, response: ServerResponse): void => sendJson(response, {}, 'application/json', 500);

beforeAll(async () => {
  mapServer = await startMapServer(scratch.path);
  remote = await startRemote((url, response) => answer(url, response));
  original = await sharedServer();
  const allow = JSON.stringify([REMOTE_HOST, '127.0.0.1']);
  server = await startServer({ sources: [], env: { SVC_REMOTE__ALLOW: allow } });
}, 180_000);

afterAll(async () => {
  await server?.stop();
  await mapServer?.close();
  await remote?.close();
  scratch.remove();
});

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Answer = { status: number; body: any };
const wcs = (body: object): Promise<Answer> =>
  call(server, 'POST', '/import/ogc-wcs/import', { serviceUrl: `${mapServer.url}/`, inventory: {}, ...body });
const api = (body: object): Promise<Answer> =>
  call(server, 'POST', '/import/ogc/coverages/import', {
    serviceUrl: `${original.url}/ogc/coverages`,
    ...{ serviceType: 'OGC API Coverages', inventory: {}, ...body },
  });
const APPLY = { dryRun: false, applyMode: true };

/** The grid of a coverage as this server gives it, and that of the file that it comes from. */
async function expectSameGrid(id: string): Promise<void> {
  const path = `${server.url}/ogc/coverages/collections/${id}/coverage?f=geotiff`;
  const answered = await fetch(path);
  const bytes = Buffer.from(await answered.arrayBuffer());
  expect([answered.status, answered.ok ? '' : bytes.toString()]).toEqual([200, '']);
  gdal.vsimem.set(bytes, '/vsimem/imported.tif');
  const [imported, source] = [gdal.open('/vsimem/imported.tif'), gdal.open(DEM)];
  try {
    expect(imported.rasterSize).toEqual(source.rasterSize);
    // Servers compute it from the sides of their windows.
    expect(imported.geoTransform).toEqual(source.geoTransform!.map((one) => expect.closeTo(one, 6)));
    const values = (one: gdal.Dataset) =>
      Array.from(one.bands.get(1).pixels.read(0, 0, one.rasterSize.x, one.rasterSize.y));
    expect(values(imported)).toEqual(values(source));
  } finally {
    imported.close();
    source.close();
    gdal.vsimem.release('/vsimem/imported.tif');
  }
}

describe('WCS of MapServer', () => {
  it('is planned without reading coverages', async () => {
    const before = mapServer.asked.length;
    const { status, body } = await wcs({});
    expect([status, body]).toEqual([
      200,
      {
        ...{ dryRun: true, applyMode: false, requestedOutputFormat: 'image/tiff', resolvedVersion: '2.0.1' },
        manifest: expect.objectContaining({ serviceType: 'WCS' }),
        records: [
          {
            ...{ sourceCoverageId: 'heights', targetCoverageName: 'heights', targetLayerId: null },
            ...{ rasterId: null, action: 'import', classification: 'planned', outputFormat: 'image/tiff' },
            ...{ byteCount: 0, declaredBands: [expect.any(String)], warnings: [] },
            declaredCrs: expect.stringMatching(/31985/),
          },
        ],
        styleDiagnostics: [],
      },
    ]);
    expect(mapServer.asked.slice(before).some((path) => /GetCoverage/.test(path))).toBe(false);
  });

  it.each([
    ['2.0.1', 'By two'],
    ['1.0.0', 'By one'],
  ])('%s gives the grid that the file has', async (version, name) => {
    const { status, body } = await wcs({ ...APPLY, version, targets: { name } });
    expect([status, body.records]).toEqual([
      200,
      [expect.objectContaining({ classification: 'imported', warnings: [] })],
    ]);
    expect(body.resolvedVersion).toBe(version);
    expect(body.records[0].byteCount).toBeGreaterThan(1000);
    await expectSameGrid(name.toLowerCase().replace(' ', '-'));
  });

  it('skips a coverage whose name is taken, and joins a layer that is named', async () => {
    const skipped = await wcs({ ...APPLY, targets: { name: 'By two' } });
    expect(skipped.body.records).toMatchObject([
      { action: 'skip', classification: 'skipped', rasterId: null },
    ]);
    const planned = await wcs({ targets: { name: 'By two', layerId: 1 } });
    expect(planned.body.records).toMatchObject([{ classification: 'planned', targetLayerId: 1 }]);
  });
});

describe('OGC API Coverages', () => {
  it('of another server of ours are imported', async () => {
    const { status, body } = await api({
      ...APPLY,
      inventory: { resources: [{ kind: 'coverage', name: 'olinda_dem_utm25s' }] },
    });
    expect([status, body.records]).toEqual([200, [expect.objectContaining({ classification: 'imported' })]]);
    const [{ targetCoverageName: name }] = body.records;
    await expectSameGrid(name.toLowerCase().replaceAll(/[^a-z0-9_]+/g, '-'));
  });
});

describe('told is', () => {
  const wrongs: [string, object, string][] = [
    ['what is not applied', { dryRun: false }, 'applyMode'],
    ['a coverage that is not there', { coverageSelection: ['nothing'] }, 'coverageSelection'],
    ['another format', { outputFormat: 'image/png' }, 'outputFormat'],
    ['a host that may not be asked', { serviceUrl: 'http://10.0.0.1/' }, 'serviceUrl'],
    ['another service', { targetServiceName: 'other' }, 'targetServiceName'],
  ];
  it.each(wrongs)('%s', async (_, body, member) => {
    const answered = await wcs(body);
    expect([answered.status, answered.body.errors?.[0]?.name ?? answered.body.detail]).toEqual([400, member]);
  });

  const CAPABILITIES = `<wcs:Capabilities xmlns:wcs="w" version="2.0.1"><Contents><CoverageSummary>
    <CoverageId>a</CoverageId></CoverageSummary></Contents></wcs:Capabilities>`;
  const xml = (response: ServerResponse, text: string) =>
    void response.writeHead(200, { 'content-type': 'text/xml' }).end(text);

  it('a server that is none, and one of another version', async () => {
    const serviceUrl = remote.url;
    answer = (_url, response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>');
    expect(await wcs({ serviceUrl })).toMatchObject({
      status: 502,
      body: { detail: expect.stringMatching(/not a WCS/) },
    });
    answer = (_url, response) => xml(response, '<Capabilities version="1.1.2"></Capabilities>');
    expect(await wcs({ serviceUrl })).toMatchObject({
      status: 502,
      body: { detail: expect.stringMatching(/version 1.1.2/) },
    });
    answer = (_url, response) => xml(response, '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>');
    expect(await wcs({ serviceUrl })).toMatchObject({ status: 502 });
    answer = () => {};
    expect(await wcs({ serviceUrl, timeoutSeconds: 1 })).toMatchObject({ status: 504 });
  });

  it('a coverage that is a report, a page, cut off, or a broken file; and nothing stays of it', async () => {
    const tiff = readFileSync(DEM);
    const coverages: [(response: ServerResponse) => void, RegExp][] = [
      [
        (response) =>
          xml(
            response,
            '<ExceptionReport><Exception><ExceptionText>Too large</ExceptionText></Exception></ExceptionReport>',
          ),
        /Too large/,
      ],
      [
        (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
        /it returned text\/html instead of a GeoTIFF/,
      ],
      [(response) => void response.writeHead(404).end(), /no such file/],
      [
        (response) =>
          response.writeHead(200, { 'content-length': tiff.length }).end(tiff.subarray(0, 9000)) &&
          void response.destroy(),
        /was truncated|does not respond/,
      ],
      [
        (response) =>
          void response.writeHead(200, { 'content-type': 'image/tiff' }).end(tiff.subarray(0, 2000)),
        /./,
      ],
    ];
    for (const [give, reason] of coverages) {
      answer = ({ searchParams }, response) => {
        const request = searchParams.get('REQUEST');
        if (request === 'GetCapabilities') xml(response, CAPABILITIES);
        else if (request === 'DescribeCoverage')
          xml(response, '<CoverageDescriptions><CoverageDescription/></CoverageDescriptions>');
        else give(response);
      };
      const { status, body } = await wcs({ ...APPLY, serviceUrl: remote.url, targets: { name: 'Bad' } });
      expect([status, body.records]).toEqual([
        200,
        [
          expect.objectContaining({
            classification: 'failed',
            rasterId: null,
            warnings: [expect.stringMatching(reason)],
          }),
        ],
      ]);
      expect(leftovers(server).filter((name) => /tif/.test(name))).toEqual([]);
    }
  });
});
