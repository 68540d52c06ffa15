import { describe, expect, it } from 'vitest';
import { CatalogSnapshot, type Collection } from '../../src/core/catalog/collection.js';
import { withLayers } from '../../src/services/catalog/publish/catalog-layers.js';
import { formatTitle } from '../../src/services/catalog/publish/collections.js';
import { assignIds, withAwaited } from '../../src/services/catalog/publish/names.js';
import { hostProblem } from '../../src/services/connections/hosts.js';

const collection = (id: string, layerId: number, file: string) => ({ id, layerId, file }) as Collection;
const draft = (name: string, file = 'a.gpkg') => ({
  name,
  group: file.split('.')[0]!,
  make: (id: string, layerId: number) => collection(id, layerId, file),
});

/** Names as the state keeps them. */
function names() {
  const held = new Map<string, string>();
  return {
    layerIdOf: async (id: string, holder?: string) => {
      if (holder === undefined) return 1;
      for (const [one, slug] of held) if (slug === id) held.delete(one);
      held.set(holder, id);
      return 1;
    },
    holders: async () => new Map(held),
    findNames: async () => new Map([...held].map(([holder, id]) => [holder, { id, layerId: 1 }])),
  };
}
const idsOf = async (drafts: ReturnType<typeof draft>[], kept: ReturnType<typeof names>) =>
  (await assignIds(drafts, kept)).map(({ id }) => id);

describe('a collection keeps its id, by which rules name it', () => {
  it('when another source of its name comes, and goes', async () => {
    const kept = names();
    expect(await idsOf([draft('parcels', 'b.gpkg')], kept)).toEqual(['parcels']);
    const both = [draft('parcels', 'a.gpkg'), draft('parcels', 'b.gpkg')];
    expect(await idsOf(both, kept)).toEqual(['a-parcels', 'parcels']);
    expect(await idsOf(both, kept)).toEqual(['a-parcels', 'parcels']);
    expect(await idsOf([draft('parcels', 'a.gpkg')], kept)).toEqual(['a-parcels']);
  });

  it('when the data folder of another server has its name: it gets the id that it has there', async () => {
    const kept = { ...names(), listElsewhere: async () => new Set(['parcels', 'c-parcels']) };
    const ids = await idsOf([draft('parcels', 'a.gpkg'), draft('parcels', 'c.gpkg'), draft('roads')], kept);
    expect(ids).toEqual(['a-parcels', 'c-parcels-2', 'roads']);
    // What has an id keeps it.
    const both = { ...kept, listElsewhere: async () => new Set(['a-parcels']) };
    expect(await idsOf([draft('parcels', 'a.gpkg')], both)).toEqual(['a-parcels']);
  });

  it('also one that was never alone', async () => {
    const kept = names();
    const both = [draft('parcels', 'a.gpkg'), draft('parcels', 'b.gpkg')];
    expect(await idsOf(both, kept)).toEqual(['a-parcels', 'b-parcels']);
    expect(await idsOf([both[1]!], kept)).toEqual(['b-parcels']);
  });

  it('while it is served as it was, and its file cannot be read', async () => {
    const kept = names();
    const drafts = [draft('parcels', 'b.gpkg')];
    await idsOf(drafts, kept);
    expect((await assignIds(drafts, kept, new Set(), ['parcels'])).map(({ id }) => id)).toEqual(['parcels']);
  });

  it('until its source is gone: then another one may have it', async () => {
    const kept = names();
    await idsOf([draft('parcels', 'a.gpkg')], kept);
    expect(await idsOf([draft('parcels', 'c.gpkg')], kept)).toEqual(['parcels']);
    expect(await idsOf([draft('parcels', 'a.gpkg'), draft('parcels', 'c.gpkg')], kept)).toEqual([
      'a-parcels',
      'parcels',
    ]);
  });
});

describe('files of one name in several folders', () => {
  const titled = (file: string, name = 'cycle_hire') => ({
    name,
    group: file.split('/').at(-1)!.split('.')[0]!,
    make: (id: string, layerId: number) => ({ ...collection(id, layerId, file), title: 'Cycle hire' }),
  });
  const named = async (drafts: ReturnType<typeof titled>[], kept = names()) =>
    (await assignIds(drafts, kept)).map(({ id, title }) => `${id}: ${title}`);

  it('get the plain name and the names of their folders', async () => {
    const files = ['/data/cycle_hire.geojson', '/data/from colleagues/cycle_hire.geojson'];
    expect(await named(files.map((file) => titled(file)))).toEqual([
      'cycle_hire: Cycle hire',
      'from-colleagues-cycle_hire: Cycle hire (from colleagues)',
    ]);
    expect(await named(files.toReversed().map((file) => titled(file)))).toEqual([
      'from-colleagues-cycle_hire: Cycle hire (from colleagues)',
      'cycle_hire: Cycle hire',
    ]);
    const years = ['/data/2024/roads.gpkg', '/data/2025/roads.gpkg', '/data/old/2025/roads.gpkg'];
    expect(await named(years.map((file) => titled(file, 'roads')))).toEqual([
      'roads: Cycle hire',
      'data-2025-roads: Cycle hire (data 2025)',
      'old-2025-roads: Cycle hire (old 2025)',
    ]);
  });

  it('get their extensions in one folder', async () => {
    const files = ['/data/cycle_hire.csv', '/data/cycle_hire.geojson'];
    expect(await named(files.map((file) => titled(file)))).toEqual([
      'cycle_hire: Cycle hire',
      'cycle_hire-geojson: Cycle hire (geojson)',
    ]);
  });

  it('keep the ids that they have', async () => {
    const kept = names();
    const [first, second] = [titled('/data/z/cycle_hire.csv'), titled('/data/a/cycle_hire.csv')];
    expect(await named([first], kept)).toEqual(['cycle_hire: Cycle hire']);
    const both = ['a-cycle_hire: Cycle hire (a)', 'cycle_hire: Cycle hire'];
    expect(await named([second, first], kept)).toEqual(both);
    expect(await named([second, first], kept)).toEqual(both);
  });
});

it('a title has no extension of a file', () => {
  expect(['nc.gpkg', 'sf_bna2', 'v1.2', '.csv'].map(formatTitle)).toEqual(['Nc', 'Sf bna2', 'V1.2', '.csv']);
});

it('a source that could not be read keeps the ids of what it held', async () => {
  const kept = names();
  await idsOf([draft('parcels', 'postgresql://host/land'), draft('roads', 'a.gpkg')], kept);
  const unread = [{ path: 'postgresql://host/land', reason: 'does not respond', isUnread: true as const }];
  const [source] = await withAwaited(unread, kept);
  expect(source!.awaited).toEqual([{ id: 'parcels', layerId: 1 }]);
  const made = await assignIds([draft('parcels', 'b.gpkg')], kept, new Set(), ['parcels']);
  expect(made.map(({ id }) => id)).toEqual(['parcels-2']);
  expect(await idsOf([draft('parcels', 'postgresql://host/land')], kept)).toEqual(['parcels']);
});

it('a source that comes with the id of a published layer gets another one', async () => {
  const ids = ['roads', 'roads-2'];
  const made = await assignIds([draft('Roads'), draft('rivers')], names(), new Set(ids));
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

it('says nothing of a table whose layer is published with what the table does not say', () => {
  const finding = (layer: string) => ({ path: 'postgresql://db', layer, reason: 'Its SRID is not known.' });
  const read = new CatalogSnapshot([], [finding('public.srid0'), finding('public.other')], 1);
  const source = { kind: 'postgis', schema: 'public', table: 'srid0' };
  const layer = { ...collection('srid0', 1, 'postgresql://db'), kind: 'vector', source } as Collection;
  const both = withLayers(read, { collections: [layer], ids: new Set(['srid0']), quarantined: [] });
  expect(both.quarantined.map((one) => one.layer)).toEqual(['public.other']);
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
  const problem = hostProblem({ host, port: 5432 }, [entry]);
  expect(problem === undefined).toBe(allowed);
  if (allowed) return;
  const port = /:(543\d)$/.exec(entry)?.[1];
  const name = host.includes(':') ? `[${host}]` : host;
  const ports = port === undefined ? '' : `, which has this host with port ${port} only`;
  expect(problem).toBe(`${name}:5432 is not in connections.allow${ports}`);
});
