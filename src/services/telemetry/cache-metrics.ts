import { Counter, Gauge, Histogram } from './instruments.js';

/** Instruments of caches. */

const NAME = ['cache_name'] as const;
const OPERATION = ['cache_type', 'operation'] as const;

export const cacheHits = new Counter({
  name: 'svc_cache_hits_total',
  help: 'Cache hits',
  labels: NAME,
});
export const cacheMisses = new Counter({
  name: 'svc_cache_misses_total',
  help: 'Cache misses',
  labels: NAME,
});
export const cacheEvictions = new Counter({
  name: 'svc_cache_evictions_total',
  help: 'Entries evicted because of the byte limit',
  labels: NAME,
});
export const cacheErrors = new Counter({
  name: 'svc_cache_errors_total',
  help: 'Failed cache operations',
  labels: NAME,
});
export const cacheHitRatio = new Gauge({
  name: 'svc_cache_hit_ratio',
  help: 'Hits / requests since the start',
  labels: NAME,
});
export const cacheHitRatioDetailed = new Histogram({
  name: 'svc_cache_hit_ratio_detailed',
  help: 'Hits / requests in each period of ten seconds with requests',
  labels: NAME,
  bounds: [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1],
});
export const cacheBytes = new Gauge({
  name: 'svc_cache_bytes',
  help: 'Bytes in a cache',
  labels: NAME,
});
export const cacheOperationCounter = new Counter({
  name: 'svc_cache_operation_total',
  help: 'Reads (get), writes (set) and deletions (remove) of a cache',
  labels: OPERATION,
});
const cacheOperationDuration = new Histogram({
  name: 'svc_cache_operation_duration_ms',
  help: 'Duration of operations of the disk cache and Redis; memory operations are too short to measure',
  labels: OPERATION,
  bounds: [0.25, 1, 5, 25, 100, 1000],
});

/** Times one operation of a cache, whatever becomes of it. */
export async function timedOperation<T>(cache: string, operation: string, run: () => Promise<T>): Promise<T> {
  const started = performance.now();
  try {
    return await run();
  } finally {
    cacheOperationCounter.cell(cache, operation).inc();
    cacheOperationDuration.cell(cache, operation).observe(performance.now() - started);
  }
}

const last = new Map<string, { hits: number; misses: number }>();

/** Notes the hit ratio of each cache since the last sample. */
export function sampleHitRatios(): void {
  for (const { labels, value: hits } of cacheHits.samples()) {
    const cache = labels['cache_name']!;
    const misses = cacheMisses.cell(cache).value;
    const before = last.get(cache) ?? { hits: 0, misses: 0 };
    last.set(cache, { hits, misses });
    const hitsSince = hits - before.hits;
    const lookUps = hitsSince + misses - before.misses;
    if (lookUps > 0) cacheHitRatioDetailed.cell(cache).observe(hitsSince / lookUps);
  }
}

export const CACHE_INSTRUMENTS = [
  cacheHits,
  cacheMisses,
  cacheEvictions,
  cacheErrors,
  cacheHitRatio,
  cacheHitRatioDetailed,
  cacheBytes,
  cacheOperationCounter,
  cacheOperationDuration,
];
