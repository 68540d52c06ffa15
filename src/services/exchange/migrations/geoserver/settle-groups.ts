import { SERVICE } from '../../../../core/access/access.js';
import { IMPORT } from '../../remote/source-style.js';
import type { LayerMetadataWriter } from './metadata-writer.js';
import type { MigrationState } from './progress.js';

/**
 * Moves the layers of groups into their services. A layer is in one service, of the first group that contains it,
 * unless an operator has assigned another. Can be called again. Resolves with warnings about layers that were not
 * moved.
 */
export async function settleGroups(
  words: Pick<LayerMetadataWriter, 'layers' | 'hasService'>,
  { plan, layers: states }: MigrationState,
  signal: AbortSignal,
): Promise<string[]> {
  const isThere = new Set(
    states.flatMap(({ layer, progress }) => (progress?.state === 'imported' ? [layer.collection] : [])),
  );
  const { layers } = words;
  const warnings: string[] = [];
  const own = new Set(plan.layers.map(({ collection }) => collection));
  for (const { id, service, title, abstract, collections } of plan.groups) {
    const members = collections.filter((one) => isThere.has(one));
    if (members.length > 0 && words.hasService(service, own))
      warnings.push(`The service ${service} of the group ${id} has other layers too.`);
    for (const collection of members) {
      signal.throwIfAborted();
      const { service: before } = layers.settingsOf({ id: collection });
      if (before === undefined) await layers.put({ id: collection }, { service }, IMPORT);
      else if (before !== service)
        warnings.push(
          `${collection} of the group ${id} is in the service ${before || SERVICE}, and stays there.`,
        );
    }
    const description = [title, abstract]
      .filter((text) => text !== null && text !== '')
      .join('. ')
      .slice(0, 2000);
    if (members.length > 0 && description !== '' && layers.serviceSettings(service).description === undefined)
      await layers.putService(service, { description }, IMPORT);
  }
  return warnings;
}
