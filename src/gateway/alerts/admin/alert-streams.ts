import Type from 'typebox';
import { ApiError, badParameter, notFound } from '../../../core/errors/errors.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { defineTextParam, pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { stringifyExactly } from '../../../core/values/json.js';
import type { AlertStream, AlertView } from '../../../services/alerts/stream.js';
import type { Visitor } from '../../../services/streams/session-quotas.js';
import type { AlertEventRow } from '../../../stores/alerts/events.js';
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
import { refuseForeignPages } from '../../http/requests/origin.js';
import { EventStream } from '../../streams/sse.js';
import { alertEventView } from './alert-views.js';

const SERVICES = ['alerts'] as const;
const { action, report } = createRowBuilders(SERVICES);

const EVENT_STREAM = 'text/event-stream';

const Subscribers = Type.Object({
  subscriberCount: Type.Integer(),
  generatedAt: TimestampSchema,
  subscribers: Type.Array(
    Type.Object({
      subscriberId: Type.String({ format: 'uuid' }),
      clientLabel: OptionalStringSchema,
      transport: Type.Enum(['WebSocket', 'SSE']),
      connectedAt: TimestampSchema,
      durationSeconds: Type.Number(),
    }),
  ),
});

const streamParams = {
  clientLabel: defineFilterParam('clientLabel', 'Name of the client, shown to operators.'),
  cursor: defineTextParam('cursor', {
    description: 'Server-sent events only: id of the last change that was received. Later changes follow.',
  }),
  lastEventId: defineTextParam('last-event-id', {
    in: 'header',
    description: 'Same as cursor, and used before it. Browsers send it when they reconnect.',
  }),
};

/** The stream of alerts, and its subscribers. */
export const alertStreams = group({ tag: 'Operations', scope: 'service-operations', envelope: 'wrapped' }, [
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
    description:
      'Opens a WebSocket that sends new alerts. If Accept is text/event-stream, sends the changes of all alert events that the caller can read, as server-sent events.',
    params: streamParams,
    isForTenants: true,
    socket: true,
    responses: {
      101: { description: 'WebSocket with frames of type status, heartbeat and alert.' },
      200: {
        description: 'Server-sent events of type status, heartbeat, alert, notice, gap and error.',
        content: { [EVENT_STREAM]: null },
      },
      ...errorDocs([400, 403, 429, 503]),
    },
    reply: (x, { alerts }) => openStream(x, alerts),
  }),
  action('DELETE /operations/streaming/subscribers/{subscriberId}', 'Disconnect Streaming Subscriber', {
    params: { subscriberId: pathString('subscriberId', 'Id of the subscriber.') },
    data: AcknowledgementSchema,
    errors: [404],
    async answer({ params }, { alerts }) {
      if (!(await alerts.disconnect(params.subscriberId))) throw notFound('subscriber', params.subscriberId);
      return new Acknowledgement('The subscriber has been disconnected.');
    },
  }),
]);

function openStream(x: Exchange<typeof streamParams>, alerts: AlertStream): Reply {
  const isFollowed = !x.upgradable && /text\/event-stream/i.test(x.header('accept') ?? '');
  if (!x.upgradable && !isFollowed)
    throw new ApiError(
      'invalid-request',
      `Upgrade: must open a WebSocket, unless the Accept header is ${EVENT_STREAM}.`,
    );
  refuseForeignPages(x);
  const visitor: Visitor = { principal: x.principal, address: x.clientAddress };
  const clientLabel = x.params.clientLabel?.slice(0, LIMITS.subscriptionId);
  const cursor = readCursor(x.params);
  alerts.requirePlace(visitor);
  if (!isFollowed) return { status: 101, socket: (socket) => alerts.subscribe(socket, visitor, clientLabel) };
  const body = new EventStream(x.signal, (transport) =>
    alerts.follow({ transport, visitor, clientLabel, cursor, present: presentEvent }),
  );
  return { status: 200, mediaType: EVENT_STREAM, cacheControl: 'no-store', body };
}

/** Browsers send the header when they reconnect. The URL then still has the first position. */
function readCursor(params: { cursor: string | undefined; lastEventId: string | undefined }) {
  const isHeader = params.lastEventId !== undefined && params.lastEventId !== '';
  const text = isHeader ? params.lastEventId : params.cursor;
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw badParameter(
      isHeader ? 'last-event-id' : 'cursor',
      'must be an id of this stream: an integer of at least 0',
    );
  return Number(text);
}

/** JSON of rows that several subscribers receive, by their part of the event. */
const texts = new WeakMap<AlertEventRow, Map<AlertView, string>>();

function presentEvent(row: AlertEventRow, view: AlertView): string {
  const known = texts.get(row) ?? new Map<AlertView, string>();
  texts.set(row, known);
  const text = known.get(view) ?? stringifyExactly(alertEventView(row, Date.now(), view));
  known.set(view, text);
  return text;
}
