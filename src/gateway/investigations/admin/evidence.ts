import { ApiError, badMember } from '../../../core/errors/errors.js';
import type { Principal } from '../../../core/http/operation.js';
import { permits } from '../../../services/access/permissions.js';
import type { ServicesOf } from '../../admin/deps.js';
import { requireEvent } from '../../alerts/admin/alert-events.js';
import { type EventKind, KIND_PERMISSIONS } from '../../observability/admin/event-kinds.js';
import { requirePackage } from '../../releases/packages.js';

export const EVIDENCE_SERVICES = ['state', 'alerts', 'catalog', 'visible', 'observer'] as const;
type Deps = ServicesOf<typeof EVIDENCE_SERVICES>;

export const RESOURCE_KINDS = ['alert', 'job', 'release', 'changeSet'] as const;
export type EvidenceKind = EventKind | (typeof RESOURCE_KINDS)[number];

/** The important members of an event or a resource, because the server keeps it only for a limited time. */
export interface EvidenceCopy {
  readonly title: string;
  readonly severity: string | null;
  readonly summary: string | null;
}

type Find = (id: string, principal: Principal, deps: Deps) => Promise<EvidenceCopy | undefined>;

const FINDERS = {
  alert: findAlert,
  audit: findAuditEntry,
  job: findJob,
  release: findRelease,
  syncConflict: findConflict,
} satisfies Partial<Record<EventKind, Find>>;
const MAX_LINES = 10;
const INTEGER = /^\d{1,16}$/;

/**
 * Copies the important members of an event or a resource with the rights of the caller. Undefined: the server has no
 * list of this kind. `member` is the member of the body that has the id. Throws for one that does not exist.
 */
export async function copyEvidence(
  kind: EvidenceKind,
  id: string,
  member: string,
  principal: Principal,
  deps: Deps,
): Promise<EvidenceCopy | undefined> {
  if (kind === 'log') return copyLines(id, principal, deps);
  if (!(kind in FINDERS)) return undefined;
  const known = kind as keyof typeof FINDERS;
  requirePermission(principal, known);
  const copy = await findOrUndefined(() => FINDERS[known](id, principal, deps));
  if (!copy)
    throw badMember(member, `must name an existing record of the server. There is no ${kind} '${id}'`);
  return copy;
}

async function findOrUndefined<T>(find: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

function requirePermission(principal: Principal, kind: keyof typeof KIND_PERMISSIONS): void {
  const permission = KIND_PERMISSIONS[kind];
  if (!permits(principal, permission))
    throw new ApiError(
      'forbidden',
      `The permission ${permission} is required for evidence of the kind ${kind}.`,
    );
}

async function findAlert(id: string, principal: Principal, deps: Deps): Promise<EvidenceCopy> {
  const row = await requireEvent(INTEGER.test(id) ? Number(id) : 0, principal, deps);
  return {
    title: `${row.rule_name ?? row.trigger_type}: ${row.collection}/${row.feature_id}`,
    severity: row.severity,
    summary: `${row.trigger_type}, ${row.incident_status}, ${new Date(row.occurred_at).toISOString()}`,
  };
}

async function findAuditEntry(
  id: string,
  _by: Principal,
  { state }: Deps,
): Promise<EvidenceCopy | undefined> {
  if (!INTEGER.test(id)) return undefined;
  const [row] = await state.audit.list({ beforeId: Number(id) + 1, limit: 1 });
  if (row?.id !== Number(id)) return undefined;
  const resource = row.resource_id === null ? row.resource_type : `${row.resource_type} ${row.resource_id}`;
  return { title: `${row.action}: ${resource}`, severity: null, summary: `${row.actor}, ${row.outcome}` };
}

async function findJob(id: string, _by: Principal, { state }: Deps): Promise<EvidenceCopy | undefined> {
  const row = await state.jobs.get(id);
  return row && { title: `${row.kind}: ${row.state}`, severity: null, summary: row.phase };
}

async function findRelease(id: string, _by: Principal, deps: Deps): Promise<EvidenceCopy> {
  const { name, title, description } = (await requirePackage(id, deps)).body.view.metadata;
  return { title: title ?? name, severity: null, summary: description };
}

/** The id has the form `{replicaId}/{conflictId}`. */
async function findConflict(id: string, _by: Principal, { state }: Deps): Promise<EvidenceCopy | undefined> {
  const [replicaId = '', conflictId = ''] = id.split('/');
  const conflict = await state.replicaConflicts.get(replicaId, conflictId);
  return conflict && { title: `conflict of replica ${replicaId}`, severity: null, summary: conflict.status };
}

/** The id is the correlation id of a request, or `{instance}/{number}` of a line. The lines may be gone. */
async function copyLines(
  id: string,
  principal: Principal,
  { observer }: Deps,
): Promise<EvidenceCopy | undefined> {
  requirePermission(principal, 'log');
  const { items } = await observer.lines();
  const own = items
    .filter(({ correlationId, instance, number }) => correlationId === id || `${instance}/${number}` === id)
    .slice(0, MAX_LINES);
  const [first] = own;
  return (
    first && {
      title: first.path === undefined ? first.message : `${first.statusCode} ${first.path}`,
      severity: first.level,
      summary: own.map(({ message }) => message).join('\n'),
    }
  );
}
