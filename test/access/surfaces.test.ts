import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { afterAll, describe, expect, it } from 'vitest';
import { CatalogSnapshot, readable, type VectorCollection } from '../../src/core/catalog/collection.js';
import { findCollection, findNumbered } from '../../src/core/catalog/find.js';
import type { StatisticsTask } from '../../src/core/features/field-statistics.js';
import { ANONYMOUS, type Principal } from '../../src/core/http/operation.js';
import { defaultStyle } from '../../src/core/styles/default-style.js';
import type { Pools } from '../../src/core/tasks/tasks.js';
import { selectCollections } from '../../src/gateway/surface/common.js';
import type { AccessPolicy } from '../../src/services/access/access.js';
import { fixedReading, VisibleCatalog } from '../../src/services/catalog/visible-catalog.js';
import { attributeStatistics } from '../../src/services/features/attribute-statistics.js';
import { fieldStatistics } from '../../src/workers/features/statistics/field-statistics.js';
import { closeAll } from '../../src/workers/providers/geopackage/connection.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';
import { Cancellation } from '../../src/workers/threads/cancellation.js';
import { vectorTile } from '../../src/workers/tiles/tile.js';

/** One rule, on every surface: what a principal may not read is in no answer. */

const layer = inspectGeoPackage('demo/data/world_map.gpkg').find(
  ({ source }) => source.table === 'countries',
)!;
const collection = (id: string, layerId: number) =>
  ({
    ...layer,
    ...{ kind: 'vector', id, layerId, version: 'v1', style: defaultStyle('MultiPolygon', id), styles: [] },
  }) as unknown as VectorCollection;
const snapshot = new CatalogSnapshot([collection('open', 1), collection('closed', 2)], [], 1);

/** Nobody reads `closed` but the boss; guests see countries with a K, by name and number only. */
const policy: AccessPolicy = (principal, { id }) => {
  if (principal.id === 'boss') return { allowed: true };
  if (id === 'closed') return { allowed: false };
  return {
    allowed: true,
    fields: ['NAME'],
    filter: { op: 'like', args: [{ property: 'ISO_A3' }, 'K%'] },
  };
};
const visible = new VisibleCatalog(() => snapshot, fixedReading(policy));
const key = (id: string): Principal => ({ kind: 'api-key', id, name: id, permissions: [] });

afterAll(closeAll);

describe('the catalog that a principal reads', () => {
  it('is the catalog itself for those from whom nothing is kept, and made once for the others', () => {
    expect(visible.of(key('boss'))).toBe(snapshot);
    expect(visible.of(key('guest'))).toBe(visible.of(key('guest')));
    expect(visible.of(ANONYMOUS)).not.toBe(snapshot);
  });

  it('lacks what may not be read: 401 for strangers, 403 for those who are known, 404 for what is not there', () => {
    const ids = visible.of(ANONYMOUS).collections.map(({ id }) => id);
    expect(ids).toEqual(['open']);
    expect(() => findCollection(visible.of(ANONYMOUS), 'closed')).toThrow(
      expect.objectContaining({ status: 401 }),
    );
    expect(() => findNumbered(visible.of(key('guest')), 2)).toThrow(expect.objectContaining({ status: 403 }));
    expect(() => selectCollections({ baseUrl: '' }, visible.of(key('guest')), ['2'], () => true)).toThrow(
      expect.objectContaining({ status: 403 }),
    );
    expect(() => findCollection(visible.of(ANONYMOUS), 'nothing')).toThrow(
      expect.objectContaining({ status: 404 }),
    );
  });

  it('keeps caches apart by the rule', () => {
    const guest = findCollection(visible.of(key('guest')), 'open');
    expect(guest.version).not.toBe('v1');
    expect(findCollection(visible.of(key('other')), 'open').version).toBe(guest.version);
  });
});

it('tiles hold the rows and attributes that may be read, and no others', async () => {
  const of = async (principal: Principal) => {
    const open = findCollection(visible.of(principal), 'open') as VectorCollection;
    const { data } = await vectorTile({
      layers: [{ name: 'open', ...readable(open) }],
      crs: 'EPSG:3857',
      bbox: [-20037508.342789244, -20037508.342789244, 20037508.342789244, 20037508.342789244],
      extent: 4096,
      buffer: 64,
      simplify: 0.5,
      encoding: 'identity',
    });
    const { layers } = new VectorTile(new PbfReader(data));
    return Array.from({ length: layers['open']!.length }, (_, i) => layers['open']!.feature(i).properties);
  };
  const all = await of(key('boss'));
  const seen = await of(key('guest'));
  expect(all.length).toBeGreaterThan(150);
  expect(seen.map(({ NAME }) => NAME)).toEqual(expect.arrayContaining(['Kenya', 'Kuwait']));
  const allowed = all.filter((properties) => String(properties['ISO_A3']).startsWith('K'));
  expect(seen).toHaveLength(allowed.length);
  for (const properties of seen) expect(Object.keys(properties)).toEqual(['NAME']);
});

describe('statistics', () => {
  const pools = { run: (_: string, task: StatisticsTask) => fieldStatistics(task) } as unknown as Pools;
  const of = (principal: Principal) =>
    attributeStatistics(
      pools,
      findCollection(visible.of(principal), 'open') as VectorCollection,
      new AbortController(),
    );

  it('are of the rows and attributes that may be read, and no others', async () => {
    const [all, seen] = [await of(key('boss')), await of(key('guest'))];
    expect(all.fields.length).toBeGreaterThan(1);
    expect(seen.fields.map(({ name }) => name)).toEqual(['NAME']);
    expect(seen.read).toBeGreaterThan(1);
    expect(seen.read).toBeLessThan(20);
    expect(JSON.stringify(seen)).not.toContain('France');
  });

  it('are read once for all who wait, and no longer when the last one has left', async () => {
    let readings = 0;
    const ended: boolean[] = [];
    const slow = {
      run: (_: string, __: unknown, { signal }: { signal: AbortSignal }) => {
        readings++;
        return new Promise((_, fail) =>
          signal.addEventListener('abort', () => {
            ended.push(true);
            fail(new Error('cancelled'));
          }),
        );
      },
    } as unknown as Pools;
    const one = collection('slow', 9);
    const [first, second] = [new AbortController(), new AbortController()];
    const both = Promise.allSettled(
      [first, second].map((request) => attributeStatistics(slow, one, request)),
    );
    first.abort();
    expect([readings, ended]).toEqual([1, []]);
    second.abort();
    await both;
    expect([readings, ended]).toEqual([1, [true]]);
  });

  it('end when they are cancelled, and at the limit of rows', async () => {
    const cancellation = new Cancellation();
    cancellation.request();
    const task = { source: layer.source, filter: undefined, fields: ['NAME'] };
    await expect(fieldStatistics(task, cancellation)).rejects.toMatchObject({ code: 'cancelled' });
    expect(await fieldStatistics(task)).toMatchObject({ complete: true });
    const first = await fieldStatistics(task, undefined, { rows: 10, ms: 60_000 });
    expect(first).toMatchObject({ read: 10, complete: false });
  });
});
