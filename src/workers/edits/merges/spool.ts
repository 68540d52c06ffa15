import { rmSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import type { FeatureInput } from '../../../core/edits/edits.js';
import type { FileForm, RejectedRow } from '../../../core/edits/merges.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { FieldError } from '../../../core/errors/field-errors.js';
import type { FieldValue } from '../../../core/features/feature-values.js';
import type { JsonText } from '../../../core/values/json-text.js';
import Database from '../../../native/sqlite.js';
import type { NewEvent } from '../session.js';

/** Content of a row, independent of the feature that it updates. */
export interface RowContent {
  /** Absent where the file does not say whether there is one. */
  geometry?: Uint8Array | null;
  values: ReadonlyMap<string, FieldValue>;
  /** Row as in the file, if it can match a stored feature. */
  sent?: FeatureInput;
  /** Values as the file has them, of fields that are sent in another form. */
  written?: Readonly<Record<string, JsonText>>;
  /** Why values do not fit their fields. They may still be the stored ones, which do not fit either. */
  wrongValues?: ReadonlyMap<string, FieldError>;
  /** Fields whose text is empty, by which the file may mean null. */
  blanks?: readonly string[];
}

/** A row that is ready. */
export interface ReadyRow extends RowContent {
  row: number;
  /** The id that the file has for it. */
  fileId: string;
  /** Id of a new feature. Default: the store assigns it. */
  id?: string;
  /** JSON of the value that identifies the feature. */
  key?: string;
}

/** A row, and the feature of its key. */
export interface MatchedRow extends ReadyRow {
  match?: string;
  /** Several features have the key. */
  isAmbiguous: boolean;
}

interface SpoolRow {
  row: number;
  file_id: string;
  id: string | null;
  key: string | null;
  content: Buffer;
  match: string | null;
  matches: number | null;
}

const TABLES = `
  CREATE TABLE file (crs TEXT NOT NULL, form TEXT NOT NULL);
  CREATE TABLE ready (row INTEGER PRIMARY KEY, file_id TEXT NOT NULL, id TEXT, key TEXT UNIQUE, content BLOB NOT NULL);
  CREATE TABLE matches (key TEXT PRIMARY KEY, match TEXT NOT NULL, matches INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE rejected (row INTEGER PRIMARY KEY, file_id TEXT NOT NULL, reasons TEXT NOT NULL);
  CREATE TABLE written (feature_id TEXT PRIMARY KEY, row INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE events (n INTEGER PRIMARY KEY, event TEXT NOT NULL);`;

const PAGE = 200;
/** Maximum characters of events in memory, except for a single larger event. */
const EVENT_CHARACTERS = 4_194_304;

/**
 * Rows of a merge in a temporary file, so that memory contains only a few of any number of rows. The file is useless
 * after a crash, so writes do not wait for the disk.
 */
export class MergeSpool {
  readonly #statements = new Map<string, Database.Statement>();

  private constructor(readonly db: Database.Database) {
    db.pragma('journal_mode = MEMORY');
    db.pragma('synchronous = OFF');
  }

  /** An empty one, for the rows of a file in this CRS and form. */
  static create(path: string, { crs, form }: { crs: string; form: FileForm }): MergeSpool {
    for (const suffix of ['', '-journal']) rmSync(path + suffix, { force: true });
    const spool = new MergeSpool(new Database(path));
    spool.db.exec(TABLES);
    spool.#run('INSERT INTO file VALUES (?, ?)', crs, form);
    spool.begin();
    return spool;
  }

  /** Opens a file that contains the rows. Other content is deleted when it is closed. */
  static open(path: string): MergeSpool {
    try {
      const spool = new MergeSpool(new Database(path, { fileMustExist: true }));
      spool.begin();
      return spool;
    } catch (error) {
      throw new TaskFailure('source-missing', 'The rows of the file no longer exist.', String(error));
    }
  }

  begin(): void {
    this.db.exec('BEGIN');
  }

  /** Keeps the data written since it was opened. */
  commit(): void {
    this.db.exec('COMMIT');
  }

  close(): void {
    this.db.close();
  }

  add({ row, fileId, id, key, ...content }: ReadyRow): void {
    this.#run(
      'INSERT INTO ready (row, file_id, id, key, content) VALUES (?, ?, ?, ?, ?)',
      ...[row, fileId, id ?? null, key ?? null, serialize(content satisfies RowContent)],
    );
  }

  /** The row of a key, if one has come. */
  rowOf(key: string): number | undefined {
    return this.#pluck('SELECT row FROM ready WHERE key = ?', key) as number | undefined;
  }

  /** The CRS of the file, with x before y. */
  get crs(): string {
    return this.#pluck('SELECT crs FROM file') as string;
  }

  /** Value types of the file. */
  get form(): FileForm {
    return this.#pluck('SELECT form FROM file') as FileForm;
  }

  get count(): number {
    return this.#pluck('SELECT count(*) FROM ready') as number;
  }

  *rows(): Generator<MatchedRow[]> {
    let last = 0;
    for (;;) {
      const sql = `SELECT ready.*, match, matches FROM ready LEFT JOIN matches USING (key)
        WHERE row > ? ORDER BY row LIMIT ${PAGE}`;
      const page = this.#statement(sql).all(last) as SpoolRow[];
      if (page.length === 0) return;
      last = page.at(-1)!.row;
      yield page.map(matchedRow);
    }
  }

  *keys(most: number): Generator<string[]> {
    let last = '';
    for (;;) {
      const sql = 'SELECT key FROM ready WHERE key > ? ORDER BY key LIMIT ?';
      const page = this.#statement(sql).pluck().all(last, most) as string[];
      if (page.length === 0) return;
      last = page.at(-1)!;
      yield page;
    }
  }

  /** A feature of the store has this key. */
  match(key: string, id: string): void {
    const sql = 'INSERT INTO matches VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET matches = matches + 1';
    this.#run(sql, key, id);
  }

  reject({ row, id, reasons }: RejectedRow): void {
    this.#run('INSERT OR REPLACE INTO rejected VALUES (?, ?, ?)', row, id, JSON.stringify(reasons));
  }

  get rejectedCount(): number {
    return this.#pluck('SELECT count(*) FROM rejected') as number;
  }

  *rejected(most: number): Generator<RejectedRow> {
    const sql = 'SELECT * FROM rejected ORDER BY row LIMIT ?';
    const rows = this.db.prepare(sql).iterate(most) as Iterable<{
      row: number;
      file_id: string;
      reasons: string;
    }>;
    for (const { row, file_id, reasons } of rows) yield { row, id: file_id, reasons: JSON.parse(reasons) };
  }

  /** The row that wrote a feature. */
  writerOf(featureId: string): number | undefined {
    return this.#pluck('SELECT row FROM written WHERE feature_id = ?', featureId) as number | undefined;
  }

  wrote(featureId: string, row: number): void {
    this.#run('INSERT INTO written VALUES (?, ?)', featureId, row);
  }

  addEvent(event: NewEvent): void {
    this.#run('INSERT INTO events (event) VALUES (?)', JSON.stringify(event));
  }

  *events(): Generator<NewEvent[]> {
    let batch: NewEvent[] = [];
    let characters = 0;
    for (let n = 1; ; n++) {
      const event = this.#pluck('SELECT event FROM events WHERE n = ?', n) as string | undefined;
      if (event === undefined) break;
      batch.push(JSON.parse(event));
      characters += event.length;
      if (batch.length < PAGE && characters < EVENT_CHARACTERS) continue;
      yield batch;
      batch = [];
      characters = 0;
    }
    if (batch.length > 0) yield batch;
  }

  #statement(sql: string): Database.Statement {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = this.db.prepare(sql)));
    return statement;
  }

  #run(sql: string, ...values: unknown[]): void {
    this.#statement(sql).run(...values);
  }

  #pluck(sql: string, ...values: unknown[]): unknown {
    return this.#statement(sql)
      .pluck()
      .get(...values);
  }
}

function matchedRow(stored: SpoolRow): MatchedRow {
  const { row, file_id: fileId, id, key, content, match, matches } = stored;
  return {
    row,
    fileId,
    ...(id === null ? {} : { id }),
    ...(key === null ? {} : { key }),
    ...(deserialize(content) as RowContent),
    ...(match === null ? {} : { match }),
    isAmbiguous: (matches ?? 0) > 1,
  };
}
