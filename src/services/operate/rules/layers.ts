import { groupItems } from '../../../core/values/group-items.js';
import type { OpsRule } from '../findings/finding.js';

/** A layer that is closed because one of its rules of access cannot be applied. */
export interface ClosedLayer {
  readonly collection: string;
  readonly message: string;
}

export interface LayerRuleDeps {
  closedLayers(): readonly ClosedLayer[];
}

/** Layers that readers miss. */
export function createLayerRules({ closedLayers }: LayerRuleDeps): OpsRule[] {
  return [
    {
      name: 'layer-closed',
      inspect() {
        const byLayer = groupItems(closedLayers(), ({ collection }) => collection);
        return {
          findings: [...byLayer].map(([collection, closed]) => {
            const messages = closed.map(({ message }) => message).sort();
            return {
              subject: { targetId: `collection:${collection}` },
              severity: 'Critical' as const,
              title: `Layer ${collection} is hidden from callers who have a right to it`,
              explanation: `${messages.join(' ')} The server does not choose between these: restore the column, or change the policy.`,
              evidenceRefs: [`collection:${collection}`],
              facts: { collection, messages },
            };
          }),
        };
      },
    },
  ];
}
