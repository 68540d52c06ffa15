import type { SymbolTasks } from '../../core/symbols.js';
import { answer } from '../failure.js';
import { lowerPriority, WORKER_NICENESS } from '../niceness.js';
import type { OneThreadMessage } from '../one-thread.js';
import { moved } from '../thread.js';
import { glyphRange } from './glyphs.js';
import { outlinesOf } from './icons.js';
import { spriteSheet } from './sprite.js';

/** Thread side of what is drawn for labels and icons: Piscina calls the default export with one task after the other. */

lowerPriority(WORKER_NICENESS);

const TASKS: {
  [N in keyof SymbolTasks]: (input: SymbolTasks[N]['input']) => Promise<SymbolTasks[N]['output']>;
} = {
  'symbols.icons': async ({ names }) => outlinesOf(names),
  'symbols.glyphs': glyphRange,
  'symbols.sprite': spriteSheet,
};

export default async function runTask({ name, input }: OneThreadMessage<keyof SymbolTasks>) {
  return moved(await answer<unknown>(() => TASKS[name](input as never)));
}
