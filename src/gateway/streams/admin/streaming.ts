import Type from 'typebox';
import { notFound } from '../../../core/errors/errors.js';
import { pathString } from '../../../core/http/params.js';
import {
  Acknowledgement,
  AcknowledgementSchema,
  OptionalStringSchema,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';

const SERVICES = ['streams'] as const;
const { action, report } = createRowBuilders(SERVICES);

const I = Type.Integer();

const Session = Type.Object({
  sessionId: Type.String({ format: 'uuid' }),
  transport: Type.Enum(['WebSocket', 'SSE']),
  clientLabel: OptionalStringSchema,
  connectedAt: TimestampSchema,
  durationSeconds: Type.Number(),
  hasFilter: Type.Boolean(),
  filterSummary: OptionalStringSchema,
  serviceIdFilter: OptionalStringSchema,
  layerIdFilter: Type.Union([Type.Array(I), Type.Null()]),
  lastQueuedCursor: I,
});

const Sessions = Type.Object({
  activeSessions: I,
  webSocketSessions: I,
  sseSessions: I,
  slowConsumerDrops: I,
  heartbeatsSent: I,
  generatedAt: TimestampSchema,
  sessions: Type.Array(Session),
});

/** Sessions of the feature stream. */
export const streaming = group({ tag: 'Streaming', scope: 'streaming', envelope: 'wrapped' }, [
  report('GET /streaming/features/sessions', 'List feature stream sessions', {
    description: 'Sessions and counts of all gateway processes of the server.',
    data: Sessions,
    async answer(_x, { streams }) {
      const { sessions, ...counts } = await streams.list();
      const sseSessions = sessions.filter(({ transport }) => transport === 'SSE').length;
      return {
        activeSessions: sessions.length,
        webSocketSessions: sessions.length - sseSessions,
        sseSessions,
        ...counts,
        generatedAt: timestamp(Date.now()),
        sessions,
      };
    },
  }),
  action('DELETE /streaming/features/sessions/{sessionId}', 'Disconnect a feature stream session', {
    params: { sessionId: pathString('sessionId', 'Id of the session.') },
    data: AcknowledgementSchema,
    errors: [404],
    async answer({ params }, { streams }) {
      if (!(await streams.disconnect(params.sessionId))) throw notFound('session', params.sessionId);
      return new Acknowledgement('The session has been disconnected.');
    },
  }),
]);
