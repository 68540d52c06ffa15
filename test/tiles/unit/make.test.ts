import { expect, it } from 'vitest';
import type { Collection } from '../../../src/core/catalog/collection.js';
import { MVT_FORMAT } from '../../../src/core/http/media.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { WEB_MERCATOR_QUAD } from '../../../src/core/tiles/tile-matrix.js';
import { makeTile } from '../../../src/services/tiles/make.js';
import type { TileCoding } from '../../../src/services/tiles/tile.js';

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
  const hasBody = async (zoom: number, shown: readonly Collection[]) => {
    const at = { set: WEB_MERCATOR_QUAD, zoom, row: 0, column: 0 };
    const { body } = await makeTile({ timing: () => {} }, pools, {
      format: MVT_FORMAT,
      collections: shown,
      at,
    });
    return body !== undefined;
  };
  expect(await hasBody(2, collections)).toBe(true);
  expect(await hasBody(3, collections)).toBe(true);
  expect(await hasBody(2, collections.slice(1))).toBe(false);
  expect(asked).toEqual([['early'], ['early', 'late']]);
});

it('compresses no tile for a client that takes none', async () => {
  const codings: string[] = [];
  const pools = {
    run: async (_: string, { encoding }: { encoding: 'gzip' | 'identity' }) => {
      codings.push(encoding);
      return { data: new Uint8Array(1000), encoding, features: 1, dropped: 0 };
    },
  } as unknown as Pools;
  const collections = [{ kind: 'vector', id: 'towns', source: { fields: [] } } as unknown as Collection];
  const at = { set: WEB_MERCATOR_QUAD, zoom: 0, row: 0, column: 0 };
  const tile = (coding?: TileCoding) =>
    makeTile({ timing: () => {} }, pools, { format: MVT_FORMAT, collections, at }, coding);
  const plain = await tile('identity');
  expect([plain.encoding, plain.bytes]).toEqual([undefined, 2000]);
  const compressed = await tile();
  expect([compressed.encoding, compressed.bytes]).toEqual(['gzip', 1000]);
  expect(codings).toEqual(['identity', 'gzip']);
});
