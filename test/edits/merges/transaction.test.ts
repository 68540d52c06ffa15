import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Expression } from '../../../src/core/cql2/ast.js';
import type { MergeRequest, MergeResult } from '../../../src/core/edits/merges.js';
import type { PostgisSource, VectorSource } from '../../../src/core/sources/vector-source.js';
import { USUAL_RETENTION } from '../../../src/core/streams/events.js';
import { keepEvents } from '../../../src/workers/edits/retention.js';
import { mergeRows } from '../../../src/workers/exchange/merges/rows.js';
import { connect } from '../../../src/workers/providers/geopackage/connection.js';
import { closeWriters } from '../../../src/workers/providers/geopackage/edits/writer.js';
import { prepareStore } from '../../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { closeAll } from '../../../src/workers/providers/postgis/connections/database.js';
import { discoverTables } from '../../../src/workers/providers/postgis/schema/discover.js';
import { getFeatureStore } from '../../../src/workers/providers/store.js';
import { type EditableStore, geoPackageStore, postgisStore } from '../support.js';

type Row = { code: string; name: string; x?: number; note?: string };

interface OpenStore {
  store: EditableStore;
  source: VectorSource;
}

const STORES: Record<string, () => Promise<OpenStore>> = {
  async GeoPackage() {
    const store = geoPackageStore();
    const { source } = inspectGeoPackage(store.file).find((layer) => layer.source.table === 'parcels')!;
    return { store, source };
  },
  async PostGIS() {
    const store = await postgisStore();
    const { layers } = await discoverTables({ database: store.sources[0]! });
    const { source } = layers.find((layer) => layer.source.table === 'parcels')!;
    return { store, source: source as PostgisSource };
  },
};

/** What exists for a caller west of 50°. */
const WEST: Expression = {
  op: 's_intersects',
  args: [{ property: 'geom' }, { bbox: [0, 0, 50, 80], crs: 'OGC:CRS84' }],
};

describe.each(Object.keys(STORES))('%s: the transaction of a merge', (name) => {
  let opened: OpenStore;
  let folder: string;
  let count = 0;

  beforeAll(async () => {
    opened = await STORES[name]!();
    folder = mkdtempSync(join(tmpdir(), 'graticule-merges-'));
  }, 120_000);
  afterAll(async () => {
    closeWriters();
    closeAll();
    keepEvents(USUAL_RETENTION);
    rmSync(folder, { recursive: true, force: true });
    await opened.store.release();
  });
  beforeEach(async () => {
    keepEvents(USUAL_RETENTION);
    await merged([{ code: 'a', name: 'first' }], { mode: 'replace' });
  });

  const codes = async () =>
    (await opened.store.query('SELECT code FROM parcels ORDER BY code')).map((row) => row['code']);
  const eventCount = async () =>
    (await opened.store.query(`SELECT cursor FROM ${opened.store.outbox}`)).length;

  interface Bounds {
    filter?: Expression;
    visible?: string[];
    writable?: string[];
  }

  /** The task that writes rows, which are checked. */
  function taskOf(rows: Row[], request: Partial<MergeRequest>, bounds: Bounds = {}) {
    const path = join(folder, `${++count}.gpkg`);
    stage(path, rows);
    const { source } = opened;
    const { visible, writable } = bounds;
    const task = {
      ...{ spool: `${path}.rows`, report: `${path}.ndjson` },
      request: { mode: 'append', rejectRows: false, ...request } as MergeRequest,
      count: new SharedArrayBuffer(4),
    };
    const checked = mergeRows({
      ...task,
      ...{ visible, writable, target: source, staging: path, stagingTable: 'staged', isText: false },
    });
    const origin = { collection: 'parcels', layerId: 1, protocol: 'Import', requestId: 'r', actor: 'ann' };
    return {
      checked,
      task: { ...task, filter: undefined, ...bounds, source, origin, token: `${name}-${count}` },
    };
  }
  const merge = (task: ReturnType<typeof taskOf>['task']): Promise<MergeResult> =>
    getFeatureStore(task.source).merge!(task);
  const merged = (rows: Row[], request: Partial<MergeRequest>, bounds?: Bounds) =>
    merge(taskOf(rows, request, bounds).task);

  it('is carried out once, and answers the same to whoever asks again', async () => {
    const { task } = taskOf([{ code: 'b', name: 'b' }], {});
    const answer = await merge(task);
    expect(answer).toMatchObject({ inserted: 1, change: { features: 1, cursor: expect.any(Number) } });
    const events = await eventCount();
    rmSync(task.spool);
    // Nothing was written the second time.
    const { writes: _, ...change } = answer.change!;
    expect(await merge(task)).toEqual({ ...answer, change });
    expect(await codes()).toEqual(['a', 'b']);
    expect(await eventCount()).toBe(events);
  });

  it('is not carried out without its rows', async () => {
    const { task } = taskOf([{ code: 'b', name: 'b' }], {});
    rmSync(task.spool);
    await expect(merge(task)).rejects.toMatchObject({ code: 'source-missing' });
    expect(await codes()).toEqual(['a']);
  });

  it('takes no row out of what exists for who asks', async () => {
    const bounds = { filter: WEST };
    const rows = [
      { code: 'b', name: 'b' },
      { code: 'c', name: 'c', x: 60 },
    ];
    expect(await merged(rows, {}, bounds)).toMatchObject({
      inserted: 0,
      refusal: expect.stringMatching(/^Row 2: /),
    });
    expect(await codes()).toEqual(['a']);
    expect(await merged(rows, { rejectRows: true }, bounds)).toMatchObject({ inserted: 1, rejected: 1 });
    expect(await codes()).toEqual(['a', 'b']);
  });

  it.each([20_000, 2])(
    'replaces and changes what exists for who asks alone, with %i events kept',
    async (kept) => {
      await merged([{ code: 'east', name: 'east', x: 60 }], {});
      keepEvents({ ...USUAL_RETENTION, count: kept });
      const rows = ['b', 'c', 'd'].map((code) => ({ code, name: code }));
      const answer = await merged(rows, { mode: 'replace' }, { filter: WEST });
      expect(answer).toMatchObject({ inserted: 3, deleted: 1, change: { features: 2 } });
      expect(answer.change!.areas === undefined).toBe(kept === 2);
      expect(await codes()).toEqual(['b', 'c', 'd', 'east']);
      const upsert = { mode: 'upsert', keyField: 'code', rejectRows: true } as const;
      const changes = await merged(
        [
          { code: 'east', name: 'mine' },
          { code: 'b', name: 'new' },
        ],
        upsert,
        { filter: WEST },
      );
      expect(changes).toMatchObject({ updated: 1, rejected: 1, rejections: [{ row: 1 }] });
      expect(
        await opened.store.query(`SELECT name FROM parcels WHERE code IN ('b', 'east') ORDER BY code`),
      ).toEqual([{ name: 'new' }, { name: 'east' }]);
    },
  );

  it('keeps to the fields that exist for who asks, and that may be changed', async () => {
    const rows = [{ code: 'b', name: 'b', note: 'x' }];
    const hidden = taskOf(rows, {}, { visible: ['code', 'name'], writable: ['code', 'name'] });
    expect(hidden.checked).toMatchObject({
      rows: 1,
      warnings: ['These columns are not fields of the collection and were omitted: note.'],
    });
    const { checked, task } = taskOf(rows, {}, { writable: ['code', 'name'] });
    expect(checked).toMatchObject({
      ...{ rows: 0, rejected: 1 },
      rejections: [{ reasons: [{ detail: 'You may not change note.' }] }],
    });
    expect(existsSync(task.report)).toBe(true);
    expect(JSON.parse(readFileSync(task.report, 'utf8'))).toEqual(checked.rejections[0]);
  });

  it.runIf(name === 'PostGIS')(
    'gives features the ids of the file where these are texts, and finds them by it',
    async () => {
      const { store } = opened;
      await store.query(
        `CREATE TABLE places (code text PRIMARY KEY, geom geometry(Polygon, 4326), name text)`,
      );
      const { layers } = await discoverTables({ database: store.sources[0]! });
      const { source } = layers.find((layer) => layer.source.table === 'places')!;
      const places = () => store.query('SELECT code, name FROM places ORDER BY code');
      const parcels = opened;
      opened = { store, source };
      try {
        await merged([{ code: 'a', name: 'first' }], {});
        const taken = await merged(
          [
            { code: 'b', name: 'b' },
            { code: 'a', name: 'again' },
          ],
          {},
        );
        expect(taken.refusal).toBe("Row 2: The feature 'a' already exists.");
        const upsert = { mode: 'upsert', keyField: 'code' } as const;
        const rows = [
          { code: 'a', name: 'changed' },
          { code: 'c', name: 'new' },
        ];
        expect(await merged(rows, upsert)).toMatchObject({ inserted: 1, updated: 1 });
        expect(await places()).toEqual(rows);
      } finally {
        opened = parcels;
      }
    },
  );

  it.runIf(name === 'PostGIS')('waits for the same merge, when another process carries it out', async () => {
    const { task } = taskOf([{ code: 'b', name: 'b' }], {});
    const answers = await Promise.all([merge(task), merge(task)]);
    expect(answers[1]).toEqual(answers[0]);
    expect(await codes()).toEqual(['a', 'b']);
  });
});

/** A staging file of small squares. */
function stage(path: string, rows: readonly Row[]): void {
  const db = connect(path, false);
  prepareStore(db);
  db.exec(`CREATE TABLE staged (fid INTEGER PRIMARY KEY, geom POLYGON, code TEXT, name TEXT, note TEXT);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('staged', 'features', 'staged', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('staged', 'geom', 'POLYGON', 4326, 0, 0);`);
  const insert = db.prepare('INSERT INTO staged (geom, code, name, note) VALUES (?, ?, ?, ?)');
  for (const { code, name, x = 7, note } of rows) insert.run(squareAt(x), code, name, note ?? null);
  db.pragma('journal_mode = DELETE');
  db.close();
}

/** GeoPackage geometry: head without an envelope, then WKB of a polygon. */
function squareAt(x: number): Buffer {
  const ring = [x, 46, x + 1, 46, x + 1, 47, x, 47, x, 46];
  const bytes = Buffer.alloc(8 + 13 + ring.length * 8);
  bytes.write('GP');
  bytes.writeUInt8(1, 3);
  bytes.writeInt32LE(4326, 4);
  bytes.writeUInt8(1, 8);
  bytes.writeUInt32LE(3, 9);
  bytes.writeUInt32LE(1, 13);
  bytes.writeUInt32LE(ring.length / 2, 17);
  for (const [i, value] of ring.entries()) bytes.writeDoubleLE(value, 21 + i * 8);
  return bytes;
}
