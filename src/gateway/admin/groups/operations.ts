import { action, group, report } from '../kit.js';

/** Operations in progress. */
export const operations = group({ tag: 'Operations', scope: 'operations', envelope: 'raw' }, [
  report('GET /operations/active', 'List Active Operations'),
  report('GET /operations/type/{operationType}', 'Get Operations By Type'),
  report('GET /operations/{operationId}', 'Get Operation Status'),
  action('POST /operations/{operationId}/cancel', 'Cancel Operation'),
]);
