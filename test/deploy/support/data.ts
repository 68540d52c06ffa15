import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from '../../../src/native/sqlite.js';

export interface DataCopy {
  folder: string;
  remove(): void;
}

/** The demo data as files that nobody edits: SQLite does not open one in WAL mode where it cannot write beside it. */
export function copyDemoData(): DataCopy {
  // Not in /tmp, which servers of these tests have for themselves.
  const folder = mkdtempSync('/var/tmp/graticule-demo-');
  cpSync('demo/data', folder, { recursive: true, filter: (path) => !/-(wal|shm)$/.test(path) });
  const file = new Database(join(folder, 'world_map.gpkg'));
  file.pragma('journal_mode = DELETE');
  file.close();
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
