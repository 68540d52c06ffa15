import { expect, it } from 'vitest';
import type { Collection } from '../../src/core/collection.js';
import { MVT_FORMAT } from '../../src/core/media.js';
import type { Pools } from '../../src/core/tasks.js';
import { WEB_MERCATOR_QUAD } from '../../src/core/tile-matrix.js';
import { makeTile } from '../../src/services/tiles/make.js';

it('whoever wants a tile, a collection is left out of those beyond its zooms', async () => {
  const asked: string[][] = [];
  const pools = {
    run: async (_: string, { layers }: { layers: { name: string }[] }) => {
      asked.push(layers.map(({ name }) => name));
      return { data: new Uint8Array([1]), encoding: 'identity', features: 1, dropped: 0 };
    },
  } as unknown as Pools;
  const collection = (id: string, minZoom: number) =>
    ({ kind: 'vector', id, source: { fields: [] }, tiles: { minZoom } }) as unknown as Collection;
  const collections = [collection('early', 0), collection('late', 3)];
  const status = async (zoom: number, shown: readonly Collection[]) => {
    const at = { set: WEB_MERCATOR_QUAD, zoom, row: 0, column: 0 };
    const { reply } = await makeTile({ timing: () => {} }, pools, {
      format: MVT_FORMAT,
      collections: shown,
      at,
    });
    return reply.status;
  };
  expect(await status(2, collections)).toBe(200);
  expect(await status(3, collections)).toBe(200);
  expect(await status(2, collections.slice(1))).toBe(204);
  expect(asked).toEqual([['early'], ['early', 'late']]);
});
