import Type from 'typebox';
import { CHANNELS } from '../../../core/alerts/alerts.js';
import { defineIntegerParam } from '../../../core/http/params.js';
import type { ChannelState } from '../../../services/alerts/dispatch.js';
import { OptionalTimestampSchema, optionalTimestamp } from '../../admin/envelope.js';
import { createRowBuilders } from '../../admin/kit.js';
import { pathEnumeration } from '../../admin/params.js';

const SERVICES = ['alertDispatch'] as const;
const { action, report } = createRowBuilders(SERVICES);

/** Default and maximum number of dead letters that one request sends again. */
const REDRIVEN = { default: 500, max: 5000 } as const;

const Count = Type.Integer({ minimum: 0 });

const ChannelStateSchema = Type.Object({
  channel: Type.Enum([...CHANNELS]),
  paused: Type.Boolean(),
  isConfigured: Type.Boolean(),
  pendingCount: Count,
  failedCount: { ...Count, description: 'Pending messages whose last attempt failed.' },
  deadLetterCount: Count,
  circuit: {
    ...Type.Enum(['closed', 'open']),
    description: 'open: after several failures, the server waits until nextAttemptAt.',
  },
  nextAttemptAt: OptionalTimestampSchema,
});

export function channelView({ opensAt, oldestMs: _, ...state }: ChannelState) {
  return {
    ...state,
    circuit: opensAt === null ? ('closed' as const) : ('open' as const),
    nextAttemptAt: optionalTimestamp(opensAt),
  };
}

const byChannel = { channel: pathEnumeration('channel', CHANNELS, 'Name of the channel.') };

/** All tenants use the same channels. */
const isForTenants = false;

/** Operations on the channels that send alerts. */
export const channelOperations = [
  report('GET /alerts/channels', 'List Alert Channel States', {
    isForTenants,
    description: 'All channels, configured or not, with their waiting messages, dead letters and circuits.',
    data: Type.Array(ChannelStateSchema),
    answer: async (_x, { alertDispatch }) => (await alertDispatch.list()).map(channelView),
  }),
  action('POST /alerts/channels/{channel}/pause', 'Pause Alert Channel', {
    isForTenants,
    description:
      'The alerts of a paused channel wait, for at most 24 hours. Pausing a paused channel changes nothing.',
    params: byChannel,
    data: ChannelStateSchema,
    errors: [400],
    answer: async ({ params }, { alertDispatch }) =>
      channelView(await alertDispatch.setPaused(params.channel, true)),
  }),
  action('POST /alerts/channels/{channel}/resume', 'Resume Alert Channel', {
    isForTenants,
    description: 'The waiting alerts are sent in order.',
    params: byChannel,
    data: ChannelStateSchema,
    errors: [400],
    answer: async ({ params }, { alertDispatch }) =>
      channelView(await alertDispatch.setPaused(params.channel, false)),
  }),
  action('POST /alerts/dispatch/redrive', 'Redrive Alert Dead-Letters', {
    isForTenants,
    description: 'Sends dead letters of all channels again, the oldest first.',
    params: {
      maxCount: defineIntegerParam(
        'maxCount',
        { min: 1, max: Number.MAX_SAFE_INTEGER, default: REDRIVEN.default },
        { description: `Maximum number of alerts. Values above ${REDRIVEN.max} count as ${REDRIVEN.max}.` },
      ),
    },
    data: Type.Object({ redriven: Type.Integer() }),
    errors: [400],
    answer: async ({ params }, { alertDispatch }) => ({
      redriven: await alertDispatch.redrive(Math.min(params.maxCount, REDRIVEN.max)),
    }),
  }),
];
