import { expect, it } from 'vitest';
import type { Expression } from '../../../src/core/cql2/ast.js';
import type { GeoPackageSource, PostgisSource } from '../../../src/core/sources/vector-source.js';
import { passingInOrder, passingRows } from '../../../src/workers/providers/geopackage/queries/filter.js';
import { SqlParams } from '../../../src/workers/providers/postgis/connections/params.js';
import { buildWhere } from '../../../src/workers/providers/postgis/queries/filter.js';
import { writtenOnce } from '../../../src/workers/providers/written-once.js';

/** A page and the number of features that match share what was written of their filter. */

const COLUMNS = {
  ...{ table: 'towns', geometryColumn: 'geom', geometryType: 'Point', hasZ: false, idColumn: 'fid' },
  ...{ idGenerated: true, hasIndex: true, crs: 'EPSG:4326', writable: false },
  fields: [{ name: 'count', type: 'integer', nullable: true }],
} as const;
const file = { ...COLUMNS, kind: 'geopackage', path: '/a.gpkg' } as unknown as GeoPackageSource;
const table = {
  ...{ ...COLUMNS, kind: 'postgis', database: 'postgresql://x', schema: 'public' },
} as unknown as PostgisSource;

/** A filter whose arguments are read as often as it is written. */
function watchedFilter() {
  let readings = 0;
  const filter = {
    op: '>',
    get args() {
      readings++;
      return [{ property: 'count' }, 3];
    },
  } as unknown as Expression;
  return { filter, takeReadings: () => [readings, (readings = 0)][0] };
}

it('writes a filter once for each source', () => {
  const filter = { op: '>', args: [{ property: 'count' }, 3] } as Expression;
  let count = 0;
  const write = () => ++count;
  expect([writtenOnce(file, filter, write), writtenOnce(file, filter, write)]).toEqual([1, 1]);
  expect(writtenOnce({ ...file }, filter, write)).toBe(2);
  expect(writtenOnce(file, { ...filter } as Expression, write)).toBe(3);
});

it('of a GeoPackage serves the page and the count', () => {
  const { filter, takeReadings } = watchedFilter();
  const page = passingInOrder(file, filter, 10);
  const written = takeReadings()!;
  const count = passingRows(file, filter);
  expect(takeReadings()).toBeLessThan(written);
  expect(count.sql).toBe(page.sql);
  // The first value is the time at which the statement ends.
  expect(count.values.slice(1)).toEqual(page.values.slice(1));
  expect(page.values[0]).toBeGreaterThan(Date.now());
});

it('of PostGIS serves statements whose parameters have the same numbers, and no others', () => {
  const { filter, takeReadings } = watchedFilter();
  const [page, count, other] = [new SqlParams(), new SqlParams(), new SqlParams()];
  const where = buildWhere(table, filter, page);
  takeReadings();
  expect(buildWhere(table, filter, count)).toBe(where);
  expect(takeReadings()).toBe(0);
  expect(count.values).toEqual(page.values);
  other.add('x', 'text');
  expect(buildWhere(table, filter, other)).toBe(where.replace('$1', '$2'));
  expect(other.values).toEqual(['x', ...page.values]);
});
