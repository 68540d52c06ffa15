import Type from 'typebox';
import { computeFingerprint } from '../../core/values/fingerprint.js';
import type { DeliveryStore } from '../../stores/streams/deliveries.js';
import { type Actuator, defineActuator, parameterError } from '../actions/actuator.js';

export interface RedriveAction {
  readonly name: string;
  readonly description: string;
  readonly permission: string;
  /** Names of the receivers, with their lanes. */
  readonly lanes: ReadonlyMap<string, string>;
  readonly store: DeliveryStore;
}

interface RedriveParameters {
  readonly receiver: string;
  readonly maxCount?: number;
}

interface RedriveResult {
  readonly redriven: number;
  /** Dead letters that remained. */
  readonly dead: number;
}

const DEFAULT_COUNT = 500;
const MAX_COUNT = 5000;
const VERIFY_MS = 15 * 60_000;

/** Sends the dead letters of one receiver again. */
export function createRedriveActuator({ lanes, store, ...about }: RedriveAction): Actuator {
  const requireLane = (receiver: string) => {
    const lane = lanes.get(receiver);
    if (lane !== undefined) return lane;
    const names = [...lanes.keys()].join(', ') || 'none: the configuration has no receivers';
    throw parameterError('receiver', `'${receiver.slice(0, 100)}' is not a receiver. Use one of ${names}`);
  };
  const readLane = async (deliveries: Pick<DeliveryStore, 'laneStates'>, receiver: string) =>
    (await deliveries.laneStates([requireLane(receiver)]))[0];
  return defineActuator<RedriveParameters>({
    ...about,
    kind: 'AdminConfigChange',
    version: 1,
    parameters: Type.Object(
      {
        receiver: Type.String(),
        maxCount: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_COUNT })),
      },
      { additionalProperties: false },
    ),
    async plan({ receiver, maxCount = DEFAULT_COUNT }) {
      const lane = await readLane(store, receiver);
      const dead = lane?.dead ?? 0;
      if (dead === 0) throw parameterError('receiver', `'${receiver}' has no dead letters`);
      const count = Math.min(dead, maxCount);
      return {
        summary: `Send ${count} dead letters to ${receiver} again.`,
        riskLevel: 'Medium',
        targets: [`Receiver/${receiver}`],
        blastRadius: count,
        diff: [`Dead letters: ${dead} -> ${dead - count}`],
        dryRun: [`The receiver gets the oldest ${count} dead letters in their order.`],
        warnings: lane?.isPaused ? [`${receiver} is paused, so its messages wait.`] : [],
      };
    },
    // Further dead letters do not change the meaning of the action.
    async preconditions({ receiver }, stores) {
      const lane = await readLane(stores?.deliveries ?? store, receiver);
      const state = [(lane?.dead ?? 0) > 0, lane?.isPaused ?? false];
      return [{ resource: `Receiver/${receiver}`, fingerprint: computeFingerprint(JSON.stringify(state)) }];
    },
    acts: 'in-transaction',
    async act({ receiver, maxCount = DEFAULT_COUNT }, _action, { deliveries }): Promise<RedriveResult> {
      const redriven = await deliveries.redrive([requireLane(receiver)], maxCount);
      return { redriven, dead: (await readLane(deliveries, receiver))?.dead ?? 0 };
    },
    async verify({ receiver }, result) {
      const { redriven, dead } = result as RedriveResult;
      const lane = await readLane(store, receiver);
      const waiting = lane?.pending ?? 0;
      const lost = Math.max(0, (lane?.dead ?? 0) - dead);
      if (waiting === 0 && lost === 0)
        return { state: 'verified', message: `${receiver} received ${redriven} messages.` };
      return { state: 'pending', message: `${receiver}: ${waiting} messages wait, ${lost} failed again.` };
    },
    verifyMs: VERIFY_MS,
    remedy: 'Repair the receiver, then send its dead letters again.',
  });
}
