import { resolve } from 'node:path';
import type { Config } from '../../../core/config/config.js';
import type { Log } from '../../telemetry/log.js';
import { exception } from '../../telemetry/log.js';
import { DiskLevel } from './disk-level.js';
import { type TileLevel, TileLevels } from './levels.js';

/**
 * Opens the configured levels after memory. A level that cannot be opened is skipped, so tiles are only rendered more
 * often.
 */
export async function openLevels({ disk, redis }: Config['cache'], log: Log): Promise<TileLevels> {
  const levels: TileLevel[] = [];
  if (disk.directory) {
    try {
      levels.push(await DiskLevel.open(resolve(disk.directory), disk.bytes));
    } catch (error) {
      log.write('cache.disk.failed', exception(error));
    }
  }
  // The Redis client is loaded only if it is configured.
  if (redis.url) levels.push(new (await import('./redis-level.js')).RedisLevel(redis.url));
  return new TileLevels(levels);
}
