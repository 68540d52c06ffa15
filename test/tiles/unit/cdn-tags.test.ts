import { describe, expect, it } from 'vitest';
import type { Collection } from '../../../src/core/catalog/collection.js';
import type { Box } from '../../../src/core/geometry/box.js';
import { REGISTERED_SETS } from '../../../src/core/tiles/tile-matrix/registry.js';
import { WEB_MERCATOR_QUAD } from '../../../src/core/tiles/tile-matrix.js';
import { editTags, joinTags, tileTags } from '../../../src/services/tiles/cache/tags.js';
import { randomNumbers } from '../../support/random.js';

const collections = [{ layerId: 7 }] as unknown as Collection[];
const tagsAt = (zoom: number, row: number, column: number, set = WEB_MERCATOR_QUAD) =>
  tileTags({ collections, at: { set, zoom, row, column } });

/** Row and column of the tile around a place, by the formula of the Web Mercator projection. */
function tileAround(zoom: number, [longitude, latitude]: readonly [number, number]) {
  const angle = (latitude * Math.PI) / 180;
  const y = (1 - Math.asinh(Math.tan(angle)) / Math.PI) / 2;
  return [Math.floor(y * 2 ** zoom), Math.floor(((longitude + 180) / 360) * 2 ** zoom)] as const;
}

describe('tags of a CDN', () => {
  it('lead from an edit to each tile that holds its place, at every zoom', () => {
    const next = randomNumbers(5);
    for (let i = 0; i < 300; i++) {
      const place = [next() * 360 - 180, next() * 160 - 80] as const;
      const tags = new Set(editTags(7, [[...place, ...place] as unknown as Box]));
      for (let zoom = 0; zoom <= 22; zoom++) {
        const held = tagsAt(zoom, ...tileAround(zoom, place));
        expect(
          held.some((tag) => tags.has(tag)),
          `${place} at zoom ${zoom}`,
        ).toBe(true);
      }
    }
  });

  it('leave tiles elsewhere, and other collections, in the cache', () => {
    const bern: Box = [7.44, 46.95, 7.45, 46.96];
    const tags = new Set(editTags(7, [bern]));
    const sydney = tileAround(14, [151.2, -33.87]);
    expect(tagsAt(14, ...sydney).filter((tag) => tags.has(tag))).toEqual([]);
    const inBern = tileAround(14, [7.44, 46.95]);
    const others = [{ layerId: 8 }] as unknown as Collection[];
    const at = { set: WEB_MERCATOR_QUAD, zoom: 14, row: inBern[0], column: inBern[1] };
    expect(tileTags({ collections: others, at }).filter((tag) => tags.has(tag))).toEqual([]);
  });

  it('reach over the edge of a tile as far as symbols do', () => {
    // A quarter of a tile east of the edge between columns 0 and 1 of zoom 1.
    const tags = editTags(7, [[44, 10, 44, 10]]);
    expect(tags).toContain('c7-1-0-1');
    expect(tags).toContain('c7-1-0-0');
  });

  it('name the whole collection when an edit is anywhere, or everywhere', () => {
    expect(editTags(7, undefined)).toEqual(['c7']);
    expect(editTags(7, [[-180, -80, 180, 80]])).toEqual(['c7']);
    expect(tagsAt(12, 1, 1)).toContain('c7');
  });

  it('are one for all tiles of a collection in other sets', () => {
    const set = REGISTERED_SETS.find(({ id }) => id === 'WorldCRS84Quad')!;
    const [tag] = tagsAt(9, 4, 4, set).filter((name) => name.endsWith('-other'));
    expect(editTags(7, [[1, 1, 1, 1]])).toContain(tag);
  });

  it('are separated as the header has them', () => {
    expect(joinTags('Surrogate-Key', ['a', 'b'])).toBe('a b');
    expect(joinTags('Cache-Tag', ['a', 'b'])).toBe('a,b');
    expect(joinTags('Edge-Cache-Tag', ['a', 'b'])).toBe('a,b');
  });
});
