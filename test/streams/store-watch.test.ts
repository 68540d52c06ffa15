import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { StoreWatch } from '../../src/services/streams/store-watch.js';

/** Stores that other programs write to are found: few at each look, many in parts. */

const MANY = 600;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-stores-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const store = (name: string) => ({ key: name, path: join(folder, name) });
const unasked = { of: () => expect.fail('many files have no connections') };

it('finds commits to a few stores by their versions', () => {
  const versions = new Map([
    ['a', 1],
    ['b', 1],
  ]);
  const watch = new StoreWatch({ of: (path) => versions.get(path.slice(folder.length + 1)) });
  const stores = ['a', 'b', 'locked'].map(store);
  expect(watch.findChanged(stores)).toEqual(['a', 'b', 'locked']);
  versions.set('b', 2);
  // A store whose version cannot be read may have changed.
  expect(watch.findChanged(stores)).toEqual(['b', 'locked']);
});

it('compares a part of many stores at each look, and opens none of them', () => {
  const watch = new StoreWatch(unasked);
  const stores = Array.from({ length: MANY }, (_, i) => store(`store_${i}`));
  for (const { path } of stores) writeFileSync(path, 'x');
  const round = () => [0, 1, 2].flatMap(() => watch.findChanged(stores));
  expect(round()).toEqual(stores.map(({ key }) => key));
  expect(round()).toEqual([]);
  appendFileSync(stores[599]!.path, 'more');
  writeFileSync(`${stores[3]!.path}-wal`, 'commits');
  rmSync(stores[300]!.path);
  expect(round()).toEqual(['store_3', 'store_300', 'store_599']);
  // A file that is gone is asked for again: its store may be back.
  expect(round()).toEqual(['store_300']);
});
