import Type, { type Static } from 'typebox';
import type { CacheScope } from '../../../core/cluster/notes.js';
import { badMember } from '../../../core/errors/errors.js';
import { TimestampSchema } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { describeCacheHealth } from './cache-views.js';

const SERVICES = ['cache'] as const;
const { action, report } = createRowBuilders(SERVICES);

const Status = Type.Object({
  isHealthy: Type.Boolean(),
  isUsingFallback: Type.Boolean(),
  timestamp: TimestampSchema,
});

const Invalidate = Type.Object({
  scope: Type.Enum(['layer', 'service', 'collection', 'ogc-metadata', 'all']),
  serviceId: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  layerId: Type.Optional(Type.Integer({ minimum: 0 })),
  collectionId: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
});

const Invalidated = Type.Object({
  success: Type.Boolean(),
  scope: Type.String(),
  message: Type.String(),
  timestamp: TimestampSchema,
});

/** State and invalidation of the response cache. */
export const cache = group({ tag: 'Cache', scope: 'cache', envelope: 'wrapped' }, [
  report('GET /cache/status', 'Get cache health status', {
    data: Status,
    async answer(_x, { cache }) {
      return { ...describeCacheHealth(await cache.levels()), timestamp: new Date().toISOString() };
    },
  }),
  action('POST /cache/invalidate', 'Invalidate cached responses by scope', {
    body: jsonBody(Invalidate),
    data: Invalidated,
    errors: [400, 404],
    async answer({ body }, deps) {
      const dropped = await deps.cache.invalidate(readScope(body));
      const message = `${dropped} cached responses were dropped.`;
      return { success: true, scope: body.scope, message, timestamp: new Date().toISOString() };
    },
  }),
]);

function readScope(body: Static<typeof Invalidate>): CacheScope {
  const { scope, serviceId, layerId, collectionId } = body;
  switch (scope) {
    case 'all':
      return { kind: 'all' };
    case 'ogc-metadata':
      return { kind: 'metadata' };
    case 'collection':
      return { kind: 'collection', collectionId: collectionId ?? lacking(scope, 'collectionId') };
    case 'service':
      return { kind: 'service', serviceId: serviceId ?? lacking(scope, 'serviceId') };
    case 'layer':
      return {
        kind: 'layer',
        serviceId: serviceId ?? lacking(scope, 'serviceId'),
        layerId: layerId ?? lacking(scope, 'layerId'),
      };
  }
}

function lacking(scope: string, member: string): never {
  const detail = `is required for the scope ${scope}`;
  throw badMember(`/${member}`, detail);
}
