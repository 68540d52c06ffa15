import type { Capacity } from '../../licensing/capacity.js';
import type { Licences } from '../../licensing/licences.js';
import type { FindingDraft, OpsRule } from '../findings/finding.js';

export interface LicenceRuleDeps {
  readonly licences: Pick<Licences, 'enabled' | 'readStatus'>;
  readonly capacity: Pick<Capacity, 'report'>;
}

/** The licence and the capacity that it covers. Without licensing there is nothing to find. */
export function createLicenceRules({ licences, capacity }: LicenceRuleDeps): OpsRule[] {
  return [
    {
      name: 'licence-expiring',
      async inspect() {
        if (!licences.enabled) return { findings: [] };
        const { isValid, validationState, expiryWarning, daysUntilExpiry, problem } =
          await licences.readStatus();
        if (isValid && !expiryWarning) return { findings: [] };
        const finding: FindingDraft = {
          subject: { targetId: 'licence' },
          severity: isValid ? 'Warning' : 'Critical',
          title: isValid ? `The licence ends in ${daysUntilExpiry} days` : 'There is no valid licence',
          explanation: `${isValid ? '' : `${problem ?? validationState}. `}Upload a new licence file. Operations that need an entitlement answer 402 without it.`,
          evidenceRefs: ['licence'],
          facts: { isValid, validationState },
        };
        return { findings: [finding] };
      },
    },
    {
      name: 'capacity-band',
      async inspect() {
        if (!licences.enabled) return { findings: [] };
        const { warning80Percent, warning100Percent, p95Units, ceiling, messages } = await capacity.report();
        if (!warning80Percent && !warning100Percent) return { findings: [] };
        const finding: FindingDraft = {
          subject: { targetId: 'capacity' },
          severity: warning100Percent ? 'Warning' : 'Info',
          title: `The servers use ${warning100Percent ? 'more than' : 'most of'} the licensed capacity`,
          explanation: `${[`95 % of the minutes of 30 days used at most ${p95Units} of ${ceiling} serving units`, ...messages].join('. ')}. No request is refused for this reason.`,
          evidenceRefs: ['licence', 'capacity'],
          facts: { ceiling, isExceeded: warning100Percent },
        };
        return { findings: [finding] };
      },
    },
  ];
}
