import { action, group, report, resource } from '../kit.js';

/** Records and evidence of migrations. */
export const migration = group({ tag: 'Migration', scope: 'migration', envelope: 'raw' }, [
  report('GET /migration/performance-evidence/latest', 'Get Latest Migration Performance Evidence'),
  report('GET /migration/performance-evidence/history', 'List Migration Performance Evidence History'),
  report('GET /migration/performance-evidence/{evidenceId}', 'Get Migration Performance Evidence'),
  ...resource('/migration/runs/{runId}', {
    list: 'List Migration Runs',
    create: 'Record Migration Run Started',
    get: 'Get Migration Run',
  }),
  action('POST /migration/runs/{runId}/complete', 'Record Migration Run Completed'),
  action('POST /migration/runs/{runId}/cancel', 'Cancel Migration Run'),
  report('GET /migration/runs/{runId}/evidence-pack', 'Download Migration Run Evidence Pack'),
  report('GET /migration/runs/{runId}/scorecard', 'Download Migration Run Reconciliation Scorecard'),
  action('POST /migration/runs/{runId}/scorecard', 'Record Migration Run Reconciliation Scorecard'),
]);
