import { stringify } from 'yaml';
import { ConfigError } from '../../../../core/config/config.js';
import type { GeoServerGridset } from '../../../../core/exchange/geoserver.js';
import { normalizeEpsg } from '../../../../core/geometry/crs.js';
import { toAxisOrder } from '../../../../core/tiles/tile-matrix/document.js';
import {
  type MatrixSets,
  METRES_PER_DEGREE,
  matrixBox,
  PIXEL_METRES,
  type TileMatrix,
  type TileMatrixSet,
} from '../../../../core/tiles/tile-matrix.js';
import { findEpsgCrs } from '../../../../native/crs.js';
import { configuredMatrixSets } from '../../../catalog/tiles/matrix-sets.js';
import { type Compatibility, compatible, incompatible, partial } from '../inventory.js';
import { createUniqueName } from './names.js';

/** Gridsets of a GeoServer's tile cache, and the tile matrix sets of this server that have the same tiles. */

export interface GridsetVerdict extends Compatibility {
  /** Id of the set that has its tiles; null when none of this server has. */
  readonly tileMatrixSet: string | null;
  /** The setting that adds such a set, as YAML; null where there is one, or none can be. */
  readonly configuration: string | null;
}

/** Assessments by gridset name. Sets that must be added have new ids. */
export function assessGridsets(
  gridsets: readonly GeoServerGridset[],
  sets: MatrixSets,
): ReadonlyMap<string, GridsetVerdict> {
  const ids = new Set(sets.all.map(({ id }) => id));
  return new Map(gridsets.map((gridset) => [gridset.name, assessGridset(gridset, sets, ids)]));
}

function assessGridset(gridset: GeoServerGridset, sets: MatrixSets, ids: Set<string>): GridsetVerdict {
  const set = equalSet(gridset, sets);
  if (set) {
    const finer = gridset.levels.filter((level) => !findMatrix(gridset, level, set)).map(({ name }) => name);
    const verdict =
      finer.length === 0
        ? compatible(`Its tiles are those of ${set.id}.`)
        : partial('gridset-levels', `Its tiles are those of ${set.id}, but for its largest scales.`, {
            warnings: [`${set.id} has no matrices for ${finer.join(', ')}.`],
          });
    return { ...verdict, tileMatrixSet: set.id, configuration: null };
  }
  try {
    const definition = buildDefinition(gridset, ids);
    const [addition] = configuredMatrixSets([definition]);
    return {
      ...partial('gridset-custom', 'No tile matrix set of this server has its tiles.', {
        manualSteps: [`Add the set ${addition!.id} to tiles.matrixSets of the configuration, and reload it.`],
      }),
      tileMatrixSet: null,
      configuration: stringify({ tiles: { matrixSets: [definition] } }, { aliasDuplicateObjects: false }),
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const reason = `No tile matrix set can have its tiles: ${error.problems.join('; ')}.`;
    return { ...incompatible('gridset-unusable', reason), tileMatrixSet: null, configuration: null };
  }
}

type Level = GeoServerGridset['levels'][number];

/** Location of the tiles of a level. */
interface Grid {
  readonly columns: number;
  readonly rows: number;
  /** Top left corner, x,y ordered: WMTS clients count rows from there, regardless of the origin of the gridset. */
  readonly origin: readonly [number, number];
}

/** Fraction of a tile. If the extent exceeds the tiles by less, GeoWebCache adds no tile. */
const SLIVER = 0.01;

function buildGrid(
  { box: [minx, miny, maxx, maxy], isTopLeft, tileWidth, tileHeight }: GeoServerGridset,
  { cellSize }: Level,
): Grid {
  const count = (length: number, side: number) => Math.max(1, Math.ceil(length / side - SLIVER));
  const columns = count(maxx - minx, tileWidth * cellSize);
  const rows = count(maxy - miny, tileHeight * cellSize);
  return { columns, rows, origin: [minx, isTopLeft ? maxy : miny + rows * tileHeight * cellSize] };
}

/** The set whose matrices have the tiles of all levels, but for those of larger scales than it has. */
function equalSet(gridset: GeoServerGridset, { all }: MatrixSets): TileMatrixSet | undefined {
  const epsg = normalizeEpsg(gridset.srid);
  const equals = all.filter((set) => set.crs.epsg === epsg && hasLevels(gridset, set));
  return (
    equals.find(({ id }) => id === gridset.name) ??
    equals.find(({ crs }) => crs.northFirst === gridset.isNorthFirst) ??
    equals[0]
  );
}

function hasLevels(gridset: GeoServerGridset, set: TileMatrixSet): boolean {
  const finest = set.matrices.at(-1)!.cellSize;
  const others = gridset.levels.filter((level) => !findMatrix(gridset, level, set));
  return others.length < gridset.levels.length && others.every(({ cellSize }) => cellSize < finest);
}

/** The matrix that has the tiles of a level. */
function findMatrix(gridset: GeoServerGridset, level: Level, set: TileMatrixSet): TileMatrix | undefined {
  return set.matrices.find((_, zoom) => hasTiles(gridset, level, set, zoom));
}

/**
 * Whether each tile is within one cell of its location in the set. GeoServer rounds extents, for example of
 * EPSG:900913.
 */
function hasTiles(gridset: GeoServerGridset, level: Level, set: TileMatrixSet, zoom: number): boolean {
  const { tileWidth, tileHeight } = gridset;
  const matrix = set.matrices[zoom]!;
  const { cellSize, cornerOfOrigin, variableWidths, matrixWidth, matrixHeight } = matrix;
  const { columns, rows, origin } = buildGrid(gridset, level);
  const [left, , , top] = matrixBox(set, zoom);
  const drift = Math.abs(level.cellSize - cellSize) * Math.max(columns * tileWidth, rows * tileHeight);
  return (
    matrix.tileWidth === tileWidth &&
    matrix.tileHeight === tileHeight &&
    cornerOfOrigin === 'topLeft' &&
    variableWidths.length === 0 &&
    columns <= matrixWidth &&
    rows <= matrixHeight &&
    Math.max(drift, Math.abs(left - origin[0]), Math.abs(top - origin[1])) < cellSize
  );
}

/** A set with the tiles of a gridset, as the configuration takes it (17-083r4, JSON). Throws `ConfigError` for a CRS that PROJ does not have. */
function buildDefinition(gridset: GeoServerGridset, ids: Set<string>) {
  const { name, tileWidth, tileHeight, levels } = gridset;
  const crs = findEpsgCrs(normalizeEpsg(gridset.srid));
  if (!crs) throw new ConfigError([`its CRS EPSG:${gridset.srid} is not known`]);
  const unit = crs.geographic ? METRES_PER_DEGREE : gridset.metresPerUnit;
  return {
    id: createUniqueName(name.replace(/[^\w.-]+/g, '_'), ids),
    title: name,
    crs: crs.uri,
    tileMatrices: levels.map((level, i) => {
      const { columns, rows, origin } = buildGrid(gridset, level);
      return {
        id: /^[\w.:-]{1,64}$/.test(level.name) ? level.name : String(i),
        // People read it: 1000000, without the noise of the last bit.
        scaleDenominator: Number(((level.cellSize * unit) / PIXEL_METRES).toPrecision(15)),
        cellSize: level.cellSize,
        pointOfOrigin: toAxisOrder(crs, origin),
        tileWidth,
        tileHeight,
        matrixWidth: columns,
        matrixHeight: rows,
      };
    }),
  };
}
