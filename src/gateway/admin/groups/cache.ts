import { action, group, report } from '../kit.js';

/** State and invalidation of the response cache. */
export const cache = group({ tag: 'Cache', scope: 'cache', envelope: 'wrapped' }, [
  report('GET /cache/status', 'Get cache health status'),
  action('POST /cache/invalidate', 'Invalidate cached responses by scope'),
]);
