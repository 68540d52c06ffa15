import type { JobContext } from '../../../jobs/kinds.js';
import { unprocessable } from './choice.js';
import type { LayerWords } from './layer-words.js';
import type { LayerPlan } from './plan.js';
import { type MigrationState, noted } from './progress.js';
import type { MigrationRequest } from './request.js';

/** Imports metadata and styles of the existing layers. A later run skips the completed layers. */
export async function settleLayers(
  words: LayerWords,
  context: JobContext<MigrationRequest>,
  state: MigrationState,
): Promise<void> {
  for (const { ordinal, layer, progress } of state.layers) {
    if (progress?.state !== 'imported' || progress.isSettled) continue;
    context.signal.throwIfAborted();
    const notes = await settleLayer(words, context, state, layer);
    await state.set(ordinal, { ...progress, notes: noted([...progress.notes, ...notes]), isSettled: true });
  }
}

/** Throws `unprocessable` if an unsupported style must fail the migration. */
async function settleLayer(
  words: LayerWords,
  context: JobContext<MigrationRequest>,
  { notes }: MigrationState,
  { id, collection: name, styleId, otherStyles }: LayerPlan,
): Promise<string[]> {
  const { signal, input } = context;
  const collection = await words.collection(name, signal);
  await words.describe(collection, notes.layers[id]!);
  const offers = otherStyles.flatMap((style) => {
    const text = notes.styles[style];
    return text === undefined ? [] : [{ name: style, sld: text }];
  });
  const others = await words.offer(collection, offers, signal);
  const sld = styleId === null ? undefined : notes.styles[styleId];
  if (sld === undefined) return others;
  const { isDrawn, warnings } = await words.draw(collection, sld, signal);
  const problem = `The style ${styleId} of ${id} was not imported: ${warnings[0]}`;
  if (!isDrawn && input.unsupported.style === 'fail') throw unprocessable(problem);
  if (!isDrawn && input.unsupported.style === 'warn') await context.warn(problem);
  return [...warnings, ...others];
}
