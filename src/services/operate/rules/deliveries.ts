import { shareWork } from '../../kit/shared-work.js';
import type { FindingDraft, OpsRule } from '../findings/finding.js';

/** A receiver of webhooks, purges or alerts. */
export interface ReceiverState {
  /** Name that operators know, such as `webhook erp`. */
  readonly name: string;
  /** Name of the alert channel. Undefined for other receivers. */
  readonly channel: string | undefined;
  /** Name of the webhook. Undefined for other receivers. */
  readonly webhook: string | undefined;
  /** Failed attempts since the last success. */
  readonly failures: number;
  readonly pending: number;
  readonly dead: number;
  readonly isPaused: boolean;
}

export interface DeliveryRuleDeps {
  receivers(): Promise<readonly ReceiverState[]>;
}

/** Failed attempts in a row from which a receiver is a problem: also the first repetition failed. */
const FAILING = 2;
/** Dead letters that one approval sends again. */
const MOST_REDRIVEN = 500;

/** Receivers that do not take messages, and messages that were given up. */
export function createDeliveryRules(deps: DeliveryRuleDeps): OpsRule[] {
  const receivers = shareWork(() => deps.receivers());
  return [
    {
      name: 'receiver-failing',
      async inspect() {
        const all = await receivers();
        return {
          findings: all.filter((one) => one.failures >= FAILING && !one.isPaused).map(describeFailing),
        };
      },
    },
    {
      name: 'dead-letters',
      async inspect() {
        const all = await receivers();
        return { findings: all.filter(({ dead }) => dead > 0).map(describeDead) };
      },
    },
  ];
}

function describeFailing({ name, channel, failures, pending }: ReceiverState): FindingDraft {
  const action = {
    ...({
      kind: 'AdminConfigChange',
      actuator: 'alert.channel.pause',
      isAutoSafe: true,
      blastRadius: 1,
    } as const),
    summary: `Pause the ${name}`,
    reason: 'A paused channel keeps its messages for the receiver, and no message becomes a dead letter.',
  };
  return {
    subject: { channel: channel ?? name },
    severity: 'Warning',
    title: `The ${name} does not take messages`,
    explanation: `The last attempts failed, ${pending} messages wait. Messages that fail five times become dead letters. Look at the receiver and at its last error.`,
    evidenceRefs: [`channel:${channel ?? name}`],
    facts: { name, isFailing: failures >= FAILING },
    ...(channel === undefined ? {} : { action: { ...action, parameters: { channel } } }),
  };
}

function describeDead({ name, channel, webhook, dead, failures }: ReceiverState): FindingDraft {
  const actuator = channel ? 'alert.channel.redrive' : webhook ? 'webhook.redrive' : undefined;
  const works = failures === 0;
  return {
    subject: { channel: channel ?? name },
    severity: 'Warning',
    title: `The ${name} has dead letters`,
    explanation: `${dead} messages were given up. ${works ? 'The receiver takes messages again.' : 'The receiver still fails: they can be sent again once it works.'}`,
    evidenceRefs: [`channel:${channel ?? name}`],
    facts: { name, dead, works },
    ...(works && actuator !== undefined
      ? {
          action: {
            ...({ kind: 'AdminConfigChange', actuator, isAutoSafe: true } as const),
            parameters: { receiver: channel ?? webhook, maxCount: Math.min(dead, MOST_REDRIVEN) },
            summary: `Send the dead letters of the ${name} again`,
            reason: 'The receiver takes messages again.',
            blastRadius: Math.min(dead, MOST_REDRIVEN),
          },
        }
      : {}),
  };
}
