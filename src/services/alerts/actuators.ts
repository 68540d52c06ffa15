import Type from 'typebox';
import { CHANNELS, type Channel, formatLane } from '../../core/alerts/alerts.js';
import { computeFingerprint } from '../../core/values/fingerprint.js';
import type { DeliveryStore } from '../../stores/streams/deliveries.js';
import { type Actuator, defineActuator, parameterError } from '../actions/actuator.js';
import { createRedriveActuator } from '../deliveries/actuators.js';

interface ChannelParameters {
  readonly channel: Channel;
}

const PERMISSION = 'admin:alerts:write';
const VERIFY_MS = 10_000;

/** Actions on the channels of alerts. */
export function createAlertActuators(
  store: DeliveryStore,
  configured: ReadonlySet<Channel>,
): readonly Actuator[] {
  const redrive = createRedriveActuator({
    ...{ name: 'alert.channel.redrive', permission: PERMISSION, store },
    description: 'Sends dead letters of an alert channel again',
    lanes: new Map([...configured].map((channel) => [channel, formatLane(channel)])),
  });
  return [createPauseActuator(store, configured), redrive];
}

function createPauseActuator(store: DeliveryStore, configured: ReadonlySet<Channel>): Actuator {
  const readPaused = async (deliveries: Pick<DeliveryStore, 'laneStates'>, channel: Channel) =>
    (await deliveries.laneStates([formatLane(channel)]))[0]?.isPaused ?? false;
  return defineActuator<ChannelParameters>({
    kind: 'AdminConfigChange',
    name: 'alert.channel.pause',
    version: 1,
    description: 'Pauses an alert channel',
    permission: PERMISSION,
    parameters: Type.Object({ channel: Type.Enum([...CHANNELS]) }, { additionalProperties: false }),
    async plan({ channel }) {
      if (await readPaused(store, channel)) throw parameterError('channel', `'${channel}' is already paused`);
      const [lane] = await store.laneStates([formatLane(channel)]);
      return {
        summary: `Pause the alert channel ${channel}.`,
        riskLevel: 'Medium',
        targets: [`AlertChannel/${channel}`],
        blastRadius: 1,
        diff: [`${channel}: sending -> paused`],
        dryRun: [`${lane?.pending ?? 0} waiting alerts are kept, for at most 24 hours.`],
        warnings: configured.has(channel) ? [] : [`The configuration has no target for ${channel}.`],
      };
    },
    async preconditions({ channel }, stores) {
      const isPaused = await readPaused(stores?.deliveries ?? store, channel);
      return [{ resource: `AlertChannel/${channel}`, fingerprint: computeFingerprint(String(isPaused)) }];
    },
    acts: 'in-transaction',
    act: ({ channel }, _action, { deliveries }) => deliveries.setPaused(formatLane(channel), true),
    async verify({ channel }) {
      const isPaused = await readPaused(store, channel);
      return isPaused
        ? { state: 'verified', message: `${channel} is paused on all servers.` }
        : { state: 'pending', message: `${channel} is not paused.` };
    },
    verifyMs: VERIFY_MS,
    undo: ({ channel }) => store.setPaused(formatLane(channel), false),
    remedy: 'Read the state of the channel, and pause or resume it.',
  });
}
