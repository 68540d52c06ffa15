import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CatalogSnapshot, VectorCollection } from '../../src/core/catalog/collection.js';
import type { CollectionChange } from '../../src/core/edits/edits.js';
import { TaskFailure } from '../../src/core/errors/failure.js';
import type { Pools } from '../../src/core/tasks/tasks.js';
import Database from '../../src/native/sqlite.js';
import { Catalog } from '../../src/services/catalog/catalog.js';
import { Databases } from '../../src/services/catalog/databases.js';
import type { SourceChange } from '../../src/services/catalog/inspections/readings.js';
import type { DataSettings } from '../../src/services/catalog/publish/settings.js';
import { StacImagery } from '../../src/services/rasters/stac-imagery/searches.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';
import { geoPackageStore } from '../edits/support.js';

/** A change of one source opens no other source, and the catalog is the one that reading everything would give. */

let store: ReturnType<typeof geoPackageStore>;
let root: string;
let folder: string;
let catalog: Catalog;
/** What was asked of the pools. */
let asked: string[];
/** Sources whose names were looked for in the state; `all` where all names were read. */
let searched: (string[] | 'all')[];
/** Ids of the collections that followers were told of, those that are gone with a minus. */
let told: string[][];
/** Files whose inspection fails, with the code of the failure. */
const failing = new Map<string, 'source-unreadable' | 'queue-full' | 'storage-full'>();

/** Inspections wait for it with what they have found. */
let held: Promise<void> | undefined;

/** The same for inspections of many files, and which of these began. */
let heldMany: Promise<void> | undefined;
let reading: string[] = [];

const FILES = ['a', 'b', 'c'];
const pathOf = (name: string) => join(folder, `${name}.gpkg`);
const own = () => join(root, 'data/stores/default.gpkg');

/** What is found in each of many files. */
let inspected: ReturnType<typeof inspectGeoPackage> | undefined;

const pools = {
  async run(name: string, { path, ...named }: { path: string; tables?: string[] }) {
    const code = failing.get(path);
    if (code) throw new TaskFailure(code, 'It fails.');
    if (name === 'vector.otherTables') return { tiles: [], plain: [], problems: [] };
    if (name !== 'vector.inspect') throw new TaskFailure('invalid-input', name);
    // Many files hold what one of them holds.
    if (path.includes('/many/')) {
      reading.push(path);
      await heldMany;
      return (inspected ??= inspectGeoPackage(pathOf('a'), named));
    }
    asked.push(named.tables ? `${path}#${named.tables.join()}` : path);
    const found = inspectGeoPackage(path, named);
    await held;
    return found;
  },
} as unknown as Pools;

function newCatalog(): Catalog {
  const numbers = new Map<string, number>();
  return new Catalog({
    ...{ pools, databases: new Databases(pools, 3000), imagery: new StacImagery(pools) },
    dataDir: join(root, 'data'),
    async layerIdOf(id) {
      if (!numbers.has(id)) numbers.set(id, numbers.size + 1);
      return numbers.get(id)!;
    },
    holders: async () => new Map(),
    async findNames(holders) {
      searched.push(holders ? [...holders] : 'all');
      return new Map();
    },
    registered: async () => ({ rasters: [], slugOf: async () => undefined }),
  });
}

beforeEach(async () => {
  failing.clear();
  inspected = undefined;
  asked = [];
  searched = [];
  told = [];
  store = geoPackageStore();
  root = mkdtempSync(join(tmpdir(), 'graticule-incremental-'));
  folder = join(root, 'files');
  mkdirSync(folder);
  mkdirSync(join(root, 'data/stores'), { recursive: true });
  for (const name of FILES) copyFileSync(store.file, pathOf(name));
  catalog = newCatalog();
  await readAll();
});
afterEach(async () => {
  await store.release();
  rmSync(root, { recursive: true });
});

const ids = (of = catalog) => of.current.collections.map(({ id }) => id).sort();
const collection = (id: string) => catalog.current.byId(id) as VectorCollection;

async function readAll(): Promise<void> {
  catalog.commit(await catalog.prepare({ sources: [folder] }));
}

/** What was inspected for these changes. */
async function inspectedFor(changes: readonly SourceChange[] | undefined): Promise<string[]> {
  asked = [];
  await catalog.refresh(changes);
  return asked;
}

/** Another program writes to a file. */
function write(path: string, sql: string): void {
  const db = new Database(path);
  db.exec(sql);
  db.close();
}

const INSERT = "INSERT INTO untended (name) VALUES ('from elsewhere')";

/** A table under another name, as a load of the server makes it. */
function addTable(path: string, name: string): void {
  write(
    path,
    `CREATE TABLE "${name}" (fid INTEGER PRIMARY KEY, geom BLOB, note TEXT);
     INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('${name}', 'features', '${name}', 3857);
     INSERT INTO gpkg_geometry_columns VALUES ('${name}', 'geom', 'POINT', 3857, 0, 0)`,
  );
}

function dropTable(path: string, name: string): void {
  write(
    path,
    `DROP TABLE "${name}"; DELETE FROM gpkg_geometry_columns WHERE table_name = '${name}';
     DELETE FROM gpkg_contents WHERE table_name = '${name}'`,
  );
}

async function expectAsReadAnew(): Promise<void> {
  const other = newCatalog();
  other.commit(await other.prepare({ sources: [folder] }));
  expect(ids()).toEqual(ids(other));
  expect(catalog.current.quarantined).toEqual(other.current.quarantined);
}

describe('a change of one file', () => {
  it('asks the state for the names of new tables only, and tells followers of these', async () => {
    catalog.follow({
      replaced: ({ changed }) =>
        void told.push(changed.map(({ before, after }) => (after ? after.id : `-${before!.id}`))),
    });
    searched = [];
    copyFileSync(store.file, own());
    addTable(own(), 'result');
    await catalog.refresh([{ source: own() }]);
    told = [];
    searched = [];
    addTable(own(), 'other');
    await catalog.refresh([{ source: own(), table: 'other' }]);
    expect(searched).toEqual([[JSON.stringify([own(), 'default', 'other'])]]);
    expect(told).toEqual([['other']]);
    dropTable(own(), 'other');
    await catalog.refresh([{ source: own(), table: 'other' }]);
    expect(searched).toHaveLength(1);
    expect(told).toEqual([['other'], ['-other']]);
    await catalog.refresh([]);
    expect(told.at(-1)).toEqual([]);
  });

  it('opens no other, and keeps the other collections as they are shown', async () => {
    const before = catalog.current.collections;
    write(pathOf('b'), INSERT);
    expect(await inspectedFor([{ source: pathOf('b') }])).toEqual([pathOf('b')]);
    const same = catalog.current.collections.filter((one) => before.includes(one));
    expect(same.map(({ file }) => file)).not.toContain(pathOf('b'));
    expect(same).toHaveLength((before.length / 3) * 2);
    await expectAsReadAnew();
  });

  it('is found in others that were not named', async () => {
    write(pathOf('a'), INSERT);
    write(pathOf('c'), INSERT);
    expect(await inspectedFor([{ source: pathOf('a') }])).toEqual([pathOf('a'), pathOf('c')]);
    expect(await inspectedFor([{ source: pathOf('a') }])).toEqual([pathOf('a')]);
  });

  it('may be its removal, or a new one', async () => {
    rmSync(pathOf('b'));
    expect(await inspectedFor([{ source: pathOf('b') }])).toEqual([]);
    await expectAsReadAnew();
    copyFileSync(store.file, pathOf('d'));
    expect(await inspectedFor([{ source: pathOf('d') }])).toEqual([pathOf('d')]);
    await expectAsReadAnew();
  });

  it('leaves what edits made of others', async () => {
    const change = { cursor: 1, features: 1 } as CollectionChange;
    const [{ id }] = catalog.current.collections.filter(({ file }) => file === pathOf('a')) as [
      VectorCollection,
    ];
    const { featureCount = 0 } = collection(id);
    catalog.touch(id, change);
    await catalog.refresh([{ source: pathOf('b') }]);
    expect(collection(id)).toMatchObject({ featureCount: featureCount + 1, cursor: 1 });
  });
});

describe('files that are written after they were read and before they are watched', () => {
  const TO_REST = 5000;

  it('are reported: changed, new and removed ones', async () => {
    const told = new Set<string>();
    write(pathOf('a'), INSERT);
    rmSync(pathOf('c'));
    copyFileSync(store.file, pathOf('d'));
    catalog.watch((paths) => {
      for (const path of paths) told.add(path);
    });
    try {
      const expected = ['a', 'c', 'd'].map(pathOf);
      await vi.waitFor(() => expect([...told].sort()).toEqual(expected), TO_REST);
      await catalog.refresh([...told].map((source) => ({ source })));
      await expectAsReadAnew();
    } finally {
      await catalog.close();
    }
  });

  it('are reported in a folder that a reload adds', async () => {
    const other = mkdtempSync(join(tmpdir(), 'graticule-incremental-'));
    const told: string[] = [];
    catalog.watch((paths) => void told.push(...paths));
    try {
      const file = join(other, 'e.gpkg');
      copyFileSync(store.file, file);
      const snapshot = await catalog.prepare({ sources: [folder, other] });
      write(file, INSERT);
      catalog.commit(snapshot);
      await vi.waitFor(() => expect(told).toEqual([file]), TO_REST);
    } finally {
      await catalog.close();
      rmSync(other, { recursive: true });
    }
  });

  it('are none where nothing was written', async () => {
    const told: string[] = [];
    catalog.watch((paths) => void told.push(...paths));
    await new Promise((resolve) => setTimeout(resolve, 1200));
    await catalog.close();
    expect(told).toEqual([]);
  });
});

describe('a change of a table in a file of the server', () => {
  beforeEach(async () => {
    copyFileSync(store.file, own());
    await readAll();
  });

  it('reads the table alone, and searches no source', async () => {
    const before = catalog.current.collections;
    addTable(own(), 'result');
    // Nobody named it: it is found with the next change of the sources.
    write(pathOf('a'), INSERT);
    expect(await inspectedFor([{ source: own(), table: 'result' }])).toEqual([`${own()}#result`]);
    expect(catalog.current.collections.filter((one) => before.includes(one))).toEqual(before);
    expect(collection('result')).toMatchObject({ file: own(), id: 'result' });
    await expectAsReadAnew();
  });

  it('takes several together', async () => {
    addTable(own(), 'one');
    addTable(own(), 'two');
    const changes = ['one', 'two'].map((table) => ({ source: own(), table }));
    expect(await inspectedFor(changes)).toEqual([`${own()}#one,two`]);
    await expectAsReadAnew();
  });

  it('may be its removal', async () => {
    addTable(own(), 'result');
    await catalog.refresh([{ source: own(), table: 'result' }]);
    dropTable(own(), 'result');
    await catalog.refresh([{ source: own(), table: 'result' }]);
    expect(ids()).not.toContain('result');
    await expectAsReadAnew();
  });

  it('gives a table that was loaded again another version', async () => {
    addTable(own(), 'result');
    await catalog.refresh([{ source: own(), table: 'result' }]);
    const { version } = collection('result');
    dropTable(own(), 'result');
    addTable(own(), 'result');
    await catalog.refresh([{ source: own(), table: 'result' }]);
    expect(collection('result').version).not.toBe(version);
  });

  it('is one of the same table if its name is written in other letters', async () => {
    addTable(own(), 'Result');
    await catalog.refresh([{ source: own(), table: 'Result' }]);
    const { version } = collection('result');
    dropTable(own(), 'Result');
    addTable(own(), 'result');
    await catalog.refresh([{ source: own(), table: 'RESULT' }]);
    expect(ids().filter((id) => id.includes('result'))).toEqual(['result']);
    expect(collection('result').source).toMatchObject({ table: 'result' });
    expect(collection('result').version).not.toBe(version);
    await expectAsReadAnew();
  });

  it('reads all of the file while nothing of it was read', async () => {
    rmSync(own());
    await readAll();
    copyFileSync(store.file, own());
    expect(existsSync(own())).toBe(true);
    expect(await inspectedFor([{ source: own(), table: 'spots' }])).toEqual([own()]);
    await expectAsReadAnew();
  });
});

describe('many files that appear at once', () => {
  const FILES_AT_ONCE = 1100;
  const manyPath = (i: number) => join(folder, `many/${String(i).padStart(4, '0')}.gpkg`);
  const published = () => catalog.current.collections.filter(({ file }) => file.includes('/many/'));
  const filesShown = () => new Set(published().map(({ file }) => file)).size;

  it('are published 64 at a time, with what changes beside them', async () => {
    const count = 150;
    mkdirSync(join(folder, 'many'));
    for (let i = 0; i < count; i += 1) writeFileSync(manyPath(i), `a file ${i}`);
    failing.set(manyPath(3), 'queue-full');
    let sources = 0;
    const named = [{ source: manyPath(count - 1) }, { source: manyPath(0) }];
    const first = await catalog.prepare({ sources: [folder] }, named, () => {
      sources += 1;
    });
    expect(catalog.commit(first)).toBe(true);
    expect(filesShown()).toBe(63);
    expect(sources).toBeGreaterThanOrEqual(64);
    const postponed = catalog.postponedOf(first);
    expect(postponed).toEqual(Array.from({ length: 86 }, (_, i) => manyPath(64 + i)));
    // Another change does not wait for all of them.
    write(pathOf('c'), INSERT);
    const { version } = catalog.current.collections.find(({ file }) => file === pathOf('c'))!;
    const second = await catalog.prepare(
      { sources: [folder] },
      [pathOf('c'), ...postponed].map((source) => ({ source })),
    );
    catalog.commit(second);
    expect(filesShown()).toBe(127);
    expect(catalog.current.collections.find(({ file }) => file === pathOf('c'))!.version).not.toBe(version);
    // A file that cannot be read yet is not new again.
    const last = await catalog.prepare(
      { sources: [folder] },
      catalog.postponedOf(second).map((source) => ({ source })),
    );
    catalog.commit(last);
    expect(catalog.postponedOf(last)).toEqual([]);
    expect(filesShown()).toBe(count - 1);
    failing.clear();
    await catalog.refresh([{ source: manyPath(3) }]);
    expect(filesShown()).toBe(count);
  });

  describe('while they are read', () => {
    let release: () => void;
    let late: Promise<CatalogSnapshot>;

    beforeEach(async () => {
      copyFileSync(store.file, own());
      await readAll();
      mkdirSync(join(folder, 'many'));
      for (let i = 0; i < 8; i += 1) writeFileSync(manyPath(i), `a file ${i}`);
      renameSync(pathOf('b'), join(folder, 'many/b.gpkg'));
      heldMany = new Promise((resolve) => {
        release = resolve;
      });
      reading = [];
      late = catalog.prepare(
        { sources: [folder] },
        [manyPath(0), pathOf('b')].map((source) => ({ source })),
      );
      await vi.waitFor(() => expect(reading).toHaveLength(4));
    });
    afterEach(() => {
      heldMany = undefined;
      release();
    });

    it('do not delay a table of the server, which opens none of them', async () => {
      const shown = ids();
      addTable(own(), 'result');
      expect(await inspectedFor([{ source: own(), table: 'result' }])).toEqual([`${own()}#result`]);
      expect(reading).toHaveLength(4);
      // The file that was moved is shown at its former place until the reading ends.
      expect(ids()).toEqual([...shown, 'result'].sort());
      heldMany = undefined;
      release();
      expect(catalog.commit(await late)).toBe(true);
      expect(ids()).toContain('result');
      expect(filesShown()).toBe(9);
      await expectAsReadAnew();
    });

    it('are shown with a change that was shown after the last of them was read', async () => {
      heldMany = undefined;
      release();
      const snapshot = await late;
      addTable(own(), 'result');
      await catalog.refresh([{ source: own(), table: 'result' }]);
      expect(filesShown()).toBe(0);
      // It has no table `result`.
      expect(catalog.commit(snapshot)).toBe(false);
      expect(ids()).toContain('result');
      await catalog.refresh([]);
      expect(filesShown()).toBe(9);
      await expectAsReadAnew();
    });

    it('are not lost when a table of the same file is read beside them', async () => {
      heldMany = undefined;
      release();
      catalog.commit(await late);
      held = new Promise((resolve) => {
        release = resolve;
      });
      addTable(own(), 'foreign');
      asked = [];
      const whole = catalog.prepare({ sources: [folder] }, [{ source: own() }]);
      await vi.waitFor(() => expect(asked).toEqual([own()]));
      held = undefined;
      addTable(own(), 'result');
      expect(await inspectedFor([{ source: own(), table: 'result' }])).toEqual([own()]);
      release();
      catalog.commit(await whole);
      expect(ids()).toEqual(expect.arrayContaining(['foreign', 'result']));
      await expectAsReadAnew();
    });
  });

  it('are read with other settings, which later changes keep', async () => {
    const tiles = { [ids()[0]!]: { minZoom: 3 } } as unknown as DataSettings['tiles'];
    const snapshot = await catalog.prepare({ sources: [folder], tiles }, []);
    await catalog.refresh([]);
    expect(catalog.commit(snapshot)).toBe(false);
    await catalog.refresh([]);
    expect(catalog.current.collections.some((one) => one.tiles)).toBe(true);
  });

  it('are all there after one refresh, and after a reload of everything', async () => {
    mkdirSync(join(folder, 'many'));
    for (let i = 0; i < FILES_AT_ONCE; i += 1) writeFileSync(manyPath(i), `a file ${i}`);
    await catalog.refresh([{ source: manyPath(0) }]);
    expect(filesShown()).toBe(FILES_AT_ONCE);
    const all = await catalog.prepare({ sources: [folder] });
    expect(catalog.postponedOf(all)).toEqual([]);
  });
});

describe('what is read again', () => {
  it('is nothing when no source changed', async () => {
    expect(await inspectedFor([])).toEqual([]);
  });

  it('is everything when no change is named', async () => {
    expect((await inspectedFor(undefined)).sort()).toEqual(FILES.map(pathOf));
  });

  it('is a file whose reading failed because the server had too much to do, but not one that is damaged', async () => {
    failing.set(pathOf('a'), 'queue-full').set(pathOf('b'), 'source-unreadable');
    await readAll();
    expect(catalog.current.quarantined.map(({ path }) => path)).toEqual([pathOf('a'), pathOf('b')]);
    failing.clear();
    expect(await inspectedFor([{ source: pathOf('c') }])).toEqual([pathOf('a'), pathOf('c')]);
    expect(catalog.current.quarantined.map(({ path }) => path)).toEqual([pathOf('b')]);
    // A damaged file that is touched is another one.
    utimesSync(pathOf('b'), 1, 1);
    expect(await inspectedFor([{ source: pathOf('c') }])).toEqual([pathOf('b'), pathOf('c')]);
    await expectAsReadAnew();
  });

  it('takes nothing away while the file cannot be opened, and is asked for again', async () => {
    const before = ids();
    write(pathOf('b'), INSERT);
    failing.set(pathOf('b'), 'storage-full');
    await catalog.refresh([{ source: pathOf('b') }]);
    expect(ids()).toEqual(before);
    expect(catalog.current.quarantined).toMatchObject([{ path: pathOf('b'), passing: true }]);
    // A reload of everything takes nothing away either.
    await readAll();
    expect(ids()).toEqual(before);
    failing.clear();
    expect(await inspectedFor([{ source: pathOf('b') }])).toEqual([pathOf('b')]);
    expect(catalog.current.quarantined).toEqual([]);
  });

  it('is not replaced by a reading that began earlier', async () => {
    let release = () => {};
    held = new Promise((resolve) => {
      release = resolve;
    });
    asked = [];
    const late = catalog.prepare({ sources: [folder] }, [{ source: pathOf('a') }]);
    await vi.waitFor(() => expect(asked).toEqual([pathOf('a')]));
    held = undefined;
    write(pathOf('a'), INSERT);
    await catalog.refresh([{ source: pathOf('a') }]);
    const { version } = catalog.current.collections.find(({ file }) => file === pathOf('a'))!;
    release();
    catalog.commit(await late);
    expect(catalog.current.collections.find(({ file }) => file === pathOf('a'))!.version).toBe(version);
  });
});
