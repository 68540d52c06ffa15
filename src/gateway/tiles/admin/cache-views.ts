import Type from 'typebox';
import type { LevelStatus } from '../../../services/tiles/cache/levels.js';

/** If a configured Redis does not respond, each gateway uses only its own cache. */
export function describeCacheHealth(levels: readonly LevelStatus[]): {
  isHealthy: boolean;
  isUsingFallback: boolean;
} {
  return {
    isHealthy: levels.every(({ healthy }) => healthy),
    isUsingFallback: levels.some(({ name, healthy }) => name === 'redis' && !healthy),
  };
}

export function findRedisLevel(levels: readonly LevelStatus[]): LevelStatus | undefined {
  return levels.find(({ name }) => name === 'redis');
}

export const ServerInfoSchema = Type.Union([
  Type.Null(),
  Type.Object({
    isConnected: Type.Boolean(),
    redisVersion: Type.Union([Type.String(), Type.Null()]),
    connectedClients: Type.Union([Type.Integer(), Type.Null()]),
    databaseSize: Type.Union([Type.Integer(), Type.Null()]),
    uptimeSeconds: Type.Union([Type.Integer(), Type.Null()]),
    usedMemory: Type.Union([Type.String(), Type.Null()]),
  }),
]);

/** Statistics that Redis reports; null without Redis. */
export function describeRedisServer(redis: LevelStatus | undefined) {
  if (!redis) return null;
  const { healthy, entries, server } = redis;
  return {
    isConnected: healthy,
    redisVersion: server?.version ?? null,
    connectedClients: server?.clients ?? null,
    databaseSize: entries ?? null,
    uptimeSeconds: server?.uptimeSeconds ?? null,
    usedMemory: server?.usedMemory ?? null,
  };
}
