/**
 * Entry of the process that starts those of translate-main.js for an engine. The engine cannot: once GDAL is loaded
 * there, a fork may copy a lock of PROJ that another thread holds, and the copy then waits for it for ever. This process
 * starts before GDAL is loaded, and never loads it.
 */

import { type ChildProcess, fork } from 'node:child_process';
import type { FromTranslator, TranslatorOrder, TranslatorTask } from '../raster/translation.js';
import { partPath, removePart } from '../raster/translation.js';

export type ToStarter = { id: number; order: TranslatorOrder<TranslatorTask> } | { id: number; kill: true };

export type FromStarter =
  | { id: number; message: FromTranslator<TranslatorTask> }
  /** The process has ended, and nothing of it is left. */
  | { id: number; ended: string };

process.title = 'graticule: engine imports';

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
  child.on('message', (message: FromTranslator<TranslatorTask>) => send({ id, message }));
  child.on('error', () => {});
  child.on('close', async (code, killer) => {
    children.delete(id);
    if (child.pid) await removePart(partPath(order.input.output, child.pid));
    send({ id, ended: `exit ${code ?? killer}: ${complaints()}` });
  });
  child.send(order);
}

/** The last of what a child wrote to stderr. */
function tailOf(child: ChildProcess): () => string {
  let tail = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    tail = (tail + bytes.toString()).slice(-2000);
  });
  return () => tail;
}
