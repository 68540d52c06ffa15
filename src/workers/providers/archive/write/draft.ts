import { createHash } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { TaskFailure } from '../../../../core/errors/failure.js';
import {
  type ArchiveDescription,
  type ArchiveDraft,
  type DraftCursor,
  isVectorArchive,
  type WrittenArchive,
  type WrittenTile,
} from '../../../../core/tiles/archives.js';
import Database from '../../../../native/sqlite.js';
import { removeDatabaseFiles } from '../../../files/database-files.js';
import type { Cancellation } from '../../../threads/cancellation.js';

type Db = Database.Database;

/** Writes one kind of container. The database contains the cursor and the tiles, so one transaction advances both. */
export interface ContainerWriter {
  /** Tables of a new draft. */
  create(db: Db): void;
  /** Adds tiles within a transaction. */
  add(db: Db, draft: ArchiveDraft, tiles: readonly WrittenTile[]): void;
  /** Completes the file, and may do so again after a crash. */
  finish(
    db: Db,
    draft: ArchiveDraft,
    description: ArchiveDescription,
    cancellation?: Cancellation,
  ): Omit<WrittenArchive, 'bytes'>;
}

/** The file that becomes the archive. */
export const getPartialPath = (output: string) => `${output}.partial`;
/** Path of the index of a container that is not a database, while the container is written. */
export const getPartialIndexPath = (output: string) => `${output}.partial.index`;

const DRAFT = 'graticule_draft';
const CONTENTS = 'graticule_contents';
/** Wait for another process that is about to lose the draft. */
const BUSY_MS = 10_000;

/** Opens the database of a draft. A draft of another plan, or one that no server left, is created again. */
export function openArchiveDraft(path: string, draft: ArchiveDraft, create: (db: Db) => void): Db {
  const draftDb = existsSync(path) ? reopened(path, draft.plan) : undefined;
  if (draftDb) return draftDb;
  discardDraft(draft.output);
  const db = connect(path);
  try {
    db.transaction(() => {
      create(db);
      db.exec(`CREATE TABLE ${DRAFT} (plan TEXT NOT NULL, cursor TEXT);
        CREATE TABLE ${CONTENTS} (digest BLOB PRIMARY KEY, place INTEGER NOT NULL) WITHOUT ROWID`);
      db.prepare(`INSERT INTO ${DRAFT} VALUES (?, NULL)`).run(draft.plan);
    })();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function connect(path: string): Db {
  const db = new Database(path, { timeout: BUSY_MS });
  db.pragma('journal_mode = WAL');
  // A commit that a power failure reverts also reverts its cursor.
  db.pragma('synchronous = NORMAL');
  return db;
}

function reopened(path: string, plan: string): Db | undefined {
  let db: Db | undefined;
  try {
    db = connect(path);
    if (db.prepare(`SELECT plan FROM ${DRAFT}`).pluck().get() === plan) return db;
  } catch {
    // Not a draft, or an incomplete one.
  }
  db?.close();
  return undefined;
}

export function readDraftCursor(db: Db): DraftCursor {
  return (db.prepare(`SELECT cursor FROM ${DRAFT}`).pluck().get() as string | null) ?? undefined;
}

/** Runs `add` and moves the cursor in one transaction. */
export function advance(db: Db, from: DraftCursor, to: string, add: () => void): void {
  db.transaction(() => {
    if (readDraftCursor(db) !== from)
      throw new TaskFailure('invalid-input', 'The archive is being written by another run.');
    add();
    db.prepare(`UPDATE ${DRAFT} SET cursor = ?`).run(to);
  }).immediate();
}

/**
 * Returns the position of content that was stored before, otherwise the position at which `store` puts it. Equal
 * tiles of sea or of a single land use are often most of an archive.
 */
export function storeContent(db: Db, data: Uint8Array, store: (data: Uint8Array) => number): number {
  const digest = createHash('sha256').update(data).digest().subarray(0, 16);
  const sql = `SELECT place FROM ${CONTENTS} WHERE digest = ?`;
  const row = prepared(db, sql).get(digest) as { place: number } | undefined;
  if (row) return row.place;
  const place = store(data);
  prepared(db, `INSERT INTO ${CONTENTS} VALUES (?, ?)`).run(digest, place);
  return place;
}

const statements = new WeakMap<Db, Map<string, Database.Statement>>();

/** A statement that is prepared once per database. */
export function prepared(db: Db, sql: string): Database.Statement {
  let byText = statements.get(db);
  if (!byText) statements.set(db, (byText = new Map()));
  let statement = byText.get(sql);
  if (!statement) byText.set(sql, (statement = db.prepare(sql)));
  return statement;
}

export function countRows(db: Db, table: string): number {
  return db.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;
}

/** Leaves a database that is the archive as one file. */
export function closeAsFile(db: Db): void {
  db.exec(`DROP TABLE IF EXISTS ${CONTENTS}`);
  db.pragma('synchronous = FULL');
  db.pragma('journal_mode = DELETE');
  db.close();
}

/**
 * Returns the stored form of a tile. All vector tiles are stored as gzip, because the containers cannot state the
 * coding of single tiles.
 */
export function stored({ format }: ArchiveDraft, data: Uint8Array): Uint8Array {
  if (!isVectorArchive(format) || (data[0] === 0x1f && data[1] === 0x8b)) return data;
  return gzipSync(data);
}

/** Renames the complete file to its final name. The plan is removed last, so a crash before that loses no data. */
export function publishDraft(output: string, isDatabase: boolean): void {
  sync(getPartialPath(output));
  if (existsSync(output)) throw new TaskFailure('invalid-input', 'A file of this name already exists.');
  renameSync(getPartialPath(output), output);
  sync(dirname(output));
  if (isDatabase) dropPlan(output);
  discardDraft(output);
}

function dropPlan(output: string): void {
  const db = new Database(output);
  db.exec(`DROP TABLE ${DRAFT}`);
  db.close();
}

export function discardDraft(output: string): void {
  for (const path of [getPartialPath(output), getPartialIndexPath(output)]) removeDatabaseFiles(path);
}

function sync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
