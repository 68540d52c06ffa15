import { type Stats, statSync } from 'node:fs';
import { TaskFailure } from '../../core/errors/failure.js';
import { storageFailure } from '../../core/errors/storage-faults.js';
import {
  type LocatorInfo,
  PLACE_FIELDS,
  type Place,
  type PlaceText,
} from '../../core/geocoding/geocoding.js';
import { sqliteExtensionPath } from '../../native/index.js';
import Database from '../../native/sqlite.js';
import { addConditionFunctions } from './conditions.js';
import { formatPlaceLabel } from './label.js';

export type Db = Database.Database;

/** Layout of this release; an index of another one is not read. */
const LAYOUT = '1';

/**
 * Milliseconds to wait for another program that locks an index. The server's own threads never lock one, because they
 * have other work.
 */
const LOCK_MS = 1000;

/** Connections that a thread keeps. */
const KEPT = 16;

/**
 * Index of a locator. Places are in the order of their ranks, highest first, so the first rows of a search are the
 * most likely ones. `words` contains the searched text in the form of `wordsOf`; `terms` contains the words by their
 * trigrams. The first 300 rows of a full text query are therefore the likeliest, without a sort. Client text is
 * folded to letters and digits, and each word is quoted, so it is never full text query syntax.
 */
export function createIndex(db: Db): void {
  db.exec(`
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    INSERT INTO facts VALUES ('layout', '${LAYOUT}');
    CREATE TABLE places (
      id INTEGER PRIMARY KEY,
      address TEXT NOT NULL,
      ${PLACE_FIELDS.map((field) => `${field} TEXT NOT NULL`).join(', ')},
      language TEXT NOT NULL,
      names TEXT NOT NULL,
      x REAL NOT NULL,
      y REAL NOT NULL,
      rank REAL NOT NULL);
    CREATE VIRTUAL TABLE points USING rtree(id, x0, x1, y0, y1);
    CREATE VIRTUAL TABLE words USING fts5(own, area, content='', prefix='1 2 3',
      tokenize='unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');
    CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL);
    CREATE VIRTUAL TABLE trigrams USING fts5(term, content='', tokenize='trigram');`);
}

/** Ends of words take part in trigrams, so that a word of four letters with one wrong has one in common. */
export const bounded = (term: string) => `<${term}>`;
export const boundedSql = (term: string) => `'<' || ${term} || '>'`;

interface Kept {
  db: Db;
  stamp: string;
}

const kept = new Map<string, Kept>();

/** Returns the current index, open for reading. Throws `source-missing`. */
export function openPlaceIndex(path: string): Db {
  const stats = statSync(path, { throwIfNoEntry: false });
  const stamp = stats && formatStamp(stats);
  const entry = kept.get(path);
  if (entry && entry.stamp === stamp) return entry.db;
  entry?.db.close();
  kept.delete(path);
  if (stamp === undefined) throw new TaskFailure('source-missing', 'The locator has been removed.');
  if (kept.size >= KEPT) {
    const [oldest, { db }] = kept.entries().next().value!;
    db.close();
    kept.delete(oldest);
  }
  const db = openIndex(path);
  kept.set(path, { db, stamp });
  return db;
}

const formatStamp = ({ ino, size, mtimeMs }: Stats) => `${ino} ${size} ${mtimeMs}`;

function openIndex(path: string): Db {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: LOCK_MS });
  try {
    if (!hasLayout(db))
      throw new TaskFailure(
        'source-unreadable',
        'The index of the locator is of another release. Import its data again.',
      );
    db.loadExtension(sqliteExtensionPath());
    addConditionFunctions(db);
    return db;
  } catch (error) {
    db.close();
    throw unreadable(error);
  }
}

/** An index that another program locks is busy, and not damaged. */
function unreadable(error: unknown): TaskFailure {
  if (error instanceof TaskFailure) return error;
  const failure = storageFailure(error);
  if (failure?.code === 'store-unavailable') return failure;
  return new TaskFailure('source-unreadable', 'The index of the locator cannot be read.', String(error));
}

/** Whether an index is of this release. */
export function hasLayout(db: Db): boolean {
  return readIndexFact(db, 'layout') === LAYOUT;
}

export function readIndexFact(db: Db, name: string): string | undefined {
  return db.prepare('SELECT value FROM facts WHERE name = ?').pluck().get(name) as string | undefined;
}

/** Task `vector.locator`. */
export function locatorInfo({ index }: { index: string }): LocatorInfo {
  return JSON.parse(readIndexFact(openPlaceIndex(index), 'info')!) as LocatorInfo;
}

/** A row of `places`. */
export interface PlaceRow extends PlaceText {
  id: number;
  address: string;
  language: string;
  /** JSON: names by their languages. */
  names: string;
  x: number;
  y: number;
  rank: number;
}

/** A row as a place, with the name that it has in a language, where it has one. */
export function buildPlace(row: PlaceRow, language: string | undefined): Place {
  const name = nameIn(row, language);
  const text = Object.fromEntries(PLACE_FIELDS.map((field) => [field, row[field]])) as Record<string, string>;
  const shown = { ...text, ...(name === undefined ? {} : { name }) } as unknown as PlaceText;
  return {
    ...shown,
    id: row.id,
    // An address is as the data has it, unless a name in another language takes part.
    label: row.address !== '' && name === undefined ? row.address : formatPlaceLabel(shown),
    language: name === undefined ? row.language : language!,
    x: row.x,
    y: row.y,
    rank: row.rank,
  };
}

/** Names in other languages. */
export function parsePlaceNames({ names }: Pick<PlaceRow, 'names'>): string[] {
  return names === '{}' ? [] : Object.values(JSON.parse(names) as Record<string, string>);
}

function nameIn({ names, name }: PlaceRow, language: string | undefined): string | undefined {
  if (language === undefined || names === '{}') return undefined;
  const all = JSON.parse(names) as Record<string, string>;
  const text = all[language] ?? all[language.split('-')[0]!];
  return text === name ? undefined : text;
}
