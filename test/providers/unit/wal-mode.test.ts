import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, expect, it } from 'vitest';
import { useWal } from '../../../src/workers/files/wal-mode.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-wal-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HOLDER = `
  const db = new (require('better-sqlite3'))(process.argv[1]);
  db.exec('BEGIN EXCLUSIVE; CREATE TABLE t (a)');
  console.log('locked');
  process.stdin.once('data', () => setTimeout(() => { db.exec('COMMIT'); db.close(); process.exit(); }, 200));`;

it('waits for a process that creates the same file', async () => {
  const path = join(folder, 'new.db');
  const holder = spawn(process.execPath, ['-e', HOLDER, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  const db = new Database(path, { timeout: 0 });
  expect(() => useWal(db, 0)).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }));
  holder.stdin.write('go\n');
  useWal(db, 30_000);
  expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
  expect(db.prepare('SELECT count(*) FROM t').pluck().get()).toBe(0);
  db.close();
});
