import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { sqliteState } from '../../src/core/files/file-state.js';
import { FileVersions } from '../../src/services/catalog/publish/file-versions.js';

/** Writes of ours leave a file known, and nobody else's do, whenever the catalog is told of ours. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-versions-'));
const path = join(folder, 'town.gpkg');
let files: FileVersions;
let size = 1;

/** Changes the state of the file, as any write does. */
function write(): void {
  size += 1;
  writeFileSync(path, 'x'.repeat(size));
}

/** A write of ours, as it is told. */
function edit(before: number) {
  write();
  return { fileId: 'one', before, after: before + 1, state: sqliteState(path)! };
}

beforeEach(() => {
  write();
  files = new FileVersions(() => 'one');
  files.of(path);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('takes a file for known that our writes left, whatever their order', () => {
  const writes = [edit(4), edit(5), edit(6)];
  files.leftByUs(path, writes[0]!);
  expect(files.isKnown(path)).toBe(false);
  files.leftByUs(path, writes[2]!);
  expect(files.isKnown(path)).toBe(false);
  files.leftByUs(path, writes[1]!);
  expect(files.isKnown(path)).toBe(true);
});

it('does not take a file for known that another program wrote to before it was told of our write', () => {
  const ours = edit(4);
  write();
  files.leftByUs(path, ours);
  expect(files.isKnown(path)).toBe(false);
});

it('does not go back to the state of a write that is told twice', () => {
  const writes = [edit(4), edit(5)];
  for (const one of [...writes, writes[0]!]) files.leftByUs(path, one);
  expect(files.isKnown(path)).toBe(true);
});

it('does not take a file for known between whose writes another program wrote', () => {
  files.leftByUs(path, edit(4));
  // The commit in between was not ours.
  files.leftByUs(path, edit(6));
  expect(files.isKnown(path)).toBe(false);
});
