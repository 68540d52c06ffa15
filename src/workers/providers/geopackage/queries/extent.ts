import type { Expression } from '../../../../core/cql2/ast.js';
import type { Box } from '../../../../core/geometry/box.js';
import { around } from '../../../../core/geometry/box.js';
import type { GeoPackageSource } from '../../../../core/sources/vector-source.js';
import type Database from '../../../../native/sqlite.js';
import { type SensibleExtent, sensibleExtent } from '../../../edits/domain.js';
import { quote, statement } from '../connection.js';
import { passingRows } from './filter.js';
import { quoteRowColumn } from './window.js';

export interface ExtentTable {
  table: string;
  geometryColumn: string;
  hasIndex: boolean;
  crs: string;
}

/**
 * Returns the extent of a table from its spatial index. The extent in `gpkg_contents` can be out of date, so it is
 * used only without an index.
 */
export function computeTableExtent(db: Database.Database, table: ExtentTable, stated?: Box): SensibleExtent {
  const all = table.hasIndex ? indexedExtent(db, table) : (stated ?? scannedExtent(db, table));
  const search = sensibleExtent(all, table.crs);
  let step = search.next();
  while (!step.done) {
    const domain = step.value;
    step = search.next(
      table.hasIndex ? indexedExtentWithin(db, table, domain) : scannedExtent(db, table, domain),
    );
  }
  return step.value;
}

/** The extent of the rows that a filter lets through. */
export function computeFilteredExtent(source: GeoPackageSource, filter: Expression): SensibleExtent {
  const passing = passingRows(source, filter);
  const column = `t.${quote(source.geometryColumn)}`;
  const boxes = `(SELECT ST_MinX(${column}) AS minx, ST_MinY(${column}) AS miny, ST_MaxX(${column}) AS maxx, ST_MaxY(${column}) AS maxy
    FROM ${quote(source.table)} t WHERE ${quoteRowColumn(source)} IN (${passing.sql}))`;
  const sides = `SELECT min(minx), min(miny), max(maxx), max(maxy) FROM ${boxes}`;
  const within = (domain?: Box) => {
    const values = [...passing.values, ...(domain ?? [])];
    const row = statement(source.path, domain ? `${sides} ${WITHIN}` : sides)
      .raw()
      .get(...values) as (number | null)[];
    return row.every((side) => side !== null) ? (row as unknown as Box) : undefined;
  };
  const search = sensibleExtent(within(), source.crs);
  let step = search.next();
  while (!step.done) step = search.next(within(step.value));
  return step.value;
}

/** Range of longitudes and latitudes, with the values that are often written across the antimeridian. */
const GLOBE: Box = [-360.000001, -90.000001, 360.000001, 90.000001];

/** Returns the share, 0 to 1, of the geometries within the range of longitudes and latitudes. 1 if there are none. */
export function shareOnGlobe(db: Database.Database, table: ExtentTable): number {
  const boxes = table.hasIndex ? quote(formatIndex(table)) : formatBoxes(table);
  const [all, within] = db
    .prepare(
      `SELECT count(*), count(*) FILTER (WHERE minx >= ? AND miny >= ? AND maxx <= ? AND maxy <= ?) FROM ${boxes} WHERE minx IS NOT NULL`,
    )
    .raw()
    .get(...GLOBE) as [number, number];
  return all === 0 ? 1 : within / all;
}

const formatIndex = ({ table, geometryColumn }: ExtentTable) => `rtree_${table}_${geometryColumn}`;

function boxIn(db: Database.Database, sql: string, ...values: number[]): Box | undefined {
  const row = db
    .prepare(sql)
    .raw()
    .get(...values) as (number | null)[];
  return row.every((side) => side !== null) ? (row as unknown as Box) : undefined;
}

function scannedExtent(db: Database.Database, table: ExtentTable, domain?: Box) {
  const sql = `SELECT min(minx), min(miny), max(maxx), max(maxy) FROM ${formatBoxes(table)}`;
  return domain ? boxIn(db, `${sql} ${WITHIN}`, ...domain) : boxIn(db, sql);
}

function formatBoxes({ table, geometryColumn }: ExtentTable): string {
  const column = quote(geometryColumn);
  return `(SELECT ST_MinX(${column}) AS minx, ST_MinY(${column}) AS miny, ST_MaxX(${column}) AS maxx, ST_MaxY(${column}) AS maxy
    FROM ${quote(table)})`;
}

const WITHIN = 'WHERE minx >= ? AND miny >= ? AND maxx <= ? AND maxy <= ?';

function indexedExtentWithin(db: Database.Database, table: ExtentTable, domain: Box): Box | undefined {
  const sql = `SELECT min(minx), min(miny), max(maxx), max(maxy) FROM ${quote(formatIndex(table))} ${WITHIN}`;
  const box = boxIn(db, sql, ...domain);
  return box && exactExtent(db, table, box);
}

function indexedExtent(db: Database.Database, table: ExtentTable): Box | undefined {
  const root = rootBox(db, formatIndex(table));
  if (!root) return undefined;
  return root.every(Number.isFinite) ? exactExtent(db, table, root) : root;
}

/** Part of a number by which the index, in single precision, may be beyond it. */
const SINGLE = 2 ** -22;

/**
 * Returns the exact box for a box from the index, which has single precision. Only the rows at its sides are read.
 */
function exactExtent(db: Database.Database, table: ExtentTable, box: Box): Box {
  const column = quote(table.geometryColumn);
  const side = (i: 0 | 1 | 2 | 3, bound: string, extreme: string) => {
    const low = i < 2;
    const slack = SINGLE * Math.abs(box[i]);
    const sql = `SELECT ${low ? 'min' : 'max'}(${extreme}(${column})) FROM ${quote(table.table)} WHERE rowid IN
      (SELECT id FROM ${quote(formatIndex(table))} WHERE ${bound} ${low ? '<=' : '>='} ?)`;
    const exact = db
      .prepare(sql)
      .pluck()
      .get(low ? box[i] + slack : box[i] - slack) as number | null;
    return exact === null || Math.abs(exact - box[i]) > slack ? box[i] : exact;
  };
  return [
    side(0, 'minx', 'ST_MinX'),
    side(1, 'miny', 'ST_MinY'),
    side(2, 'maxx', 'ST_MaxX'),
    side(3, 'maxy', 'ST_MaxY'),
  ];
}

const CELL_BYTES = 24;

/**
 * Returns the box around all entries of an R-tree from its root node: 4 bytes, then cells of an id and minx, maxx,
 * miny, maxy.
 */
function rootBox(db: Database.Database, index: string): Box | undefined {
  const sql = `SELECT data FROM ${quote(`${index}_node`)} WHERE nodeno = 1`;
  const node = db.prepare(sql).pluck().get() as Buffer | undefined;
  if (!node || node.length < 4 + CELL_BYTES) return undefined;
  const cells = Array.from({ length: node.readUInt16BE(2) }, (_, i): Box => {
    const at = 4 + i * CELL_BYTES + 8;
    const [minx, maxx, miny, maxy] = [0, 4, 8, 12].map((offset) => node.readFloatBE(at + offset));
    return [minx!, miny!, maxx!, maxy!];
  });
  return cells.length > 0 ? cells.reduce(around) : undefined;
}
