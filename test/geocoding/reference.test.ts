import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { DRAFT_ENDING } from '../../src/core/geocoding/geocoding.js';
import Database from '../../src/native/sqlite.js';
import { geocode } from '../../src/workers/geocoding/find.js';
import { sweepDrafts } from '../../src/workers/geocoding/import.js';
import { locatorInfo } from '../../src/workers/geocoding/index-file.js';
import { referenceFolder, TOWNS } from './support.js';

/** Reference data into the index of a locator. */

let folder = referenceFolder();
beforeEach(() => {
  folder.remove();
  folder = referenceFolder();
});
afterAll(() => folder.remove());

const labels = (text: string) =>
  geocode({ index: folder.index, queries: [{ text, limit: 5 }] })[0]!.map(({ place }) => place.label);

describe('reference data', () => {
  it('becomes an index, and tells what its columns are', async () => {
    const outcome = await folder.import(TOWNS);
    expect(outcome).toMatchObject({ recordsImported: 12, recordsSkipped: 0, skippedRows: [] });
    expect('report' in outcome && outcome.report).toHaveLength(14);
    expect(outcome).toHaveProperty('report.13', {
      column: 'population',
      status: 'supported',
      detail: 'rank',
    });
    expect(locatorInfo({ index: folder.index })).toMatchObject({ places: 12, languages: ['en', 'fr'] });
    expect(labels('Köln')[0]).toBe('Köln, Nordrhein-Westfalen, Deutschland');
  });

  it('is read by a map of fields', async () => {
    const csv = 'ort;ost;nord;rest\nTrier;6,6;49\nBonn;7.1;50.7\n';
    const fieldMap = { ort: 'city', ost: 'x', nord: 'y' };
    expect(await folder.import(csv, { fieldMap })).toEqual({
      recordsImported: 1,
      recordsSkipped: 1,
      report: [
        { column: 'ort', status: 'supported', detail: 'city' },
        { column: 'ost', status: 'supported', detail: 'x' },
        { column: 'nord', status: 'supported', detail: 'y' },
        { column: 'rest', status: 'ignored', detail: 'It is not in fieldMap.' },
      ],
      skippedRows: [{ rowNumber: 1, reason: 'x is not a number from -180 to 180' }],
    });
    expect(labels('Bonn')).toEqual(['Bonn']);
  });

  it('leaves rows out that are no places, and says why', async () => {
    const rows = [
      'A,,1',
      'B,1,',
      'C,181,1',
      'D,1,NaN',
      ',1,1',
      'E,1e1,-1',
      `${'x'.repeat(501)},1,1`,
      '"!?",3,3',
    ];
    const outcome = await folder.import(`name,x,y\n${rows.join('\n')}\n`);
    expect(outcome).toMatchObject({ recordsImported: 1, recordsSkipped: 7 });
    expect('skippedRows' in outcome && outcome.skippedRows.map(({ reason }) => reason)).toEqual([
      'x is empty',
      'y is empty',
      'x is not a number from -180 to 180',
      'y is not a number from -90 to 90',
      'it has neither a name nor an address',
      'name is longer than 500 characters',
      'it has neither a name nor an address',
    ]);
  });

  it('tells the first hundred of such rows', async () => {
    const outcome = await folder.import(`name,x,y\nA,1,1\n${'B,,\n'.repeat(150)}`);
    expect(outcome).toMatchObject({ recordsImported: 1, recordsSkipped: 150 });
    expect('skippedRows' in outcome && outcome.skippedRows.length).toBe(100);
  });

  it('may be in another encoding', async () => {
    await folder.import(Buffer.from('name,x,y\nZürich,8.5,47.4\nGenève,6.1,46.2\n', 'latin1'));
    expect(labels('Zurich')).toEqual(['Zürich']);
  });

  it('is added to what is there', async () => {
    await folder.import(TOWNS);
    const { stamp } = locatorInfo({ index: folder.index });
    await folder.import('name,x,y\nKyritz,12.4,52.9\n', { mode: 'append' });
    const info = locatorInfo({ index: folder.index });
    expect(info.places).toBe(13);
    expect(info.stamp).not.toBe(stamp);
    expect([labels('Kyritz'), labels('Kiritz'), labels('Łódź').length]).toEqual([['Kyritz'], ['Kyritz'], 1]);
    await folder.import('name,x,y\nKyritz,12.4,52.9\n');
    expect(labels('Berlin')).toEqual([]);
  });
});

describe('an index', () => {
  const other = (change: (db: Database.Database) => void) => {
    const db = new Database(folder.index);
    change(db);
    return db;
  };

  it('of another release is replaced, and nothing is added to it', async () => {
    await folder.import(TOWNS);
    other((db) => db.exec("UPDATE facts SET value = '0' WHERE name = 'layout'")).close();
    const append = await folder.import('name,x,y\nKyritz,12.4,52.9\n', { mode: 'append' });
    expect(append).toMatchObject({ problem: { part: 'mode' } });
    writeFileSync(folder.index, 'no database at all, '.repeat(100));
    expect(await folder.import('name,x,y\nKyritz,12.4,52.9\n', { mode: 'append' })).toEqual(append);
    await folder.import('name,x,y\nKyritz,12.4,52.9\n');
    expect(labels('Kyritz')).toEqual(['Kyritz']);
  });

  it('that another program holds is busy, and not damaged', async () => {
    await folder.import(TOWNS);
    const holder = other((db) => db.exec('BEGIN EXCLUSIVE'));
    expect(() => labels('Köln')).toThrow(expect.objectContaining({ code: 'store-unavailable' }));
    holder.close();
    expect(labels('Köln')).toHaveLength(2);
  });
});

describe('what is no reference data', () => {
  it.each([
    ['nothing', '', {}, 'referenceData', 'is empty'],
    [
      'no names',
      'Bonn,7,50\nTrier,6,49\n',
      {},
      'referenceData',
      'must have columns for x and y in its first line',
    ],
    ['an open quote', 'name,x,y\n"Bonn,7,50\nTrier,6,49\n', {}, 'referenceData', 'not CSV'],
    ['bytes', Buffer.from([0x6e, 0, 0x2c, 0, 0, 1, 0x2c, 0xff, 0x0a]), {}, 'referenceData', ''],
    [
      'a million columns',
      `${'a,'.repeat(999_999)}b\n1\n`,
      {},
      'referenceData',
      'must have at most 1000 columns',
    ],
    ['no good row', 'name,x,y\nBonn,,\n', {}, 'referenceData', 'row 1 was left out, as x is empty'],
    ['a map of other columns', TOWNS, { fieldMap: { town: 'name' } }, 'fieldMap', "'town'"],
    ['a map of other fields', TOWNS, { fieldMap: { name: 'nom' } }, 'fieldMap', "'nom'"],
    [
      'a map without places',
      TOWNS,
      { fieldMap: { name: 'name' } },
      'fieldMap',
      'must have a column for x and y',
    ],
    ['a field twice', TOWNS, { fieldMap: { name: 'name', city: 'name' } }, 'fieldMap', 'two columns'],
  ] as const)('%s', async (_what, csv, task, part, detail) => {
    await folder.import('name,x,y\nBefore,1,1\n');
    const outcome = await folder.import(csv, task);
    expect(outcome).toMatchObject({ problem: { part } });
    expect('problem' in outcome && outcome.problem.detail).toContain(detail);
    expect(labels('Before')).toEqual(['Before']);
    expect(readdirSync(dirname(folder.index))).toEqual(['lock', 'towns.sqlite']);
  });
});

/** Of the build: it runs in a process of its own, which can be killed. */
const IMPORT = join(import.meta.dirname, '../../dist/workers/geocoding/import.js');

describe('an import that is killed', () => {
  it('leaves the index that was there, and the next one is whole', async () => {
    await folder.import('name,x,y\nBefore,1,1\n');
    const rows = Array.from({ length: 300_000 }, (_, i) => `Place ${i},${i % 180},${i % 90}`);
    const file = join(folder.path, 'large.csv');
    writeFileSync(file, `name,x,y\n${rows.join('\n')}\n`);
    const task = JSON.stringify({ file, index: folder.index, mode: 'replace' });
    const code = `import { importReference } from ${JSON.stringify(IMPORT)};
      process.stdout.write('ready');
      await importReference(${task}, { check() {} });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    const draft = () => readdirSync(dirname(folder.index)).find((name) => name.endsWith('.draft'));
    await vi.waitFor(
      () => expect(statSync(join(dirname(folder.index), draft()!)).size).toBeGreaterThan(1e6),
      {
        timeout: 60_000,
        interval: 10,
      },
    );
    child.kill('SIGKILL');
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(draft()).toBeDefined();
    const left = `other${DRAFT_ENDING}`;
    writeFileSync(join(dirname(folder.index), left), '');
    const lock = new Database(join(dirname(folder.index), 'lock'));
    lock.exec('BEGIN EXCLUSIVE');
    await sweepDrafts({ folder: dirname(folder.index) });
    expect(draft()).toBeDefined();
    lock.close();
    await sweepDrafts({ folder: dirname(folder.index) });
    expect(draft()).toBeUndefined();
    writeFileSync(join(dirname(folder.index), left), '');
    expect(labels('Before')).toEqual(['Before']);
    await folder.import('name,x,y\nAfter,1,1\n');
    expect(draft()).toBeUndefined();
    expect([labels('Before'), labels('After')]).toEqual([[], ['After']]);
  }, 120_000);
});
