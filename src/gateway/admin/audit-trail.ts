import type { Operation, Principal } from '../../core/operation.js';
import type { AuditEvent } from '../stores/audit.js';
import type { State } from '../stores/state.js';

/** An audited request that has been answered. */
export interface AnsweredRequest {
  operation: Operation;
  principal: Principal;
  /** Request path without query. */
  path: string;
  status: number;
  correlationId: string;
  remoteIp?: string;
  userAgent?: string;
}

/** Characters of a client's text that are kept. */
const MAX_TEXT = 500;

/** Writes the audit row of a request; resolved once it is durable. */
export function auditTo(state: State): (request: AnsweredRequest) => Promise<void> {
  return async (request) => {
    await state.audit.append(auditEvent(request, Date.now()));
  };
}

export function auditEvent(request: AnsweredRequest, at: number): AuditEvent {
  const { operation, principal, path, status } = request;
  return {
    at,
    event_type: eventType(operation, status),
    action: operation.id,
    actor: principal.id,
    actor_type: principal.kind === 'api-key' ? 'ApiKey' : 'Anonymous',
    outcome: status < 400 ? 'Success' : status === 401 || status === 403 ? 'Denied' : 'Failure',
    resource_type: resourceType(operation),
    resource_id: lastParameter(operation.path, path),
    correlation_id: request.correlationId,
    remote_ip: request.remoteIp?.slice(0, MAX_TEXT) ?? null,
    user_agent: request.userAgent?.slice(0, MAX_TEXT) ?? null,
    details: JSON.stringify({ method: operation.method, path: path.slice(0, MAX_TEXT), status }),
  };
}

function eventType(operation: Operation, status: number): string {
  if (status === 401) return 'Authentication';
  if (status === 403) return 'Authorization';
  if ((operation as { shape?: string }).shape === 'setting') return 'ConfigChange';
  return operation.method === 'DELETE' ? 'DataDelete' : 'AdminAction';
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
