import type { AuditEntry } from './http/dispatch.js';
import type { AuditStore } from './stores/audit.js';

/** Writes one audit row per audited operation; resolves once the row is on disk. */
export function auditor(store: AuditStore): (entry: AuditEntry) => Promise<void> {
  return async ({ operation, principal, path, status, correlationId }) => {
    await store.append({
      at: Date.now(),
      event_type: 'management',
      action: operation.id,
      actor: principal.id,
      actor_type: principal.kind,
      outcome: status < 400 ? 'success' : 'failure',
      resource_type: operation.tag ?? operation.surface,
      resource_id: path,
      correlation_id: correlationId,
      remote_ip: null,
      user_agent: null,
      details: JSON.stringify({ method: operation.method, status }),
    });
  };
}
