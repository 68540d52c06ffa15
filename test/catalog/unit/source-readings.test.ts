import { expect, it } from 'vitest';
import { type SourceRead, SourceReadings } from '../../../src/services/catalog/inspections/readings.js';

const contents: SourceRead['contents'] = { collections: [], quarantined: [] };

it('a reader that ends last forgets no source that a later reader found', () => {
  const readings = new SourceReadings();
  const read = (source: string) => readings.set(source, { contents, tag: '', order: readings.nextOrder() });
  read('/gone.gpkg');
  read('/kept.gpkg');
  const begin = readings.nextOrder();
  read('/new.gpkg');
  expect([...readings.keepOnly(new Set(['/kept.gpkg']), begin)]).toEqual(['/kept.gpkg', '/new.gpkg']);
  expect(
    ['/gone.gpkg', '/kept.gpkg', '/new.gpkg'].map((source) => readings.get(source) !== undefined),
  ).toEqual([false, true, true]);
});
