import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { ProcessReports } from '../../../services/observability/process-reports.js';
import type { TileUse } from '../../../services/tiles/cache/effectiveness.js';
import { TimestampSchema } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { defineFilterParam } from '../../admin/params.js';
import { MissingInstances } from './missing-instances.js';

const SERVICES = ['cache', 'reports'] as const;
const { action, report } = createRowBuilders(SERVICES);

const I = Type.Integer();
const D = Type.Number();

export const CacheStatisticsSchema = Type.Object({
  totalRequests: I,
  cacheHits: I,
  cacheMisses: I,
  totalCacheMemoryBytes: I,
  totalTimeSavedMs: I,
  currentCacheSize: I,
  hitRatio: D,
  avgMissExecutionTimeMs: D,
  byQueryType: Type.Record(Type.String(), Type.Object({ requests: I, hits: I, avgExecutionTimeMs: D })),
  missingInstances: MissingInstances,
  collectedAt: TimestampSchema,
});

const CacheItem = Type.Object({
  key: Type.String(),
  accessCount: I,
  hitRatio: D,
  avgExecutionTimeMs: D,
  memoryBytes: I,
  lastAccessed: TimestampSchema,
});

const CacheEffectiveness = Type.Object({
  topAccessedKeys: Type.Array(CacheItem),
  lowEfficiencyKeys: Type.Array(CacheItem),
  largestItems: Type.Array(CacheItem),
  evictionMetrics: Type.Object({
    totalEvictions: I,
    expirationEvictions: I,
    memoryPressureEvictions: I,
    manualEvictions: I,
  }),
});

const cacheItem = (use: TileUse) => ({ ...use, lastAccessed: new Date(use.lastAccessed).toISOString() });

const CacheInvalidated = Type.Object({
  pattern: Type.String(),
  entriesInvalidated: I,
  invalidatedAt: TimestampSchema,
});

/** Figures of the cache of tiles. */
export const performanceCache = group({ tag: 'Performance', scope: 'performance', envelope: 'raw' }, [
  report('GET /performance/enhanced/cache/statistics', 'Get query-result cache statistics', {
    description:
      'The cached results are tiles. Sums of all processes since their start; the memory of each process is separate.',
    data: CacheStatisticsSchema,
    answer: async (_x, { reports }) => describeCache(await reports.caches()),
  }),
  report('GET /performance/enhanced/cache/effectiveness', 'Get cache effectiveness metrics', {
    description:
      'Tiles in the memory of the responding gateway process. `evictionMetrics` are of all processes. A low efficiency means much memory for few hits. Tiles invalidated by edits count as evicted manually.',
    data: CacheEffectiveness,
    async answer(_x, { cache, reports }) {
      const { mostUsed, leastUseful, largest } = await cache.uses();
      const { evictions, expirations, deletions } = (await reports.caches()).figures;
      return {
        topAccessedKeys: mostUsed.map(cacheItem),
        lowEfficiencyKeys: leastUseful.map(cacheItem),
        largestItems: largest.map(cacheItem),
        evictionMetrics: {
          totalEvictions: evictions + expirations + deletions,
          expirationEvictions: expirations,
          memoryPressureEvictions: evictions,
          manualEvictions: deletions,
        },
      };
    },
  }),
  action('DELETE /performance/enhanced/cache/invalidate', 'Invalidate query-result cache entries', {
    params: { pattern: defineFilterParam('pattern', 'Names of tiles; `*` stands for any characters.') },
    data: CacheInvalidated,
    errors: [400],
    async answer({ params: { pattern } }, { cache }) {
      if (!pattern) throw badParameter('pattern', 'is required');
      const entriesInvalidated = await cache.invalidate({ kind: 'pattern', pattern });
      return { pattern, entriesInvalidated, invalidatedAt: new Date().toISOString() };
    },
  }),
]);

/** Figures of the tile caches of all processes. */
export function describeCache({ figures, missing }: Awaited<ReturnType<ProcessReports['caches']>>) {
  const { hits, misses, bytes, entries, meanMakingMs } = figures;
  const requests = hits + misses;
  return {
    totalRequests: requests,
    cacheHits: hits,
    cacheMisses: misses,
    totalCacheMemoryBytes: bytes,
    totalTimeSavedMs: Math.round(hits * meanMakingMs),
    currentCacheSize: entries,
    hitRatio: requests === 0 ? 0 : hits / requests,
    avgMissExecutionTimeMs: meanMakingMs,
    byQueryType: { tile: { requests, hits, avgExecutionTimeMs: meanMakingMs } },
    missingInstances: [...missing],
    collectedAt: new Date().toISOString(),
  };
}
