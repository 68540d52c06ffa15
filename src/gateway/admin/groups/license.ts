import { action, group, report } from '../kit.js';

/** License, entitlements and capacity. */
export const license = group({ tag: 'License', scope: 'license', envelope: 'wrapped' }, [
  report('GET /license', 'Get License Status'),
  action('POST /license', 'Upload License'),
  report('GET /license/entitlements', 'Get License Entitlements'),
  report('GET /license/status', 'Get Platform License Status'),
  report('GET /license/features', 'Get License Feature Entitlements'),
  action('POST /license/upload', 'Upload License File'),
  report('GET /license/capacity', 'Get License Capacity State'),
  action('POST /license/capacity/surge', 'Set License Surge Mode'),
]);
