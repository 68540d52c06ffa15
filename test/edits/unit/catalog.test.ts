import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import type { CatalogSnapshot, VectorCollection } from '../../../src/core/catalog/collection.js';
import type { CollectionChange, EditTask } from '../../../src/core/edits/edits.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import Database from '../../../src/native/sqlite.js';
import { Catalog } from '../../../src/services/catalog/catalog.js';
import { Databases } from '../../../src/services/catalog/databases.js';
import { StacImagery } from '../../../src/services/rasters/stac-imagery/searches.js';
import { edit } from '../../../src/workers/providers/geopackage/edits/edit.js';
import { closeWriters } from '../../../src/workers/providers/geopackage/edits/writer.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { geoPackageStore } from '../support.js';

/** Reloads and edits meet in any order: the catalog knows each edit once. */

const stores: ReturnType<typeof geoPackageStore>[] = [];
let store: ReturnType<typeof geoPackageStore>;
let catalog: Catalog;
let replaced: [CatalogSnapshot, CatalogSnapshot][];

beforeEach(async () => {
  replaced = [];
  store = geoPackageStore();
  stores.push(store);
  const pools = {
    run: async (name: string, { path }: { path: string }) =>
      name === 'vector.otherTables' ? { tiles: [], plain: [], problems: [] } : inspectGeoPackage(path),
  } as unknown as Pools;
  catalog = new Catalog({
    pools,
    databases: new Databases(pools, 3000),
    imagery: new StacImagery(pools),
    dataDir: '/nonexistent',
    layerIdOf: async () => 1,
    holders: async () => new Map(),
    findNames: async () => new Map(),
    registered: async () => ({ rasters: [], slugOf: async () => undefined }),
  });
  catalog.follow({ replaced: ({ before, after }) => replaced.push([before, after]) });
  catalog.commit(await catalog.prepare({ sources: [store.file] }));
});
afterAll(async () => {
  closeWriters();
  for (const one of stores) await one.release();
});

const spots = () => catalog.current.byId('spots') as VectorCollection;
const facts = () => ({ count: spots().featureCount, cursor: spots().cursor });

async function create(x: number): Promise<CollectionChange> {
  const task: EditTask = {
    filter: undefined,
    source: spots().source,
    operations: [{ type: 'create', feature: { geometry: `{"type":"Point","coordinates":[${x},1]}` } }],
    mode: 'each',
    crs: 'OGC:CRS84',
    swapAxes: false,
    origin: { collection: 'spots', layerId: 1, protocol: 'p', requestId: 'r', actor: 'a' },
  };
  return (await edit(task)).change!;
}

it('changes count and extent with an edit, once, and keeps its version', async () => {
  const before = spots().version;
  const change = await create(5);
  catalog.touch('spots', change);
  catalog.touch('spots', change);
  expect(facts()).toEqual({ count: 1, cursor: 1 });
  expect(spots().extent84).toEqual([5, 1, 5, 1]);
  expect(spots().version).toBe(before);
});

it('keeps the version of a file that only edits changed, and changes that of any other', async () => {
  const { version } = spots();
  catalog.touch('spots', await create(1));
  catalog.commit(await catalog.prepare({ sources: [store.file] }));
  expect(spots().version).toBe(version);
  expect(facts()).toEqual({ count: 1, cursor: 1 });
  const other = new Database(store.file);
  other.exec("INSERT INTO untended (name) VALUES ('from elsewhere')");
  catalog.commit(await catalog.prepare({ sources: [store.file] }));
  other.close();
  expect(spots().version).not.toBe(version);
});

it('tells of every reload what was published before and after', async () => {
  catalog.touch('spots', await create(1));
  catalog.commit(await catalog.prepare({ sources: [store.file] }));
  const cursors = replaced.map((pair) => pair.map((one) => (one.byId('spots') as VectorCollection)?.cursor));
  expect(cursors).toEqual([
    [undefined, 0],
    [1, 1],
  ]);
});

it('counts edits that are told in another order than they were committed', async () => {
  const first = await create(1);
  const second = await create(2);
  catalog.touch('spots', second);
  catalog.touch('spots', first);
  expect(facts()).toEqual({ count: 2, cursor: 2 });
});

it('counts an edit once when a reload sees it too', async () => {
  const change = await create(1);
  const snapshot = await catalog.prepare({ sources: [store.file] });
  catalog.touch('spots', change);
  catalog.commit(snapshot);
  expect(facts()).toEqual({ count: 1, cursor: 1 });
  catalog.touch('spots', change);
  expect(facts()).toEqual({ count: 1, cursor: 1 });
});

it('does not go back to what a reload read before an edit', async () => {
  const snapshot = await catalog.prepare({ sources: [store.file] });
  catalog.touch('spots', await create(1));
  catalog.commit(snapshot);
  expect(facts()).toEqual({ count: 1, cursor: 1 });
});

/** Copies all pages by the backup interface of SQLite, in a program of its own. */
const copyPages = (command: 'backup' | 'restore') =>
  execFileSync('sqlite3', [store.file, `.${command} ${join(dirname(store.file), 'kept.gpkg')}`]);

it.each([0, 1])(
  'counts anew in a file that another program restored, as it was after %i edits',
  async (kept) => {
    for (let i = 0; i < kept; i++) catalog.touch('spots', await create(1));
    copyPages('backup');
    for (let i = 0; i < 3; i++) catalog.touch('spots', await create(2));
    const late = await create(3);
    copyPages('restore');
    // An edit that is made while the file is read, and one of before that another process tells late.
    const snapshot = await catalog.prepare({ sources: [store.file] });
    catalog.touch('spots', await create(4));
    catalog.touch('spots', late);
    catalog.commit(snapshot);
    catalog.touch('spots', late);
    expect(facts()).toEqual({ count: kept + 1, cursor: kept + 1 });
    catalog.touch('spots', await create(5));
    expect(facts()).toEqual({ count: kept + 2, cursor: kept + 2 });
    expect(await store.query('SELECT count(*) AS n FROM spots')).toEqual([{ n: kept + 2 }]);
  },
);

it('refuses an edit of a table that another program dropped, and leaves no transaction open', async () => {
  catalog.touch('spots', await create(1));
  const other = new Database(store.file);
  other.exec("DELETE FROM gpkg_geometry_columns WHERE table_name = 'spots'; DROP TABLE spots");
  await expect(create(2)).rejects.toMatchObject({ code: 'store-unavailable' });
  other.exec('CREATE TABLE writable (n)');
  other.close();
});

it('says that an older reading was shown after a newer one, and reads again by itself when it refreshes', async () => {
  const [older, newer] = [
    await catalog.prepare({ sources: [store.file] }),
    await catalog.prepare({ sources: [store.file] }),
  ];
  expect([catalog.commit(newer), catalog.commit(older)]).toEqual([true, false]);
  const refreshed = catalog.refresh();
  catalog.commit(await catalog.prepare({ sources: [] }));
  await refreshed;
  expect(catalog.current.collections).toEqual([]);
});

it('takes its number of features for an estimate after a change of unknown size', async () => {
  catalog.touch('spots', await create(1));
  expect(spots()).toMatchObject({ featureCount: 1, countEstimated: false });
  catalog.touch('spots', { cursor: 1000 });
  expect(spots()).toMatchObject({ featureCount: 1, countEstimated: true });
});

it('takes over a measured extent, but not that it could not be measured, nor one from before an edit', async () => {
  const change = await create(50);
  catalog.touch('spots', change);
  const grown = spots().extent84;
  expect(catalog.measured('spots', change.cursor - 1, [1, 1, 2, 2])).toBe(false);
  expect(catalog.measured('spots', change.cursor, undefined)).toBe(true);
  expect(spots().extent84).toEqual(grown);
  expect(catalog.measured('spots', change.cursor, [1, 1, 2, 2])).toBe(true);
  expect(spots().extent84).toEqual([1, 1, 2, 2]);
});
