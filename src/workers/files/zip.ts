import { extname } from 'node:path';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { TaskFailure } from '../../core/errors/failure.js';
import { storageFailure } from '../../core/errors/storage-faults.js';
import { LIMITS } from '../../core/kit/limits.js';

/** ZIP archives that come from outside: their directory is checked before anything of them is read. */

const ARCHIVES = new Set(
  '.zip .gz .tgz .tar .bz2 .xz .zst .lz4 .lzma .7z .rar .cab .jar .kmz .iso'.split(' '),
);

/** Bits of the Unix mode in the upper half of the external attributes. */
const FILE_TYPE = 0o170000;
const REGULAR = 0o100000;
const DIRECTORY = 0o040000;
/** Bytes up to which an entry can have any compression ratio, because its size is harmless. */
const RATIO_FREE_BYTES = 1_048_576;

/** Opens a ZIP archive. Rejects for other files, and for archives whose entry names lead elsewhere. */
export function openZip(path: string): Promise<ZipFile> {
  return yauzl.openPromise(path, { autoClose: false, lazyEntries: true, strictFileNames: true });
}

/** All entries. Refuses the archive when any of them could do harm. Fails with `invalid-input` and `too-large`. */
export async function checkedEntries(archive: ZipFile, archiveBytes: number): Promise<Entry[]> {
  if (archive.entryCount > LIMITS.archiveEntries)
    throw createSizeFailure(`The archive has more than ${LIMITS.archiveEntries} entries.`);
  const entries: Entry[] = [];
  let total = 0;
  for await (const entry of archive.eachEntry()) {
    checkEntry(entry);
    total += entry.uncompressedSize;
    if (total > LIMITS.archiveBytes)
      throw createSizeFailure(`The archive unpacks to more than ${LIMITS.archiveBytes} bytes.`);
    entries.push(entry);
  }
  // Entries can share their bytes, so only the complete file shows the total size.
  checkRatio(total, archiveBytes);
  return entries;
}

function checkEntry(entry: Entry): void {
  const { fileName, uncompressedSize, compressedSize, externalFileAttributes } = entry;
  const type = (externalFileAttributes >>> 16) & FILE_TYPE;
  if (type !== 0 && type !== REGULAR && type !== DIRECTORY)
    throw unfit('The archive has a link or a device. Only files and folders are unpacked.');
  if (entry.isEncrypted()) throw unfit('The archive is protected by a password.');
  if (!entry.canDecodeFileData())
    throw unfit('The archive is compressed in a way that is not read: use deflate.');
  if (ARCHIVES.has(extname(fileName).toLowerCase()))
    throw unfit('The archive contains another archive. Unpack the inner archive.');
  if (uncompressedSize > LIMITS.archiveEntryBytes)
    throw createSizeFailure(`A file of the archive is larger than ${LIMITS.archiveEntryBytes} bytes.`);
  checkRatio(uncompressedSize, compressedSize);
}

/** Fails with `too-large` for data whose unpacked size is far larger than its compressed size. */
export function checkRatio(bytes: number, compressed: number): void {
  if (bytes > RATIO_FREE_BYTES && bytes > compressed * LIMITS.archiveRatio)
    throw createSizeFailure(`The archive is compressed more than ${LIMITS.archiveRatio} times.`);
}

export function unfit(message: string): TaskFailure {
  return new TaskFailure('invalid-input', message);
}

export function createSizeFailure(message: string): TaskFailure {
  return new TaskFailure('too-large', message);
}

/** Returns the failure for an archive that could not be read. */
export function describeZipFailure(error: unknown): TaskFailure {
  if (error instanceof TaskFailure) return error;
  const what = 'The archive is damaged, or of another kind than its name says. Copy or download it again.';
  return storageFailure(error) ?? new TaskFailure('source-unreadable', what, String(error));
}
