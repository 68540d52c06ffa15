/** Body of task `ogr.unpack`: the one vector data set of a ZIP archive into a folder. */

import { createWriteStream } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { LIMITS } from '../../core/limits.js';
import { storageFailure } from '../../core/storage-faults.js';
import { TaskFailure, type UnpackResult, type UnpackTask } from '../../core/tasks.js';
import { plainFile } from './gdal.js';
import { removePart, requireNewFile } from './translation.js';

/** Files of a shapefile, by their endings. */
const SHAPEFILE = new Set(['.shp', '.shx', '.dbf', '.prj', '.cpg', '.qix', '.sbn', '.sbx']);
/** Files of a file geodatabase: `a00000001.gdbtable`, `a00000004.CatItemsByType.atx`, `gdb`. */
const GEODATABASE =
  /^(a[0-9a-f]{8}\.(\w+\.)?(gdbtable|gdbtablx|gdbindexes|atx|spx|horizon|freelist)|gdb|timestamps)$/i;
const ARCHIVES = new Set(
  '.zip .gz .tgz .tar .bz2 .xz .zst .lz4 .lzma .7z .rar .cab .jar .kmz .iso'.split(' '),
);

/** Bits of the Unix mode in the upper half of the external attributes. */
const FILE_TYPE = 0o170000;
const REGULAR = 0o100000;
const DIRECTORY = 0o040000;
/** Bytes up to which an entry may be compressed as well as it can: it does no harm. */
const RATIO_FREE_BYTES = 1_048_576;

/** The files of one data set. */
interface DataSet {
  /** What GDAL opens, relative to the folder. */
  main: string;
  /** Entries by their new names, relative to the folder. */
  members: Map<string, Entry>;
}

/**
 * Checks the whole central directory first and refuses the archive when any entry of it could do harm; then writes the
 * files of its data set into `part`, which gets its final name when it is whole. An entry never grows beyond the size
 * that the directory gives, and its name in the folder is one of ours.
 */
export async function unpack(task: UnpackTask, part: string): Promise<UnpackResult> {
  await requireNewFile(task.output);
  const { size } = await plainFile(task.path);
  try {
    const archive = await yauzl.openPromise(task.path, {
      autoClose: false,
      lazyEntries: true,
      strictFileNames: true,
    });
    try {
      const { main, members } = choose(dataSets(await checkedEntries(archive, size)), task.layer);
      for (const [name, entry] of members) await extract(archive, entry, join(part, name));
      await rename(part, task.output);
      return { path: join(task.output, main) };
    } finally {
      archive.close();
    }
  } catch (error) {
    throw refusal(error);
  } finally {
    await removePart(part);
  }
}

async function checkedEntries(archive: ZipFile, archiveBytes: number): Promise<Entry[]> {
  if (archive.entryCount > LIMITS.archiveEntries)
    throw tooLarge(`The archive has more than ${LIMITS.archiveEntries} entries.`);
  const entries: Entry[] = [];
  let total = 0;
  for await (const entry of archive.eachEntry()) {
    checkEntry(entry);
    total += entry.uncompressedSize;
    if (total > LIMITS.archiveBytes)
      throw tooLarge(`The archive unpacks to more than ${LIMITS.archiveBytes} bytes.`);
    entries.push(entry);
  }
  // Entries may share their bytes: only the whole file tells how much there is.
  checkRatio(total, archiveBytes);
  return entries;
}

function checkEntry(entry: Entry): void {
  const { fileName, uncompressedSize, compressedSize, externalFileAttributes } = entry;
  const type = (externalFileAttributes >>> 16) & FILE_TYPE;
  if (type !== 0 && type !== REGULAR && type !== DIRECTORY)
    throw unfit('The archive holds a link or a device; only files and folders are unpacked.');
  if (!entry.canDecodeFileData())
    throw unfit('The archive is encrypted, or compressed in a way that is not read: use deflate.');
  if (ARCHIVES.has(extname(fileName).toLowerCase())) throw unfit('The archive holds another archive.');
  if (uncompressedSize > LIMITS.archiveEntryBytes)
    throw tooLarge(`A file of the archive is larger than ${LIMITS.archiveEntryBytes} bytes.`);
  checkRatio(uncompressedSize, compressedSize);
}

function checkRatio(bytes: number, compressed: number): void {
  if (bytes > RATIO_FREE_BYTES && bytes > compressed * LIMITS.archiveRatio)
    throw tooLarge(`The archive is compressed more than ${LIMITS.archiveRatio} times.`);
}

/** The data sets of an archive by their names; all other files are left out. */
function dataSets(entries: readonly Entry[]): Map<string, DataSet> {
  const sets = new Map<string, DataSet>();
  const add = (key: string, main: string, name: string, entry: Entry) => {
    const set = sets.get(key) ?? { main, members: new Map() };
    sets.set(key, set);
    if (set.members.has(name)) throw unfit('The archive holds a file twice.');
    set.members.set(name, entry);
  };
  for (const entry of entries) {
    const parts = entry.fileName.split('/');
    const file = parts.pop()!;
    const folder = parts.at(-1) ?? '';
    const extension = extname(file).toLowerCase();
    // What the Finder writes beside each file.
    if (file === '' || file.startsWith('.') || parts[0] === '__MACOSX') continue;
    if (/\.gdb$/i.test(folder)) {
      const main = `${plainName(folder.slice(0, -4))}.gdb`;
      if (GEODATABASE.test(file)) add(parts.join('/'), main, `${main}/${file}`, entry);
    } else if (SHAPEFILE.has(extension)) {
      const base = file.slice(0, -extension.length);
      const name = plainName(base);
      add([...parts, base].join('/'), `${name}.shp`, name + extension, entry);
    }
  }
  for (const [key, { main, members }] of sets)
    if (main.endsWith('.shp') && !members.has(main)) sets.delete(key);
  return sets;
}

/** A name of an archive as one of ours: no separators, no dots, no control characters. */
function plainName(name: string): string {
  return name.replace(/[^\p{L}\p{N}_ -]+/gu, '_').slice(0, 60) || 'data';
}

/** The data set of that name; without a name the only one. */
function choose(sets: Map<string, DataSet>, layer: string | undefined): DataSet {
  const all = [...sets.values()];
  const named = all.filter(({ main }) => main.slice(0, -4) === layer);
  const [found] = named.length === 1 ? named : all;
  if (!found) throw unfit('The archive holds neither a shapefile (.shp) nor a file geodatabase (.gdb).');
  if (named.length !== 1 && all.length > 1) {
    const names = all.map(({ main }) => main).slice(0, 20);
    throw unfit(`The archive holds several data sets, send one: ${names.join(', ')}.`);
  }
  return found;
}

async function extract(archive: ZipFile, entry: Entry, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const bytes = await archive.openReadStreamPromise(entry);
  await pipeline(bytes, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
}

function unfit(message: string): TaskFailure {
  return new TaskFailure('invalid-input', message);
}

function tooLarge(message: string): TaskFailure {
  return new TaskFailure('too-large', message);
}

function refusal(error: unknown): TaskFailure {
  if (error instanceof TaskFailure) return error;
  const what = 'The file is not a readable ZIP archive.';
  return storageFailure(error) ?? new TaskFailure('source-unreadable', what, String(error));
}
