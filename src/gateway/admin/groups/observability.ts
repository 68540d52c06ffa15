import { action, group, report, resource, setting } from '../kit.js';

/** Errors, logs, alerts, findings and health as seen by operators. */
export const observability = group({ tag: 'Observability', scope: 'observability', envelope: 'raw' }, [
  report('GET /observability/errors', 'Get Recent Errors'),
  report('GET /observability/telemetry', 'Get Telemetry Status'),
  report('GET /observability/migrations', 'Get Migration Status'),
  report('GET /observability/alerts', 'List Observability Alerts'),
  report('GET /observability/alerts/{eventId}', 'Get Observability Alert'),
  action('POST /observability/alerts/{eventId}/acknowledge', 'Acknowledge Observability Alert'),
  action('POST /observability/alerts/{eventId}/resolve', 'Resolve Observability Alert'),
  action('POST /observability/alerts/{eventId}/suppress', 'Suppress Observability Alert'),
  ...resource('/observability/autonomy/policies/{rule}', {
    list: 'List Ops Autonomy Policies',
    get: 'Get Ops Autonomy Policy',
    update: 'Set Ops Autonomy Policy',
  }),
  ...setting('/observability/autonomy/settings', {
    get: 'Get Ops Autonomy Settings',
    set: 'Set Ops Autonomy Settings',
  }),
  report('GET /observability/events', 'List Operate Events'),
  report('GET /observability/findings', 'Get Ops Findings'),
  action('POST /observability/findings/{findingId}/propose', 'Propose Ops Finding Action'),
  report('GET /observability/logs', 'List Recent Server Logs'),
  report('GET /observability/ops-health', 'Get Ops Health Snapshot'),
  report('GET /observability/ops-health/history', 'Get Ops Health History'),
]);
