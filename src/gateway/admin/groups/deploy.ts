import { action, group, report, resource } from '../kit.js';

/** Deployment operations and their preflight. */
export const deploy = group({ tag: 'Deploy', scope: 'deploy', envelope: 'raw' }, [
  report('GET /deploy/preflight', 'Get Deploy Preflight'),
  report('POST /deploy/plan', 'Plan Deploy Operation'),
  ...resource('/deploy/operations/{operationId}', {
    list: 'List Deploy Operations',
    create: 'Create Deploy Operation',
    get: 'Get Deploy Operation',
  }),
  action('POST /deploy/operations/{operationId}/submit', 'Submit Deploy Operation'),
  action('POST /deploy/operations/{operationId}/rollback', 'Rollback Deploy Operation'),
  action('POST /deploy/operations/{operationId}/promote', 'Promote Deploy Operation'),
]);
