/**
 * Entry of the process that starts those of translate-main.js for an engine. The engine cannot: once GDAL is loaded
 * there, a fork may copy a lock of PROJ that another thread holds, and the copy then waits for it for ever. This process
 * starts before GDAL is loaded, and never loads it.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { LIMITS } from '../../core/limits.js';
import type { FromTranslator, TranslatorOrder, TranslatorTask } from '../raster/translation.js';
import { partPath, removePart } from '../raster/translation.js';

export type ToStarter = { id: number; order: TranslatorOrder<TranslatorTask> } | { id: number; kill: true };

export type FromStarter =
  | { id: number; message: FromTranslator<TranslatorTask> }
  /** The process has ended, and nothing of it is left. */
  | { id: number; ended: string; outgrown: boolean };

process.title = 'graticule: engine imports';

const MEMORY_CHECK_MS = 250;
const PAGE_BYTES = 4096;

const children = new Map<number, ChildProcess>();
const send = (message: FromStarter) => void process.send?.(message);

process.on('message', (message: ToStarter) => {
  if ('kill' in message) children.get(message.id)?.kill('SIGKILL');
  else start(message.id, message.order);
});
// The children notice, too, and clear up.
process.once('disconnect', () => process.exit(0));

function start(id: number, order: TranslatorOrder<TranslatorTask>): void {
  const child = fork(new URL('../raster/translate-main.js', import.meta.url), {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  children.set(id, child);
  const complaints = tailOf(child);
  let outgrown = false;
  const watch = setInterval(() => {
    outgrown ||= residentBytes(child.pid) > LIMITS.importMemoryBytes;
    if (outgrown) child.kill('SIGKILL');
  }, MEMORY_CHECK_MS);
  child.on('message', (message: FromTranslator<TranslatorTask>) => send({ id, message }));
  child.on('error', () => {});
  child.on('close', async (code, killer) => {
    clearInterval(watch);
    children.delete(id);
    if (child.pid) await removePart(partPath(order.input.output, child.pid));
    send({ id, ended: `exit ${code ?? killer}: ${complaints()}`, outgrown });
  });
  child.send(order);
}

/** Drivers that read whole files into memory must not take the machine's. 0 where the system does not tell. */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

/** The last of what a child wrote to stderr. */
function tailOf(child: ChildProcess): () => string {
  let tail = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    tail = (tail + bytes.toString()).slice(-2000);
  });
  return () => tail;
}
