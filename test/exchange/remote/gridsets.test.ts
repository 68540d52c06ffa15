import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { GeoServerGridset } from '../../../src/core/exchange/geoserver.js';
import {
  BUILT_IN_SETS,
  MatrixSets,
  METRES_PER_DEGREE,
  matrixBox,
  type TileMatrixSet,
  tileBox,
} from '../../../src/core/tiles/tile-matrix.js';
import { configuredMatrixSets } from '../../../src/services/catalog/tiles/matrix-sets.js';
import { assessGridsets } from '../../../src/services/exchange/migrations/geoserver/gridsets.js';

/** Gridsets of a GeoServer as tile matrix sets. */

/** Counted from the bottom. */
const ALPS: GeoServerGridset = {
  ...{ name: 'Alps 25832', description: undefined, srid: 25832, isNorthFirst: false },
  ...{ box: [280_000, 5_235_000, 921_290, 6_101_490], isTopLeft: false, metresPerUnit: 1 },
  ...{ tileWidth: 512, tileHeight: 512 },
  levels: [
    { name: 'Alps 25832:0', cellSize: 280 },
    { name: 'fine', cellSize: 140 },
  ],
};
const BALTIC: GeoServerGridset = {
  ...ALPS,
  ...{ name: 'Baltic', srid: 4326, isNorthFirst: true, isTopLeft: true },
  ...{ box: [8, 53, 31, 66], metresPerUnit: METRES_PER_DEGREE, levels: [{ name: '0', cellSize: 0.01 }] },
};

const assessed = (gridset: GeoServerGridset, sets = BUILT_IN_SETS) =>
  assessGridsets([gridset], sets).get(gridset.name)!;

/** The gridset that a GeoServer has for a set. */
function gridsetOf(set: TileMatrixSet): GeoServerGridset {
  const { crs, matrices } = set;
  const { tileWidth, tileHeight } = matrices[0]!;
  return {
    ...{ name: 'x', description: undefined, srid: crs.epsg, isNorthFirst: crs.northFirst },
    ...{ box: matrixBox(set, matrices.length - 1), isTopLeft: true, tileWidth, tileHeight },
    metresPerUnit: crs.geographic ? METRES_PER_DEGREE : 1,
    levels: matrices.map(({ id: name, cellSize }) => ({ name, cellSize })),
  };
}

const additions = (configuration: string | null): TileMatrixSet[] =>
  configuredMatrixSets((parse(configuration!) as { tiles: { matrixSets: unknown[] } }).tiles.matrixSets);

describe('a gridset', () => {
  it('is the built-in set that has its tiles, whatever it is called', () => {
    // The tiles of the others are merged, or not of one size; GeoWebCache has no such grids.
    const plain = BUILT_IN_SETS.all.filter(({ matrices }) =>
      matrices.every(({ variableWidths, tileWidth }) => variableWidths.length === 0 && tileWidth === 256),
    );
    expect(plain.length).toBeGreaterThan(60);
    expect(plain.map((set) => assessed(gridsetOf(set)).tileMatrixSet)).toEqual(plain.map(({ id }) => id));
  });

  it('may begin with a larger scale, end beyond the last, and cover a part', () => {
    const { levels, ...quad } = gridsetOf(BUILT_IN_SETS.byId('WebMercatorQuad')!);
    const part = { ...quad, box: [quad.box[0], 0, 0, quad.box[3]] as const, levels: levels.slice(4, 9) };
    expect(assessed(part)).toMatchObject({ level: 'compatible', tileMatrixSet: 'WebMercatorQuad' });
    const finer = { name: 'x:25', cellSize: levels.at(-1)!.cellSize / 2 };
    expect(assessed({ ...quad, srid: 900913, levels: [...levels, finer] })).toMatchObject({
      ...{ level: 'partial', code: 'gridset-levels', tileMatrixSet: 'WebMercatorQuad' },
      warnings: [expect.stringContaining('x:25')],
    });
  });

  const quad = gridsetOf(BUILT_IN_SETS.byId('WebMercatorQuad')!);
  const [minx, miny, maxx, maxy] = quad.box;
  it.each<[string, Partial<GeoServerGridset>]>([
    ['in another CRS', { srid: 3395 }],
    ['of wider tiles', { tileWidth: 512 }],
    ['of higher tiles', { tileHeight: 512 }],
    ['that goes on beyond it', { box: [minx, miny, 2 * maxx, maxy] }],
    ['that lies elsewhere', { box: [minx + 1, miny, maxx + 1, maxy] }],
    ['with a scale in between', { levels: [...quad.levels.slice(0, 3), { name: 'x', cellSize: 2e4 }] }],
    [
      'of cells that drift away',
      { levels: quad.levels.map((one) => ({ ...one, cellSize: one.cellSize * (1 + 1e-8) })) },
    ],
    ['of larger scales alone', { levels: [{ name: 'x', cellSize: 1e-4 }] }],
  ])('%s is another one', (_name, change) => {
    expect(assessed({ ...quad, ...change }).tileMatrixSet).not.toBe('WebMercatorQuad');
  });

  it('is no set that merges tiles, but that of the same tiles unmerged', () => {
    const grid = BUILT_IN_SETS.byId('GNOSISGlobalGrid')!;
    const gridset = { ...gridsetOf(grid), name: grid.id };
    expect(assessed(gridset).tileMatrixSet).toBe('WGS1984Quad');
  });

  it('is a setting where no set has its tiles, with rows counted from the top', () => {
    const { configuration, ...verdict } = assessed(ALPS);
    expect(verdict).toMatchObject({ level: 'partial', code: 'gridset-custom', tileMatrixSet: null });
    const [set] = additions(configuration);
    expect(set).toMatchObject({ id: 'Alps_25832', title: 'Alps 25832', crs: { epsg: 25832 } });
    expect(set!.matrices).toMatchObject([
      { id: '0', scaleDenominator: 1_000_000, matrixWidth: 5, matrixHeight: 7, tileWidth: 512 },
      { id: 'fine', scaleDenominator: 500_000, matrixWidth: 9, matrixHeight: 13 },
    ]);
    // The lowest rows stand on the bottom of the extent.
    expect(tileBox(set!, 0, 6, 0)).toEqual([280_000, 5_235_000, 423_360, 5_378_360]);
    expect(tileBox(set!, 1, 12, 8)).toEqual([853_440, 5_235_000, 925_120, 5_306_680]);
  });

  it('has its origin in the order of the axes', () => {
    const [set] = additions(assessed(BALTIC).configuration);
    expect(tileBox(set!, 0, 0, 0)).toEqual([8, 66 - 5.12, 8 + 5.12, 66]);
  });

  it('is the set that was added for it', () => {
    const { configuration } = assessed(ALPS);
    const sets = new MatrixSets(additions(configuration));
    expect(assessed(ALPS, sets)).toMatchObject({ level: 'compatible', tileMatrixSet: 'Alps_25832' });
    // Another one of that name gets an id of its own.
    const other = assessed({ ...ALPS, tileWidth: 256, tileHeight: 256 }, sets);
    expect(additions(other.configuration)[0]!.id).toBe('Alps_25832_2');
  });

  it.each<[string, Partial<GeoServerGridset>, RegExp]>([
    ['in a CRS that nobody knows', { srid: 999_999 }, /EPSG:999999/],
    ['of huge tiles', { tileWidth: 100_000 }, /tileWidth/],
    [
      'of a scale twice',
      { levels: [ALPS.levels[0]!, { name: 'x', cellSize: 280 }] },
      /scaleDenominator twice/,
    ],
  ])('%s cannot be one', (_name, change, reason) => {
    expect(assessed({ ...ALPS, ...change })).toMatchObject({
      ...{ level: 'incompatible', code: 'gridset-unusable', configuration: null },
      reason: expect.stringMatching(reason),
    });
  });
});
