import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { keepOwnFolder } from '../../../src/core/files/own-folder.js';
import { requirePlainPath } from '../../../src/workers/files/plain-path.js';

const folder = mkdtempSync(join(tmpdir(), 'plain-path-'));
const file = join(folder, 'data', 'a.gpkg');
mkdirSync(join(folder, 'data'));
writeFileSync(file, '');
symlinkSync(file, join(folder, 'data', 'link.gpkg'));
keepOwnFolder(join(folder, 'state'));

afterAll(() => rmSync(folder, { recursive: true }));

it('accepts absolute and relative paths without links, and paths of no file', () => {
  expect(() => requirePlainPath(file)).not.toThrow();
  expect(() => requirePlainPath(relative(process.cwd(), file))).not.toThrow();
  expect(() => requirePlainPath(join(folder, 'nothing.gpkg'))).not.toThrow();
});

it('rejects links by absolute and relative paths', () => {
  const link = join(folder, 'data', 'link.gpkg');
  for (const path of [link, relative(process.cwd(), link)])
    expect(() => requirePlainPath(path)).toThrow(/replaced by a link/);
});
