import { type Box, TaskFailure, type VectorSource } from '../../../core/tasks.js';
import { transformBox } from '../../../native/index.js';
import { quote } from './connection.js';

/** Condition on the rows of a source: SQL text and its values. */
export interface Condition {
  sql: string;
  values: (number | string)[];
}

/**
 * A box, perhaps across the antimeridian, as one or two plain boxes in the source's CRS. Throws `invalid-input`
 * when it lies where that CRS is not defined.
 */
export function boxesInSource(source: VectorSource, box: Box, crs: string): Box[] {
  const plain: Box[] =
    box[0] <= box[2]
      ? [box]
      : [
          [box[0], box[1], 180, box[3]],
          [-180, box[1], box[2], box[3]],
        ];
  return plain.map((part) => inSource(part, crs, source));
}

function inSource(box: Box, crs: string, source: VectorSource): Box {
  try {
    return transformBox(box, crs, source.crs);
  } catch (error) {
    const message = 'The bounding box cannot be expressed in the CRS of the data.';
    throw new TaskFailure('invalid-input', message, (error as Error).message);
  }
}

/** Rows whose envelope touches one of the boxes. Alias of the table is `t`. */
export function withinBoxes(source: VectorSource, boxes: readonly Box[]): Condition {
  const parts = boxes.map((box) => one(source, box));
  const values = parts.flatMap((part) => part.values);
  if (!source.hasIndex) return { sql: `(${parts.map((part) => part.sql).join(' OR ')})`, values };
  const union = parts.map((part) => part.sql).join(' UNION ');
  return { sql: `t.${quote(source.idColumn)} IN (${union})`, values };
}

function one(source: VectorSource, box: Box): Condition {
  const [minx, miny, maxx, maxy] = box;
  const values = [maxx, minx, maxy, miny];
  if (source.hasIndex) {
    const index = quote(`rtree_${source.table}_${source.geometryColumn}`);
    return {
      sql: `SELECT id FROM ${index} WHERE minx <= ? AND maxx >= ? AND miny <= ? AND maxy >= ?`,
      values,
    };
  }
  const g = `t.${quote(source.geometryColumn)}`;
  return {
    sql: `(ST_MinX(${g}) <= ? AND ST_MaxX(${g}) >= ? AND ST_MinY(${g}) <= ? AND ST_MaxY(${g}) >= ?)`,
    values,
  };
}
