import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TaskFailure } from '../../../src/core/errors/failure.js';
import { RESULT_TABLE } from '../../../src/core/processes/feature-processes.js';
import type { LoadTask } from '../../../src/core/tasks/vector-tasks.js';
import { seriesFile, seriesFiles, seriesNumber } from '../../../src/core/tiles/store-series.js';
import { geojsonToWkb, wkbToGeoPackage } from '../../../src/native/index.js';
import Database from '../../../src/native/sqlite.js';
import { FeatureTable } from '../../../src/workers/processes/table.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { commitAlone, findElsewhere } from '../../../src/workers/providers/geopackage/store-series.js';
import { dropStoreTable, load } from '../../../src/workers/tiles/load.js';

/** New tables go into further files once a file is full, and names are unique over all files. */

const MAX_TABLES = 2;
let folder: string;
let first: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-series-'));
  first = join(folder, 'stores', 'default.gpkg');
  mkdirSync(join(folder, 'stores'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A staging file with one point, which has this name. */
function stage(name: string): string {
  const staging = join(folder, `${name}.staging.gpkg`);
  const table = FeatureTable.create(staging, 'OGC:CRS84', [{ name: 'name', type: 'string' }]);
  const wkb = geojsonToWkb('{"type":"Point","coordinates":[7,47]}', { from: 'OGC:CRS84', to: 'OGC:CRS84' });
  table.add(wkbToGeoPackage(wkb, table.srsId), [name]);
  table.finish();
  return staging;
}

const taskOf = (table: string, more: Partial<LoadTask> = {}): LoadTask => ({
  ...{ staging: stage(`${table}-${more.token ?? ''}`), stagingTable: RESULT_TABLE, store: first, table },
  ...{ maxTables: MAX_TABLES, ...more },
});
const put = (table: string, more: Partial<LoadTask> = {}) => load(taskOf(table, more));
const store = (number: number) => seriesFile(first, number);
const tablesOf = (path: string) => inspectGeoPackage(path).map(({ source }) => source.table);
const stores = () =>
  seriesFiles(first, readdirSync(join(folder, 'stores'))).map((path) => [path, tablesOf(path)]);

describe('the names of a series', () => {
  it('have numbers, counted from 2', () => {
    expect([seriesFile('/a/default.gpkg', 1), seriesFile('/a/default.gpkg', 12)]).toEqual([
      '/a/default.gpkg',
      '/a/default-12.gpkg',
    ]);
    const numberOf = (path: string) => seriesNumber('/a/default.gpkg', path);
    expect(numberOf('/a/default.gpkg')).toBe(1);
    expect(numberOf('/a/default-12.gpkg')).toBe(12);
    for (const other of [
      'default-1',
      'default-02',
      'default-0',
      'default-x',
      'default2',
      'other',
      'default-',
    ])
      expect([other, numberOf(`/a/${other}.gpkg`)]).toEqual([other, undefined]);
    expect(numberOf('/b/default.gpkg')).toBeUndefined();
    expect(numberOf('/a/default.gpkg-wal')).toBeUndefined();
    expect(numberOf('/a/default-2.tif')).toBeUndefined();
  });

  it('are in the order of their numbers', () => {
    const names = ['default-10.gpkg', 'x.gpkg', 'default-9.gpkg', 'default.gpkg'];
    expect(seriesFiles('/a/default.gpkg', names)).toEqual([
      '/a/default.gpkg',
      '/a/default-9.gpkg',
      '/a/default-10.gpkg',
    ]);
  });
});

describe('a series of stores', () => {
  it('has a further file when one is full', () => {
    const results = ['a', 'b', 'c', 'd', 'e'].map((name) => put(name));
    expect(results.map((one) => 'store' in one && seriesNumber(first, one.store))).toEqual([1, 1, 2, 2, 3]);
    expect(stores()).toEqual([
      [store(1), ['a', 'b']],
      [store(2), ['c', 'd']],
      [store(3), ['e']],
    ]);
  });

  it('uses a file again from which a table was deleted', () => {
    for (const name of ['a', 'b', 'c']) put(name);
    dropStoreTable({ store: first, table: 'a' });
    put('d');
    put('e');
    expect(stores()).toEqual([
      [store(1), ['b', 'd']],
      [store(2), ['c', 'e']],
    ]);
  });

  it('keeps a file that had more tables before there was a limit, and adds nothing to it', () => {
    for (const name of ['a', 'b', 'c']) load({ ...taskOf(name), maxTables: 9 });
    put('d');
    expect(stores()).toEqual([
      [store(1), ['a', 'b', 'c']],
      [store(2), ['d']],
    ]);
  });

  it('replaces a table in its file', () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) put(name, { token: name });
    expect(put('A', { token: 'new', replace: true })).toEqual({ occupant: { token: 'a' } });
    const replaced = { replace: true, replaced: { token: 'a' } };
    expect(put('A', { token: 'new', ...replaced })).toEqual({ features: 1, store: first });
    expect(stores().map(([, tables]) => tables)).toEqual([['A', 'b'], ['c', 'd'], ['e']]);
  });

  it('has no two tables of one name', () => {
    for (const name of ['a', 'b', 'c']) put(name);
    for (const name of ['a', 'B', 'C']) expect(() => put(name)).toThrow(/has a table/);
    expect(stores().map(([, tables]) => tables)).toEqual([['a', 'b'], ['c']]);
  });

  it('does the same load once, whatever the file was filled with since', () => {
    put('a', { token: 'one' });
    const again = taskOf('b', { token: 'two', keepsStaging: true });
    expect(load(again)).toEqual({ features: 1, store: first });
    put('c');
    // As if the process had been killed between the commit and the end of the task.
    expect(load(again)).toEqual({ features: 1, store: first });
    rmSync(again.staging);
    expect(load(again)).toEqual({ features: 1, store: first });
    expect(stores().map(([, tables]) => tables)).toEqual([['a', 'b'], ['c']]);
    expect(() => load({ ...again, token: 'three' })).toThrow('The staging file no longer exists.');
  });

  it('goes on behind a load that was killed between the creation of a file and its table', () => {
    for (const name of ['a', 'b']) put(name);
    writeFileSync(join(folder, 'stores', '.default-2.gpkg.new'), 'a part');
    writeFileSync(store(2), '');
    put('c');
    put('d');
    expect(stores().map(([, tables]) => tables)).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('counts tables of a first file that another program made', () => {
    load({ ...taskOf('a'), maxTables: 9 });
    load({ ...taskOf('b'), maxTables: 9 });
    const db = new Database(first);
    db.exec('DROP TABLE graticule_loads');
    db.close();
    put('c');
    expect(() => put('B')).toThrow(/has a table/);
    expect(stores().map(([, tables]) => tables)).toEqual([['a', 'b'], ['c']]);
  });

  it('leaves files of that name alone which no load made', () => {
    for (const name of ['a', 'b']) put(name);
    writeFileSync(store(2), 'not a database');
    const other = new Database(store(3));
    other.exec('CREATE TABLE mine (a)');
    other.close();
    writeFileSync(join(folder, 'stores', '.default-4.gpkg.new'), 'a part');
    put('c');
    expect(tablesOf(store(4))).toEqual(['c']);
    expect(readdirSync(join(folder, 'stores'))).not.toContain('.default-4.gpkg.new');
    expect(() => tablesOf(store(3))).toThrow(TaskFailure);
  });

  it('lets a load commit while no other does', () => {
    const blocked = new Database(join(folder, 'stores', '.default.gpkg.lock'), { timeout: 0 });
    commitAlone(first, () => expect(() => blocked.exec('BEGIN IMMEDIATE')).toThrow(/locked/));
    blocked.exec('BEGIN IMMEDIATE; ROLLBACK');
    blocked.close();
  });

  it('finds a table in another file than the one that is filled', () => {
    for (const name of ['a', 'b', 'c']) put(name, { token: `t-${name}` });
    expect(findElsewhere(first, store(2), 'A')).toEqual({ token: 't-a' });
    expect(findElsewhere(first, store(2), 'c')).toBeUndefined();
    expect(findElsewhere(first, first, 'c')).toEqual({ token: 't-c' });
  });

  it('keeps the staging file where it belongs to somebody else', () => {
    const task = taskOf('a', { keepsStaging: true });
    load(task);
    expect(existsSync(task.staging)).toBe(true);
    const other = taskOf('b');
    load(other);
    expect(existsSync(other.staging)).toBe(false);
  });
});
