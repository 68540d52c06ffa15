import type { SourceState } from '../../catalog/source-states.js';
import type { FindingDraft, OpsRule } from '../findings/finding.js';

export interface SourceRuleDeps {
  /** All sources with their states. */
  sources(): readonly SourceState[];
}

/** A source must be refused for this long: a file that is being copied is refused for a moment. */
const SETTLED_MS = 60_000;

/** Sources that are not published. */
export function createSourceRules({ sources }: SourceRuleDeps): OpsRule[] {
  return [
    {
      name: 'source-quarantined',
      inspect: () => ({
        findings: sources()
          .filter(({ state }) => state === 'refused')
          .map(describe),
      }),
    },
  ];
}

function describe({ id, source, layer, reason, remedy, collections }: SourceState): FindingDraft {
  const name = layer === undefined ? source : `${layer} of ${source}`;
  const lost = collections.map((one) => one.id);
  return {
    subject: { targetId: `source:${id}` },
    severity: lost.length > 0 ? 'Critical' : 'Warning',
    title: `${name} is not published`,
    explanation: [
      reason ?? 'It cannot be read.',
      ...(lost.length > 0 ? [`These collections are missing: ${lost.join(', ')}.`] : []),
      ...(remedy === undefined ? [] : [remedy]),
    ].join(' '),
    evidenceRefs: [`source:${id}`, ...lost.map((collection) => `collection:${collection}`)],
    facts: { source, layer: layer ?? null, reason: reason ?? null, collections: lost },
    action: {
      kind: 'AdminConfigChange',
      actuator: 'source.reload',
      parameters: { sourceId: id },
      summary: `Read ${name} again`,
      reason: 'If the cause has ended, the source is published.',
      isAutoSafe: true,
      blastRadius: Math.max(1, lost.length),
      afterMs: SETTLED_MS,
    },
  };
}
