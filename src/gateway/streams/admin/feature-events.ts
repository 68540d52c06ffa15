import Type from 'typebox';
import { defineIntegerParam } from '../../../core/http/params.js';
import { SERVICE_ID } from '../../../core/kit/service.js';
import { computeEpoch, type FeedEvent, type FeedGap } from '../../../core/streams/events.js';
import { parseJsonExactly } from '../../../core/values/json.js';
import { isLayerInScope } from '../../../services/access/rules/policy.js';
import { computeObjectId } from '../../../services/streams/frames.js';
import type { FeedBounds } from '../../../stores/streams/feed.js';
import { OptionalStringSchema, TimestampSchema } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { defineTimeParam, readPeriod } from '../../admin/params.js';

const SERVICES = ['catalog', 'state'] as const;
const { report } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();
const Nothing = Type.Null();

const Event = Type.Object({
  Cursor: I,
  EventId: S,
  ServiceId: S,
  LayerId: I,
  ObjectId: I,
  Operation: Type.Enum(['insert', 'update', 'delete']),
  Protocol: S,
  RequestId: S,
  SourceId: OptionalStringSchema,
  Timestamp: TimestampSchema,
  ChangedAttributes: Type.Union([Type.Record(S, Type.Unknown()), Nothing]),
  GeometryChanged: Type.Boolean(),
  GeometryEnvelope: Type.Union([Type.Array(Type.Number()), Nothing]),
  GeometryJson: OptionalStringSchema,
  GeometrySrid: Type.Union([I, Nothing]),
  PropertiesJson: OptionalStringSchema,
});

const Gap = Type.Object({
  Cursor: I,
  Reason: Type.Enum(['events-lost', 'cursor-expired', 'cursor-invalid']),
  Collections: Type.Array(S),
});

const Page = Type.Object({
  Events: Type.Array(Event),
  NextCursor: Type.Union([I, Nothing]),
  HasMore: Type.Boolean(),
  Gaps: Type.Array(Gap, { description: 'Ranges in which events can be missing.' }),
});

/** Replay of feature changes. */
export const featureEvents = group(
  { tag: 'Feature events', scope: 'feature-events', envelope: 'raw', isForTenants: true },
  [
    report('GET /feature-events/replay', 'Replay feature-change events', {
      description:
        'Returns the stored events of all collections, oldest first. Callers of a tenant get events of its layers. Geometries are in CRS84.',
      params: {
        cursor: defineIntegerParam(
          'cursor',
          { min: 0, max: Number.MAX_SAFE_INTEGER, default: undefined },
          { description: 'Events after this one.' },
        ),
        from: defineTimeParam('from', 'Only edits of this time or later.'),
        to: defineTimeParam('to', 'Only edits of this time or earlier.'),
        limit: defineIntegerParam(
          'limit',
          { min: 1, max: 1000, default: 200 as number },
          { description: 'Most events.' },
        ),
      },
      data: Page,
      errors: [400],
      async answer({ params, principal }, { state, catalog }) {
        const { cursor, limit } = params;
        const period = readPeriod(params);
        const bounds = await state.feed.bounds();
        const problem = cursor === undefined ? undefined : findProblem(cursor, bounds);
        const after = problem === 'cursor-invalid' ? 0 : (cursor ?? 0);
        const { entries, more } = await state.feed.page({ after, limit, ...period });
        const exists = (id: string, layerId = catalog().byId(id)?.layerId) =>
          isLayerInScope(principal, { id, layerId: layerId ?? Number.NaN });
        const events = entries.filter((entry) => entry.kind === 'event');
        return {
          Events: events.filter(({ event }) => exists(event.collection, event.layerId)).map(eventView),
          NextCursor: entries.at(-1)?.cursor ?? cursor ?? null,
          HasMore: more,
          Gaps: [
            ...(problem ? [{ Cursor: cursor!, Reason: problem, Collections: [] }] : []),
            ...entries
              .filter((entry) => entry.kind === 'gap')
              .map((gap) =>
                gapView(
                  gap,
                  gap.collections.filter((id) => exists(id)),
                ),
              ),
          ],
        };
      },
    }),
  ],
);

/** A cursor of another feed is invalid here, so all kept events follow. */
function findProblem(cursor: number, { oldest, newest }: FeedBounds) {
  if (cursor === 0) return undefined;
  if (cursor > newest || computeEpoch(cursor) !== computeEpoch(newest)) return 'cursor-invalid' as const;
  return cursor < oldest - 1 ? ('cursor-expired' as const) : undefined;
}

function gapView({ cursor }: FeedGap, collections: string[]) {
  return { Cursor: cursor, Reason: 'events-lost' as const, Collections: collections };
}

function eventView({ cursor, event }: FeedEvent) {
  const attributes = parseJsonExactly(event.attributes ?? '{}', 'all') as Record<string, unknown>;
  const changed = event.changedAttributes.map((name) => [name, attributes[name] ?? null] as const);
  const { geometry } = event;
  return {
    Cursor: cursor,
    EventId: event.eventId,
    ServiceId: SERVICE_ID,
    LayerId: event.layerId,
    ObjectId: computeObjectId(event.featureId),
    Operation: event.operation,
    Protocol: event.protocol,
    RequestId: event.requestId,
    SourceId: null,
    Timestamp: event.time,
    ChangedAttributes: Object.fromEntries(changed),
    GeometryChanged: event.geometryChanged,
    GeometryEnvelope: event.envelopeAfter ?? event.envelopeBefore ?? null,
    GeometryJson: geometry ?? null,
    GeometrySrid: geometry === undefined ? null : 4326,
    PropertiesJson: event.attributes ?? null,
  };
}
