import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import Database from '../../../src/native/sqlite.js';
import { DataVersions } from '../../../src/services/catalog/data-versions.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-versions-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, mode: string): string {
  const path = join(folder, name);
  const db = new Database(path);
  db.pragma(`journal_mode = ${mode}`);
  db.exec('CREATE TABLE t (n INTEGER)');
  db.close();
  return path;
}

function write(path: string): void {
  const db = new Database(path);
  db.exec('INSERT INTO t VALUES (1)');
  db.close();
}

it.each(['wal', 'delete'])('differs after a commit, and only then (%s)', (mode) => {
  const path = file(`one-${mode}`, mode);
  const versions = new DataVersions();
  const before = versions.of(path);
  expect(before).toBeDefined();
  expect(versions.of(path)).toBe(before);
  write(path);
  expect(versions.of(path)).not.toBe(before);
  versions.close();
});

it.each(['wal', 'delete'])(
  'is never the same again once a file was let go, however often it was written to (%s)',
  (mode) => {
    const versions = new DataVersions(1);
    const path = file(`two-${mode}`, mode);
    const other = file(`other-${mode}`, mode);
    const seen = new Set<number>();
    for (let round = 0; round < 20; round++) {
      const version = versions.of(path)!;
      expect(seen.has(version)).toBe(false);
      seen.add(version);
      // Another file takes its place, and it is changed while nobody looks.
      versions.of(other);
      for (let i = 0; i <= round % 3; i++) write(path);
    }
    versions.close();
  },
);
