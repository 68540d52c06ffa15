import { expect, it } from 'vitest';
import { CatalogSnapshot, type Collection } from '../../src/core/catalog/collection.js';
import { listAccessLayers, listRuleLayers } from '../../src/gateway/admin/layer-rights.js';

/** Rules name layers by ids or numbers, and a name of digits is a number. */

const layer = (id: string, layerId: number) => ({ id, layerId, kind: 'vector' }) as unknown as Collection;
const catalog = new CatalogSnapshot([layer('5', 1), layer('roads', 5), layer('rivers', 6)], [], 0);
const rules = { accessIdOf: () => '*' };
const idsOf = (layers: Collection[]) => layers.map(({ id }) => id);

it.each([
  ['1', ['5']],
  ['5', ['roads']],
  ['6', ['rivers']],
  ['roads', ['roads']],
])('a rule for the layer %s needs the right to all layers that it applies to', (name, ids) => {
  expect(idsOf(listRuleLayers({ service: '*', layer: name }, catalog))).toEqual(ids);
  expect(idsOf(listAccessLayers(name, rules, catalog))).toEqual(ids);
});

it('a rule for a layer that is gone needs the right to all of its service', () => {
  expect(idsOf(listRuleLayers({ service: '*', layer: 'gone' }, catalog))).toEqual(['5', 'roads', 'rivers']);
});
