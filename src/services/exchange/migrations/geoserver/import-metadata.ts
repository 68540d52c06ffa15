import type { JobContext } from '../../../jobs/kinds.js';
import { unprocessable } from './choice.js';
import type { LayerMetadataWriter } from './metadata-writer.js';
import type { LayerPlan } from './plan.js';
import { limitNotes, type MigrationState } from './progress.js';
import type { MigrationRequest } from './request.js';

/** Imports metadata and styles of the imported layers. A later run skips the completed layers. */
export async function importMetadata(
  writer: LayerMetadataWriter,
  context: JobContext<MigrationRequest>,
  state: MigrationState,
): Promise<void> {
  for (const { ordinal, layer, progress } of state.layers) {
    if (progress?.state !== 'imported' || progress.hasMetadata) continue;
    context.signal.throwIfAborted();
    const warnings = await importLayerMetadata(writer, context, state, layer);
    await state.set(ordinal, {
      ...progress,
      notes: limitNotes([...progress.notes, ...warnings]),
      hasMetadata: true,
    });
  }
}

/** Returns warnings. Throws `unprocessable` if an unsupported style must fail the migration. */
async function importLayerMetadata(
  writer: LayerMetadataWriter,
  context: JobContext<MigrationRequest>,
  { notes: documents }: MigrationState,
  { id, collection: name, styleId, otherStyles }: LayerPlan,
): Promise<string[]> {
  const { signal, input } = context;
  const collection = await writer.collection(name, signal);
  await writer.setMetadata(collection, documents.layers[id]!);
  const slds = otherStyles.flatMap((style) => {
    const text = documents.styles[style];
    return text === undefined ? [] : [{ name: style, sld: text }];
  });
  const others = await writer.addStyles(collection, slds, signal);
  const sld = styleId === null ? undefined : documents.styles[styleId];
  if (sld === undefined) return others;
  const { isDrawn, warnings } = await writer.setDefaultStyle(collection, sld, signal);
  if (!isDrawn) {
    // With the third choice, `skip`, only the notes of the layer mention the style.
    const problem = `The style ${styleId} of ${id} was not imported: ${warnings[0]}`;
    if (input.unsupported.style === 'fail') throw unprocessable(problem);
    if (input.unsupported.style === 'warn') await context.warn(problem);
  }
  return [...warnings, ...others];
}
