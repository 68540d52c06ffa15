import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors.js';
import type { CacheScope } from '../cache-control.js';
import { OptionalStringSchema, TimestampSchema } from '../envelope.js';
import { action, group, jsonBody, report } from '../kit.js';

const I = Type.Integer();
const B = Type.Boolean();
const D = Type.Number();

const Health = Type.Object({
  isHealthy: B,
  isUsingFallback: B,
  cacheEnabled: B,
  fallbackEnabled: B,
  keyPrefix: OptionalStringSchema,
  defaultTtlSeconds: I,
  retryIntervalSeconds: I,
  metricsEndpoint: OptionalStringSchema,
  redisServerInfo: Type.Null(),
  generatedAt: TimestampSchema,
});

const Ratios = Type.Object({ hits: I, misses: I, evictions: I, hitRatio: D, missRatio: D });
const Statistics = Type.Object({
  backend: Type.String(),
  isUsingFallback: B,
  hits: I,
  misses: I,
  evictions: I,
  hitRatio: D,
  missRatio: D,
  localKeyCount: I,
  distributedKeyCount: Type.Null(),
  redisDatabaseSize: Type.Null(),
  redisUsedMemoryBytes: Type.Null(),
  redisUsedMemoryHuman: Type.Null(),
  types: Type.Record(Type.String(), Ratios),
  generatedAt: TimestampSchema,
});

const Invalidate = Type.Object({
  keyPattern: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  serviceId: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  layerId: Type.Optional(Type.Integer({ minimum: 0 })),
  scope: Type.Optional(Type.Enum(['ogc-metadata', 'all'])),
});

const Invalidated = Type.Object({
  invalidated: B,
  scope: Type.Enum(['pattern', 'ogc-metadata', 'all', 'layer', 'service']),
  detail: Type.Optional(Type.String()),
});

/** Cache figures for operators. */
export const cacheOperations = group({ tag: 'Operations', scope: 'cache-operations', envelope: 'wrapped' }, [
  report('GET /operations/cache/health', 'Get Cache Health', {
    data: Health,
    answer: (_x, { cache }) => ({
      isHealthy: true,
      isUsingFallback: false,
      cacheEnabled: cache.status().enabled,
      fallbackEnabled: false,
      keyPrefix: null,
      defaultTtlSeconds: cache.status().ttlSeconds,
      retryIntervalSeconds: 0,
      metricsEndpoint: null,
      redisServerInfo: null,
      generatedAt: new Date().toISOString(),
    }),
  }),
  report('GET /operations/cache/statistics', 'Get Cache Statistics', {
    data: Statistics,
    answer(_x, { cache }) {
      const { hits, misses, evictions, entries } = cache.status();
      const figures = { hits, misses, evictions, ...ratios(hits, misses) };
      return {
        backend: 'memory',
        isUsingFallback: false,
        ...figures,
        localKeyCount: entries,
        distributedKeyCount: null,
        redisDatabaseSize: null,
        redisUsedMemoryBytes: null,
        redisUsedMemoryHuman: null,
        types: { tile: figures },
        generatedAt: new Date().toISOString(),
      };
    },
  }),
  report('GET /operations/cache/distributed', 'Get Distributed Cache Connection Metrics'),
  action('POST /operations/cache/invalidate', 'Invalidate Cache', {
    body: jsonBody(Invalidate),
    data: Invalidated,
    errors: [400],
    async answer({ body }, { cache }) {
      const { scope, name } = scopeOf(body);
      const dropped = await cache.invalidate(scope);
      return { invalidated: true, scope: name, detail: `${dropped} cached responses were dropped.` };
    },
  }),
]);

function ratios(hits: number, misses: number): { hitRatio: number; missRatio: number } {
  const all = hits + misses;
  return all === 0 ? { hitRatio: 0, missRatio: 0 } : { hitRatio: hits / all, missRatio: misses / all };
}

/** A key pattern wins over the other members. */
function scopeOf({ keyPattern, serviceId, layerId, scope }: Static<typeof Invalidate>): {
  scope: CacheScope;
  name: Static<typeof Invalidated>['scope'];
} {
  if (keyPattern !== undefined) return { scope: { kind: 'pattern', pattern: keyPattern }, name: 'pattern' };
  if (layerId !== undefined) {
    return {
      scope: { kind: 'layer', layerId, ...(serviceId === undefined ? {} : { serviceId }) },
      name: 'layer',
    };
  }
  if (serviceId !== undefined) return { scope: { kind: 'service', serviceId }, name: 'service' };
  if (scope === 'ogc-metadata') return { scope: { kind: 'metadata' }, name: 'ogc-metadata' };
  if (scope === 'all') return { scope: { kind: 'all' }, name: 'all' };
  throw new ApiError('invalid-body', 'One of keyPattern, serviceId, layerId and scope is required.');
}
