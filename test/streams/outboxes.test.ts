import { expect, it } from 'vitest';
import type { ChangedCollection } from '../../src/core/catalog/catalog-change.js';
import type { Collection, VectorCollection } from '../../src/core/catalog/collection.js';
import { Outboxes } from '../../src/services/streams/outboxes.js';

const layer = (id: string, layerId: number, file: string, members: Partial<VectorCollection> = {}) =>
  ({
    ...{ kind: 'vector', id, layerId, file, cursor: layerId },
    source: { kind: 'geopackage', path: file, table: id, writable: true, fields: [] },
    ...members,
  }) as VectorCollection;
const added = (after: Collection): ChangedCollection => ({ before: undefined, after });
const removed = (before: Collection): ChangedCollection => ({ before, after: undefined });
const keys = (outboxes: Outboxes) => outboxes.all.map(({ key }) => key).sort();

const [roads, rivers, towns] = [layer('roads', 1, 'a'), layer('rivers', 2, 'a'), layer('towns', 3, 'b')];

it('each store that can be edited has one, with its tables in the order of their numbers', () => {
  const outboxes = new Outboxes();
  const raster = { kind: 'raster', id: 'dem', layerId: 9, file: 'c' } as Collection;
  const view = layer('view', 4, 'd', { source: { ...roads.source, writable: false } });
  const change = outboxes.apply([rivers, roads, towns, raster, view].map(added));
  expect(change.removed).toEqual([]);
  expect(keys(outboxes)).toEqual(['a', 'b']);
  expect(outboxes.ofCollection('rivers')).toMatchObject({
    key: 'a',
    start: 2,
    collections: ['roads', 'rivers'],
  });
  const image = expect.any(String);
  expect([...outboxes.ofCollection('rivers')!.tables]).toEqual([
    ['roads', [{ id: 'roads', layerId: 1, image }]],
    ['rivers', [{ id: 'rivers', layerId: 2, image }]],
  ]);
  expect(['dem', 'view'].map((id) => outboxes.ofCollection(id))).toEqual([undefined, undefined]);
});

it('a change is about the stores of its collections, and the last collection takes its store along', () => {
  const outboxes = new Outboxes();
  outboxes.apply([roads, rivers, towns].map(added));
  const change = outboxes.apply([removed(roads)]);
  expect([change.added.map(({ key }) => key), change.removed]).toEqual([['a'], []]);
  expect(change.added[0]!.collections).toEqual(['rivers']);
  expect(outboxes.ofCollection('roads')).toBeUndefined();
  expect(outboxes.apply([removed(towns)])).toEqual({ added: [], removed: ['b'] });
  expect(keys(outboxes)).toEqual(['a']);
});

it('a collection that comes from another file, or has another writer, changes both stores', () => {
  const outboxes = new Outboxes();
  outboxes.apply([roads, rivers].map(added));
  const moved = layer('roads', 1, 'b');
  const change = outboxes.apply([{ before: roads, after: moved }]);
  expect(change.added.map(({ key }) => key).sort()).toEqual(['a', 'b']);
  expect(outboxes.ofCollection('roads')!.key).toBe('b');
  const closed = { ...moved, source: { ...moved.source, writable: false } };
  expect(outboxes.apply([{ before: moved, after: closed }])).toEqual({ added: [], removed: ['b'] });
});
