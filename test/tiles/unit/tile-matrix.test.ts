import { describe, expect, it, test } from 'vitest';
import { CRS84, type Crs } from '../../../src/core/geometry/crs.js';
import {
  MatrixSetError,
  matrixSetDocument,
  readMatrixSet,
} from '../../../src/core/tiles/tile-matrix/document.js';
import {
  BUILT_IN_SETS,
  findMatrixLevel,
  firstColumn,
  MatrixSets,
  matrixBox,
  matrixSize,
  type TileMatrixSet,
  tileBox,
  tileLimits,
  WEB_MERCATOR_QUAD,
} from '../../../src/core/tiles/tile-matrix.js';
import { findEpsgCrs, parseCrs } from '../../../src/native/crs.js';
import { describeCrs } from '../../../src/native/index.js';

const crsOf = (value: unknown): Crs | undefined => (typeof value === 'string' ? parseCrs(value) : undefined);
const set = (id: string) => BUILT_IN_SETS.byId(id) as TileMatrixSet;
const last = (id: string) => matrixSetDocument(set(id)).tileMatrices.at(-1)!;

describe('the sets of the register', () => {
  it('have a CRS that PROJ knows by the same axis order and unit', () => {
    for (const { id, crs } of BUILT_IN_SETS.all) {
      const { axisSwapped, isGeographic } = describeCrs(crs.proj);
      expect([crs.northFirst, crs.geographic], id).toEqual([axisSwapped, isGeographic]);
    }
  });

  /** Identifier of the last matrix, its scale, cell size, columns, rows, and the point of origin as it is registered. */
  it.each([
    [
      'WebMercatorQuad',
      '24',
      33.323899747652874,
      0.009330691929342804,
      16777216,
      16777216,
      [-20037508.342789244, 20037508.342789244],
    ],
    ['WorldCRS84Quad', '23', 33.3238997476528, 8.381903171539e-8, 16777216, 8388608, [-180, 90]],
    ['WGS1984Quad', '23', 33.3238997476528, 8.381903171539e-8, 16777216, 8388608, [90, -180]],
    [
      'WorldMercatorWGS84Quad',
      '24',
      33.3238997476528,
      0.0093306919293428,
      16777216,
      16777216,
      [-20037508.3427892, 20037508.3427892],
    ],
    ['EuropeanETRS89_LAEAQuad', '15', 1915.86358206612, 0.536441803, 32768, 32768, [5500000, 2000000]],
    ['CanadianNAD83_LCC', '25', 250, 0.0661459656252645, 2468768, 2625811, [-34655800, 39310000]],
    [
      'UPSArcticWGS84Quad',
      '24',
      27.34223273,
      0.007655825,
      16777216,
      16777216,
      [-14440759.350252, 18440759.350252],
    ],
    [
      'UPSAntarcticWGS84Quad',
      '24',
      27.34223273,
      0.007655825,
      16777216,
      16777216,
      [-14440759.350252, 18440759.350252],
    ],
    [
      'UTM31WGS84Quad',
      '24',
      33.2680588365691,
      0.00931505647423934,
      8388608,
      16777216,
      [-9501965.72931276, 20003931.4586255],
    ],
    ['GNOSISGlobalGrid', '28', 0.5206859335571, 1.3096723705e-9, 1073741824, 536870912, [90, -180]],
    ['CDB1GlobalGrid', '21', 0.1851327763758, 4.656612873e-10, 754974720, 377487360, [90, -180]],
    ['LINZAntarticaMapTilegrid', '13', 50000, 14, 3303, 3303, [6918457.73, -918457.73]],
  ] as const)('%s ends as registered', (id, matrix, scale, cell, columns, rows, origin) => {
    const found = last(id);
    expect(found.id).toBe(matrix);
    expect(found.scaleDenominator / scale).toBeCloseTo(1, 7);
    expect(found.cellSize / cell).toBeCloseTo(1, 6);
    expect([found.matrixWidth, found.matrixHeight]).toEqual([columns, rows]);
    expect(found.pointOfOrigin[0] / origin[0]).toBeCloseTo(1, 12);
    expect(found.pointOfOrigin[1] / origin[1]).toBeCloseTo(1, 12);
  });

  it('have every matrix of identifiers that are found again', () => {
    for (const one of BUILT_IN_SETS.all)
      expect(one.matrices.map(({ id }) => findMatrixLevel(one, id))).toEqual(
        one.matrices.map((_, zoom) => zoom),
      );
    expect(findMatrixLevel(set('UTM31WGS84Quad'), '0')).toBeUndefined();
    expect(findMatrixLevel(WEB_MERCATOR_QUAD, '07')).toBeUndefined();
  });

  it('coalesce as registered', () => {
    const widths = (id: string, matrix: string) =>
      matrixSetDocument(set(id)).tileMatrices.find((one) => one.id === matrix)!.variableMatrixWidths;
    const rows = (list: ReturnType<typeof widths>) =>
      list?.map(({ coalesce, minTileRow, maxTileRow }) => [coalesce, minTileRow, maxTileRow]);
    expect(rows(widths('GNOSISGlobalGrid', '0'))).toBeUndefined();
    expect(rows(widths('GNOSISGlobalGrid', '3'))).toEqual([
      [8, 0, 0],
      [4, 1, 1],
      [2, 2, 3],
      [2, 12, 13],
      [4, 14, 14],
      [8, 15, 15],
    ]);
    expect(rows(widths('CDB1GlobalGrid', '1'))).toEqual([
      [12, 0, 1],
      [6, 2, 19],
      [4, 20, 29],
      [3, 30, 39],
      [2, 40, 79],
      [2, 280, 319],
      [3, 320, 329],
      [4, 330, 339],
      [6, 340, 357],
      [12, 358, 359],
    ]);
  });
});

describe('tiles', () => {
  it('of one matrix cover it without gaps', () => {
    for (const one of [
      WEB_MERCATOR_QUAD,
      set('CDB1GlobalGrid'),
      set('GNOSISGlobalGrid'),
      set('EuropeanETRS89_LAEAQuad'),
    ]) {
      const zoom = 2;
      const { columns, rows } = matrixSize(one, zoom);
      const [minx, miny, maxx, maxy] = matrixBox(one, zoom);
      for (const row of [0, 1, rows - 1]) {
        const columnsOfRow = Array.from({ length: columns }, (_, column) => column).filter(
          (column) => firstColumn(one.matrices[zoom]!, row, column) === column,
        );
        const boxes = columnsOfRow.map((column) => tileBox(one, zoom, row, column));
        expect(boxes[0]![0], one.id).toBe(minx);
        expect(boxes.at(-1)![2], one.id).toBeCloseTo(maxx, 6);
        for (const [i, box] of boxes.slice(1).entries()) expect(box[0]).toBeCloseTo(boxes[i]![2], 6);
      }
      expect(tileBox(one, zoom, 0, 0)[3]).toBe(maxy);
      expect(tileBox(one, zoom, rows - 1, 0)[1]).toBeCloseTo(miny, 6);
    }
  });

  it('that are coalesced are one tile under all their columns', () => {
    const grid = set('GNOSISGlobalGrid');
    const boxes = [8, 11, 15].map((column) => tileBox(grid, 3, 0, column));
    expect(boxes).toEqual([boxes[0], boxes[0], boxes[0]]);
    expect(boxes[0]).toEqual([-90, 78.75, 0, 90]);
    expect(firstColumn(grid.matrices[3]!, 0, 15)).toBe(8);
    expect(firstColumn(grid.matrices[3]!, 5, 15)).toBe(15);
  });

  it('are limited to those that an extent touches', () => {
    expect(tileLimits(WEB_MERCATOR_QUAD, 2, [1, 1, 2, 2])).toEqual({
      tileMatrix: '2',
      minTileRow: 1,
      maxTileRow: 1,
      minTileCol: 2,
      maxTileCol: 2,
    });
    expect(tileLimits(set('EuropeanETRS89_LAEAQuad'), 2, [0, 0, 1, 1])).toBeUndefined();
  });
});

/** Rows from the bottom, tiles that are no squares, matrices in disorder, an axis order of y,x. */
const CUSTOM = {
  id: 'Gauss.Krueger-4',
  title: 'Of our own',
  crs: 'http://www.opengis.net/def/crs/EPSG/0/31468',
  orderedAxes: ['X', 'Y'],
  tileMatrices: [
    {
      id: 'fine',
      scaleDenominator: 500,
      cellSize: 0.125,
      pointOfOrigin: [5_000_000, 4_000_000],
      cornerOfOrigin: 'bottomLeft',
      tileWidth: 512,
      tileHeight: 256,
      matrixWidth: 8,
      matrixHeight: 4,
    },
    {
      id: 'coarse',
      scaleDenominator: 1000,
      cellSize: 0.25,
      pointOfOrigin: [5_000_000, 4_000_000],
      cornerOfOrigin: 'bottomLeft',
      tileWidth: 512,
      tileHeight: 256,
      matrixWidth: 4,
      matrixHeight: 2,
    },
  ],
};

describe('a set of the configuration', () => {
  it('is read, used and written as it came, its matrices by scale', () => {
    const read = readMatrixSet(CUSTOM, crsOf);
    expect(read.matrices.map(({ id }) => id)).toEqual(['coarse', 'fine']);
    expect(read.crs).toEqual(findEpsgCrs(31468));
    expect(tileBox(read, 1, 0, 1)).toEqual([
      4_000_000 + 512 * 0.125,
      5_000_000,
      4_000_000 + 2 * 512 * 0.125,
      5_000_000 + 256 * 0.125,
    ]);
    expect(tileLimits(read, 0, [4_000_001, 5_000_001, 4_000_002, 5_000_002])).toMatchObject({
      minTileRow: 0,
      maxTileRow: 0,
    });
    const written = JSON.parse(JSON.stringify(matrixSetDocument(read)));
    expect(written).toEqual({ ...CUSTOM, tileMatrices: [CUSTOM.tileMatrices[1], CUSTOM.tileMatrices[0]] });
    expect(readMatrixSet(CUSTOM, crsOf).key).toBe(read.key);
    expect(readMatrixSet({ ...CUSTOM, tileMatrices: [CUSTOM.tileMatrices[0]] }, crsOf).key).not.toBe(
      read.key,
    );
  });

  it('stands beside those that are built in', () => {
    const sets = new MatrixSets([readMatrixSet(CUSTOM, crsOf)]);
    expect(sets.byId('Gauss.Krueger-4')?.title).toBe('Of our own');
    expect(sets.byId('WebMercatorQuad')).toBe(WEB_MERCATOR_QUAD);
    expect(sets.all.at(-1)!.id).toBe('Gauss.Krueger-4');
    expect(BUILT_IN_SETS.byId('Gauss.Krueger-4')).toBeUndefined();
  });

  const matrix = CUSTOM.tileMatrices[0]!;
  const withMatrix = (change: object) => ({ ...CUSTOM, tileMatrices: [{ ...matrix, ...change }] });
  test.each([
    ['nothing', undefined, 'object'],
    ['a list', [], 'object'],
    ['no members', {}, 'tileMatrices'],
    ['an id that is a path', { ...CUSTOM, id: '../../x' }, 'id'],
    ['an unknown CRS', { ...CUSTOM, crs: 'EPSG:0' }, 'crs'],
    ['no matrix', { ...CUSTOM, tileMatrices: [] }, 'tileMatrices'],
    ['10,000 matrices', { ...CUSTOM, tileMatrices: Array(10_000).fill(matrix) }, 'tileMatrices'],
    ['a matrix that is null', { ...CUSTOM, tileMatrices: [null] }, 'tileMatrices/0/id'],
    ['one matrix twice', { ...CUSTOM, tileMatrices: [matrix, matrix] }, 'twice'],
    ['cells of size zero', withMatrix({ cellSize: 0 }), 'cellSize'],
    ['cells that are no number', withMatrix({ cellSize: Number.NaN }), 'cellSize'],
    ['cells of size 1e308', withMatrix({ cellSize: 1e308 }), 'cellSize'],
    ['cells of size 1e-308', withMatrix({ cellSize: 1e-308 }), 'cellSize'],
    ['cells smaller than coordinates tell apart', withMatrix({ cellSize: 1e-9 }), 'too small'],
    ['a scale of infinity', withMatrix({ scaleDenominator: Number.POSITIVE_INFINITY }), 'scaleDenominator'],
    ['a negative scale', withMatrix({ scaleDenominator: -5 }), 'scaleDenominator'],
    ['an origin of one number', withMatrix({ pointOfOrigin: [1] }), 'pointOfOrigin'],
    ['an origin of 1e308', withMatrix({ pointOfOrigin: [1e308, 0] }), 'pointOfOrigin'],
    ['a corner on the right', withMatrix({ cornerOfOrigin: 'topRight' }), 'cornerOfOrigin'],
    ['tiles of no cells', withMatrix({ tileWidth: 0 }), 'tileWidth'],
    ['tiles of a million cells', withMatrix({ tileHeight: 1e6 }), 'tileHeight'],
    ['half a tile', withMatrix({ matrixWidth: 0.5 }), 'matrixWidth'],
    ['more tiles than can be counted', withMatrix({ matrixHeight: 1e300 }), 'matrixHeight'],
    ['a matrix wider than the Earth', withMatrix({ matrixWidth: 2 ** 31, cellSize: 1e6 }), 'too far out'],
    [
      'a factor of zero',
      withMatrix({ variableMatrixWidths: [{ coalesce: 0, minTileRow: 0, maxTileRow: 0 }] }),
      'coalesce',
    ],
    [
      'a factor that leaves a rest',
      withMatrix({ variableMatrixWidths: [{ coalesce: 3, minTileRow: 0, maxTileRow: 0 }] }),
      'coalesce',
    ],
    [
      'rows beyond the matrix',
      withMatrix({ variableMatrixWidths: [{ coalesce: 2, minTileRow: 0, maxTileRow: 9 }] }),
      'rows',
    ],
    [
      'rows that overlap',
      withMatrix({
        variableMatrixWidths: [0, 0].map((row) => ({ coalesce: 2, minTileRow: row, maxTileRow: row })),
      }),
      'rows',
    ],
  ])('with %s is refused by name', (_, document, member) => {
    expect(() => readMatrixSet(document, crsOf)).toThrow(MatrixSetError);
    expect(() => readMatrixSet(document, crsOf)).toThrow(member);
  });

  it('without names of its axes is given those of its CRS', () => {
    const degrees = { ...withMatrix({ pointOfOrigin: [-180, 90] }), crs: CRS84.uri };
    expect(readMatrixSet({ ...degrees, orderedAxes: undefined }, crsOf).orderedAxes).toEqual(['Lon', 'Lat']);
  });
});
