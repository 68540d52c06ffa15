import { beforeEach, describe, expect, it } from 'vitest';
import type { VectorCollection } from '../../../src/core/catalog/collection.js';
import type { Expression } from '../../../src/core/cql2/ast.js';
import * as geometry from '../../../src/services/telemetry/geometry-metrics.js';
import {
  databaseQueryRecords,
  STORE_INSTRUMENTS,
  transactions,
} from '../../../src/services/telemetry/store-metrics.js';
import { countTask, rememberLayerLabels } from '../../../src/services/telemetry/task-metrics.js';

const source = { crs: 'EPSG:4326' };
const within: Expression = {
  op: 'and',
  args: [
    { op: 'in', args: [{ property: 'name' }, ['a', 'b']] },
    { op: 'not', args: [{ op: 's_within', args: [{ property: 'geom' }, { bbox: [0, 0, 1, 1] }] }] },
  ],
};
const totals = (pair: typeof geometry.transforms) =>
  Object.fromEntries(pair.total.samples().map(({ labels, value }) => [Object.values(labels)[0], value]));

beforeEach(() => {
  for (const family of [...STORE_INSTRUMENTS, ...geometry.GEOMETRY_INSTRUMENTS]) family.reset();
});

describe('a task that has ended', () => {
  it('counts the records that it gave, by kind of query and layer', () => {
    rememberLayerLabels([
      { before: undefined, after: { kind: 'vector', layerId: 7, source } as VectorCollection },
    ]);
    const input = { source };
    countTask({ name: 'vector.items', input, output: { features: new Uint8Array(9), returned: 5 }, ms: 1 });
    countTask({ name: 'vector.item', input, output: null, ms: 1 });
    countTask({ name: 'vector.item', input, output: { json: '{}' }, ms: 1 });
    countTask({ name: 'vector.tile', input: { layers: [{ source }] }, output: { features: 12 }, ms: 1 });
    countTask({ name: 'vector.events', input, output: { events: [1, 2] }, ms: 1 });
    // These give no records.
    countTask({ name: 'vector.count', input, output: 100, ms: 1 });
    countTask({ name: 'vector.items', input, output: undefined, ms: 1 });
    const records = databaseQueryRecords
      .samples()
      .map(({ labels, sum, count }) => [labels['query_type'], sum, count]);
    expect(records).toEqual([
      ['select', 5, 1],
      ['select_by_id', 1, 2],
      ['tile', 12, 1],
      ['events', 2, 1],
    ]);
    expect(new Set(databaseQueryRecords.samples().map(({ labels }) => labels['layer_id']))).toEqual(
      new Set(['7']),
    );
  });

  it('counts the spatial predicate of a filter, wherever it stands', () => {
    countTask({ name: 'vector.items', input: { source, filter: within }, output: { returned: 1 }, ms: 3 });
    countTask({
      name: 'vector.tile',
      input: { layers: [{ source }, { source, filter: within }] },
      output: undefined,
      ms: 4,
    });
    countTask({ name: 'vector.count', input: { source, filter: true }, output: 1, ms: 5 });
    expect(totals(geometry.spatialFilters)).toEqual({ s_within: 2 });
    expect(geometry.spatialFilters.duration.samples()).toMatchObject([{ sum: 7, count: 2 }]);
  });

  it('counts work on geometries by its kind', () => {
    const output = { returned: 1, features: 1 };
    countTask({ name: 'vector.clusters', input: { source }, output, ms: 1 });
    countTask({ name: 'vector.tile', input: { layers: [{ source }], crs: 'EPSG:3857' }, output, ms: 1 });
    countTask({ name: 'vector.items', input: { source, crs: 'EPSG:4326' }, output, ms: 1 });
    expect(totals(geometry.geometryOperations)).toEqual({ clusters: 1 });
    expect(totals(geometry.geometryTransformations)).toEqual({ tile: 1 });
    expect(totals(geometry.spatialQueries)).toEqual({ clusters: 1, tile: 1 });
    expect(totals(geometry.transforms)).toEqual({ 'vector.tile': 1 });
  });

  it('counts transactions by how they ended, and positions of what was written', () => {
    const edit = (output: unknown) => countTask({ name: 'vector.edit', input: { source }, output, ms: 1 });
    edit({ outcomes: [{ ok: true }], change: {}, positions: [1, 400] });
    edit({ outcomes: [{ ok: false }] });
    edit(undefined);
    const ends = transactions.samples().map(({ labels, value }) => [labels['outcome'], value]);
    expect(ends).toEqual([
      ['committed', 1],
      ['rolled_back', 1],
      ['failed', 1],
    ]);
    expect(geometry.geometryComplexity.samples()).toMatchObject([{ sum: 401, count: 2 }]);
  });
});
