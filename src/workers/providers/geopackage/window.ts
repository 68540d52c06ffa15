import type { Box, GeoPackageSource } from '../../../core/tasks.js';
import { quote } from './connection.js';

/** SQL text and the values of its parameters, in their order. */
export interface Query {
  sql: string;
  values: (number | string | bigint | Uint8Array | null)[];
}

/** The index of a source as a quoted name. */
export function indexOf(source: GeoPackageSource): string {
  return quote(`rtree_${source.table}_${source.geometryColumn}`);
}

/**
 * Selects `id` of every row, or of the rows whose geometry touches one of the boxes (in the source's CRS): a row whose
 * envelope merely does is left out. No row comes twice; the order is undefined.
 */
export function matchingIds(source: GeoPackageSource, boxes: readonly Box[] | undefined): Query {
  const id = quote(source.idColumn);
  if (!boxes) return { sql: `SELECT t.${id} AS id FROM ${quote(source.table)} t`, values: [] };
  if (source.hasIndex) {
    const parts = boxes.map((box) => idsByIndex(source, box));
    return {
      sql: parts.map((part) => part.sql).join(' UNION '),
      values: parts.flatMap((part) => part.values),
    };
  }
  const touching = boxes.map(() => `gr_intersects_box(t.${quote(source.geometryColumn)}, ?, ?, ?, ?)`);
  return {
    sql: `SELECT t.${id} AS id FROM ${quote(source.table)} t WHERE ${touching.join(' OR ')}`,
    values: boxes.flat(),
  };
}

/** The table is read only for rows at the border of the box: an envelope inside it needs no second look. */
function idsByIndex(source: GeoPackageSource, [minx, miny, maxx, maxy]: Box): Query {
  const geometry = `(SELECT t.${quote(source.geometryColumn)} FROM ${quote(source.table)} t
    WHERE t.${quote(source.idColumn)} = r.id)`;
  const sql = `SELECT r.id AS id FROM ${indexOf(source)} r
    WHERE r.minx <= ? AND r.maxx >= ? AND r.miny <= ? AND r.maxy >= ?
      AND (r.minx >= ? AND r.maxx <= ? AND r.miny >= ? AND r.maxy <= ? OR gr_intersects_box(${geometry}, ?, ?, ?, ?))`;
  const touching = [maxx, minx, maxy, miny];
  const inside = [minx, maxx, miny, maxy];
  return { sql, values: [...touching, ...inside, minx, miny, maxx, maxy] };
}
