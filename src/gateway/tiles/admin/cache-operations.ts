import Type, { type Static } from 'typebox';
import type { CacheScope } from '../../../core/cluster/notes.js';
import { ApiError } from '../../../core/errors/errors.js';
import { REDIS_PREFIX } from '../../../services/tiles/cache/stored-tile.js';
import { OptionalStringSchema, TimestampSchema } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { describeCacheHealth, describeRedisServer, findRedisLevel, ServerInfoSchema } from './cache-views.js';

const SERVICES = ['cache', 'reports'] as const;
const { action, report } = createRowBuilders(SERVICES);

const I = Type.Integer();
const B = Type.Boolean();
const D = Type.Number();

const OptionalInteger = Type.Union([I, Type.Null()]);

const Health = Type.Object({
  isHealthy: B,
  isUsingFallback: B,
  cacheEnabled: B,
  fallbackEnabled: B,
  keyPrefix: OptionalStringSchema,
  defaultTtlSeconds: I,
  retryIntervalSeconds: I,
  metricsEndpoint: OptionalStringSchema,
  redisServerInfo: ServerInfoSchema,
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
  distributedKeyCount: OptionalInteger,
  redisDatabaseSize: OptionalInteger,
  redisUsedMemoryBytes: OptionalInteger,
  redisUsedMemoryHuman: OptionalStringSchema,
  types: Type.Record(Type.String(), Ratios),
  generatedAt: TimestampSchema,
});

const Distributed = Type.Object({
  isConfigured: B,
  isConnected: B,
  endpointCount: OptionalInteger,
  clientName: OptionalStringSchema,
  totalOutstanding: OptionalInteger,
  serverInfo: ServerInfoSchema,
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
export const cacheAdminOperations = group(
  { tag: 'Operations', scope: 'cache-operations', envelope: 'wrapped' },
  [
    report('GET /operations/cache/health', 'Get Cache Health', {
      data: Health,
      async answer(_x, { cache }) {
        const levels = await cache.levels();
        const redis = findRedisLevel(levels);
        return {
          ...describeCacheHealth(levels),
          cacheEnabled: cache.status().enabled,
          fallbackEnabled: redis !== undefined,
          keyPrefix: redis ? REDIS_PREFIX : null,
          defaultTtlSeconds: cache.status().ttlSeconds,
          retryIntervalSeconds: redis ? 1 : 0,
          metricsEndpoint: null,
          redisServerInfo: describeRedisServer(redis),
          generatedAt: new Date().toISOString(),
        };
      },
    }),
    report('GET /operations/cache/statistics', 'Get Cache Statistics', {
      description:
        'Sums of all processes; `localKeyCount` is of the responding process. `types` contains hits and misses of the memory cache, and of the disk cache and Redis if they are enabled.',
      data: Statistics,
      async answer(_x, { cache, reports }) {
        const { entries } = cache.status();
        const levels = await cache.levels();
        const { hits, misses, evictions, levels: lookUps } = (await reports.caches()).figures;
        const redis = findRedisLevel(levels);
        const figures = { hits, misses, evictions, ...ratios(hits, misses) };
        const behind = Object.entries(lookUps).map(([name, found]) => [
          `tile-${name}`,
          { ...found, evictions: 0, ...ratios(found.hits, found.misses) },
        ]);
        return {
          backend: ['memory', ...levels.map(({ name }) => name)].join('+'),
          isUsingFallback: describeCacheHealth(levels).isUsingFallback,
          ...figures,
          localKeyCount: entries,
          distributedKeyCount: redis?.entries ?? null,
          redisDatabaseSize: redis?.entries ?? null,
          redisUsedMemoryBytes: redis?.bytes ?? null,
          redisUsedMemoryHuman: redis?.server?.usedMemory ?? null,
          types: { tile: figures, ...Object.fromEntries(behind) },
          generatedAt: new Date().toISOString(),
        };
      },
    }),
    report('GET /operations/cache/distributed', 'Get Distributed Cache Connection Metrics', {
      data: Distributed,
      async answer(_x, { cache }) {
        const redis = findRedisLevel(await cache.levels());
        return {
          isConfigured: redis !== undefined,
          isConnected: redis?.healthy ?? false,
          endpointCount: redis ? 1 : null,
          clientName: null,
          totalOutstanding: null,
          serverInfo: describeRedisServer(redis),
          generatedAt: new Date().toISOString(),
        };
      },
    }),
    action('POST /operations/cache/invalidate', 'Invalidate Cache', {
      body: jsonBody(Invalidate),
      data: Invalidated,
      errors: [400, 404],
      async answer({ body }, { cache }) {
        const { scope, name } = parseScope(body);
        const dropped = await cache.invalidate(scope);
        return { invalidated: true, scope: name, detail: `${dropped} cached responses were dropped.` };
      },
    }),
  ],
);

function ratios(hits: number, misses: number): { hitRatio: number; missRatio: number } {
  const all = hits + misses;
  return all === 0 ? { hitRatio: 0, missRatio: 0 } : { hitRatio: hits / all, missRatio: misses / all };
}

/** A key pattern wins over the other members. */
function parseScope({ keyPattern, serviceId, layerId, scope }: Static<typeof Invalidate>): {
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
  throw new ApiError('invalid-body', 'keyPattern, serviceId, layerId or scope is required.');
}
