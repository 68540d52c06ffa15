import type { Box } from '../../../../core/geometry/box.js';
import type { GeoPackageSource } from '../../../../core/sources/vector-source.js';
import { statement } from '../connection.js';
import { quoteIndexTable } from './window.js';

/** Whether the envelope of any feature touches each box. Only the index is read. Boxes are in the source's CRS. */
export function occupied(source: GeoPackageSource, boxes: readonly Box[]): boolean[] {
  const sql = `SELECT EXISTS (SELECT 1 FROM ${quoteIndexTable(source)}
    WHERE minx <= ? AND maxx >= ? AND miny <= ? AND maxy >= ?) AS touches`;
  const lookUp = statement(source.path, sql);
  return boxes.map(([minx, miny, maxx, maxy]) => {
    const { touches } = lookUp.get(maxx, minx, maxy, miny) as { touches: number };
    return touches === 1;
  });
}
