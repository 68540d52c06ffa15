/** Times of a staging GeoPackage that GDAL has just written: it keeps their seconds as 32-bit floats. */

import type Database from '../../../native/sqlite.js';
import { connect, quote } from '../../providers/geopackage/connection.js';
import { TEXT_MARK, TIME_MARK } from '../geojson/values.js';

/**
 * Removes marks from text. Gives times that were passed as text their type, and moves times with a 60th second or a
 * 24th hour to the next minute or day.
 */
export function finishTimes(path: string, table: string): void {
  const db = connect(path, false);
  try {
    // The file is removed after any failure, and read by other tasks only when it is complete.
    db.pragma('journal_mode = MEMORY');
    db.pragma('synchronous = OFF');
    const columns = db.prepare('SELECT name, type FROM pragma_table_info(?)').all(table) as Column[];
    unmark(db, table, columns, TEXT_MARK);
    declareColumns(db, table, unmark(db, table, columns, TIME_MARK), 'DATETIME');
    carryTimes(db, table, columns);
  } finally {
    db.close();
  }
}

interface Column {
  name: string;
  type: string;
}

/** Takes a mark from the values of all columns that have it, and returns the names of these. */
function unmark(db: Database.Database, table: string, columns: readonly Column[], mark: string): string[] {
  const texts = columns.filter(({ type }) => /^TEXT/i.test(type));
  const marked = markedAmong(db, table, texts, mark);
  if (marked.length === 0) return [];
  const changes = marked.map((name) => `${quote(name)} = substr(${quote(name)}, ${mark.length + 1})`);
  db.exec(`UPDATE ${quote(table)} SET ${changes.join(', ')}`);
  return marked;
}

function markedAmong(
  db: Database.Database,
  table: string,
  columns: readonly Column[],
  mark: string,
): string[] {
  if (columns.length === 0) return [];
  const tests = columns.map(({ name }) => `max(${quote(name)} GLOB ?)`).join(', ');
  const hits = db
    .prepare(`SELECT ${tests} FROM ${quote(table)}`)
    .raw()
    .get(...columns.map(() => `${mark}*`)) as (number | null)[];
  return columns.flatMap(({ name }, i) => (hits[i] === 1 ? [name] : []));
}

/** Changes the declared types of columns. Values remain unchanged. */
export function declareColumns(
  db: Database.Database,
  table: string,
  names: readonly string[],
  type: 'BLOB' | 'DATETIME',
): void {
  if (names.length === 0) return;
  let sql = db
    .prepare("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?")
    .pluck()
    .get(table) as string;
  for (const name of names) {
    const declaration = new RegExp(`${escapeForRegExp(quote(name))}\\s+TEXT(\\s*\\(\\d+\\))?`, 'i');
    sql = sql.replace(declaration, () => `${quote(name)} ${type}`);
  }
  db.unsafeMode(true);
  db.pragma('writable_schema = ON');
  db.prepare("UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = ?").run(sql, table);
  db.pragma('writable_schema = RESET');
  db.unsafeMode(false);
}

const escapeForRegExp = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

function carryTimes(db: Database.Database, table: string, columns: readonly Column[]): void {
  const times = columns.filter(({ type }) => /^DATETIME/i.test(type));
  if (times.length === 0) return;
  db.function('carry_time', { deterministic: true }, (text: unknown) => carryTime(String(text)));
  for (const { name } of times.map(({ name }) => ({ name: quote(name) })))
    db.exec(
      `UPDATE ${quote(table)} SET ${name} = carry_time(${name}) WHERE ${name} GLOB '*:60.*' OR ${name} GLOB '*T24:00:00*'`,
    );
}

const LAST = /^(\d{4})-(\d\d)-(\d\d)T(?:(\d\d):(\d\d):60|(24):(00):00)(\.\d+)?(.*)$/;

/**
 * Returns a time with 60 seconds as a time in the next minute. 24:00:00, which MapInfo files can contain, becomes the
 * start of the next day. Other strings are returned unchanged.
 */
export function carryTime(text: string): string {
  const [, year, month, day, hour, minute, midnight, , fraction = '', zone] = LAST.exec(text) ?? [];
  if (year === undefined) return text;
  const start = new Date(`${year}-${month}-${day}T${midnight ? '00:00' : `${hour}:${minute}`}:00Z`).getTime();
  const next = start + (midnight ? 86_400_000 : 60_000);
  return Number.isNaN(next) ? text : new Date(next).toISOString().slice(0, 19) + fraction + zone;
}
