import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { transformPoints } from '../../src/native/index.js';
import { startServer, type TestServer } from '../support/server.js';
import { tileClient, valuesOf } from './support.js';

/** Four towns with their places in CRS84, one of them beyond the antimeridian. */
const TOWNS = {
  oslo: [10.75, 59.91],
  bonn: [7.1, 50.73],
  perth: [115.86, -31.95],
  suva: [178.44, -18.14],
} as const;

const ROWS_FROM_BELOW = {
  id: 'Utm32FromBelow',
  crs: 'http://www.opengis.net/def/crs/EPSG/0/25832',
  tileMatrices: ['a', 'b'].map((id, i) => ({
    id,
    scaleDenominator: 4_000_000 / 2 ** i,
    cellSize: 1120 / 2 ** i,
    cornerOfOrigin: 'bottomLeft',
    pointOfOrigin: [0, 5_000_000],
    tileWidth: 512,
    tileHeight: 256,
    matrixWidth: 2 * 2 ** i,
    matrixHeight: 5 * 2 ** i,
  })),
};

let folder: string;
let server: TestServer;
const { json, get, status, tile, layerId } = tileClient(() => server);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-sets-'));
  const features = Object.entries(TOWNS).map(([name, coordinates]) => ({
    type: 'Feature',
    properties: { name, country: name.toUpperCase() },
    geometry: { type: 'Point', coordinates },
  }));
  const towns = { type: 'FeatureCollection', features };
  for (const name of ['towns', 'settled'])
    writeFileSync(join(folder, `${name}.geojson`), JSON.stringify(towns));
  writeFileSync(
    join(folder, 'european.geojson'),
    JSON.stringify({ type: 'FeatureCollection', features: features.slice(0, 2) }),
  );
  writeFileSync(join(folder, 'set.json'), JSON.stringify({ ...ROWS_FROM_BELOW, id: 'FromFile' }));
  const tiles = {
    matrixSets: [ROWS_FROM_BELOW, join(folder, 'set.json')],
    collections: {
      settled: { minZoom: 3, maxZoom: 6, properties: ['name'], maxAge: 7 },
      european: { maxFeatures: 1, maxAge: 0 },
    },
  };
  // YAML reads JSON.
  writeFileSync(join(folder, 'graticule.yaml'), JSON.stringify({ tiles }));
  server = await startServer({
    sources: ['towns', 'settled', 'european'].map((name) => join(folder, `${name}.geojson`)),
    args: ['--config', join(folder, 'graticule.yaml')],
  });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Matrix {
  id: string;
  cellSize: number;
  pointOfOrigin: [number, number];
  cornerOfOrigin: string;
  tileWidth: number;
  tileHeight: number;
  matrixWidth: number;
  matrixHeight: number;
}

/** Where a client that knows nothing but the definition looks for a place: tile, and position within it (0 to 1). */
function placeOf(matrix: Matrix, northFirst: boolean, [x, y]: [number, number]) {
  const [first, second] = matrix.pointOfOrigin;
  const [originX, originY] = northFirst ? [second, first] : [first, second];
  const column = (x - originX) / (matrix.tileWidth * matrix.cellSize);
  const up = matrix.cornerOfOrigin === 'bottomLeft';
  const row = (up ? y - originY : originY - y) / (matrix.tileHeight * matrix.cellSize);
  const down = row - Math.floor(row);
  return {
    row: Math.floor(row),
    column: Math.floor(column),
    x: column - Math.floor(column),
    y: up ? 1 - down : down,
  };
}

describe('a tile in any set', () => {
  it.each([
    ['WebMercatorQuad', 'EPSG:3857', false, '5', 'oslo'],
    ['WorldCRS84Quad', 'OGC:CRS84', false, '5', 'perth'],
    ['WGS1984Quad', 'EPSG:4326', true, '5', 'suva'],
    ['WorldMercatorWGS84Quad', 'EPSG:3395', false, '5', 'bonn'],
    ['EuropeanETRS89_LAEAQuad', 'EPSG:3035', true, '4', 'bonn'],
    ['UPSArcticWGS84Quad', 'EPSG:5041', false, '5', 'oslo'],
    ['UPSAntarcticWGS84Quad', 'EPSG:5042', false, '5', 'perth'],
    ['UTM32WGS84Quad', 'EPSG:32632', false, '7', 'oslo'],
    ['CDB1GlobalGrid', 'EPSG:4326', true, '-2', 'perth'],
    ['Utm32FromBelow', 'EPSG:25832', false, 'b', 'bonn'],
    ['FromFile', 'EPSG:25832', false, 'a', 'bonn'],
  ] as const)(
    'of %s holds the town where its definition says',
    async (id, proj, northFirst, matrixId, town) => {
      const { tileMatrices } = await json(`/tileMatrixSets/${id}`);
      const matrix = tileMatrices.find((one: Matrix) => one.id === matrixId) as Matrix;
      const point = Float64Array.from(TOWNS[town]);
      transformPoints(point, 'OGC:CRS84', proj);
      const at = placeOf(matrix, northFirst, [point[0]!, point[1]!]);
      const base = `/collections/${await layerId('towns')}/tiles/${id}`;
      const { towns } = await tile(`${base}/${matrixId}/${at.row}/${at.column}`);
      expect(valuesOf(towns, 'name')).toContain(town);
      const index = Array.from({ length: towns!.length }, (_, i) => i).find(
        (i) => towns!.feature(i).properties.name === town,
      )!;
      const place = towns!.feature(index).loadGeometry()[0]![0];
      expect(Math.abs(place!.x - at.x * 4096)).toBeLessThan(2);
      expect(Math.abs(place!.y - at.y * 4096)).toBeLessThan(2);
      const { tileMatrixSetLimits } = await json(base);
      const limits = tileMatrixSetLimits.find((one: { tileMatrix: string }) => one.tileMatrix === matrixId);
      expect([limits.minTileRow <= at.row, limits.maxTileRow >= at.row]).toEqual([true, true]);
      expect([limits.minTileCol <= at.column, limits.maxTileCol >= at.column]).toEqual([true, true]);
    },
  );

  it('is found under each of the columns that are coalesced, and stretched to their width', async () => {
    const base = `/collections/${await layerId('towns')}/tiles/GNOSISGlobalGrid`;
    // Row 2 of matrix 3 holds latitudes 67.5 to 56.25 in tiles of 2 columns, 22.5 degrees wide.
    const tiles = await Promise.all([16, 17].map((column) => get(`${base}/3/2/${column}`)));
    expect(tiles.map((one) => one.status)).toEqual([200, 200]);
    expect(tiles[0]!.headers.get('etag')).toBe(tiles[1]!.headers.get('etag'));
    const { towns } = await tile(`${base}/3/2/17`);
    const oslo = towns!.feature(0).loadGeometry()[0]![0];
    expect(oslo!.x).toBeCloseTo((10.75 / 22.5) * 4096, -1);
    expect(oslo!.y).toBeCloseTo(((67.5 - 59.91) / 11.25) * 4096, -1);
  });

  it('has as many pixels as its matrix says', async () => {
    const image = await get(`/collections/${await layerId('towns')}/tiles/Utm32FromBelow/a/2/0?f=png`);
    const { width, height } = await sharp(Buffer.from(await image.arrayBuffer())).metadata();
    expect([image.status, width, height]).toEqual([200, 512, 256]);
  });

  it('outside its matrix is answered 400, in an unknown set 404', async () => {
    const base = `/collections/${await layerId('towns')}/tiles`;
    for (const path of [
      'Utm32FromBelow/a/5/0',
      'Utm32FromBelow/a/0/2',
      'Utm32FromBelow/0/0/0',
      'UTM32WGS84Quad/0/0/0',
      'CDB1GlobalGrid/-11/0/0',
    ])
      expect(await status(`${base}/${path}`), path).toBe(400);
    for (const path of ['Nothing/0/0/0', 'constructor/0/0/0', '%00/0/0/0'])
      expect([400, 404], path).toContain(await status(`${base}/${path}`));
  });
});

describe('the sets', () => {
  it('are listed, those of the configuration too', async () => {
    const { tileMatrixSets } = await json('/tileMatrixSets');
    const ids = tileMatrixSets.map(({ id }: { id: string }) => id);
    expect(ids).toEqual(
      expect.arrayContaining(['WebMercatorQuad', 'UTM60WGS84Quad', 'Utm32FromBelow', 'FromFile']),
    );
    expect(await json('/tileMatrixSets/Utm32FromBelow')).toMatchObject(ROWS_FROM_BELOW);
  });

  it('that a collection is offered in are made for where it lies', async () => {
    const offered = async (name: string) => {
      const { tilesets } = await json(`/collections/${await layerId(name)}/tiles`);
      return tilesets.map(({ tileMatrixSetId }: { tileMatrixSetId: string }) => tileMatrixSetId);
    };
    const everywhere = [
      'WebMercatorQuad',
      'WorldCRS84Quad',
      'GNOSISGlobalGrid',
      'Utm32FromBelow',
      'FromFile',
    ];
    expect(await offered('european')).toEqual(
      expect.arrayContaining([...everywhere, 'EuropeanETRS89_LAEAQuad', 'UTM32WGS84Quad']),
    );
    expect(await offered('towns')).toEqual(expect.arrayContaining(everywhere));
    for (const name of ['towns', 'european'])
      for (const set of ['CanadianNAD83_LCC', 'UTM15WGS84Quad'])
        expect(await offered(name)).not.toContain(set);
    expect(await offered('towns')).not.toContain('UTM32WGS84Quad');
  });
});

describe('the settings of a collection', () => {
  it('leave it out of the tiles of other zooms, by scale in every set', async () => {
    const id = await layerId('settled');
    const zooms = async (set: string, places: string[]) => {
      const found: Record<string, number> = {};
      for (const place of places)
        found[place.split('/')[0]!] = await status(`/collections/${id}/tiles/${set}/${place}`);
      return found;
    };
    expect(await zooms('WebMercatorQuad', ['2/1/2', '3/2/4', '6/18/33', '7/37/67'])).toEqual({
      2: 404,
      3: 200,
      6: 200,
      7: 404,
    });
    // The first matrix of WorldCRS84Quad has the scale of zoom 1.
    expect(await zooms('WorldCRS84Quad', ['1/0/2', '2/0/4', '5/5/33', '6/10/67'])).toEqual({
      1: 404,
      2: 200,
      5: 200,
      6: 404,
    });
    const layers = await tile('/tiles/WebMercatorQuad/0/0/0?collections=towns,settled');
    expect(Object.keys(layers)).toEqual(['towns']);
    expect(Object.keys(await tile('/tiles/WebMercatorQuad/4/4/8?collections=settled,towns'))).toEqual([
      'settled',
      'towns',
    ]);
    expect(await status('/tiles/WebMercatorQuad/0/0/0?collections=settled&f=png')).toBe(404);
  });

  it('choose its attributes and how long its tiles are kept', async () => {
    const [settled, towns] = [await layerId('settled'), await layerId('towns')];
    const layers = await tile(`/collections/${settled}/tiles/WebMercatorQuad/4/4/8`);
    expect(layers.settled!.feature(0).properties).toEqual({ name: 'oslo' });
    const age = async (path: string) => (await get(path)).headers.get('cache-control');
    expect(await age(`/collections/${settled}/tiles/WebMercatorQuad/4/4/8`)).toContain('max-age=7,');
    expect(await age(`/collections/${towns}/tiles/WebMercatorQuad/4/4/8`)).toContain('max-age=60,');
    expect(await age('/tiles/WebMercatorQuad/4/4/8?collections=towns,settled')).toContain('max-age=7,');
  });

  it('bound its layer, not those of others', async () => {
    const { european, towns } = await tile('/tiles/WebMercatorQuad/0/0/0?collections=european,towns');
    expect([european!.length, towns!.length]).toEqual([1, 4]);
    const { headers } = await get(`/collections/${await layerId('european')}/tiles/WebMercatorQuad/0/0/0`);
    expect([headers.get('cache-control'), headers.get('graticule-dropped-features')]).toEqual([
      'no-cache',
      '1',
    ]);
  });

  it('show in its documents', async () => {
    const base = `/collections/${await layerId('settled')}/tiles/WebMercatorQuad`;
    const { tileMatrixSetLimits, layers } = await json(base);
    expect(tileMatrixSetLimits.map((one: { tileMatrix: string }) => one.tileMatrix)).toEqual([
      '3',
      '4',
      '5',
      '6',
    ]);
    expect(layers[0]).toMatchObject({ minTileMatrix: '3', maxTileMatrix: '6' });
    expect(Object.keys(layers[0].propertiesSchema.properties)).toEqual(['name']);
    const tilejson = await json(`${base}?f=tilejson`);
    expect(tilejson).toMatchObject({ minzoom: 3, maxzoom: 6 });
    expect(tilejson.vector_layers).toEqual([
      { id: 'settled', description: 'Settled', fields: { name: 'String' }, minzoom: 3, maxzoom: 6 },
    ]);
  });
});

describe('a reload', () => {
  const reload = async (tiles: object, until: () => Promise<boolean>) => {
    writeFileSync(join(folder, 'graticule.yaml'), JSON.stringify({ tiles }));
    server.reload();
    const end = Date.now() + 30_000;
    while (!(await until())) {
      if (Date.now() > end) throw new Error(`it did not happen:\n${server.log()}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  it('takes other sets and settings, and keeps those that run when a new one is wrong', async () => {
    const id = await layerId('settled');
    const early = () => status(`/collections/${id}/tiles/WebMercatorQuad/0/0/0`);
    const custom = () => status('/tileMatrixSets/Later');
    expect([await early(), await custom()]).toEqual([404, 404]);
    const matrixSets = [{ ...ROWS_FROM_BELOW, id: 'Later' }];
    await reload({ matrixSets }, async () => (await custom()) === 200);
    expect([await early(), await status('/tileMatrixSets/FromFile')]).toEqual([200, 404]);
    await reload({ matrixSets: [{ ...matrixSets[0], tileMatrices: [] }] }, async () =>
      server.log().includes('tileMatrices must be a list'),
    );
    expect([await early(), await custom()]).toEqual([200, 200]);
  });
});

describe('a wrong configuration of tiles', () => {
  const start = (tiles: object) => {
    writeFileSync(join(folder, 'wrong.yaml'), JSON.stringify({ tiles }));
    return startServer({
      sources: [join(folder, 'towns.geojson')],
      args: ['--config', join(folder, 'wrong.yaml')],
    });
  };

  it('ends the start and names every wrong member of every set', async () => {
    const [matrix] = ROWS_FROM_BELOW.tileMatrices;
    const wrong = {
      ...ROWS_FROM_BELOW,
      id: 'Wrong',
      tileMatrices: [{ ...matrix, cellSize: 0, tileWidth: -1 }],
    };
    const starting = start({
      matrixSets: [wrong, '/no/such/file.json', { ...ROWS_FROM_BELOW, id: 'WebMercatorQuad' }],
    });
    await expect(starting).rejects.toThrow(
      /cellSize.*tileWidth.*no such file.*'WebMercatorQuad' is that of another set/is,
    );
  });

  it('ends the start when it leaves a collection no zoom', async () => {
    await expect(start({ collections: { towns: { minZoom: 5, maxZoom: 4 } } })).rejects.toThrow(
      /towns has a minZoom/,
    );
    await expect(start({ collections: { towns: { minZoom: 99 } } })).rejects.toThrow(
      /tiles\.collections\.towns\.minZoom: must be an integer from 0 to 24; received 99 from the file\./,
    );
    await expect(start({ collections: { towns: { colour: 'red' } } })).rejects.toThrow(/towns/);
  });
});
