import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { describe, expect, it } from 'vitest';
import type { VectorTileTask } from '../../../src/core/tasks/vector-tasks.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { vectorTile } from '../../../src/workers/tiles/tile.js';

const layers = inspectGeoPackage('demo/data/world_map.gpkg');
const { source } = layers.find((layer) => layer.source.table === 'countries')!;

const WORLD = 20_037_508.342789244;
const task = (names: readonly string[], maxBytes?: number): VectorTileTask => ({
  layers: names.map((name) => ({ name, source, filter: undefined })),
  crs: 'EPSG:3857',
  bbox: [-WORLD, -WORLD, WORLD, WORLD],
  extent: 4096,
  buffer: 64,
  simplify: 0.5,
  encoding: 'identity',
  ...(maxBytes === undefined ? {} : { maxBytes }),
});

/** Bytes of each layer, by name, and of all. */
async function sizes(names: readonly string[], maxBytes?: number) {
  const { data, dropped } = await vectorTile(task(names, maxBytes));
  const { layers } = new VectorTile(new PbfReader(data));
  return { total: data.length, dropped, features: names.map((name) => layers[name]?.length ?? 0) };
}

describe('the bytes of a tile of several layers', () => {
  it('are bounded together, and no layer takes what another one could have', async () => {
    const whole = await sizes(['a']);
    const budget = whole.total;
    const { total, dropped, features } = await sizes(['a', 'b', 'c', 'd'], budget);
    expect(whole.dropped).toBe(0);
    expect(dropped).toBeGreaterThan(0);
    expect(total).toBeLessThanOrEqual(budget * 1.1);
    for (const count of features) {
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThan(whole.features[0]!);
    }
    // An equal part each: the last one has as much as the first.
    expect(features[3]! / features[0]!).toBeGreaterThan(0.5);
  });

  it('that a layer leaves go to those behind it', async () => {
    const whole = await sizes(['a']);
    const { features, dropped } = await sizes(['a', 'b'], Math.ceil(whole.total * 2.2));
    expect(dropped).toBe(0);
    expect(features).toEqual([whole.features[0], whole.features[0]]);
  });
});
