import { action, group, report } from '../kit.js';

/** Cache figures for operators. */
export const cacheOperations = group({ tag: 'Operations', scope: 'cache-operations', envelope: 'wrapped' }, [
  report('GET /operations/cache/health', 'Get Cache Health'),
  report('GET /operations/cache/statistics', 'Get Cache Statistics'),
  report('GET /operations/cache/distributed', 'Get Distributed Cache Connection Metrics'),
  action('POST /operations/cache/invalidate', 'Invalidate Cache'),
]);
