import type { SymbolTasks } from '../../core/styles/symbols.js';
import { glyphRange } from '../styles/symbols/glyphs.js';
import { listIconOutlines } from '../styles/symbols/icons.js';
import { spriteSheet } from '../styles/symbols/sprite.js';
import { runTaskBody } from '../threads/failure.js';
import { lowerPriority, WORKER_NICENESS } from '../threads/niceness.js';
import type { OneThreadMessage } from '../threads/one-thread.js';
import { moved } from '../threads/thread.js';

/** Thread side of glyphs and icons: Piscina calls the default export with one task after the other. */

lowerPriority(WORKER_NICENESS);

const TASKS: {
  [N in keyof SymbolTasks]: (input: SymbolTasks[N]['input']) => Promise<SymbolTasks[N]['output']>;
} = {
  'symbols.icons': async ({ names }) => listIconOutlines(names),
  'symbols.glyphs': glyphRange,
  'symbols.sprite': spriteSheet,
};

export default async function runTask({ name, input }: OneThreadMessage<keyof SymbolTasks>) {
  return moved(await runTaskBody<unknown>(() => TASKS[name](input as never)));
}
