import { expect, it } from 'vitest';
import type { VectorSource } from '../../../src/core/sources/vector-source.js';
import { packed, unpacked } from '../../../src/workers/features/sources.js';

const source = { kind: 'geopackage', path: '/a.gpkg', table: 't', fields: [] } as unknown as VectorSource;

it('sends sources as text, wherever a task names them, and gives them back once per thread', () => {
  const tile = { layers: [{ name: 'a', source }], crs: 'EPSG:3857' };
  const sent = packed(tile) as { layers: { source: unknown }[] };
  expect(typeof sent.layers[0]!.source).toBe('string');
  expect(unpacked(sent)).toEqual(tile);
  const first = unpacked(packed({ source, limit: 1 })) as { source: unknown };
  const second = unpacked(packed({ source, limit: 2 })) as { source: unknown };
  expect(first).toEqual({ source, limit: 1 });
  expect(second.source).toBe(first.source);
  expect(unpacked(packed({ path: '/a.gpkg' }))).toEqual({ path: '/a.gpkg' });
});
