import Type from 'typebox';
import type { Exchange, ParamValues, Reply } from '../../../core/http/operation.js';
import { defineIntegerParam } from '../../../core/http/params.js';
import type { AuditQuery, AuditRow, AuditStore } from '../../../stores/audit/audit.js';
import type { ServicesOf } from '../../admin/deps.js';
import { errorDocs, OptionalStringSchema, TimestampSchema } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import {
  cursor,
  defineFilterParam,
  defineTimeParam,
  encodeCursor,
  enumeration,
  readPeriod,
} from '../../admin/params.js';
import { recordExport } from '../../http/recorded-export.js';
import { auditView, cefLine, jsonLine } from './audit-export.js';

const SERVICES = ['server', 'state', 'checkpoints'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { report } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();
const EVENT_TYPES = [
  'Authentication',
  'Authorization',
  'AdminAction',
  'ConfigChange',
  'DataExport',
  'DataDelete',
] as const;
const ACTOR_TYPES = ['Anonymous', 'UserId', 'ApiKey', 'System'] as const;
const OUTCOMES = ['Success', 'Failure', 'Denied'] as const;

const Entry = Type.Object({
  auditId: I,
  timestamp: TimestampSchema,
  eventType: Type.Enum([...EVENT_TYPES]),
  action: S,
  actor: S,
  actorType: Type.Enum([...ACTOR_TYPES]),
  outcome: Type.Enum([...OUTCOMES]),
  resourceType: S,
  resourceId: OptionalStringSchema,
  correlationId: S,
  remoteIp: OptionalStringSchema,
  userAgent: OptionalStringSchema,
  details: OptionalStringSchema,
});

const common = {
  action: defineFilterParam('action', 'Only this action.'),
  actor: defineFilterParam('actor', 'Only this actor.'),
  resourceType: defineFilterParam('resourceType', 'Only resources of this type.'),
  from: defineTimeParam('from', 'Only entries of this time or later.'),
  to: defineTimeParam('to', 'Only entries before this time.'),
};
const listParams = {
  ...common,
  actorType: enumeration('actorType', ACTOR_TYPES, 'Only actors of this type.'),
  eventType: enumeration('eventType', EVENT_TYPES, 'Only events of this type.'),
  outcome: enumeration('outcome', OUTCOMES, 'Only this outcome.'),
  resourceId: defineFilterParam('resourceId', 'Only this resource.'),
  correlationId: defineFilterParam('correlationId', 'Only this request.'),
  pageSize: defineIntegerParam(
    'pageSize',
    { min: 1, max: 500, default: 50 as number },
    { description: 'Maximum number of entries in the response.' },
  ),
  cursor: cursor('audit'),
};
const exportParams = {
  ...common,
  format: enumeration('format', ['jsonl', 'cef'], 'JSON lines, or Common Event Format.', 'jsonl'),
  limit: defineIntegerParam(
    'limit',
    { min: 1, max: 1_000_000, default: 100_000 as number },
    { description: 'Most entries.' },
  ),
};

/** Rows that an export reads at a time. */
const EXPORT_PAGE = 1000;

/** The audit trail. */
export const audit = group({ tag: 'Observability', scope: 'audit', envelope: 'raw' }, [
  report('GET /observability/audit', 'List Audit Log Entries', {
    params: listParams,
    data: Type.Object({ items: Type.Array(Entry), nextCursor: Type.Optional(S) }),
    errors: [400, 403],
    async answer({ params }, { state }) {
      const rows = await state.audit.list({ ...query(params), limit: params.pageSize + 1 });
      const page = rows.slice(0, params.pageSize);
      const more = rows.length > page.length;
      return {
        items: page.map(auditView),
        ...(more ? { nextCursor: encodeCursor('audit', [page.at(-1)!.id]) } : {}),
      };
    },
  }),
  report('GET /observability/audit/export', 'Export Audit Trail (SIEM)', {
    description:
      'JSON lines also have the hashes of the rows. The header Graticule-Audit-Checkpoint has the newest signed checkpoint.',
    params: exportParams,
    exports: true,
    responses: {
      200: {
        description: 'One entry in a line, newest first.',
        content: { 'application/x-ndjson': null, 'text/plain': null },
      },
      ...errorDocs([400, 403]),
    },
    reply: (x, deps) => exportReply(x, deps),
  }),
  report('GET /observability/audit/verify', 'Verify Audit Trail Integrity', {
    data: Type.Object({
      verified: Type.Boolean(),
      rowsChecked: I,
      unhashedRows: I,
      firstBrokenAuditId: Type.Union([I, Type.Null()]),
      failureReason: OptionalStringSchema,
    }),
    async answer(_x, { checkpoints }) {
      const { rowsChecked, broken } = await checkpoints.verify();
      return {
        verified: broken === undefined,
        rowsChecked,
        // Every row is hashed when it is written.
        unhashedRows: 0,
        firstBrokenAuditId: broken?.id ?? null,
        failureReason: broken?.reason ?? null,
      };
    },
  }),
]);

type Common = ParamValues<typeof common> & Partial<ParamValues<typeof listParams>>;

function query(params: Common): Omit<AuditQuery, 'limit'> {
  return {
    equals: {
      action: params.action,
      actor: params.actor,
      actor_type: params.actorType,
      event_type: params.eventType,
      outcome: params.outcome,
      resource_type: params.resourceType,
      resource_id: params.resourceId,
      correlation_id: params.correlationId,
    },
    ...readPeriod(params),
    ...(params.cursor ? { beforeId: Number(params.cursor[0]) } : {}),
  };
}

async function exportReply(
  x: Exchange<typeof exportParams>,
  { state, server, checkpoints }: Deps,
): Promise<Reply> {
  const { params } = x;
  const cef = params.format === 'cef';
  const { format, limit, ...filter } = params;
  const [newest] = await state.audit.list({ limit: 1 });
  // Rows that are added from now on are not part of the export, so that the count is exact.
  const beforeId = (newest?.id ?? 0) + 1;
  const count = Math.min(limit, await state.audit.count({ ...query(params), beforeId }));
  recordExport(x, { format: format ?? 'jsonl', filter: { ...filter, limit }, count });
  const checkpoint = await checkpoints.newest();
  const line = cef ? (row: AuditRow) => cefLine(row, server.version) : jsonLine;
  return {
    status: 200,
    mediaType: cef ? 'text/plain; charset=utf-8' : 'application/x-ndjson',
    body: lines(state.audit, { ...query(params), beforeId }, limit, line),
    headers: {
      'content-disposition': `attachment; filename="audit.${cef ? 'cef' : 'jsonl'}"`,
      ...(checkpoint === undefined ? {} : { 'graticule-audit-checkpoint': checkpoint }),
    },
    cacheControl: 'no-store',
  };
}

/** Reads as fast as the client takes: one page is in memory at a time. */
async function* lines(
  store: AuditStore,
  about: Omit<AuditQuery, 'limit'>,
  limit: number,
  line: (row: AuditRow) => string,
): AsyncGenerator<Uint8Array> {
  let left = limit;
  let { beforeId } = about;
  while (left > 0) {
    const pageSize = Math.min(left, EXPORT_PAGE);
    const rows = await store.list({
      ...about,
      limit: pageSize,
      ...(beforeId === undefined ? {} : { beforeId }),
    });
    if (rows.length > 0) yield Buffer.from(rows.map(line).join(''));
    if (rows.length < pageSize) return;
    left -= rows.length;
    beforeId = rows.at(-1)!.id;
  }
}
