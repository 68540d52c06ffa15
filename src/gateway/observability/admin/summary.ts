import Type from 'typebox';
import { computeHealth } from '../../../services/observability/health-score.js';
import { TimestampSchema } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { describeExceptions, ExceptionStatistics } from './exceptions.js';
import { CacheStatisticsSchema, describeCache } from './performance-cache.js';
import { describeQueries, QueryPerformance } from './queries.js';
import { describeResources, ResourceTracking } from './resources.js';

const { report } = createRowBuilders(['reports', 'observer']);

const D = Type.Number();
const S = Type.String();

/** Figures of all processes together, with a score. */
export const performanceSummary = group({ tag: 'Performance', scope: 'performance', envelope: 'raw' }, [
  report('GET /performance/enhanced/summary', 'Get overall performance summary', {
    description:
      'The score is 100 minus the points of all deductions. The points of a deduction are its value multiplied by its weight, up to its limit.',
    data: Type.Object({
      overallHealthScore: Type.Number({ minimum: 0, maximum: 100 }),
      deductions: Type.Array(
        Type.Object({ name: S, description: S, value: D, weight: D, limit: D, points: D }),
      ),
      collectedAt: TimestampSchema,
      queryPerformance: QueryPerformance,
      resourceTracking: ResourceTracking,
      exceptionStatistics: ExceptionStatistics,
      cacheStatistics: CacheStatisticsSchema,
    }),
    async answer(_x, { reports, observer }) {
      const [statements, resources, exceptions, caches] = await Promise.all([
        reports.statements(),
        reports.resources(),
        describeExceptions(observer),
        reports.caches(),
      ]);
      const queryPerformance = describeQueries(statements);
      const resourceTracking = describeResources(resources);
      const cacheStatistics = describeCache(caches);
      const { totalQueries: total, failedQueries: failed, slowQueries: slow } = queryPerformance;
      const { criticalExceptions: critical, exceptionsPerMinute: perMinute } = exceptions;
      const { totalRequests: requests, hitRatio } = cacheStatistics;
      const { score, deductions } = computeHealth({
        queries: { total, failed, slow },
        leaks: resourceTracking.potentialLeaks,
        exceptions: { critical, perMinute },
        cache: { requests, hitRatio },
      });
      return {
        overallHealthScore: score,
        deductions,
        collectedAt: new Date().toISOString(),
        queryPerformance,
        resourceTracking,
        exceptionStatistics: exceptions,
        cacheStatistics,
      };
    },
  }),
]);
