/**
 * Ids of GeoJSON features that GDAL changes. If one id is negative, GDAL moves all into a column `id` and limits
 * large ids there to 32 or 64 bits. The original ids are written into its copy from the text of the file.
 */

import { INT64_MAX, INT64_MIN } from '../../../core/values/exact-number.js';
import type Database from '../../../native/sqlite.js';
import { connect, quote } from '../../providers/geopackage/connection.js';
import { readFacts } from '../geojson/open.js';
import { idTextsIn } from './formats/geojson-ids.js';
import { ID_COLUMN, moveIds } from './written-ids.js';

/**
 * Uses the ids of the file as keys of a copy's rows. Returns false, without changes, if the rows are not its
 * features.
 */
export async function writeKeyIds(source: string, path: string, table: string): Promise<boolean> {
  const dropsColumn = !(await readFacts(source)).includes('id');
  return withTexts(source, path, table, (db, key) => {
    const taken = new Set(
      db
        .prepare('SELECT CAST(text AS INTEGER) FROM texts WHERE text IS NOT NULL')
        .pluck()
        .safeIntegers()
        .all(),
    );
    db.exec('CREATE TEMP TABLE moves (old INTEGER PRIMARY KEY, new INTEGER)');
    const insert = db.prepare('INSERT INTO temp.moves VALUES (?, ?)');
    let next = 0n;
    for (const row of db.prepare('SELECT place, text FROM texts').safeIntegers().all()) {
      const { place, text } = row as { place: bigint; text: string | null };
      if (text === null)
        do next++;
        while (taken.has(next));
      insert.run(place, text === null ? next : BigInt(text));
    }
    moveIds(db, quote(table), quote(key));
    if (dropsColumn && hasColumn(db, table)) db.exec(`ALTER TABLE ${quote(table)} DROP COLUMN id`);
  });
}

/** Writes numeric ids with all their digits into GDAL's column of ids. */
export async function writeColumnIds(source: string, path: string, table: string): Promise<boolean> {
  if ((await readFacts(source)).includes('id')) return true;
  return withTexts(source, path, table, (db, key) => {
    if (!hasColumn(db, table)) return;
    const texts = db.prepare("SELECT text FROM texts WHERE text GLOB '[-0-9]*'").pluck().all() as string[];
    if (texts.length === 0) return;
    const count = db.prepare('SELECT count(*) FROM texts WHERE text IS NOT NULL').pluck().get();
    const areIntegers = texts.length === count && texts.every(isInteger64);
    const [name, type] = [quote(table), areIntegers ? 'INTEGER' : 'TEXT'];
    const place = quote(key);
    db.exec(`ALTER TABLE ${name} ADD COLUMN ${ID_COLUMN} ${type};
      UPDATE ${name} SET ${ID_COLUMN} = coalesce((SELECT text FROM texts WHERE place = ${place} AND text GLOB '[-0-9]*'), id);
      ALTER TABLE ${name} DROP COLUMN id;
      ALTER TABLE ${name} RENAME COLUMN ${ID_COLUMN} TO id`);
  });
}

function isInteger64(text: string): boolean {
  return /^-?\d+$/.test(text) && BigInt(text) <= INT64_MAX && BigInt(text) >= INT64_MIN;
}

const hasColumn = (db: Database.Database, table: string): boolean =>
  db.prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = 'id' AND pk = 0").pluck().get(table) !==
  undefined;

/** Runs `work` with a table of the ids in the order of rows, in a transaction. */
async function withTexts(
  source: string,
  path: string,
  table: string,
  work: (db: Database.Database, key: string) => void,
): Promise<boolean> {
  const db = connect(path, false);
  try {
    // The file is removed after any failure, and read by other tasks only when it is complete.
    db.pragma('journal_mode = MEMORY');
    db.pragma('synchronous = OFF');
    db.exec('CREATE TEMP TABLE texts (place INTEGER PRIMARY KEY, text TEXT)');
    const key = db.prepare('SELECT name FROM pragma_table_info(?) WHERE pk = 1').pluck().get(table) as string;
    const last = db
      .prepare(`SELECT coalesce(max(${quote(key)}), 0) FROM ${quote(table)}`)
      .pluck()
      .get();
    const insert = db.prepare('INSERT INTO texts (text) VALUES (?)');
    let features = 0;
    for await (const text of idTextsIn(source)) {
      insert.run(text ?? null);
      features++;
    }
    if (features !== Number(last)) return false;
    db.transaction(() => work(db, key))();
    return true;
  } finally {
    db.close();
  }
}
