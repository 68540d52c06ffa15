import { expect, it } from 'vitest';
import type { CatalogSnapshot } from '../../../src/core/catalog/collection.js';
import { FEATURE_LIMITS } from '../../../src/core/features/limits.js';
import { GEOJSON_FORMAT } from '../../../src/core/http/media.js';
import type { Memo, Reply } from '../../../src/core/http/operation.js';
import { ItemReplies, type ItemReply } from '../../../src/gateway/features/item-replies.js';
import type { DataVersions } from '../../../src/services/catalog/data-versions.js';

const catalog = {} as CatalogSnapshot;

it('gives the room of the oldest answers to new ones, and keeps the others', async () => {
  const replies = new ItemReplies({ of: () => 1 } as unknown as DataVersions);
  const body = 'x'.repeat(FEATURE_LIMITS.keptItemBytes);
  const answer: Reply = { status: 200, body };
  const fits = Math.floor(FEATURE_LIMITS.keptItemsBytes / (2 * FEATURE_LIMITS.keptItemBytes + 1024));
  const targets = Array.from({ length: fits + 2 }, () => ({
    memo: {} as Memo<ItemReply>,
    format: GEOJSON_FORMAT,
    baseUrl: '',
  }));
  for (const x of targets) await replies.fill(x, catalog, 'a.gpkg', async () => answer);
  const kept = targets.map((x) => replies.find(x, catalog) !== undefined);
  expect(kept).toEqual(targets.map((_, i) => i >= 2));
});
