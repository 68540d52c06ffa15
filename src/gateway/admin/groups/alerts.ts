import { action, group, report, resource } from '../kit.js';

/** Alert zones, rules and delivery channels. */
export const alerts = group({ tag: 'Alerts', scope: 'alerts', envelope: 'wrapped' }, [
  ...resource('/alerts/zones/{zoneId}', {
    list: 'List Alert Zones',
    create: 'Create Alert Zone',
    get: 'Get Alert Zone',
    update: 'Update Alert Zone',
    remove: 'Delete Alert Zone',
  }),
  ...resource('/alerts/rules/{ruleId}', {
    list: 'List Alert Rules',
    create: 'Create Alert Rule',
    get: 'Get Alert Rule',
    update: 'Update Alert Rule',
    remove: 'Delete Alert Rule',
  }),
  report('POST /alerts/rules/test', 'Test Alert Rule'),
  action('PUT /alerts/rules/{ruleId}/enabled', 'Set Alert Rule Enabled State'),
  report('GET /alerts/rules/{ruleId}/health', 'Get Alert Rule Health'),
  report('GET /alerts/channels', 'List Alert Channel States'),
  action('POST /alerts/channels/{channel}/pause', 'Pause Alert Channel'),
  action('POST /alerts/channels/{channel}/resume', 'Resume Alert Channel'),
  action('POST /alerts/dispatch/redrive', 'Redrive Alert Dead-Letters'),
  report('GET /alerts/rules/{ruleId}/events', 'List Alert Rule Events'),
]);
