import { randomUUID } from 'node:crypto';
import { constants, existsSync, readdirSync, rmSync } from 'node:fs';
import { copyFile, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TaskFailure } from '../../core/errors/failure.js';
import { storageFailure } from '../../core/errors/storage-faults.js';
import { makeFolderSync } from '../../core/files/own-folder.js';
import {
  DRAFT_ENDING,
  type ReferenceImport,
  type ReferenceProblem,
  type ReferenceTask,
  type SkippedRow,
} from '../../core/geocoding/geocoding.js';
import { GEOCODING_LIMITS } from '../../core/geocoding/limits.js';
import { LIMITS } from '../../core/kit/limits.js';
import Database from '../../native/sqlite.js';
import { type CsvText, detectCsvFormat, readCsvRecords } from '../exchange/csv/text.js';
import type { Cancellation } from '../threads/cancellation.js';
import { matchReferenceColumns, type ReferenceColumns } from './columns.js';
import { finishIndex, RowSpool } from './fill.js';
import { createIndex, type Db, hasLayout } from './index-file.js';
import { parsePlaceRow } from './rows.js';

/** Number of records between two checks of the cancellation. */
const STEP = 5000;
/** Milliseconds that one import waits for another import in the same folder. */
const LOCK_MS = 600_000;

/**
 * Task `geocoding.import`. The new index is written next to the old one, flushed to the disk and renamed. Readers
 * therefore have one or the other, also after a crash.
 */
export async function importReference(
  task: ReferenceTask,
  cancellation: Cancellation,
): Promise<ReferenceImport | ReferenceProblem> {
  try {
    return await underLock(dirname(task.index), () => importUnderLock(task, cancellation));
  } catch (error) {
    // A file that is not text in columns is the sender's to change.
    if (error instanceof TaskFailure && error.code === 'source-unreadable')
      return problem('referenceData', error.message);
    throw error;
  }
}

/** Runs one import of all processes at a time. An SQLite lock ends with the process that has it. */
async function underLock<T>(folder: string, work: () => Promise<T>, timeout = LOCK_MS): Promise<T> {
  makeFolderSync(folder);
  const lock = new Database(join(folder, 'lock'), { timeout });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return await work();
  } finally {
    lock.close();
  }
}

/** Task `geocoding.sweep`: removes files of killed imports, unless an import is running. */
export async function sweepDrafts({ folder }: { folder: string }): Promise<void> {
  try {
    await underLock(folder, async () => removeDrafts(folder), 0);
  } catch (error) {
    if (!(error instanceof Database.SqliteError) || error.code !== 'SQLITE_BUSY') throw error;
  }
}

/** The lock excludes other writers, so files here remain from a crash. */
function removeDrafts(folder: string): void {
  for (const name of readdirSync(folder))
    if (name.endsWith(DRAFT_ENDING)) rmSync(join(folder, name), { force: true });
}

async function importUnderLock(
  task: ReferenceTask,
  cancellation: Cancellation,
): Promise<ReferenceImport | ReferenceProblem> {
  const folder = dirname(task.index);
  removeDrafts(folder);
  const text = await detectCsvFormat(task.file);
  const columns = await readColumns(text, task);
  if ('problem' in columns) return columns;
  const draft = `${task.index}.${randomUUID()}${DRAFT_ENDING}`;
  const isAppended = task.mode === 'append' && existsSync(task.index);
  if (isAppended) await copyFile(task.index, draft, constants.COPYFILE_FICLONE);
  const db = new Database(draft);
  try {
    if (isAppended && !isOfThisRelease(db))
      return problem(
        'mode',
        'must be replace, because the index of the locator is damaged or of another release',
      );
    // An incomplete draft is never read, so a rollback is not needed.
    db.pragma('journal_mode = OFF');
    db.pragma('synchronous = OFF');
    if (!isAppended) createIndex(db);
    const outcome = await fill(db, { text, columns }, cancellation);
    if (outcome.recordsImported === 0)
      return problem(
        'referenceData',
        `has no row that could be imported${describeReason(outcome.skippedRows[0])}`,
      );
    db.close();
    await force(draft);
    await rename(draft, task.index);
    await force(folder);
    return outcome;
  } finally {
    db.close();
    rmSync(draft, { force: true });
  }
}

/** An index that cannot be read is of no release. */
function isOfThisRelease(db: Db): boolean {
  try {
    return hasLayout(db);
  } catch (error) {
    if (storageFailure(error)?.code === 'source-unreadable') return false;
    throw error;
  }
}

async function fill(
  db: Db,
  { text, columns }: { text: CsvText; columns: ReferenceColumns },
  cancellation: Cancellation,
): Promise<ReferenceImport> {
  const { fields, report } = columns;
  const spool = new RowSpool(db);
  const skippedRows: SkippedRow[] = [];
  let rowNumber = -1;
  let recordsImported = 0;
  for await (const record of readCsvRecords(text)) {
    if (++rowNumber === 0) continue;
    if (rowNumber % STEP === 0) cancellation.check();
    const row = parsePlaceRow(record, fields);
    if (typeof row !== 'string') {
      spool.add(row);
      recordsImported++;
    } else if (skippedRows.length < GEOCODING_LIMITS.geocodeSkipped)
      skippedRows.push({ rowNumber, reason: row });
  }
  if (recordsImported > 0) {
    spool.end();
    cancellation.check();
    finishIndex(db);
  }
  return { recordsImported, recordsSkipped: rowNumber - recordsImported, report: [...report], skippedRows };
}

/** Reads the header line and the meaning of its columns. */
async function readColumns(
  text: CsvText,
  { fieldMap }: ReferenceTask,
): Promise<ReferenceColumns | ReferenceProblem> {
  let names: string[] | undefined;
  for await (const record of readCsvRecords(text)) {
    names = record.map((name) => name.trim());
    break;
  }
  if (!names) return problem('referenceData', 'is empty');
  if (names.some((name) => name.includes('\0'))) return problem('referenceData', 'must be a text file');
  if (names.length > GEOCODING_LIMITS.geocodeColumns)
    return problem('referenceData', `must have at most ${GEOCODING_LIMITS.geocodeColumns} columns`);
  if (names.some((name) => name.length > LIMITS.geocodeValue))
    return problem('referenceData', `must have column names of at most ${LIMITS.geocodeValue} characters`);
  const columns = matchReferenceColumns(names, fieldMap);
  if (typeof columns === 'string') return problem('fieldMap', columns);
  const fields = new Set(columns.fields.values());
  const absent = (['x', 'y'] as const).filter((field) => !fields.has(field));
  if (absent.length > 0)
    return fieldMap
      ? problem('fieldMap', `must have a column for ${absent.join(' and ')}`)
      : problem('referenceData', `must have columns for ${absent.join(' and ')} in its first line`);
  return columns;
}

function problem(part: ReferenceProblem['problem']['part'], detail: string): ReferenceProblem {
  return { problem: { part, detail } };
}

const describeReason = (row: SkippedRow | undefined) =>
  row ? `: row ${row.rowNumber} was left out, as ${row.reason}` : '';

/** Writes of a file or a folder have reached the disk. */
async function force(path: string): Promise<void> {
  const file = await open(path);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
