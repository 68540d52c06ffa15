import { SERVICE } from '../../../core/access.js';
import type { Layers } from '../../layers/layers.js';
import { IMPORT } from '../../remote-imports/source-style.js';
import type { MigrationState } from './progress.js';

/**
 * Puts the layers of groups into their services: a layer is in one, the first that has it, and stays where somebody has put
 * it. May be called again. Resolves with what was not done.
 */
export async function settleGroups(
  layers: Pick<Layers, 'settingsOf' | 'serviceSettings' | 'put' | 'putService'>,
  { plan, layers: states }: MigrationState,
  signal: AbortSignal,
): Promise<string[]> {
  const isThere = new Set(
    states.flatMap(({ layer, progress }) => (progress?.state === 'imported' ? [layer.collection] : [])),
  );
  const warnings: string[] = [];
  for (const { id, service, title, abstract, collections } of plan.groups) {
    const members = collections.filter((one) => isThere.has(one));
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
