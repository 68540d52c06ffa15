/** Entry of the process that translates one vector file; see engine/translate-process.ts. */

import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { TaskInput } from '../../core/tasks.js';
import type { FromTranslator } from '../engine/translate-process.js';
import { answer } from '../failure.js';
import { translate } from './translate.js';

process.title = 'graticule: engine import';

/** Ends without the half-written file; SQLite may have left journals beside it. */
async function discardAndExit(part: string): Promise<never> {
  const names = await readdir(dirname(part)).catch(() => []);
  for (const name of names) {
    if (name.startsWith(basename(part))) await rm(join(dirname(part), name), { force: true }).catch(() => {});
  }
  process.exit(1);
}

process.once('message', async ({ input }: { input: TaskInput<'ogr.translate'> }) => {
  const part = `${input.output}.part-${process.pid}`;
  // GDAL runs on another thread, so that this one can still give up.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void discardAndExit(part));
  process.once('disconnect', () => void discardAndExit(part));
  const send = (message: FromTranslator) =>
    new Promise<void>((resolve) => process.send!(message, undefined, undefined, () => resolve()));
  const result = await answer(() => translate(input, part, (progress) => void send({ progress })));
  await send({ answer: result });
  process.removeAllListeners('disconnect');
  process.exit(0);
});
