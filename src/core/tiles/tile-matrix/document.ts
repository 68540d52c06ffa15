import { createHash } from 'node:crypto';
import type { Crs } from '../../geometry/crs.js';
import {
  matrixBox,
  scaleToLevel,
  type TileMatrix,
  type TileMatrixSet,
  type VariableWidth,
} from './matrix.js';
import { matrixSet } from './registry.js';

/** JSON encoding of tile matrix sets (OGC 17-083r4, 7.2): reads custom definitions, and writes. */

/** A definition that cannot be used; `problems` name each wrong member. */
export class MatrixSetError extends Error {
  override readonly name = 'MatrixSetError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('; '));
  }
}

/** Matrices of a set. */
export const MAX_MATRICES = 64;
const MAX_VARIABLE_WIDTHS = 1000;
/** Cells of a tile's side: images of more are not drawn. */
const MAX_TILE_CELLS = 4096;
const MAX_TILES = 2 ** 31;
/** Coordinates beyond are of no CRS on Earth. */
const MAX_COORDINATE = 1e9;
/** Minimum side of a tile as a share of its largest coordinate. A double then has bits left for positions within the tile; a vector tile needs 13. */
const PLACE_BITS = 2 ** -38;

type Json = Record<string, unknown>;

/**
 * Reads a set from its definition. `crsOf` reads the member `crs` and returns undefined for an unknown CRS. Throws
 * `MatrixSetError`.
 */
export function readMatrixSet(document: unknown, crsOf: (crs: unknown) => Crs | undefined): TileMatrixSet {
  const problems: string[] = [];
  const object = asObject(document);
  if (!object) throw new MatrixSetError(['is not an object']);
  const { id, title, uri, wellKnownScaleSet, crs: crsDocument } = object;
  if (typeof id !== 'string' || !/^[\w.-]{1,64}$/.test(id)) {
    problems.push('id must be 1 to 64 letters, digits, ".", "_" or "-"');
  }
  const crs = crsOf(crsDocument);
  if (!crs) problems.push('crs is not a known coordinate reference system');
  const matrices = readMatrices(object.tileMatrices, crs?.northFirst ?? false, problems);
  if (!crs || problems.length > 0) throw new MatrixSetError(problems);
  const set = matrixSet(
    {
      id: id as string,
      key: `${id}-${createHash('sha1').update(JSON.stringify(object)).digest('hex').slice(0, 8)}`,
      title: typeof title === 'string' ? title : (id as string),
      crs,
      crsDocument: crsDocument as string | object,
      orderedAxes: readAxes(object.orderedAxes, crs),
      ...(typeof uri === 'string' ? { uri } : {}),
      ...(typeof wellKnownScaleSet === 'string' ? { wellKnownScaleSet } : {}),
    },
    matrices,
  );
  const wide = set.matrices.findIndex((_, zoom) => !fitsDoubles(set, zoom));
  if (wide >= 0)
    throw new MatrixSetError([`tileMatrices '${set.matrices[wide]!.id}' has tiles too small or too far out`]);
  return set;
}

function asObject(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

function readAxes(orderedAxes: unknown, crs: Crs): readonly string[] {
  if (
    Array.isArray(orderedAxes) &&
    orderedAxes.length === 2 &&
    orderedAxes.every((name) => typeof name === 'string')
  )
    return orderedAxes;
  const [x, y] = crs.geographic ? ['Lon', 'Lat'] : ['E', 'N'];
  return crs.northFirst ? [y!, x!] : [x!, y!];
}

function fitsDoubles(set: TileMatrixSet, zoom: number): boolean {
  const box = matrixBox(set, zoom);
  const { tileWidth, tileHeight, cellSize } = set.matrices[zoom]!;
  const farthest = Math.max(...box.map(Math.abs));
  const side = Math.min(tileWidth, tileHeight) * cellSize;
  return farthest <= 2 * MAX_COORDINATE && side > farthest * PLACE_BITS;
}

function readMatrices(value: unknown, northFirst: boolean, problems: string[]): TileMatrix[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_MATRICES) {
    problems.push(`tileMatrices must be a list of 1 to ${MAX_MATRICES}`);
    return [];
  }
  const matrices = value.map((one, i) => readMatrix(one, northFirst, `tileMatrices/${i}`, problems));
  if (new Set(matrices.map(({ id }) => id)).size < matrices.length) {
    problems.push('tileMatrices have an id twice');
  }
  if (new Set(matrices.map(({ scaleDenominator }) => scaleDenominator)).size < matrices.length) {
    problems.push('tileMatrices have a scaleDenominator twice');
  }
  return matrices.sort((a, b) => b.scaleDenominator - a.scaleDenominator);
}

function readMatrix(value: unknown, northFirst: boolean, at: string, problems: string[]): TileMatrix {
  const object = asObject(value) ?? {};
  const { id, cornerOfOrigin = 'topLeft' } = object;
  if (typeof id !== 'string' || !/^[\w.:-]{1,64}$/.test(id)) {
    problems.push(`${at}/id must be 1 to 64 letters, digits, ".", "_", ":" or "-"`);
  }
  if (cornerOfOrigin !== 'topLeft' && cornerOfOrigin !== 'bottomLeft') {
    problems.push(`${at}/cornerOfOrigin must be topLeft or bottomLeft`);
  }
  const number = (name: string, max: number) => positive(object[name], max, `${at}/${name}`, problems);
  const whole = (name: string, max: number) => counted(object[name], max, `${at}/${name}`, problems);
  const scaleDenominator = number('scaleDenominator', 1e12);
  const matrix = {
    id: id as string,
    scaleDenominator,
    cellSize: number('cellSize', MAX_COORDINATE),
    cornerOfOrigin: cornerOfOrigin as TileMatrix['cornerOfOrigin'],
    origin: readOrigin(object.pointOfOrigin, northFirst, `${at}/pointOfOrigin`, problems),
    tileWidth: whole('tileWidth', MAX_TILE_CELLS),
    tileHeight: whole('tileHeight', MAX_TILE_CELLS),
    matrixWidth: whole('matrixWidth', MAX_TILES),
    matrixHeight: whole('matrixHeight', MAX_TILES),
    level: scaleToLevel(scaleDenominator),
  };
  return { ...matrix, variableWidths: readWidths(object.variableMatrixWidths, matrix, at, problems) };
}

function positive(value: unknown, max: number, at: string, problems: string[]): number {
  if (typeof value === 'number' && value > 1e-12 && value <= max) return value;
  problems.push(`${at} must be a number > 0 and at most ${max}`);
  return 1;
}

function counted(value: unknown, max: number, at: string, problems: string[]): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max) return value as number;
  problems.push(`${at} must be an integer from 1 to ${max}`);
  return 1;
}

/** Written in the axis order of the CRS. */
function readOrigin(value: unknown, northFirst: boolean, at: string, problems: string[]): [number, number] {
  const inside = (one: unknown) => typeof one === 'number' && Math.abs(one) <= MAX_COORDINATE;
  if (!Array.isArray(value) || value.length !== 2 || !value.every(inside)) {
    problems.push(`${at} must be two numbers from -${MAX_COORDINATE} to ${MAX_COORDINATE}`);
    return [0, 0];
  }
  const [first, second] = value as [number, number];
  return northFirst ? [second, first] : [first, second];
}

function readWidths(
  value: unknown,
  { matrixWidth, matrixHeight }: Pick<TileMatrix, 'matrixWidth' | 'matrixHeight'>,
  at: string,
  problems: string[],
): VariableWidth[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MAX_VARIABLE_WIDTHS) {
    problems.push(`${at}/variableMatrixWidths must be a list of at most ${MAX_VARIABLE_WIDTHS}`);
    return [];
  }
  let next = 0;
  return value.map((one, i) => {
    const { coalesce, minTileRow, maxTileRow } = asObject(one) ?? {};
    const rows = [minTileRow, maxTileRow].every(Number.isInteger);
    const [first, last] = [minTileRow as number, maxTileRow as number];
    if (!rows || first < next || last < first || last >= matrixHeight) {
      problems.push(`${at}/variableMatrixWidths/${i} must hold rows of the matrix, in order`);
    }
    next = last + 1;
    if (!Number.isInteger(coalesce) || (coalesce as number) < 2 || matrixWidth % (coalesce as number) !== 0) {
      problems.push(`${at}/variableMatrixWidths/${i}/coalesce must be at least 2 and divide matrixWidth`);
    }
    return { coalesce: coalesce as number, minTileRow: first, maxTileRow: last };
  });
}

/** The definition of a set, points in the axis order of its CRS. */
export function matrixSetDocument(set: TileMatrixSet) {
  return {
    id: set.id,
    title: set.title,
    uri: set.uri,
    crs: set.crsDocument,
    orderedAxes: set.orderedAxes,
    wellKnownScaleSet: set.wellKnownScaleSet,
    tileMatrices: set.matrices.map((matrix) => ({
      id: matrix.id,
      scaleDenominator: matrix.scaleDenominator,
      cellSize: matrix.cellSize,
      cornerOfOrigin: matrix.cornerOfOrigin,
      pointOfOrigin: toAxisOrder(set.crs, matrix.origin),
      tileWidth: matrix.tileWidth,
      tileHeight: matrix.tileHeight,
      matrixWidth: matrix.matrixWidth,
      matrixHeight: matrix.matrixHeight,
      variableMatrixWidths: matrix.variableWidths.length > 0 ? matrix.variableWidths : undefined,
    })),
  };
}

/** A point in the axis order of its CRS. */
export function toAxisOrder(crs: Crs, [x, y]: readonly [number, number]): [number, number] {
  return crs.northFirst ? [y, x] : [x, y];
}
