import type { AuditRow } from '../../../stores/audit/audit.js';
import { timestamp } from '../../admin/envelope.js';

/** Audit rows as the wire and as log collectors read them. */

export function auditView(row: AuditRow) {
  return {
    auditId: row.id,
    timestamp: timestamp(row.at),
    eventType: row.event_type,
    action: row.action,
    actor: row.actor,
    actorType: row.actor_type,
    outcome: row.outcome,
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    correlationId: row.correlation_id,
    remoteIp: row.remote_ip,
    userAgent: row.user_agent,
    details: row.details,
  };
}

/** One JSON document in a line, with the hashes by which `graticule audit verify` checks it. */
export function jsonLine(row: AuditRow): string {
  return `${JSON.stringify({ ...auditView(row), previousHash: row.previous_hash, hash: row.hash })}\n`;
}

const SEVERITIES: Readonly<Record<string, number>> = { Success: 3, Failure: 6, Denied: 8 };

/** ArcSight Common Event Format, version 0. */
export function cefLine(row: AuditRow, version: string): string {
  const head = ['CEF:0', 'Graticule', 'graticule', version, row.action, `${row.event_type} ${row.outcome}`];
  const extension = {
    externalId: String(row.id),
    rt: String(row.at),
    suser: row.actor,
    outcome: row.outcome,
    src: row.remote_ip,
    requestClientApplication: row.user_agent,
    cs1Label: 'resource',
    cs1: row.resource_id === null ? row.resource_type : `${row.resource_type}/${row.resource_id}`,
    cs2Label: 'correlationId',
    cs2: row.correlation_id,
    msg: row.details,
  };
  const pairs = Object.entries(extension)
    .filter((pair): pair is [string, string] => pair[1] !== null)
    .map(([name, value]) => `${name}=${escapeValue(value)}`);
  const severity = String(SEVERITIES[row.outcome] ?? 5);
  return `${[...head.map(escapeHead), severity].join('|')}|${pairs.join(' ')}\n`;
}

/** In the head a backslash and a bar are escaped; a line never ends within a row. */
function escapeHead(text: string): string {
  return text.replace(/[\\|]/g, '\\$&').replace(/[\r\n]+/g, ' ');
}

function escapeValue(text: string): string {
  return text.replace(/[\\=]/g, '\\$&').replace(/\r\n|\r|\n/g, '\\n');
}
