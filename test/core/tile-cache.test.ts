import { describe, expect, test } from 'vitest';
import { type CachedTile, TileCache } from '../../src/gateway/cache/tile-cache.js';

const tile = (bytes: number, name = ''): CachedTile => ({ reply: { status: 200, body: name }, bytes });
const fill = (cache: TileCache, key: string, bytes: number) => cache.fill(key, async () => tile(bytes, key));

describe('the tile cache', () => {
  test('holds no more bytes than it may, and counts what it drops', async () => {
    const cache = new TileCache(100_000);
    for (let i = 0; i < 50; i++) await fill(cache, `k${i}`, 9_744);
    const { entries, bytes, evictions } = cache.statistics();
    expect(bytes).toBeLessThanOrEqual(100_000);
    expect(entries).toBe(10);
    expect(evictions).toBeGreaterThanOrEqual(40);
  });

  test('keeps what is used and drops what is not', async () => {
    const cache = new TileCache(100_000);
    await fill(cache, 'hot', 9_744);
    for (let i = 0; i < 100; i++) {
      expect(cache.find('hot')).toBeDefined();
      await fill(cache, `cold${i}`, 9_744);
    }
    expect(cache.find('cold0')).toBeUndefined();
  });

  test('renders a tile once for all who wait for it', async () => {
    const cache = new TileCache(100_000);
    let renderings = 0;
    const render = async () => {
      renderings++;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return tile(10);
    };
    const answers = await Promise.all([
      cache.fill('a', render),
      cache.fill('a', render),
      cache.fill('a', render),
    ]);
    expect(renderings).toBe(1);
    expect(new Set(answers).size).toBe(1);
  });

  test('a failed rendering is not remembered', async () => {
    const cache = new TileCache(100_000);
    await expect(cache.fill('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect((await fill(cache, 'a', 10)).bytes).toBe(10);
  });

  test('what was rendered before an invalidation is not stored after it', async () => {
    const cache = new TileCache(100_000);
    let finish = () => {};
    const slow = cache.fill('a', () => new Promise((resolve) => (finish = () => resolve(tile(10)))));
    cache.invalidate(() => true);
    finish();
    await slow;
    expect(cache.find('a')).toBeUndefined();
  });

  test('a slot that was kept is not used once its tile has left', async () => {
    const cache = new TileCache(100_000);
    await fill(cache, 'a', 10);
    const slot = cache.find('a');
    expect(cache.find('a', slot)).toBe(slot);
    cache.invalidate(() => true);
    expect(cache.find('a', slot)).toBeUndefined();
    await fill(cache, 'a', 20);
    expect(cache.find('a', slot)?.tile.bytes).toBe(20);
  });

  test('invalidation drops only what fits', async () => {
    const cache = new TileCache(100_000);
    await fill(cache, 'mvt/1', 10);
    await fill(cache, 'mvt/2', 10);
    expect(cache.invalidate((key) => key.endsWith('1'))).toBe(1);
    expect(cache.find('mvt/1')).toBeUndefined();
    expect(cache.find('mvt/2')).toBeDefined();
  });
});
