import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { StacItem, StacPart } from '../../src/core/stac/stac.js';
import { ITEM_FIELDS } from '../../src/core/stac/stac.js';
import { closeAll, connect } from '../../src/workers/providers/geopackage/connection.js';
import { stacIndex, stacState } from '../../src/workers/stac/index.js';
import { stacSearch } from '../../src/workers/stac/search.js';
import { gridItem } from './catalog-files.js';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-index-'));
  path = join(folder, 'stac', 'items.gpkg');
});
afterEach(() => {
  closeAll();
  rmSync(folder, { recursive: true, force: true });
});

const part = (collection: string, stamp: string, count: number): StacPart => ({
  collection,
  stamp,
  content: {
    kind: 'items',
    items: Array.from({ length: count }, (_, n) => gridItem(n, { collection }) as unknown as StacItem),
  },
});

const found = () => {
  const { items, returned } = stacSearch({ path, fields: [...ITEM_FIELDS], limit: 100, base: 'http://here' });
  return {
    returned,
    items: JSON.parse(`[${Buffer.from(items).toString()}]`) as { links: { href: string }[] }[],
  };
};

it('nothing is found before there is an index', () => {
  expect(found().returned).toBe(0);
});

it('follows the collections that there are, and makes only those anew that changed', async () => {
  expect(stacState({ path, stamps: { a: '1', b: '1' } }).stale).toEqual(['a', 'b']);
  await stacIndex({ path, parts: [part('a', '1', 3), part('b', '1', 2)] });
  expect(found().returned).toBe(5);
  expect(stacState({ path, stamps: { a: '1', b: '2' } }).stale).toEqual(['b']);
  await stacIndex({ path, parts: [part('b', '2', 1)] });
  expect(found().returned).toBe(4);
  expect(stacState({ path, stamps: { b: '2' } }).stale).toEqual([]);
  expect(found().returned).toBe(1);
  const rows = connect(path, true);
  const texts = rows.prepare('SELECT count(*) FROM item_texts').pluck().get();
  rows.close();
  expect(texts).toBe(1);
});

it('takes what another process has taken already for done', async () => {
  await stacIndex({ path, parts: [part('a', '1', 3)] });
  await stacIndex({ path, parts: [part('a', '1', 9)] });
  expect(found().returned).toBe(3);
});

it('writes hrefs below the origin of the request', async () => {
  await stacIndex({ path, parts: [part('a', '1', 1)] });
  expect(found().items[0]!.links[0]!.href).toBe('http://here/stac/collections/a/items/item-0');
});

it('an index of another release is made again', async () => {
  await stacIndex({ path, parts: [part('a', '1', 1)] });
  closeAll();
  const db = connect(path, false);
  db.exec('DROP TABLE graticule_parts_1');
  db.close();
  expect(stacState({ path, stamps: { a: '1' } }).stale).toEqual(['a']);
  await stacIndex({ path, parts: [part('a', '1', 2)] });
  expect(found().returned).toBe(2);
});
