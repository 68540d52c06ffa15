import { randomUUID } from 'node:crypto';
import { type LocatorInfo, PLACE_FIELDS } from '../../core/geocoding/geocoding.js';
import type Database from '../../native/sqlite.js';
import { boundedSql, type Db } from './index-file.js';
import { buildSearchText, type NewPlace } from './rows.js';

const COLUMNS = ['address', ...PLACE_FIELDS, 'language', 'names', 'x', 'y', 'rank'] as const;

/** Temporary rows for an index, sorted by their ranks first. */
export class RowSpool {
  readonly #db: Db;
  readonly #insert: Database.Statement;

  constructor(db: Db) {
    this.#db = db;
    db.pragma('temp_store = FILE');
    const columns = [...COLUMNS, 'own', 'area'];
    db.exec(`CREATE TEMP TABLE spool (${columns.join(', ')}); BEGIN`);
    this.#insert = db.prepare(`INSERT INTO spool VALUES (${columns.map(() => '?').join(', ')})`);
  }

  add(row: NewPlace): void {
    const { own, area } = buildSearchText(row);
    this.#insert.run(...COLUMNS.map((column) => row[column]), own, area);
  }

  /** One transaction: all rows are in the index then. */
  end(): void {
    this.#db.exec(`
      CREATE TEMP TABLE ordered AS SELECT rowid AS source, row_number() OVER (ORDER BY rank DESC, rowid)
        + (SELECT ifnull(max(id), 0) FROM places) AS id FROM spool;
      INSERT INTO places (id, ${COLUMNS.join(', ')})
        SELECT o.id, ${COLUMNS.join(', ')} FROM ordered o JOIN spool s ON s.rowid = o.source ORDER BY o.id;
      INSERT INTO points SELECT o.id, x, x, y, y FROM ordered o JOIN spool s ON s.rowid = o.source;
      INSERT INTO words (rowid, own, area)
        SELECT o.id, own, area FROM ordered o JOIN spool s ON s.rowid = o.source ORDER BY o.id;
      COMMIT;
      DROP TABLE ordered;
      DROP TABLE spool;`);
  }
}

/** Derives data from the places: words by their trigrams, facts. */
export function finishIndex(db: Db): void {
  db.exec(`
    BEGIN;
    INSERT INTO words (words) VALUES ('optimize');
    DELETE FROM terms;
    INSERT INTO terms (term) SELECT term FROM vocabulary WHERE length(term) >= 3 AND term NOT GLOB '*[0-9]*';
    DROP TABLE trigrams;
    CREATE VIRTUAL TABLE trigrams USING fts5(term, content='', tokenize='trigram');
    INSERT INTO trigrams (rowid, term) SELECT id, ${boundedSql('term')} FROM terms;`);
  db.prepare("INSERT OR REPLACE INTO facts VALUES ('info', ?)").run(JSON.stringify(buildInfo(db)));
  db.exec('COMMIT');
}

function buildInfo(db: Db): LocatorInfo {
  const { places, ...window } = db
    .prepare(
      'SELECT count(*) AS places, min(x) AS west, min(y) AS south, max(x) AS east, max(y) AS north FROM places',
    )
    .get() as { places: number } & LocatorInfo['window'];
  const languages = db
    .prepare(
      `SELECT DISTINCT language FROM places WHERE language <> ''
       UNION SELECT DISTINCT key FROM places, json_each(names) WHERE names <> '{}' ORDER BY 1`,
    )
    .pluck()
    .all() as string[];
  return { stamp: randomUUID(), places, window, languages };
}
