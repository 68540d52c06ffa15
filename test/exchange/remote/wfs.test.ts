import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../engine/support.js';
import { startServer, type TestServer } from '../../support/server.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';
import { startMapServer } from './mapserver.js';
import {
  call,
  collections,
  itemsOf,
  type Json,
  leftovers,
  REMOTE_HOST,
  type Remote,
  sendJson,
  startRemote,
} from './support.js';

/** Imports from WFS: MapServer, and small servers that write GeoJSON or lie. */

const scratch = scratchDirectory();
let server: TestServer;
let original: SharedServer;
let mapServer: Remote;
let remote: Remote;
/** How the remote answers GetFeature; its names are in capitals. */
let answer = (_query: URLSearchParams, response: ServerResponse): void =>
  sendJson(response, {}, 'application/json', 500);
let formats = '';

beforeAll(async () => {
  mapServer = await startMapServer(scratch.path);
  remote = await startRemote(({ searchParams }, response) => {
    if (searchParams.get('REQUEST') !== 'GetCapabilities') return answer(searchParams, response);
    response
      .writeHead(200, { 'content-type': 'text/xml' })
      .end(`<wfs:WFS_Capabilities xmlns:wfs="w" xmlns:ows="o"
      version="2.0.0"><ows:OperationsMetadata><ows:Operation name="GetFeature">${formats}</ows:Operation>
      </ows:OperationsMetadata><FeatureTypeList><FeatureType><Name>ms:towns</Name><Title>Towns</Title>
      <DefaultCRS>urn:ogc:def:crs:EPSG::25832</DefaultCRS></FeatureType></FeatureTypeList></wfs:WFS_Capabilities>`);
  });
  original = await sharedServer();
  server = await startServer({ sources: [], env: { SVC_REMOTE__ALLOW: `["${REMOTE_HOST}"]` } });
}, 180_000);

afterAll(async () => {
  await server?.stop();
  await mapServer?.close();
  await remote?.close();
  scratch.remove();
});

const start = (body: object) =>
  call(server, 'POST', '/import/ogc-wfs/start', { serviceUrl: remote.url, applyMode: true, ...body });

const fromMapServer = (body: object) => start({ serviceUrl: `${mapServer.url}/`, ...body });

describe('MapServer', () => {
  it('is planned without reading features', async () => {
    const before = mapServer.asked.length;
    const { status, body } = await fromMapServer({ dryRun: true, applyMode: false });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        success: true,
        wasDryRun: true,
        sourceVersion: '2.0.0',
        featureTypesPlanned: 2,
        featureTypesImported: 0,
        errorMessage: null,
      },
    });
    expect((body['featureTypes'] as Json[]).map(({ classification }) => classification)).toEqual([
      'planned',
      'planned',
    ]);
    expect(mapServer.asked.length).toBe(before + 1);
    expect(await collections(server)).toEqual([]);
  });

  it.each(['2.0.0'])(
    'is imported by WFS %s, page by page of GML, in its CRS of degrees or metres',
    async (version) => {
      const { body } = await fromMapServer({ version, pageSize: 60, overwriteExisting: true });
      const source = await itemsOf(original, 'countries', 'limit=2000');
      expect(body).toMatchObject({
        success: true,
        sourceVersion: version,
        featureTypesImported: 2,
        featuresFailed: 0,
        errorMessage: null,
      });
      const parity = (body['parityEvidence'] as { featureTypes: Json[] }).featureTypes;
      expect(parity).toEqual(parity.map((one) => ({ ...one, matches: true })));
      const copy = await itemsOf(server, 'countries', 'limit=2000');
      expect(copy['numberMatched']).toBe(source['numberMatched']);
      const extents = async (of: SharedServer, id: string) => {
        const answer = await fetch(`${of.url}/ogc/features/collections/${id}?f=json`);
        return ((await answer.json()) as { extent: { spatial: { bbox: number[][] } } }).extent.spatial
          .bbox[0]!;
      };
      for (const [id, name] of [
        ['countries', 'countries'],
        ['borders', 'disputed_borders'],
      ] as const) {
        const [ours, theirs] = [await extents(server, id), await extents(original, name)];
        expect({ id, box: ours.map((side) => side.toFixed(4)) }).toEqual({
          id,
          box: theirs.map((side) => side.toFixed(4)),
        });
      }
      expect(leftovers(server)).toEqual([]);
      // GDAL asks nobody for the schema that pages name.
      expect(mapServer.asked.filter((url) => /DescribeFeatureType/i.test(url))).toEqual([]);
    },
    120_000,
  );

  it('refuses types that it does not have, and skips tables that are there', async () => {
    expect(await fromMapServer({ featureTypeNames: ['ms:none'] })).toMatchObject({ status: 400 });
    const { body } = await fromMapServer({});
    expect(body).toMatchObject({ success: true, featureTypesSkipped: 2, featuresCopied: 0 });
  });
});

describe('a request that is wrong', () => {
  it.each([
    [{ applyMode: false }],
    [{ serviceUrl: 'http://10.0.0.1/wfs' }],
    [{ serviceUrl: 'ftp://127.0.0.2/wfs' }],
    [{ targetSchema: 'other' }],
    [{ targetSrid: 999 }],
    [{ version: '1.1.0' }],
  ])('%j is 400', async (body) => {
    expect(await start(body)).toMatchObject({ status: 400 });
  });

  it('is 502 where the server is no WFS', async () => {
    const nothing = await startRemote((_url, response) => sendJson(response, {}));
    expect(await start({ serviceUrl: nothing.url })).toMatchObject({ status: 502 });
    await nothing.close();
  });
});

const TOTAL = 12;

/** Features as GeoJSON in UTM. */
function towns(query: URLSearchParams): Json {
  const from = Number(query.get('STARTINDEX'));
  const count = Math.max(0, Math.min(Number(query.get('COUNT')), TOTAL - from));
  return {
    type: 'FeatureCollection',
    numberMatched: TOTAL,
    crs: { type: 'name', properties: { name: 'urn:ogc:def:crs:EPSG::25832' } },
    features: Array.from({ length: count }, (_, i) => ({
      type: 'Feature',
      id: `towns.${from + i}`,
      geometry: { type: 'Point', coordinates: [500_000, 5_540_000] },
      properties: { name: `town ${from + i}` },
    })),
  };
}

const hits = (response: ServerResponse, total: number | 'unknown' = TOTAL) =>
  void response
    .writeHead(200, { 'content-type': 'text/xml' })
    .end(`<wfs:FeatureCollection xmlns:wfs="w" numberMatched="${total}" numberReturned="0"/>`);

describe('GeoJSON', () => {
  const json =
    '<ows:Parameter name="outputFormat"><ows:AllowedValues><ows:Value>text/xml</ows:Value><ows:Value>application/json</ows:Value></ows:AllowedValues></ows:Parameter>';

  it('is read where it is offered, in the CRS that it names', async () => {
    formats = json;
    answer = (query, response) =>
      query.get('RESULTTYPE') === 'hits' ? hits(response) : sendJson(response, towns(query));
    const { body } = await start({ pageSize: 5, username: 'u', password: 'p' });
    expect(body).toMatchObject({
      success: true,
      featuresCopied: TOTAL,
      manifest: { encoding: 'application/json' },
    });
    const { features } = (await itemsOf(server, 'towns')) as {
      features: { geometry: { coordinates: number[] } }[];
    };
    expect(features[0]!.geometry.coordinates[0]).toBeCloseTo(9, 6);
    expect(features[0]!.geometry.coordinates[1]).toBeCloseTo(50.012316, 5);
  });

  it.each([
    [
      'counts too many',
      (query: URLSearchParams, response: ServerResponse) => sendJson(response, towns(query)),
      TOTAL + 1,
    ],
    [
      'counts too few',
      (query: URLSearchParams, response: ServerResponse) => sendJson(response, towns(query)),
      TOTAL - 5,
    ],
    [
      'does not page',
      (query: URLSearchParams, response: ServerResponse) => {
        query.set('STARTINDEX', '0');
        sendJson(response, towns(query));
      },
      TOTAL,
    ],
    [
      'reports an exception',
      (_query: URLSearchParams, response: ServerResponse) =>
        void response
          .writeHead(200, { 'content-type': 'text/xml' })
          .end(
            '<ExceptionReport><Exception><ExceptionText>no more</ExceptionText></Exception></ExceptionReport>',
          ),
      TOTAL,
    ],
    [
      'names no CRS of its metres',
      (query: URLSearchParams, response: ServerResponse) =>
        sendJson(response, { ...towns(query), crs: undefined }),
      TOTAL,
    ],
    ['breaks off', (_query: URLSearchParams, response: ServerResponse) => void response.destroy(), TOTAL],
    [
      'has nothing',
      (query: URLSearchParams, response: ServerResponse) => sendJson(response, towns(query)),
      0,
    ],
  ] as [string, typeof answer, number][])(
    'of a server that %s imports nothing',
    async (_name, behaviour, total) => {
      formats = json;
      answer = (query, response) =>
        query.get('RESULTTYPE') === 'hits' ? hits(response, total) : behaviour(query, response);
      const { status, body } = await start({
        pageSize: 5,
        serviceUrl: `${remote.url}/?t=${total}`,
        overwriteExisting: true,
      });
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { success: false, featuresCopied: 0, featureTypes: [{ classification: 'failed' }] },
      });
      expect(body['errorMessage']).toMatch(/^ms:towns: \w/);
      expect(leftovers(server)).toEqual([]);
      // What was imported before is served on.
      expect((await itemsOf(server, 'towns'))['numberMatched']).toBe(TOTAL);
    },
  );
});

describe('GML', () => {
  const town = (i: number, zip: string, big: string) =>
    `<wfs:member><ms:towns gml:id="towns.${i}"><ms:geom><gml:Point gml:id="g.${i}" srsName="urn:ogc:def:crs:EPSG::25832"><gml:pos>500000 5540000</gml:pos></gml:Point></ms:geom><ms:zip>${zip}</ms:zip><ms:big>${big}</ms:big></ms:towns></wfs:member>`;
  const rows = [
    ['12345', '7'],
    ['01067', '9223372036854775808'],
  ] as const;

  it('keeps leading zeros and integers beyond 64 bits of pages without a schema', async () => {
    formats = '';
    answer = (query, response) => {
      if (query.get('RESULTTYPE') === 'hits') return hits(response, rows.length);
      const from = Number(query.get('STARTINDEX'));
      const page = rows.slice(from, from + Number(query.get('COUNT')));
      const members = page.map(([zip, big], i) => town(from + i, zip, big)).join('');
      response
        .writeHead(200, { 'content-type': 'text/xml' })
        .end(
          `<wfs:FeatureCollection xmlns:wfs="http://www.opengis.net/wfs/2.0" xmlns:gml="http://www.opengis.net/gml/3.2" xmlns:ms="http://mapserver.gis.umn.edu/mapserver" numberMatched="${rows.length}" numberReturned="${page.length}">${members}</wfs:FeatureCollection>`,
        );
    };
    const { body } = await start({ pageSize: 1, overwriteExisting: true });
    expect(body).toMatchObject({ success: true, featuresCopied: rows.length });
    expect(JSON.stringify(body)).toContain('Numbers that a column of numbers cannot hold');
    const { features } = (await itemsOf(server, 'towns')) as { features: { properties: Json }[] };
    expect(features.map(({ properties: { zip, big } }) => [zip, big])).toEqual(rows);
  });
});
