import { expect, it } from 'vitest';
import type { VectorCollection } from '../../../src/core/catalog/collection.js';
import { CRS84 } from '../../../src/core/geometry/crs.js';
import { GEOJSON_FORMAT, HTML_FORMAT } from '../../../src/core/http/media.js';
import { itemTag, namesRow } from '../../../src/gateway/features/item-tag.js';

const mercator = { ...CRS84, uri: 'http://www.opengis.net/def/crs/EPSG/0/3857' };
const collection = { crs: [CRS84, mercator] } as unknown as VectorCollection;
const ROW = '0123456789abcdef';

it('gives every representation of a row a tag of its own', () => {
  const tags = [GEOJSON_FORMAT, HTML_FORMAT].flatMap((format) =>
    collection.crs.map((crs) => itemTag(ROW, format, crs)),
  );
  expect(new Set(tags).size).toBe(4);
  for (const tag of tags) expect(tag).toMatch(/^[0-9a-f]{16}$/);
});

it('finds the row by the tag of any of its representations, and by no other tag', () => {
  const formats = [GEOJSON_FORMAT];
  expect(namesRow([itemTag(ROW, GEOJSON_FORMAT, mercator)], ROW, collection, formats)).toBe(true);
  expect(namesRow([itemTag('f'.repeat(16), GEOJSON_FORMAT, mercator)], ROW, collection, formats)).toBe(false);
  expect(namesRow([], ROW, collection, formats)).toBe(false);
});
