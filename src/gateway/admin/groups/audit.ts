import { group, report } from '../kit.js';

/** The audit trail. */
export const audit = group({ tag: 'Observability', scope: 'audit', envelope: 'raw' }, [
  report('GET /observability/audit', 'List Audit Log Entries'),
  report('GET /observability/audit/export', 'Export Audit Trail (SIEM)'),
  report('GET /observability/audit/verify', 'Verify Audit Trail Integrity'),
]);
