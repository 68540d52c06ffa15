import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TILES_CONFORMANCE } from '../../src/gateway/tiles/conformance.js';
import { writeMBTiles } from '../support/archives.js';
import { startServer, type TestServer } from '../support/server.js';
import { tileClient } from './support.js';

/** A test for each conformance class that is declared, named after requirements of the class. */

interface Link {
  rel: string;
  href: string;
  type?: string;
  templated?: boolean;
}

const REL = 'http://www.opengis.net/def/rel/ogc/1.0';
const MVT = 'application/vnd.mapbox-vector-tile';
const MLT = 'application/vnd.maplibre-tile';

let folder: string;
let server: TestServer;
const { get, json, status, tile, layerId } = tileClient(() => server);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-tiles-conformance-'));
  const jpeg = await sharp({ create: { width: 256, height: 256, channels: 3, background: 'red' } })
    .jpeg()
    .toBuffer();
  const metadata = { name: 'photos', format: 'jpg', minzoom: '0', maxzoom: '0', bounds: '-180,-85,180,85' };
  writeMBTiles(join(folder, 'photos.mbtiles'), metadata, [{ zoom: 0, row: 0, column: 0, data: jpeg }]);
  server = await startServer({ sources: ['demo/data', folder] });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Format, width and greatest opacity of an image that is answered with 200. */
async function shown(path: string): Promise<unknown[]> {
  const answer = await get(path);
  expect([answer.status, answer.headers.get('etag')], path).toEqual([200, expect.any(String)]);
  const image = sharp(Buffer.from(await answer.arrayBuffer())).ensureAlpha();
  const { format, width } = await image.metadata();
  expect(answer.headers.get('content-type')).toBe(`image/${format}`);
  const { channels } = await image.stats();
  return [format, width, channels[3]!.max];
}

/** Rows and columns of a matrix that are next to the limits of a tileset, outside. */
async function besideLimits(owner: string, zoom: number): Promise<[row: number, column: number][]> {
  const { minTileRow, maxTileRow, minTileCol, maxTileCol } = (await json(owner)).tileMatrixSetLimits[zoom];
  return [
    [minTileRow - 1, minTileCol],
    [maxTileRow + 1, maxTileCol],
    [minTileRow, minTileCol - 1],
    [maxTileRow, maxTileCol + 1],
  ];
}

/** The first place within the limits where nothing is, along the top. */
async function emptyPlace(owner: string, zoom: number): Promise<string> {
  const { minTileRow, minTileCol, maxTileCol } = (await json(owner)).tileMatrixSetLimits[zoom];
  for (let column = minTileCol; column <= maxTileCol; column++) {
    const place = `${zoom}/${minTileRow}/${column}`;
    if ((await status(`${owner}/${place}?f=mvt`)) === 204) return place;
  }
  throw new Error('the top of the limits is full');
}

const linksOf = (links: Link[], rel: string) => links.filter((link) => link.rel === rel);
const tileset = async (name: string, set = 'WebMercatorQuad') =>
  json(`/collections/${await layerId(name)}/tiles/${set}`);

describe('documents', () => {
  it('/req/core/conformance-success: the declaration lists what we build', async () => {
    expect((await json('/conformance')).conformsTo).toEqual([...TILES_CONFORMANCE]);
  });

  it('/req/dataset-tilesets/landingpage: the landing page leads to tilesets', async () => {
    const { links } = (await json('/')) as { links: Link[] };
    for (const rel of [
      'service-desc',
      'service-doc',
      'conformance',
      'data',
      `${REL}/tilesets-vector`,
      `${REL}/tiling-schemes`,
    ]) {
      const [link] = linksOf(links, rel);
      expect((await get(link!.href)).status, rel).toBe(200);
    }
  });

  it('documents come in both formats', async () => {
    for (const path of ['/', '/tiles', '/tiles/WebMercatorQuad', '/tileMatrixSets/WebMercatorQuad'])
      for (const type of ['application/json', 'text/html'])
        expect((await get(path, { accept: type })).headers.get('content-type'), path).toContain(type);
    expect(await status('/tiles?f=wrong')).toBe(400);
    expect((await get('/tiles', { accept: 'image/gif' })).status).toBe(406);
  });

  it('/req/geodata-tilesets/desc-links: collections lead to their tilesets', async () => {
    const { collections } = await json('/collections');
    for (const { id, links } of collections as { id: string; links: Link[] }[]) {
      const found = [...linksOf(links, `${REL}/tilesets-vector`), ...linksOf(links, `${REL}/tilesets-map`)];
      expect(found.length, id).toBeGreaterThan(0);
      for (const { href } of found) expect((await json(href)).tilesets.length).toBeGreaterThan(0);
    }
  });
});

describe('OGC API Tiles', () => {
  it('/req/core/tc-success: a tile is of the format asked for and shows what lies there', async () => {
    const path = `/collections/${await layerId('countries')}/tiles/WebMercatorQuad/3/2/4`;
    expect((await get(path, { accept: MVT })).headers.get('content-type')).toBe(MVT);
    const image = await get(path, { accept: 'image/png' });
    const { width, height, format } = await sharp(Buffer.from(await image.arrayBuffer())).metadata();
    expect([format, width, height]).toEqual(['png', 256, 256]);
    expect((await get(path, { accept: 'image/tiff' })).status).toBe(406);
  });

  it('a tile is the same in both codings, whichever client comes first', async () => {
    const base = `/collections/${await layerId('countries')}/tiles/WebMercatorQuad/4`;
    for (const [place, codings] of [
      ['5/8', ['identity', 'gzip', 'identity']],
      ['5/9', ['gzip', 'identity', 'gzip']],
    ] as const) {
      const bodies: Buffer[] = [];
      const stages: boolean[] = [];
      for (const coding of codings) {
        const headers = { 'accept-encoding': coding };
        const answer = await get(`${base}/${place}?f=mvt`, headers);
        expect([answer.status, answer.headers.get('content-encoding') ?? 'identity']).toEqual([200, coding]);
        bodies.push(Buffer.from(await answer.arrayBuffer()));
        stages.push(answer.headers.get('server-timing')?.includes('vector-tile') ?? false);
        const etag = answer.headers.get('etag')!;
        const again = await get(`${base}/${place}?f=mvt`, { ...headers, 'if-none-match': etag });
        expect(again.status).toBe(304);
      }
      expect(bodies[0]!.byteLength).toBeGreaterThan(1000);
      expect(bodies.map((body) => body.equals(bodies[0]!))).toEqual([true, true, true]);
      // The second and the third client are served from the cache.
      expect(stages).toEqual([true, false, false]);
    }
  });

  it('/req/core/tc-error: 400 outside of the tile matrix set, 404 outside of the limits', async () => {
    const base = `/collections/${await layerId('disputed_borders')}/tiles/WebMercatorQuad`;
    for (const place of ['25/0/0', '0/1/0', '0/0/1', 'x/0/0'])
      expect(await status(`${base}/${place}`)).toBe(400);
    for (const name of ['disputed_borders', 'l7_etms']) {
      const owner = `/collections/${await layerId(name)}/tiles/WebMercatorQuad`;
      for (const f of name === 'l7_etms' ? ['png'] : ['mvt', 'png', 'webp'])
        for (const [row, column] of await besideLimits(owner, 9)) {
          const answer = await get(`${owner}/9/${row}/${column}?f=${f}`);
          const got = [answer.status, answer.headers.get('content-type')];
          expect(got, `${name} ${f} ${row} ${column}`).toEqual([404, 'application/problem+json']);
        }
    }
    // Zoom levels that an archive does not have are no part of its limits.
    const photos = `/collections/${await layerId('photos')}/tiles/WebMercatorQuad`;
    expect([await status(`${photos}/0/0/0`), await status(`${photos}/1/0/0`)]).toEqual([200, 404]);
    const together = `/tiles/WebMercatorQuad/9/0/0?f=png&collections=disputed_borders,l7_etms`;
    expect(await status(together)).toBe(404);
  });

  it('/req/core/tc-error: within the limits nothing is 204, or an image that shows nothing', async () => {
    const id = await layerId('disputed_borders');
    const place = `${await emptyPlace(`/collections/${id}/tiles/WebMercatorQuad`, 9)}`;
    const [, row, column] = place.split('/');
    for (const tile of [
      `/collections/${id}/tiles/WebMercatorQuad/${place}?f=`,
      `${server.url}/tiles/${id}/9/${column}/${row}.`,
    ]) {
      const answer = await get(`${tile}mvt`);
      expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([204, 0]);
      for (const format of ['png', 'webp']) expect(await shown(`${tile}${format}`)).toEqual([format, 256, 0]);
    }
    const twice = `/collections/${id}/tiles/WebMercatorQuad/${place}?f=png&scale=2`;
    expect(await shown(twice)).toEqual(['png', 512, 0]);
    expect(await shown(twice.replace('scale=2', 'width=3000&height=3000'))).toEqual(['png', 3000, 0]);
  });

  it('tiles in the order of web maps are there outside of the limits too: such maps ask for all that is in view', async () => {
    const id = await layerId('disputed_borders');
    for (const place of ['9/0/0', '9/511/511', '2/3/3']) {
      expect((await get(`${server.url}/tiles/${id}/${place}.mvt`)).status).toBe(204);
      expect(await shown(`${server.url}/tiles/${id}/${place}.png`)).toEqual(['png', 256, 0]);
    }
    expect((await get(`${server.url}/tiles/${id}/1/2/0.png`)).status).toBe(400);
  });

  it('/req/tileset/description, /req/core/tc-op, /req/tilesetmetadata/identifier: a tileset names its tile matrix set and the template of its tiles', async () => {
    for (const path of [
      '/tiles/WebMercatorQuad',
      `/collections/${await layerId('countries')}/tiles/WorldCRS84Quad`,
    ]) {
      const document = await json(path);
      expect(document.tileMatrixSetURI).toMatch(
        /^http:\/\/www\.opengis\.net\/def\/tilematrixset\/OGC\/1\.0\//,
      );
      const [scheme] = linksOf(document.links, `${REL}/tiling-scheme`);
      expect((await json(scheme!.href)).uri).toBe(document.tileMatrixSetURI);
      const items = linksOf(document.links, 'item');
      expect(items.map(({ type }) => type)).toEqual([MVT, MLT, 'image/png', 'image/webp']);
      for (const { href, templated, type } of items) {
        expect(templated).toBe(true);
        const filled = href.replace('{tileMatrix}', '1').replace('{tileRow}', '0').replace('{tileCol}', '1');
        expect((await get(filled)).headers.get('content-type')).toBe(type);
      }
    }
  });

  it('/req/tilesets-list/{tileset-links,tileset-path}, /req/geodata-tilesets/operation, /req/dataset-tilesets/operation: lists of tilesets', async () => {
    for (const path of ['/tiles', `/collections/${await layerId('countries')}/tiles`]) {
      const { tilesets } = await json(path);
      for (const { dataType, crs, links, tileMatrixSetId } of tilesets) {
        expect([dataType, typeof crs]).toEqual(['vector', 'string']);
        const [self] = linksOf(links, 'self');
        expect(new URL(self!.href).pathname).toBe(`/ogc/tiles${path}/${tileMatrixSetId}`);
        expect(await status(self!.href)).toBe(200);
        expect(linksOf(links, `${REL}/tiling-scheme`)).toHaveLength(1);
      }
    }
  });

  it('/req/tilesets-list/tileset-links: entries of lists carry what the tileset has', async () => {
    const countries = await layerId('countries');
    const maps = `${server.url}/ogc/maps/collections/${countries}/map/tiles`;
    for (const list of ['/tiles', `/collections/${countries}/tiles`, maps]) {
      const { tilesets } = await json(list);
      for (const entry of tilesets) {
        const tileset = await json(linksOf(entry.links, 'self')[0]!.href);
        for (const member of [
          'dataType',
          'crs',
          'tileMatrixSetId',
          'tileMatrixSetURI',
          'tileMatrixSetLimits',
          'mediaTypes',
          'boundingBox',
        ])
          expect([member, entry[member]]).toEqual([member, tileset[member]]);
        const items = linksOf(entry.links, 'item');
        expect(items).toEqual(linksOf(tileset.links, 'item'));
        expect(items.length).toBeGreaterThan(0);
        expect(items.every(({ templated }) => templated)).toBe(true);
      }
    }
  });

  it('/req/collections-selection/collections-parameter, /req/collections-selection/collections-response: only what is named', async () => {
    const names = ['states_provinces', 'countries'];
    const document = await json(`/tiles/WebMercatorQuad?collections=${names.join(',')}`);
    expect(document.layers.map(({ id }: { id: string }) => id)).toEqual(names);
    const [item] = linksOf(document.links, 'item');
    const url = item!.href.replace('{tileMatrix}', '0').replace('{tileRow}', '0').replace('{tileCol}', '0');
    expect(Object.keys(await tile(url))).toEqual(names);
    const { paths } = await json('/openapi.json');
    const { parameters } = paths['/ogc/tiles/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}'].get;
    expect(parameters.find(({ name }: { name: string }) => name === 'collections')).toMatchObject({
      in: 'query',
      explode: false,
      schema: { type: 'array', items: { type: 'string' } },
    });
  });

  it('/req/mvt/content, /req/png/content, /req/jpeg/content: tiles are what their media type says', async () => {
    const [countries, photos] = [await layerId('countries'), await layerId('photos')];
    const layers = await tile(`/collections/${countries}/tiles/WebMercatorQuad/0/0/0?f=mvt`);
    expect([layers.countries!.version, layers.countries!.extent]).toEqual([2, 4096]);
    for (let i = 0; i < layers.countries!.length; i++) {
      expect(layers.countries!.feature(i).type).toBe(3);
      expect(layers.countries!.feature(i).loadGeometry().length).toBeGreaterThan(0);
    }
    for (const [path, type] of [
      [`/collections/${countries}/tiles/WebMercatorQuad/0/0/0?f=png`, 'png'],
      [`/collections/${photos}/tiles/WebMercatorQuad/0/0/0?f=jpeg`, 'jpeg'],
    ] as const) {
      const image = await get(path);
      expect(image.headers.get('content-type')).toBe(`image/${type}`);
      expect((await sharp(Buffer.from(await image.arrayBuffer())).metadata()).format).toBe(type);
    }
  });

  it('/req/oas30/completeness: every operation is in the OpenAPI document', async () => {
    const { openapi, paths } = await json('/openapi.json');
    expect(openapi).toMatch(/^3\.0/);
    for (const path of [
      '/',
      '/conformance',
      '/collections',
      '/collections/{collectionId}',
      '/tiles',
      '/tiles/{tileMatrixSetId}',
      '/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}',
      '/collections/{collectionId}/tiles',
      '/collections/{collectionId}/tiles/{tileMatrixSetId}',
      '/collections/{collectionId}/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}',
      '/tileMatrixSets',
      '/tileMatrixSets/{tileMatrixSetId}',
    ])
      expect(paths[`/ogc/tiles${path}`]?.get, path).toBeDefined();
  });

  it('/req/oas30/operation-id: operations are found by the endings of their ids', async () => {
    const ids = async (url: string) => {
      const { paths } = await json(url);
      return Object.entries(paths as Record<string, { get?: { operationId: string } }>).map(
        ([path, { get: operation }]) => [operation?.operationId.split('.').slice(1).join('.'), path],
      );
    };
    const tiles = Object.fromEntries(await ids('/openapi.json'));
    const below = '{tileMatrixSetId}';
    const tile = `${below}/{tileMatrix}/{tileRow}/{tileCol}`;
    expect(tiles).toMatchObject({
      'dataset.vector.getTileSetsList': '/ogc/tiles/tiles',
      'dataset.vector.getTileSet': `/ogc/tiles/tiles/${below}`,
      'dataset.vector.getTile': `/ogc/tiles/tiles/${tile}`,
      'collection.vector.getTileSetsList': '/ogc/tiles/collections/{collectionId}/tiles',
      'collection.vector.getTileSet': `/ogc/tiles/collections/{collectionId}/tiles/${below}`,
      'collection.vector.getTile': `/ogc/tiles/collections/{collectionId}/tiles/${tile}`,
    });
    const maps = Object.fromEntries(await ids(`${server.url}/ogc/maps/openapi.json`));
    expect(maps).toMatchObject({
      'dataset.map.getTileSetsList': '/ogc/maps/map/tiles',
      'collection.map.getTileSetsList': '/ogc/maps/collections/{collectionId}/map/tiles',
      'collection.map.getTileSet': `/ogc/maps/collections/{collectionId}/map/tiles/${below}`,
    });
  });
});

describe('Two Dimensional Tile Matrix Set and Tile Set Metadata', () => {
  const positive = expect.toSatisfy(
    (value: unknown) => Number.isInteger(value) && (value as number) > 0,
    'a count',
  );

  it('/req/tilematrixset/model, /req/json-tilematrixset/schema: definitions have their members', async () => {
    const { tileMatrixSets } = await json('/tileMatrixSets');
    for (const { id } of tileMatrixSets) {
      const document = await json(`/tileMatrixSets/${id}`);
      expect(document).toMatchObject({
        id,
        crs: expect.any(String),
        orderedAxes: [expect.any(String), expect.any(String)],
      });
      const scales = document.tileMatrices.map((one: { scaleDenominator: number }) => one.scaleDenominator);
      expect(new Set(scales).size).toBe(scales.length);
      for (const matrix of document.tileMatrices)
        expect(matrix).toMatchObject({
          id: expect.any(String),
          scaleDenominator: expect.any(Number),
          cellSize: expect.any(Number),
          cornerOfOrigin: expect.stringMatching(/^(top|bottom)Left$/),
          pointOfOrigin: [expect.any(Number), expect.any(Number)],
          tileWidth: positive,
          tileHeight: positive,
          matrixWidth: positive,
          matrixHeight: positive,
        });
    }
  });

  it('/req/variablematrixwidth/{model,coalescence1}, /req/json-variablematrixwidth/schema: only merged rows are listed, by factors above 1', async () => {
    for (const id of ['GNOSISGlobalGrid', 'CDB1GlobalGrid'])
      for (const matrix of (await json(`/tileMatrixSets/${id}`)).tileMatrices)
        for (const { coalesce, minTileRow, maxTileRow } of matrix.variableMatrixWidths ?? []) {
          expect(coalesce).toBeGreaterThan(1);
          expect(matrix.matrixWidth % coalesce).toBe(0);
          expect(0 <= minTileRow && minTileRow <= maxTileRow && maxTileRow < matrix.matrixHeight).toBe(true);
        }
  });

  it('/req/json-tilematrixset/media-type, /req/json-tilesetmetadata/media-type: documents are application/json', async () => {
    for (const path of ['/tileMatrixSets', '/tileMatrixSets/WebMercatorQuad', '/tiles/WebMercatorQuad']) {
      const type = (await get(path, { accept: 'application/json' })).headers.get('content-type');
      expect([path, type]).toEqual([path, 'application/json']);
    }
  });

  it('/req/tilematrixsetlimits/model, /req/json-tilematrixsetlimits/schema: limits lie in the matrices and hold the data', async () => {
    const { tileMatrices } = await json('/tileMatrixSets/WebMercatorQuad');
    const { tileMatrixSetLimits } = await tileset('l7_etms');
    expect(tileMatrixSetLimits).toHaveLength(tileMatrices.length);
    for (const [i, limits] of tileMatrixSetLimits.entries()) {
      const { id, matrixWidth, matrixHeight } = tileMatrices[i];
      expect(limits.tileMatrix).toBe(id);
      expect(
        0 <= limits.minTileRow && limits.minTileRow <= limits.maxTileRow && limits.maxTileRow < matrixHeight,
      ).toBe(true);
      expect(
        0 <= limits.minTileCol && limits.minTileCol <= limits.maxTileCol && limits.maxTileCol < matrixWidth,
      ).toBe(true);
    }
    const { minTileRow, minTileCol, maxTileRow, maxTileCol } = tileMatrixSetLimits[10];
    const base = `/collections/${await layerId('l7_etms')}/tiles/WebMercatorQuad/10`;
    const found = [];
    for (let row = minTileRow - 1; row <= maxTileRow + 1; row++)
      for (let column = minTileCol - 1; column <= maxTileCol + 1; column++)
        if ((await status(`${base}/${row}/${column}?f=png`)) === 200) found.push([row, column]);
    expect(found.length).toBeGreaterThan(0);
    for (const [row, column] of found) {
      expect([row! >= minTileRow, row! <= maxTileRow]).toEqual([true, true]);
      expect([column! >= minTileCol, column! <= maxTileCol]).toEqual([true, true]);
    }
  });

  it('/req/tilesetmetadata/model, /req/json-tilesetmetadata/schema: tilesets say what their tiles hold', async () => {
    const document = await tileset('countries');
    expect(document).toMatchObject({
      title: 'Countries',
      dataType: 'vector',
      crs: 'http://www.opengis.net/def/crs/EPSG/0/3857',
      mediaTypes: [MVT, MLT, 'image/png', 'image/webp'],
      boundingBox: {
        lowerLeft: [-179.9000005, -89.8999999],
        upperRight: [expect.closeTo(179.9, 5), expect.closeTo(83.6341, 5)],
      },
      centerPoint: { coordinates: [0, expect.any(Number)], tileMatrix: '1', cellSize: expect.any(Number) },
      layers: [
        {
          id: 'countries',
          dataType: 'vector',
          geometryDimension: 2,
          minTileMatrix: '0',
          maxTileMatrix: '24',
          propertiesSchema: { type: 'object', properties: { NAME: { type: 'string' } } },
        },
      ],
    });
    const map = await json(
      `${server.url}/ogc/maps/collections/${await layerId('countries')}/map/tiles/WebMercatorQuad`,
    );
    expect([map.dataType, map.mediaTypes]).toEqual(['map', ['image/png', 'image/webp']]);
    expect((await tileset('l7_etms')).dataType).toBe('map');
    expect((await tileset('photos')).mediaTypes).toEqual(['image/jpeg']);
  });
});
