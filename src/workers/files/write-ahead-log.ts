import { hash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { heldFile } from '../../core/files/held-file.js';

/** Formats are in https://www.sqlite.org/fileformat2.html and https://www.sqlite.org/walformat.html. */
const LOG_HEADER = 32;
const FRAME_HEADER = 24;
/** Both copies of the header of the shared memory. */
const INDEX_HEADER = 96;
/** Offset of the change counter in the header of a database. */
const CHANGE_COUNTER = 24;
/** Offset of the change counter for which the size in the header is valid. */
const VALID_FOR = 92;
/** Offset of the version that readers need: 2 in WAL mode. */
const READ_VERSION = 19;
/** Copies of logs that are kept. */
const MAX_ASIDE = 10;

/** Says in the header of a SQLite file that it has a write-ahead log, and that the header has changed. */
export function markWalMode(path: string): void {
  const fd = heldFile(path);
  const header = fd === undefined ? Buffer.alloc(0) : readAt(fd, 0, 100);
  if (fd === undefined || header.length < 100 || header[READ_VERSION] === 2) return;
  const counter = (header.readUInt32BE(CHANGE_COUNTER) + 1) >>> 0;
  header.fill(2, READ_VERSION - 1, READ_VERSION + 1);
  header.writeUInt32BE(counter, CHANGE_COUNTER);
  header.writeUInt32BE(counter, VALID_FOR);
  writeSync(fd, header, 0, header.length, 0);
  fsyncSync(fd);
}

/** Hash of the first page of a SQLite file; of fewer bytes where it has no page. */
export function pageOneHash(path: string): string {
  return hash('sha256', pageOne(path), 'hex');
}

/**
 * Whether the first page of a file is a page that it or its log had, so that the file changed by a checkpoint.
 * `isOurs`: see `FileLedger.settle`.
 */
export function hasKnownFirstPage(path: string, known: string, isOurs: boolean): boolean {
  const page = pageOne(path);
  const now = hash('sha256', page, 'hex');
  if (now === known) return true;
  const pages = pagesOneOfLog(path);
  if (pages.some((one) => hash('sha256', one, 'hex') === now)) return true;
  return !isOurs && isContinued(path, page, pages[0]);
}

/**
 * Whether another program wrote, copied its log into the file and restarted the log. The log is then younger than the
 * file, and its first page follows the file's page.
 */
function isContinued(path: string, page: Buffer, next: Buffer | undefined): boolean {
  if (!next || page.length < 100) return false;
  const counter = page.readUInt32BE(CHANGE_COUNTER);
  const isYounger = statSync(`${path}-wal`).mtimeMs > statSync(path).mtimeMs;
  return isYounger && next.readUInt32BE(CHANGE_COUNTER) === counter + 1;
}

function pageOne(path: string): Buffer {
  const fd = heldFile(path);
  return fd === undefined ? Buffer.alloc(0) : readAt(fd, 0, pageSize(readAt(fd, 0, 100)));
}

function pageSize(header: Buffer): number {
  if (header.length < 100) return 100;
  const size = header.readUInt16BE(16);
  return size === 1 ? 65_536 : size;
}

/** Each image of the first page in the valid part of a log, oldest first. */
function pagesOneOfLog(path: string): Buffer[] {
  const read = (fd: number) => {
    const header = readAt(fd, 0, LOG_HEADER);
    if (header.length < LOG_HEADER) return [];
    const size = header.readUInt32BE(8);
    const salts = header.subarray(16, 24);
    const pages: Buffer[] = [];
    for (let at = LOG_HEADER; ; at += FRAME_HEADER + size) {
      const frame = readAt(fd, at, FRAME_HEADER);
      if (frame.length < FRAME_HEADER || !frame.subarray(8, 16).equals(salts)) return pages;
      if (frame.readUInt32BE(0) === 1) pages.push(readAt(fd, at + FRAME_HEADER, size));
    }
  };
  return withLog(path, 'r', read) ?? [];
}

/** Bytes of the log of a file; 0 without one. */
export function logBytes(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** Whether a program has, or had, a file open in WAL mode. */
export function hasSharedMemory(path: string): boolean {
  return existsSync(`${path}-shm`);
}

/**
 * Copies the log of a file into a folder, which keeps the newest few. Without space for a copy, the log is moved
 * there, or it remains next to the file under the copy's name. This requires `canMove`: no program will write to it
 * any more. Otherwise the copy is written next to the file if there is space. Returns the path of the log; null if it
 * could not be kept.
 */
export function keepLogAside(path: string, folder: string, canMove: boolean): string | null {
  const log = `${path}-wal`;
  const name = `${basename(path)}-${Date.now()}.wal`;
  const copy = join(folder, name);
  const beside = join(dirname(path), name);
  const ways: [move: typeof copyWhole, to: string][] = canMove
    ? [
        [copyWhole, copy],
        [renameSync, copy],
        [renameSync, beside],
      ]
    : [
        [copyWhole, copy],
        [copyWhole, beside],
      ];
  for (const [move, to] of ways) {
    try {
      move(log, to);
    } catch {
      continue;
    }
    removeOld(folder);
    return to;
  }
  // The log is removed in any case, because it would corrupt the file.
  return null;
}

/** Leaves no part of a copy for which there was no room. */
function copyWhole(from: string, to: string): void {
  try {
    copyFileSync(from, to);
  } catch (error) {
    rmSync(to, { force: true });
    throw error;
  }
}

function removeOld(folder: string): void {
  const copies = readdirSync(folder).filter((name) => name.endsWith('.wal'));
  const age = (name: string) => statSync(join(folder, name)).mtimeMs;
  const old = copies.sort((one, other) => age(other) - age(one)).slice(MAX_ASIDE);
  for (const name of old) rmSync(join(folder, name), { force: true });
}

/** Removes the log of a deleted file. A program that has the file open keeps the log until it closes it. */
export function removeLog(path: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
}

/**
 * Empties the log of a file that stays open. Without a valid header in the shared memory each connection reads the log
 * again, and forgets the pages that it has in memory.
 */
export function discardLog(path: string): void {
  withLog(path, 'r+', (fd) => ftruncateSync(fd, 0));
  const index = heldFile(`${path}-shm`);
  if (index !== undefined && fstatSync(index).size >= INDEX_HEADER)
    writeSync(index, Buffer.alloc(INDEX_HEADER), 0, INDEX_HEADER, 0);
}

/** Opens a log that no program has locked. */
function withLog<T>(path: string, flags: 'r' | 'r+', work: (fd: number) => T): T | undefined {
  const log = `${path}-wal`;
  if (!existsSync(log)) return undefined;
  const fd = openSync(log, flags);
  try {
    return work(fd);
  } finally {
    closeSync(fd);
  }
}

function readAt(fd: number, position: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  return buffer.subarray(0, readSync(fd, buffer, 0, length, position));
}
