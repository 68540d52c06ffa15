import { closeSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { EDIT_LIMITS } from '../../../core/edits/limits.js';
import { makeFolderSync } from '../../../core/files/own-folder.js';
import type { MergeSpool } from './spool.js';

/** Writes the list of rejected rows: a JSON object on each line. */
export function writeReport(spool: MergeSpool, path: string): void {
  makeFolderSync(dirname(path), 0o700);
  const file = openSync(path, 'w', 0o600);
  try {
    for (const row of spool.rejected(EDIT_LIMITS.mergeListed)) writeSync(file, `${JSON.stringify(row)}\n`);
  } finally {
    closeSync(file);
  }
}
