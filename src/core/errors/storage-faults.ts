import { TaskFailure } from './failure.js';

const FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL)$/;
/** GDAL errors have no code and contain the message of the system or of SQLite. */
const FULL_TEXT = /no space left on device|disk quota exceeded|database or disk is full/i;
/** Error code of a remote state database that does not respond correctly. */
export const STATE_UNREACHABLE = 'STATE_UNREACHABLE';
const BUSY = /^SQLITE_(BUSY|LOCKED)/;
const UNWRITABLE = /^(EROFS|SQLITE_READONLY)/;
/** SQLite needs shared memory next to a database to read it, which a full disk cannot provide. */
const UNOPENED = /^SQLITE_(CANTOPEN|IOERR_(SHM|WRITE|TRUNCATE|FSYNC|LOCK))/;
const UNREADABLE = /^(EIO|SQLITE_(CORRUPT|NOTADB|IOERR|SCHEMA))/;
/** A file that was replaced in place has other tables until it is published again. */
const REPLACED = /^no such (table|column)/;
/** Errors of the SQL functions of Graticule and of GDAL quote SQLite. */
const UNREADABLE_TEXT = /database disk image is malformed|file is not a database|disk I\/O error/;

/**
 * Converts an error of the file system, SQLite or the state database to a task failure; undefined for other errors.
 */
export function storageFailure(error: unknown): TaskFailure | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const name = typeof code === 'string' ? code : '';
  const text = typeof message === 'string' ? message : '';
  const cause = `${name}: ${text}`;
  if (FULL.test(name) || FULL_TEXT.test(text))
    return new TaskFailure(
      'storage-full',
      'The disk of the server is full. Retry after the operator has freed space.',
      cause,
    );
  if (name === STATE_UNREACHABLE)
    return new TaskFailure('store-unavailable', 'The state database does not respond. Retry later.', cause);
  if (BUSY.test(name))
    return new TaskFailure('store-unavailable', 'Another program has locked the file. Retry later.', cause);
  if (UNWRITABLE.test(name))
    return new TaskFailure('store-unavailable', 'The store cannot be written now. Retry later.', cause);
  if (UNOPENED.test(name))
    return new TaskFailure(
      'store-unavailable',
      'The file cannot be opened now: the disk may be full.',
      cause,
    );
  if (UNREADABLE.test(name) || UNREADABLE_TEXT.test(text) || (name === 'SQLITE_ERROR' && REPLACED.test(text)))
    return new TaskFailure('source-unreadable', 'The file is damaged, or is being replaced.', cause);
  return undefined;
}
