import { describe, expect, test } from 'vitest';
import { CatalogSnapshot, type Collection } from '../../../src/core/catalog/collection.js';
import type { CacheScope } from '../../../src/core/cluster/notes.js';
import { cacheControl, evictTiles } from '../../../src/services/tiles/cache/control.js';
import { TileLevels } from '../../../src/services/tiles/cache/levels.js';
import { TileCache } from '../../../src/services/tiles/cache/tile-cache.js';
import { tileOf, wanted } from '../cache/support.js';

describe('an operator drops', () => {
  const collection = (layerId: number) => ({ id: `c${layerId}`, layerId }) as Collection;
  async function filled() {
    const tiles = new TileCache(1_000_000);
    for (const layers of [[1], [2], [1, 2], [3]])
      await tiles.load(wanted({ zoom: 3, row: 1, column: 2, layers }), async () => tileOf(1));
    const field = { ...collection(1), service: 'Field work' };
    const catalog = () => new CatalogSnapshot([field, collection(2), collection(3)], [], 1);
    return { tiles, levels: new TileLevels([]), catalog };
  }

  test.each([
    [{ kind: 'all' }, 4],
    [{ kind: 'service', serviceId: 'Field work' }, 2],
    [{ kind: 'service', serviceId: 'default' }, 3],
    [{ kind: 'service', serviceId: 'nothing' }, 0],
    [{ kind: 'metadata' }, 0],
    [{ kind: 'collection', collectionId: 'c1' }, 2],
    [{ kind: 'layer', layerId: 2 }, 2],
    [{ kind: 'collection', collectionId: 'nothing' }, 0],
    [{ kind: 'pattern', pattern: '*' }, 4],
    [{ kind: 'pattern', pattern: 'mvt/*/3/1/2/c1@*' }, 2],
    [{ kind: 'pattern', pattern: '*/c2@v' }, 2],
    [{ kind: 'pattern', pattern: '*/c2@v/*' }, 0],
    [{ kind: 'pattern', pattern: 'c1' }, 0],
    [{ kind: 'pattern', pattern: '*.*' }, 0],
  ] as const)('%j', async (scope, count) => {
    expect(await evictTiles(scope, await filled())).toBe(count);
  });

  test('a layer of the service that is named, and nothing of a layer of another one', async () => {
    const announced: CacheScope[] = [];
    const control = cacheControl(await filled(), async (scope) => void announced.push(scope));
    const drop = (layerId: number, serviceId: string) =>
      control.invalidate({ kind: 'layer', layerId, serviceId });
    await expect(drop(1, 'default')).rejects.toMatchObject({
      status: 404,
      message: "The service 'default' has no layer 1.",
    });
    await expect(drop(2, 'Field work')).rejects.toMatchObject({ status: 404 });
    await expect(drop(9, 'default')).rejects.toMatchObject({ status: 404 });
    expect(announced).toEqual([]);
    expect([await drop(1, 'Field work'), await drop(3, 'default')]).toEqual([2, 1]);
    expect(announced).toHaveLength(2);
  });

  test('by no pattern that would take long', async () => {
    const parts = await filled();
    await expect(evictTiles({ kind: 'pattern', pattern: '*a'.repeat(9) }, parts)).rejects.toMatchObject({
      status: 400,
    });
    expect(await evictTiles({ kind: 'pattern', pattern: '*'.repeat(200) }, parts)).toBe(4);
  });
});
