import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { FileLedger } from '../../src/workers/files/file-ledger.js';

/** The name of a file's content tells a file from the one that took its place, also while another thread is about it. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-ledger-'));
const path = join(folder, 'town.db');
const draft = join(folder, 'draft.db');
let ledger: FileLedger;

function makeFile(file: string): void {
  rmSync(file, { force: true });
  const db = new Database(file);
  db.exec('CREATE TABLE spots (id INTEGER PRIMARY KEY)');
  db.close();
}

beforeEach(() => {
  ledger?.close();
  rmSync(join(folder, 'write-ahead-logs'), { recursive: true, force: true });
  makeFile(path);
  makeFile(draft);
  ledger = new FileLedger(folder, 0);
  ledger.claim(path, false);
});
afterAll(() => {
  ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs while another connection holds the ledger, as a thread does that settles a file. */
function whileLocked<T>(work: () => T): T {
  const other = new Database(join(folder, 'write-ahead-logs', 'ledger.db'));
  other.exec('BEGIN IMMEDIATE');
  try {
    return work();
  } finally {
    other.exec('ROLLBACK');
    other.close();
  }
}

it.each([
  ['by a rename', () => renameSync(draft, path)],
  ['in place', () => copyFileSync(draft, path)],
])('is another once the file was replaced %s', (_way, replace) => {
  const former = ledger.contentOf(path);
  replace();
  const unsettled = whileLocked(() => ledger.contentOf(path));
  const settled = ledger.contentOf(path);
  expect(new Set([former, unsettled, settled]).size).toBe(3);
  expect(ledger.contentOf(path)).toBe(settled);
});

it('stays while nothing replaces the file, whoever holds the ledger', () => {
  const former = ledger.contentOf(path);
  expect(whileLocked(() => ledger.contentOf(path))).toBe(former);
});

describe('on a full disk', () => {
  const SCRIPT = fileURLToPath(new URL('support/full-disk-ledger.mjs', import.meta.url));

  /** Runs the script on a file system of its own. */
  function replaceOnFullDisk(room: 'room' | 'none') {
    const disk = join(folder, 'disk');
    mkdirSync(disk, { recursive: true });
    const command = 'mount -t tmpfs -o size=4m tmpfs "$1" && exec "$2" "$3" "$1" "$4"';
    const args = ['-rm', 'sh', '-c', command, 'sh', disk, process.execPath, SCRIPT, room];
    return JSON.parse(execFileSync('unshare', args, { encoding: 'utf8' })) as Record<string, unknown>;
  }
  const kept = { kind: 'replaced', hasEdits: true, hasLog: false };

  it('moves the log of a file that was replaced, and notes that', () => {
    expect(replaceOnFullDisk('room')).toMatchObject({ ...kept, raised: 1, isUnnoted: false });
  });

  it('moves the log and tells of it without room for the note', () => {
    expect(replaceOnFullDisk('none')).toMatchObject({ ...kept, isUnnoted: true });
  });
});
