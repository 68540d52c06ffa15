import type Database from '../../../../native/sqlite.js';
import { quote } from '../connection.js';

/** Maximum number of geometries to inspect, and the time limit in milliseconds. */
const SAMPLE = 20_000;
const SAMPLE_MS = 200;

/** A sentence about geometries that cannot be read, among the first ones of a table; undefined without any. */
export function unreadGeometries(
  db: Database.Database,
  table: string,
  geometryColumn: string,
): string | undefined {
  const problems = db
    .prepare(`SELECT gr_valid_geometry(${quote(geometryColumn)}) FROM ${quote(table)} LIMIT ${SAMPLE}`)
    .pluck()
    .iterate() as IterableIterator<string | null>;
  const end = performance.now() + SAMPLE_MS;
  let [looked, unread, isAll] = [0, 0, true];
  let reason = '';
  for (const problem of problems) {
    looked++;
    if (problem !== null) {
      unread++;
      reason ||= problem;
    }
    if (performance.now() > end) {
      isAll = false;
      break;
    }
  }
  if (unread === 0) return undefined;
  const among = isAll && looked < SAMPLE ? `the ${looked}` : `the first ${looked}`;
  return `${unread} of ${among} geometries cannot be read, and the features are served without a geometry: ${reason}.`;
}
