import { expect, it } from 'vitest';
import { CatalogSnapshot, type Collection } from '../../src/core/collection.js';
import { hostProblem } from '../../src/services/connections/hosts.js';
import { withLayers } from '../../src/services/publish/catalog-layers.js';
import { assignIds } from '../../src/services/publish/names.js';

const collection = (id: string, layerId: number, file: string) => ({ id, layerId, file }) as Collection;
const draft = (name: string) => ({
  name,
  group: 'folder',
  make: (id: string, layerId: number) => collection(id, layerId, 'a.gpkg'),
});

it('a source that comes with the id of a published layer gets another one', async () => {
  const ids = ['roads', 'roads-2'];
  const made = await assignIds([draft('Roads'), draft('rivers')], async () => 1, new Set(ids));
  expect(made.map(({ id }) => id)).toEqual(['roads-3', 'rivers']);
});

it('a collection that was read before its id was taken gives way', () => {
  const read = new CatalogSnapshot(
    [collection('roads', 1, 'a.gpkg'), collection('rivers', 2, 'a.gpkg')],
    [],
    3,
  );
  const layer = collection('roads', 1, 'postgresql://db');
  const both = withLayers(read, { collections: [layer], ids: new Set(['roads']), quarantined: [] });
  expect(both.collections.map(({ id, file }) => `${id} ${file}`)).toEqual([
    'rivers a.gpkg',
    'roads postgresql://db',
  ]);
  // Also that of a layer that is switched off.
  const off = withLayers(read, { collections: [], ids: new Set(['roads']), quarantined: [] });
  expect(off.collections.map(({ id }) => id)).toEqual(['rivers']);
  expect(off.generation).toBe(3);
});

it.each([
  ['*', 'db.example.org', true],
  ['db.example.org', 'DB.example.org.', true],
  ['db.example.org', 'other.example.org', false],
  ['*.example.org', 'db.example.org', true],
  ['*.example.org', 'example.org', false],
  ['*.example.org', 'badexample.org', false],
  ['10.0.0.0/8', '10.1.2.3', true],
  ['10.0.0.0/8', '11.1.2.3', false],
  ['10.0.0.0/8', '10.example.org', false],
  ['fd00::/8', 'fd00::1', true],
  ['[fd00::1]:5432', 'fd00::1', true],
  ['[fd00::1]:5433', 'fd00::1', false],
  ['10.1.2.3:5433', '10.1.2.3', false],
  ['db.example.org:5432', 'db.example.org', true],
  ['db.example.org:5433', 'db.example.org', false],
])('connections.allow %s and the host %s: %s', (entry, host, allowed) => {
  expect(hostProblem({ host, port: 5432 }, [entry]) === undefined).toBe(allowed);
});
