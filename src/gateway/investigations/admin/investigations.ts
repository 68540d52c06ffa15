import Type, { type Static, type TSchema } from 'typebox';
import { ApiError, badMember, notFound } from '../../../core/errors/errors.js';
import { type Exchange, formatActor } from '../../../core/http/operation.js';
import { defineIntegerParam, pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type {
  Investigation,
  InvestigationRefusal,
  InvestigationRow,
  InvestigationSummary,
  LinkRow,
  PinRow,
} from '../../../stores/investigations/investigations.js';
import type { ServicesOf } from '../../admin/deps.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { cursor, defineFilterParam, encodeCursor, enumeration, idParam } from '../../admin/params.js';
import { EVENT_KINDS } from '../../observability/admin/event-kinds.js';
import { copyEvidence, EVIDENCE_SERVICES, RESOURCE_KINDS } from './evidence.js';

type Deps = ServicesOf<typeof EVIDENCE_SERVICES>;
const { action, implement } = createRowBuilders(EVIDENCE_SERVICES);

const S = Type.String();
const I = Type.Integer();
const STATUSES = ['open', 'closed'] as const;
const CURSOR = 'investigations';
const MOST = LIMITS.investigations;

const Copy = Type.Union(
  [Type.Object({ title: S, severity: OptionalStringSchema, summary: OptionalStringSchema }), Type.Null()],
  { description: 'Copy of the evidence when it was added. Null if the server had no data of it.' },
);
const PinSchema = Type.Object({
  pinId: I,
  eventKind: Type.Enum([...EVENT_KINDS]),
  eventRef: S,
  occurredAt: TimestampSchema,
  note: OptionalStringSchema,
  createdAt: TimestampSchema,
  createdBy: S,
  copy: Copy,
});
const LinkSchema = Type.Object({
  linkId: I,
  resourceKind: Type.Enum([...RESOURCE_KINDS]),
  resourceId: S,
  note: OptionalStringSchema,
  createdAt: TimestampSchema,
  createdBy: S,
  copy: Copy,
});
const head = {
  investigationId: S,
  title: S,
  summary: OptionalStringSchema,
  status: Type.Enum([...STATUSES]),
  createdAt: TimestampSchema,
  createdBy: S,
  updatedAt: TimestampSchema,
};
const InvestigationSchema = Type.Object({
  ...head,
  pins: Type.Array(PinSchema),
  links: Type.Array(LinkSchema),
});
type View = Static<typeof InvestigationSchema>;
const SummarySchema = Type.Object({ ...head, pinCount: I, linkCount: I });

const TitleMember = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\p{Cc}]*[^\\s\\p{Cc}][^\\p{Cc}]*$',
});
const SummaryMember = Type.Union([Type.String({ maxLength: 10_000 }), Type.Null()]);
const NoteMember = Type.Optional(Type.Union([Type.String({ maxLength: 1024 }), Type.Null()]));
const RefMember = Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\s\\p{Cc}]+$' });

/** A body without other members. */
const exactBody = <P extends Record<string, TSchema>>(members: P) =>
  jsonBody(Type.Object(members, { additionalProperties: false }));

const byId = { investigationId: pathString('investigationId', 'Id of the investigation.') };

/** Evidence about incidents, collected by operators. */
export const investigations = group({ tag: 'Investigations', scope: 'investigations', envelope: 'raw' }, [
  ...resource(
    '/investigations/{investigationId}',
    { list: 'List Investigations', create: 'Create Investigation', get: 'Get Investigation' },
    {
      list: implement({
        description: 'Newest first.',
        params: {
          status: enumeration('status', STATUSES, 'Only investigations with this status.'),
          titleContains: defineFilterParam(
            'titleContains',
            'Only titles with this text, in any letter case.',
          ),
          createdBy: defineFilterParam('createdBy', 'Only investigations of this actor.'),
          pageSize: defineIntegerParam(
            'pageSize',
            { min: 1, max: 500, default: 50 as number },
            { description: 'Maximum number of investigations in the response.' },
          ),
          cursor: cursor(CURSOR),
        },
        data: Type.Object({ items: Type.Array(SummarySchema), nextCursor: Type.Optional(S) }),
        errors: [400],
        async answer({ params: { pageSize, cursor: position, ...where } }, { state }) {
          const before = position?.[0] as number | undefined;
          const rows = await state.investigations.list({ ...where, before, limit: pageSize + 1 });
          const page = rows.slice(0, pageSize);
          const isMore = rows.length > page.length;
          return {
            items: page.map(summaryView),
            ...(isMore ? { nextCursor: encodeCursor(CURSOR, [page.at(-1)!.id]) } : {}),
          };
        },
      }),
      create: implement({
        body: exactBody({ title: TitleMember, summary: Type.Optional(SummaryMember) }),
        data: InvestigationSchema,
        status: 201,
        errors: [400, 409],
        location: ({ investigationId }: View) => `/investigations/${investigationId}`,
        async answer({ body: { title, summary = null }, principal }, { state }) {
          const about = { title, summary, created_by: formatActor(principal) };
          const investigation = await state.investigations.add(about, MOST);
          if (!investigation)
            throw new ApiError('conflict', `The server has ${MOST} investigations, which is the maximum.`);
          return investigationView(investigation);
        },
      }),
      get: implement({
        params: byId,
        data: InvestigationSchema,
        errors: [404],
        answer: async ({ params }, { state }) =>
          investigationView(
            await requireInvestigation(params.investigationId, (id) => state.investigations.get(id)),
          ),
      }),
    },
  ),
  action('PATCH /investigations/{investigationId}', 'Update Investigation', {
    description: 'Only the status of a closed investigation can be changed.',
    params: byId,
    body: exactBody({
      title: Type.Optional(TitleMember),
      summary: Type.Optional(SummaryMember),
      status: Type.Optional(Type.Enum([...STATUSES])),
    }),
    data: InvestigationSchema,
    errors: [400, 404, 409],
    answer: async ({ params, body }, { state }) =>
      investigationView(
        await requireInvestigation(params.investigationId, (id) => state.investigations.change(id, body)),
      ),
  }),
  action('POST /investigations/{investigationId}/pins', 'Pin Event To Investigation', {
    description: 'An event that is pinned already is not pinned again.',
    params: byId,
    body: exactBody({
      eventKind: Type.Enum([...EVENT_KINDS]),
      eventRef: Type.String({
        ...RefMember,
        description:
          '`{eventKind}:{id}`, such as `alert:42`. The id of `log` is a correlation id, the id of `syncConflict` is `{replicaId}/{conflictId}`.',
      }),
      occurredAt: Type.String({ format: 'date-time' }),
      note: NoteMember,
    }),
    data: InvestigationSchema,
    errors: [400, 403, 404, 409],
    shownBy: '/investigations/{investigationId}',
    answer: pinEvent,
  }),
  action('DELETE /investigations/{investigationId}/pins/{pinId}', 'Remove Investigation Pin', {
    params: { ...byId, pinId: idParam('pinId', 'Id of a pin.') },
    data: InvestigationSchema,
    errors: [404, 409],
    shownBy: '/investigations/{investigationId}',
    answer: async ({ params }, { state }) =>
      investigationView(
        await requireInvestigation(
          params.investigationId,
          (id) => state.investigations.unpin(id, params.pinId),
          {
            pin: params.pinId,
          },
        ),
      ),
  }),
  action('POST /investigations/{investigationId}/links', 'Link Resource To Investigation', {
    description: 'A resource that is linked already is not linked again.',
    params: byId,
    body: exactBody({
      resourceKind: Type.Enum([...RESOURCE_KINDS]),
      resourceId: RefMember,
      note: NoteMember,
    }),
    data: InvestigationSchema,
    errors: [400, 403, 404, 409],
    shownBy: '/investigations/{investigationId}',
    answer: linkResource,
  }),
  action('DELETE /investigations/{investigationId}/links/{linkId}', 'Remove Investigation Link', {
    params: { ...byId, linkId: idParam('linkId', 'Id of a link.') },
    data: InvestigationSchema,
    errors: [404, 409],
    shownBy: '/investigations/{investigationId}',
    answer: async ({ params }, { state }) =>
      investigationView(
        await requireInvestigation(
          params.investigationId,
          (id) => state.investigations.unlink(id, params.linkId),
          {
            link: params.linkId,
          },
        ),
      ),
  }),
]);

interface PinBody {
  readonly eventKind: (typeof EVENT_KINDS)[number];
  readonly eventRef: string;
  readonly occurredAt: string;
  readonly note?: string | null;
}

async function pinEvent(
  { params, body, principal }: Exchange<typeof byId, PinBody>,
  deps: Deps,
): Promise<View> {
  const { eventKind, eventRef, occurredAt, note = null } = body;
  const prefix = `${eventKind}:`;
  if (!eventRef.startsWith(prefix) || eventRef === prefix)
    throw badMember('eventRef', `must be ${prefix} and the id of the event, such as ${prefix}42`);
  await requireInvestigation(params.investigationId, (id) => deps.state.investigations.get(id));
  const copy = await copyEvidence(eventKind, eventRef.slice(prefix.length), 'eventRef', principal, deps);
  const pin = {
    ...{ event_kind: eventKind, event_ref: eventRef, occurred_at: Date.parse(occurredAt), note },
    ...{ copy_json: copy ? JSON.stringify(copy) : null, created_by: formatActor(principal) },
  };
  return investigationView(
    await requireInvestigation(params.investigationId, (id) =>
      deps.state.investigations.pin(id, pin, LIMITS.investigationEntries),
    ),
  );
}

interface LinkBody {
  readonly resourceKind: (typeof RESOURCE_KINDS)[number];
  readonly resourceId: string;
  readonly note?: string | null;
}

async function linkResource(
  { params, body, principal }: Exchange<typeof byId, LinkBody>,
  deps: Deps,
): Promise<View> {
  const { resourceKind, resourceId, note = null } = body;
  await requireInvestigation(params.investigationId, (id) => deps.state.investigations.get(id));
  const copy = await copyEvidence(resourceKind, resourceId, 'resourceId', principal, deps);
  const link = {
    ...{ resource_kind: resourceKind, resource_id: resourceId, note },
    ...{ copy_json: copy ? JSON.stringify(copy) : null, created_by: formatActor(principal) },
  };
  return investigationView(
    await requireInvestigation(params.investigationId, (id) =>
      deps.state.investigations.link(id, link, LIMITS.investigationEntries),
    ),
  );
}

/** Runs a query or a change of an investigation. Throws `not-found` and `conflict`. `entry` names a part of it. */
async function requireInvestigation(
  name: string,
  run: (id: number) => Promise<Investigation | InvestigationRefusal | 'missing' | undefined>,
  entry: Readonly<Record<string, number>> = {},
): Promise<Investigation> {
  const id = /^[1-9]\d{0,15}$/.test(name) ? Number(name) : undefined;
  const outcome = id === undefined ? undefined : await run(id);
  if (outcome === undefined) throw notFound('investigation', name.slice(0, 128));
  if (outcome === 'missing') {
    const [[kind, number] = ['entry', 0]] = Object.entries(entry);
    throw new ApiError('not-found', `There is no ${kind} '${number}' in the investigation '${name}'.`);
  }
  if (outcome === 'closed')
    throw new ApiError('conflict', 'The investigation is closed. Set its status to open first.');
  if (outcome === 'full')
    throw new ApiError(
      'conflict',
      `The investigation has ${LIMITS.investigationEntries} entries of this kind, which is the maximum.`,
    );
  return outcome;
}

const headView = ({ id, title, summary, status, created_at, created_by, updated_at }: InvestigationRow) => ({
  investigationId: String(id),
  title,
  summary,
  status: status as (typeof STATUSES)[number],
  createdAt: timestamp(created_at),
  createdBy: created_by,
  updatedAt: timestamp(updated_at),
});

const summaryView = (row: InvestigationSummary) => ({
  ...headView(row),
  pinCount: Number(row.pin_count),
  linkCount: Number(row.link_count),
});

const investigationView = ({ row, pins, links }: Investigation): View => ({
  ...headView(row),
  pins: pins.map(pinView),
  links: links.map(linkView),
});

const pinView = (row: PinRow): View['pins'][number] => ({
  pinId: row.id,
  eventKind: row.event_kind as (typeof EVENT_KINDS)[number],
  eventRef: row.event_ref,
  occurredAt: timestamp(row.occurred_at),
  note: row.note,
  createdAt: timestamp(row.created_at),
  createdBy: row.created_by,
  copy: row.copy_json === null ? null : JSON.parse(row.copy_json),
});

const linkView = (row: LinkRow): View['links'][number] => ({
  linkId: row.id,
  resourceKind: row.resource_kind as (typeof RESOURCE_KINDS)[number],
  resourceId: row.resource_id,
  note: row.note,
  createdAt: timestamp(row.created_at),
  createdBy: row.created_by,
  copy: row.copy_json === null ? null : JSON.parse(row.copy_json),
});
