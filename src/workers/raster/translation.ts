/** What the process that translates a vector file shares with the engine that started it. */

import { rm } from 'node:fs/promises';
import { extname } from 'node:path';
import type { TranslateResult } from '../../core/tasks.js';
import type { Answer } from '../failure.js';

export type FromTranslator = { progress: number } | { answer: Answer<TranslateResult> };

/** The file that a translation writes before it is whole. Named after the process that writes it, so that a second attempt never meets the remains of the first. */
export function partPath(output: string, pid: number): string {
  return `${output}.part-${pid}${extname(output)}`;
}

/** Removes the file and what SQLite left beside it. */
export async function removePart(part: string): Promise<void> {
  for (const suffix of ['', '-journal', '-wal', '-shm'])
    await rm(part + suffix, { force: true }).catch(() => {});
}
