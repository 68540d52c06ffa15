import { action, group, report } from '../kit.js';

/** Figures of queries, resources, exceptions and caches. */
export const performance = group({ tag: 'Performance', scope: 'performance', envelope: 'raw' }, [
  report('GET /performance/database/query-cache/statistics', 'Get prepared statement cache statistics'),
  report('GET /performance/enhanced/database/query-performance', 'Get database query performance statistics'),
  report('GET /performance/enhanced/database/slow-queries', 'Get recent slow queries'),
  report('GET /performance/enhanced/resources/tracking', 'Get resource tracking statistics'),
  report('GET /performance/enhanced/resources/potential-leaks', 'Get potential resource leaks'),
  action('POST /performance/enhanced/resources/scan-leaks', 'Scan for resource leaks'),
  report('GET /performance/enhanced/exceptions/statistics', 'Get exception statistics'),
  report('GET /performance/enhanced/exceptions/recent', 'Get recent exceptions'),
  report('GET /performance/enhanced/cache/statistics', 'Get query-result cache statistics'),
  report('GET /performance/enhanced/cache/effectiveness', 'Get cache effectiveness metrics'),
  action('DELETE /performance/enhanced/cache/invalidate', 'Invalidate query-result cache entries'),
  report('GET /performance/enhanced/summary', 'Get overall performance summary'),
]);
