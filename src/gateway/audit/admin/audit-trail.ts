import { ApiError } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { Operation, Principal, Reply } from '../../../core/http/operation.js';
import { boundedCache } from '../../../core/values/bounded-cache.js';
import type { AuditEvent } from '../../../stores/audit/audit.js';
import type { AuditBacklog } from '../../../stores/audit/audit-backlog.js';
import { AuditScope, inAuditScope } from '../../../stores/audit/audit-scope.js';
import type { State } from '../../../stores/state/state.js';
import type { AuditedRequest, RequestAuditor } from '../../http/audited-request.js';
import type { CredentialScheme } from '../../http/requests/request-credentials.js';
import { RefusalCounts } from './refusal-counts.js';

export interface AuditTrailOptions {
  state: State;
  /** Rows that could not be written to the state wait here. */
  backlog: Pick<AuditBacklog, 'isEmpty' | 'keep' | 'drain'>;
  /** Called for rows that could not be written and on which no response depends. */
  onError(error: unknown): void;
}

/** Characters of a client's text that are kept. */
const MAX_TEXT = 500;
const HOUR_MS = 3_600_000;
/** Maximum number of sign-ins kept in memory. */
const MAX_SIGN_INS = 10_000;

const UNRECORDED =
  'The change was made, but the server could not record it: neither the state database nor the data folder can be written. Do not send it again.';

const UNRECORDED_EXPORT =
  'The export was not sent, because the server could not record it: the state database cannot be written. Send the request again later.';

interface Facts {
  status: number;
  resourceId?: string | undefined;
  details?: Record<string, unknown>;
}

/** Writes audit events; docs/reference/server/audit.md defines them. */
export function auditTrail({ state, backlog, onError }: AuditTrailOptions): RequestAuditor {
  const refusals = new RefusalCounts<{ request: AuditedRequest; status: number }>(
    ({ request, status }, repeated) => {
      append(request, { status, details: { repeated } }).catch(onError);
    },
  );
  const takeRefusal = (request: AuditedRequest, status: number) => {
    const { remoteIp, operation, principal } = request;
    return refusals.take(`${remoteIp} ${principal.id} ${operation.id} ${status}`, { request, status });
  };
  const signIns = boundedCache<string, number>(MAX_SIGN_INS);
  const append = (request: AuditedRequest, facts: Facts) => state.audit.append(auditEvent(request, facts));
  /** Writes the row of an edit, which stands already: the row waits on the disk while the state refuses it. */
  const record = async (event: AuditEvent) => {
    try {
      // Rows that wait come first, so that the trail keeps their order.
      await backlog.drain();
      if (backlog.isEmpty) return await state.audit.append(event);
    } catch (error) {
      onError(error);
    }
    try {
      await backlog.keep(event);
    } catch (error) {
      onError(error);
      throw new TaskFailure('outcome-unknown', UNRECORDED);
    }
  };
  const write = (request: AuditedRequest, facts: Facts) => {
    const event = auditEvent(request, facts);
    return request.operation.surface === 'admin' ? state.audit.append(event) : record(event);
  };
  /**
   * Without its row, an export must not leave the server. Rows of anonymous callers are bounded, and public data is
   * also served while the state cannot be written.
   */
  const writeExport = async (request: AuditedRequest, reply: Reply, facts: Facts) => {
    if (request.principal.kind === 'anonymous') {
      const left = takeRefusal(request, facts.status);
      if (left === undefined) return;
      const details = left > 0 ? { ...facts.details, leftOut: left } : facts.details;
      await append(request, { ...facts, ...(details ? { details } : {}) }).catch(onError);
      return;
    }
    try {
      await append(request, facts);
    } catch (cause) {
      reply.sent?.();
      throw new ApiError('unavailable', UNRECORDED_EXPORT, { cause });
    }
  };
  /** Failures of anonymous callers are bounded, as refusals are. */
  const writeFailure = async (request: AuditedRequest, facts: Facts) => {
    const left = request.principal.kind === 'anonymous' ? takeRefusal(request, facts.status) : 0;
    if (left === undefined) return;
    const details = left > 0 ? { ...facts.details, leftOut: left } : facts.details;
    await write(request, { ...facts, ...(details ? { details } : {}) }).catch(onError);
  };
  return {
    async run(request, work) {
      const success = ({ resourceId, details }: AuditScope) =>
        auditEvent(request, { status: successStatus(request.operation), resourceId, details });
      const scope = new AuditScope(success);
      const facts = (status: number): Facts => ({
        status,
        resourceId: scope.resourceId,
        details: scope.details,
      });
      let reply: Reply;
      try {
        reply = await inAuditScope(scope, work);
      } catch (error) {
        scope.end();
        await writeFailure(request, facts(error instanceof ApiError ? error.status : 500));
        throw error;
      }
      if (scope.behind.size > 0) reply = withBehind(reply, scope.behind);
      const targets = scope.end();
      const { status = 200 } = reply;
      if (status >= 400) await writeFailure(request, facts(status));
      else if (scope.isNothing) return reply;
      else if (request.operation.exports) await writeExport(request, reply, facts(status));
      else if (!targets) await write(request, facts(status));
      return reply;
    },
    refused(request, status) {
      const left = takeRefusal(request, status);
      if (left === undefined) return;
      const details = left > 0 ? { leftOut: left } : {};
      append(request, { status, details }).catch(onError);
    },
    signedIn({ id }, scheme, request) {
      const key = `${id} ${scheme}`;
      const now = Date.now();
      if (now - (signIns.get(key) ?? Number.NEGATIVE_INFINITY) < HOUR_MS) return;
      signIns.set(key, now);
      state.audit.append(signInEvent(request(), scheme)).catch(onError);
    },
  };
}

/** The change is durable. Processes that learned of it too late apply it as soon as they can. */
function withBehind(reply: Reply, behind: ReadonlySet<string>): Reply {
  return { ...reply, headers: { ...reply.headers, 'Pending-Instances': [...behind].join(', ') } };
}

export function auditEvent(request: AuditedRequest, { status, resourceId, details }: Facts): AuditEvent {
  const { operation, path } = request;
  return {
    ...common(request),
    event_type: eventType(operation, status),
    action: operation.id,
    outcome: status < 400 ? 'Success' : status === 401 || status === 403 ? 'Denied' : 'Failure',
    resource_type: resourceType(operation),
    resource_id: resourceId?.slice(0, MAX_TEXT) ?? lastParameter(operation.path, path),
    details: JSON.stringify({
      method: operation.method,
      path: path.slice(0, MAX_TEXT),
      status,
      ...details,
    }),
  };
}

function signInEvent(request: AuditedRequest, scheme: CredentialScheme): AuditEvent {
  return {
    ...common(request),
    event_type: 'Authentication',
    action: 'auth.signIn',
    outcome: 'Success',
    resource_type: scheme === 'certificate' ? 'client-certificates' : 'api-keys',
    resource_id: request.principal.id,
    details: JSON.stringify({ scheme, path: request.path.slice(0, MAX_TEXT) }),
  };
}

function common({ principal, correlationId, remoteIp, userAgent }: AuditedRequest) {
  return {
    at: Date.now(),
    actor: principal.id,
    actor_type: ACTOR_TYPES[principal.kind],
    correlation_id: correlationId,
    remote_ip: remoteIp.slice(0, MAX_TEXT) || null,
    user_agent: userAgent?.slice(0, MAX_TEXT) ?? null,
  };
}

/** The wire has a type for people, and one for keys of programs. */
const ACTOR_TYPES: Record<Principal['kind'], string> = {
  anonymous: 'Anonymous',
  'api-key': 'ApiKey',
  user: 'UserId',
  'oauth-client': 'ApiKey',
  'embed-key': 'ApiKey',
  certificate: 'UserId',
};

function eventType(operation: Operation, status: number): string {
  if (status === 401) return 'Authentication';
  if (status === 403) return 'Authorization';
  if (operation.exports) return 'DataExport';
  if ((operation as { shape?: string }).shape === 'setting') return 'ConfigChange';
  return operation.method === 'DELETE' ? 'DataDelete' : 'AdminAction';
}

/** Status code of an operation on success. */
function successStatus({ responses }: Operation): number {
  return Math.min(
    ...Object.keys(responses)
      .map(Number)
      .filter((status) => status >= 200 && status < 300),
    299,
  );
}

/** Scope of a management operation, surface of any other. */
function resourceType(operation: Operation): string {
  return (operation as { scope?: string }).scope ?? operation.surface;
}

/** Value of the last path parameter: the thing that was acted on. */
function lastParameter(template: string, path: string): string | null {
  const values = path.split('/');
  const index = template.split('/').findLastIndex((segment) => segment.startsWith('{'));
  return (index < 0 ? undefined : values[index])?.slice(0, MAX_TEXT) ?? null;
}
