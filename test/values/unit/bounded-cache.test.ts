import { expect, it } from 'vitest';
import { boundedCache } from '../../../src/core/values/bounded-cache.js';

it('forgets the entry that was unused for longest', () => {
  const forgotten: string[] = [];
  const cache = boundedCache<string, number>(3, {
    dispose: (_, key, reason) => forgotten.push(`${key} ${reason}`),
  });
  for (const key of ['a', 'b', 'c']) cache.set(key, 0);
  expect(cache.get('a')).toBe(0);
  cache.set('c', 1);
  cache.set('d', 1);
  expect([...cache.keys()]).toEqual(['d', 'c', 'a']);
  expect(forgotten).toEqual(['c set', 'b evict']);
});

it('takes no memory for entries that it does not have', () => {
  const before = process.memoryUsage();
  const caches = Array.from({ length: 30 }, () => boundedCache<string, number>(100_000));
  const after = process.memoryUsage();
  expect(caches).toHaveLength(30);
  expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(20 << 20);
});
