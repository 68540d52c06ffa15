import type { Box } from '../../../../core/geometry/box.js';
import type { GeoPackageSource } from '../../../../core/sources/vector-source.js';
import { quote, statement } from '../connection.js';

/** SQL text and the values of its parameters, in their order. */
export interface Query {
  sql: string;
  values: (number | string | bigint | Uint8Array | null)[];
}

/** The index of a source as a quoted name. */
export function quoteIndexTable(source: GeoPackageSource): string {
  return quote(`rtree_${source.table}_${source.geometryColumn}`);
}

/** Returns the INTEGER PRIMARY KEY of the table alias `t`, by which the index names a row. */
export function quoteRowColumn({ rowColumn, idColumn }: GeoPackageSource): string {
  return `t.${quote(rowColumn ?? idColumn)}`;
}

/** The feature id, of the table alias `t`. */
export function quoteIdColumn({ idColumn }: GeoPackageSource): string {
  return `t.${quote(idColumn)}`;
}

/** Columns that a query selects from the rows of a table with the alias `t`: `row`, and `id` if it differs. */
export function rowAndId(source: GeoPackageSource): string {
  return `${quoteRowColumn(source)} AS row${source.rowColumn ? `, ${quoteIdColumn(source)} AS id` : ''}`;
}

/**
 * Selects `row` of every row, or of the rows whose geometry touches one of the boxes (in the source's CRS). A row
 * whose envelope touches but whose geometry does not is omitted. Each row appears once; the order is undefined.
 */
export function matchingRows(source: GeoPackageSource, boxes: readonly Box[] | undefined): Query {
  const row = quoteRowColumn(source);
  if (!boxes) return { sql: `SELECT ${row} AS row FROM ${quote(source.table)} t`, values: [] };
  if (source.hasIndex) {
    const parts = boxes.map((box) => rowsByIndex(source, box));
    return {
      sql: parts.map((part) => part.sql).join(' UNION '),
      values: parts.flatMap((part) => part.values),
    };
  }
  const touching = boxes.map(() => `gr_intersects_box(t.${quote(source.geometryColumn)}, ?, ?, ?, ?)`);
  return {
    sql: `SELECT ${row} AS row FROM ${quote(source.table)} t WHERE ${touching.join(' OR ')}`,
    values: boxes.flat(),
  };
}

function rowsByIndex(source: GeoPackageSource, box: Box): Query {
  const geometry = `(SELECT t.${quote(source.geometryColumn)} FROM ${quote(source.table)} t
    WHERE ${quoteRowColumn(source)} = r.id)`;
  const { condition, values } = touches(box, geometry);
  return { sql: `SELECT r.id AS row FROM ${quoteIndexTable(source)} r WHERE ${condition}`, values };
}

/** The geometry is read only for rows at the border of the box: an envelope inside it needs no second look. */
function touches(box: Box, geometry: string): { condition: string; values: number[] } {
  const [minx, miny, maxx, maxy] = box;
  const condition = `r.minx <= ? AND r.maxx >= ? AND r.miny <= ? AND r.maxy >= ?
      AND (r.minx >= ? AND r.maxx <= ? AND r.miny >= ? AND r.maxy <= ? OR gr_intersects_box(${geometry}, ?, ?, ?, ?))`;
  return { condition, values: [...touchingValues(box), minx, maxx, miny, maxy, minx, miny, maxx, maxy] };
}

/** Looking one row up while walking costs as much as finding so many by the index and sorting their ids. */
const LOOK_UP = 7;
/** Maximum number of rows in a window that are counted, because counting more rows costs more than it helps. */
const COUNTED = 5000;

/**
 * Whether a walk through the table in the order of the id reaches `wanted` rows of the boxes before the index has
 * found all of them. This is the case for a page of a window that contains much of the table.
 */
export function walkIsShorter(source: GeoPackageSource, boxes: readonly Box[], count: number): boolean {
  const [box] = boxes;
  if (!source.hasIndex || boxes.length !== 1 || !box) return false;
  const { counted, last, share } = statement(source.path, estimateSql(source)).get(
    ...touchingValues(box),
    ...[2, 0, 3, 1].map((side) => box[side]!),
    source.table,
  ) as { counted: number; last: number | null; share: number | null };
  if (counted < COUNTED || !last) return false;
  const inside = Math.max(counted, last * Math.min(1, share ?? 0));
  // A walk looks `wanted * last / inside` rows up; the index finds and sorts `inside` ids.
  return inside > (LOOK_UP * count * last) / inside;
}

/**
 * SQL for the rows in the window (at most COUNTED), the maximum rows of the table, and the window's share of the
 * extent.
 */
function estimateSql(source: GeoPackageSource): string {
  const overlap = (axis: 'x' | 'y') =>
    `max(0, min(?, max_${axis}) - max(?, min_${axis})) / nullif(max_${axis} - min_${axis}, 0)`;
  return `SELECT (SELECT count(*) FROM (SELECT 1 FROM ${quoteIndexTable(source)} WHERE ${TOUCHING} LIMIT ${COUNTED})) AS counted,
    (SELECT max(${quoteRowColumn(source)}) FROM ${quote(source.table)} t) AS last,
    (SELECT ${overlap('x')} * ${overlap('y')} FROM gpkg_contents WHERE table_name = ?) AS share`;
}

const TOUCHING = 'minx <= ? AND maxx >= ? AND miny <= ? AND maxy >= ?';
const touchingValues = ([minx, miny, maxx, maxy]: Box) => [maxx, minx, maxy, miny];

/**
 * Same as `matchingRows` for one box, with a look-up of every row of the table, in the order of the id if required.
 */
export function rowsByWalk(source: GeoPackageSource, box: Box): Query {
  const { condition, values } = touches(box, `t.${quote(source.geometryColumn)}`);
  const sql = `SELECT ${rowAndId(source)} FROM ${quote(source.table)} t
    WHERE EXISTS (SELECT 1 FROM ${quoteIndexTable(source)} r WHERE r.id = ${quoteRowColumn(source)} AND ${condition})`;
  return { sql, values };
}
