import { action, group, report } from '../kit.js';

/** Settings of services. */
export const services = group({ tag: 'Services', scope: 'services', envelope: 'wrapped' }, [
  report('GET /services', 'List Services'),
  report('GET /services/{serviceName}/settings', 'Get Service Settings'),
  action('PUT /services/{serviceName}/protocols', 'Update Service Protocols'),
  action('PUT /services/{serviceName}/mapserver', 'Update MapServer Settings'),
  action('PUT /services/{serviceName}/access-policy', 'Update Service Access Policy'),
  action('PUT /services/{serviceName}/timeinfo', 'Update Service Time Info'),
  action('PUT /services/{serviceName}/layers/{layerId}/metadata', 'Update Layer Metadata'),
  report('GET /services/{serviceName}/layers/{layerId}/export', 'Export Layer Data'),
]);
