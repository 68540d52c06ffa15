import { action, group, report } from '../kit.js';

/** Evidence for controls, residency and encryption. */
export const compliance = group({ tag: 'Compliance', scope: 'compliance', envelope: 'wrapped' }, [
  report('GET /compliance/dashboard', 'Get Compliance Dashboard'),
  report('GET /compliance/report', 'Export Compliance Report'),
  report('POST /compliance/residency/evaluate', 'Evaluate Residency Policy'),
  action('POST /compliance/encryption/rotate-key', 'Advance Compliance Key-Version Posture'),
]);
