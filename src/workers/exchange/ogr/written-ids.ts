/** Ids of a GeoPackage that GDAL has just written: it numbers rows whose ids are negative. */

import type Database from '../../../native/sqlite.js';
import { connect, quote } from '../../providers/geopackage/connection.js';

/** Column in which the ids come. */
export const ID_COLUMN = 'graticule_id';
/** Further than rows of a file are numbered. */
const STEP = 2n ** 40n;

/** Gives rows the ids of that column, if there is one, and removes it. */
export function finishIds(path: string, table: string): void {
  const db = connect(path, false);
  try {
    // The file is removed after any failure, and read by other tasks only when it is complete.
    db.pragma('journal_mode = MEMORY');
    db.pragma('synchronous = OFF');
    const has = db.prepare('SELECT count(*) FROM pragma_table_info(?) WHERE name = ?').pluck();
    if (has.get(table, ID_COLUMN) !== 1) return;
    const key = db.prepare('SELECT name FROM pragma_table_info(?) WHERE pk = 1').pluck().get(table) as string;
    db.transaction(() => {
      const [rows, id] = [quote(table), quote(key)];
      db.exec(`CREATE TEMP TABLE moves AS SELECT ${id} AS old, ${ID_COLUMN} AS new FROM ${rows}`);
      db.exec('CREATE UNIQUE INDEX temp.moves_old ON moves (old)');
      moveIds(db, rows, id);
      db.exec(`ALTER TABLE ${rows} DROP COLUMN ${ID_COLUMN}`);
    })();
  } finally {
    db.close();
  }
}

/** Gives rows other keys: each `old` of the temporary table `moves` becomes its `new`. Drops that table. */
export function moveIds(db: Database.Database, table: string, key: string): void {
  // Rows go to numbers that are free of both first.
  const base = freeBase(db);
  db.prepare(`UPDATE ${table} SET ${key} = ${key} + ?`).run(base);
  db.prepare(`UPDATE ${table} SET ${key} = (SELECT new FROM moves WHERE old = ${key} - ?)`).run(base);
  db.exec('DROP TABLE moves');
}

function freeBase(db: Database.Database): bigint {
  const taken = db.prepare('SELECT 1 FROM moves WHERE new BETWEEN ? AND ? LIMIT 1').pluck();
  let base = STEP;
  while (taken.get(base, base + STEP) !== undefined) base += STEP;
  return base;
}
