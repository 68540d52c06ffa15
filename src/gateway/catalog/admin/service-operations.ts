import Type from 'typebox';
import { ApiError, notFound } from '../../../core/errors/errors.js';
import { pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import {
  Acknowledgement,
  AcknowledgementSchema,
  errorDocs,
  OptionalStringSchema,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { defineFilterParam } from '../../admin/params.js';
import { geocodingOperations } from '../../geocoding/admin/geocoding.js';
import { refuseForeignPages } from '../../http/requests/origin.js';

const SERVICES = ['alerts'] as const;
const { action, report } = createRowBuilders(SERVICES);

const Subscribers = Type.Object({
  subscriberCount: Type.Integer(),
  generatedAt: TimestampSchema,
  subscribers: Type.Array(
    Type.Object({
      subscriberId: Type.String({ format: 'uuid' }),
      clientLabel: OptionalStringSchema,
      connectedAt: TimestampSchema,
      durationSeconds: Type.Number(),
    }),
  ),
});

/** Geocoding and streaming as seen by operators. */
export const serviceOperations = group(
  { tag: 'Operations', scope: 'service-operations', envelope: 'wrapped' },
  [
    ...geocodingOperations,
    report('GET /operations/streaming/subscribers', 'List Streaming Subscribers', {
      description: 'Subscribers to alerts, in all gateway processes of the server.',
      data: Subscribers,
      async answer(_x, { alerts }) {
        const subscribers = await alerts.list();
        const now = Date.now();
        return {
          subscriberCount: subscribers.length,
          generatedAt: timestamp(now),
          subscribers: subscribers.map(({ connectedAt, ...one }) => ({
            ...one,
            connectedAt: timestamp(connectedAt),
            durationSeconds: (now - connectedAt) / 1000,
          })),
        };
      },
    }),
    report('GET /operations/streaming/alerts', 'Stream Alert Notifications', {
      description: 'Opens a WebSocket that sends new alerts.',
      params: { clientLabel: defineFilterParam('clientLabel', 'Name of the client, shown to operators.') },
      socket: true,
      responses: {
        101: { description: 'WebSocket with frames of type status, heartbeat and alert.' },
        ...errorDocs([400, 403, 503]),
      },
      reply(x, { alerts }) {
        if (!x.upgradable)
          throw new ApiError(
            'invalid-request',
            'Upgrade: alerts are sent on a WebSocket only. Open one at this URL.',
          );
        refuseForeignPages(x);
        if (alerts.isFull)
          throw new ApiError('unavailable', 'The server has too many subscribers. Retry later.', {
            headers: { 'retry-after': '10' },
          });
        const { principal } = x;
        const label = x.params.clientLabel?.slice(0, LIMITS.subscriptionId);
        return { status: 101, socket: (socket) => alerts.subscribe(socket, principal, label) };
      },
    }),
    action('DELETE /operations/streaming/subscribers/{subscriberId}', 'Disconnect Streaming Subscriber', {
      params: { subscriberId: pathString('subscriberId', 'Id of the subscriber.') },
      data: AcknowledgementSchema,
      errors: [404],
      async answer({ params }, { alerts }) {
        if (!(await alerts.disconnect(params.subscriberId)))
          throw notFound('subscriber', params.subscriberId);
        return new Acknowledgement('The subscriber has been disconnected.');
      },
    }),
  ],
);
