import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { CatalogSnapshot } from '../../../src/core/catalog/collection.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { StacItems } from '../../../src/services/stac/items.js';

const EMPTY = { collections: [] } as unknown as CatalogSnapshot;

it('starts no task for a server without items, and removes items from an index that exists', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-stac-index-'));
  const path = join(folder, 'items.gpkg');
  const tasks: unknown[] = [];
  const run = async (name: string, input: unknown) => {
    tasks.push({ name, input });
    return { stale: [], fields: {} };
  };
  const pools = { run } as unknown as Pools;
  const items = () => new StacItems({ pools, path, log: { write() {} } });
  expect(await items().of(EMPTY)).toEqual(new Map());
  expect(tasks).toEqual([]);
  expect(existsSync(path)).toBe(false);
  writeFileSync(path, '');
  expect(await items().of(EMPTY)).toEqual(new Map());
  expect(tasks).toEqual([{ name: 'vector.stacState', input: { path, stamps: {} } }]);
  rmSync(folder, { recursive: true });
});
