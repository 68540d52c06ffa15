import { LRUCache } from 'lru-cache';

/**
 * A cache of at most `max` entries that drops the least recently used one. It allocates memory as it fills, whereas
 * `LRUCache` with a number of entries allocates 28 bytes for each of them at once.
 */
export function boundedCache<K extends {}, V extends {}>(
  max: number,
  options: Pick<LRUCache.Options<K, V, unknown>, 'ttl' | 'dispose'> = {},
): LRUCache<K, V> {
  return new LRUCache<K, V>({ maxSize: max, sizeCalculation: () => 1, ...options });
}
