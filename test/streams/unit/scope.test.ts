import { describe, expect, it } from 'vitest';
import type { CatalogSnapshot, VectorCollection } from '../../../src/core/catalog/collection.js';
import { parseText } from '../../../src/core/cql2/index.js';
import { buildScopes, type SubscriberInterest } from '../../../src/services/streams/scope.js';

const field = (name: string) => ({ name, type: 'string' as const, nullable: true });
const fields = [field('a'), field('b')];
const source = { kind: 'geopackage', idColumn: 'fid', geometryColumn: 'geom', fields: [fields[0]] };
const interest: SubscriberInterest = {
  layers: [1],
  bbox: undefined,
  datetime: undefined,
  filter: parseText("a = 'x'"),
};

/** A catalog of which each reading makes its objects anew, as the one of a caller with masks. */
function visible(change: object = {}): CatalogSnapshot {
  const rule = { scope: 'caller', rows: undefined, stored: { ...source, fields }, version: '1' };
  const collection = { kind: 'vector', id: 'spots', layerId: 1, source: { ...source }, rule, ...change };
  return { collections: [collection as unknown as VectorCollection] } as unknown as CatalogSnapshot;
}

describe('the scopes of a subscription', () => {
  it('are checked once, and have the collection of the newest catalog', () => {
    const first = buildScopes(interest, visible());
    const edited = visible({ cursor: 7 });
    const second = buildScopes(interest, edited, first);
    expect(second.get(1)!.collection).toBe(edited.collections[0]);
    expect(second.get(1)!.fields).toBe(first.get(1)!.fields);
  });

  it('are checked again where rows, attributes or the source change', () => {
    const first = buildScopes(interest, visible());
    const hidden = buildScopes(interest, visible({ source: { ...source, fields: [fields[1]] } }), first);
    expect(hidden.size).toBe(0);
    const rows = { scope: 'caller', rows: parseText("b = 'y'"), stored: { ...source, fields }, version: '2' };
    const narrowed = buildScopes(interest, visible({ rule: rows }), first);
    expect(narrowed.get(1)!.filter).toContain('"y"');
  });
});
