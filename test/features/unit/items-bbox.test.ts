import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Expression } from '../../../src/core/cql2/ast.js';
import type { ItemsTask } from '../../../src/core/features/features.js';
import type { Box } from '../../../src/core/geometry/box.js';
import type { VectorSource } from '../../../src/core/sources/vector-source.js';
import { closeAll, connect } from '../../../src/workers/providers/geopackage/connection.js';
import { count, items } from '../../../src/workers/providers/geopackage/queries/items.js';
import { createSpatialIndex, prepareStore } from '../../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import {
  geoPackageBlob,
  type Position,
  randomSource,
  type Shape,
  WORLD_MAP,
  wkb,
} from '../../native/support.js';

/** Boxes select features by their geometry (OGC API Features, 7.15.3), whether there is an index or not. */

const square = (minx: number, miny: number, maxx: number, maxy: number): Position[] => [
  [minx, miny],
  [maxx, miny],
  [maxx, maxy],
  [minx, maxy],
  [minx, miny],
];
const at = (x: number, y: number): Shape => ({ type: 'Point', coordinates: [x, y] });

const FRAME = 1;
const BEND = 2;
const INSIDE = 3;
const FIJI_EAST = 4;
const FIJI_WEST = 5;
const NEAR = 6;
const SHAPES: [id: number, geometry: Buffer | null][] = [
  [FRAME, wkb({ type: 'Polygon', coordinates: [square(0, 0, 30, 30), square(5, 5, 25, 25)] })],
  [
    BEND,
    wkb({
      type: 'LineString',
      coordinates: [
        [0, 0],
        [0, 30],
        [30, 30],
      ],
    }),
  ],
  [INSIDE, wkb(at(15, 15))],
  [FIJI_EAST, wkb(at(-179, -17))],
  [FIJI_WEST, wkb(at(179, -17))],
  // The index keeps single precision: its envelope of this point reaches into the box.
  [NEAR, wkb(at(20.0000001, 15))],
  [7, null],
  [8, Buffer.from('no geometry at all')],
];

const folder = mkdtempSync(join(tmpdir(), 'graticule-test-'));

function store(name: string, indexed: boolean): VectorSource {
  const path = join(folder, name);
  const db = connect(path, false);
  prepareStore(db);
  db.exec(`CREATE TABLE shapes (fid INTEGER PRIMARY KEY, geom GEOMETRY);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('shapes', 'features', 'shapes', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('shapes', 'geom', 'GEOMETRY', 4326, 0, 0)`);
  const insert = db.prepare('INSERT INTO shapes VALUES (?, ?)');
  for (const [id, body] of SHAPES) insert.run(id, id === 8 ? body : body && geoPackageBlob(body));
  if (indexed) createSpatialIndex(db, 'shapes', 'geom', 'fid');
  db.close();
  return inspectGeoPackage(path)[0]!.source;
}

const filterOf = (source: VectorSource, bbox: Box | undefined): Expression | undefined =>
  bbox && { op: 's_intersects', args: [{ property: source.geometryColumn }, { bbox, crs: 'OGC:CRS84' }] };

const page = (source: VectorSource, bbox: Box | undefined, more: Partial<ItemsTask> = {}) => {
  const task: ItemsTask = {
    source,
    format: 'geojson',
    limit: 100,
    offset: 0,
    crs: 'OGC:CRS84',
    swapAxes: false,
    precision: 7,
    filter: filterOf(source, bbox),
    ...more,
  };
  const { features, returned, more: another } = items(task);
  const parsed = JSON.parse(`[${Buffer.from(features).toString()}]`) as { id: number }[];
  return { ids: parsed.map(({ id }) => id), returned, more: another };
};

afterAll(() => {
  closeAll();
  rmSync(folder, { recursive: true });
});

describe.each([
  ['with an index', true],
  ['without an index', false],
])('a table %s', (_, indexed) => {
  let source: VectorSource;
  beforeAll(() => {
    source = store(`${indexed}.gpkg`, indexed);
    expect(source.hasIndex).toBe(indexed);
  });

  const selects = (bbox: Box, ids: number[]) => {
    expect(page(source, bbox)).toEqual({ ids, returned: ids.length, more: false });
    expect(count({ source, filter: filterOf(source, bbox) })).toBe(ids.length);
  };

  it('leaves out what only its envelope brings into the box', () => {
    selects([10, 10, 20, 20], [INSIDE]);
    selects([10, 10, 14, 14], []);
  });

  it('finds what touches, covers or lies in the box', () => {
    selects([10, 10, 25, 20], [FRAME, INSIDE, NEAR]);
    selects([1, 1, 2, 2], [FRAME]);
    selects([-1, -1, 31, 31], [FRAME, BEND, INSIDE, NEAR]);
  });

  it('takes a box across the antimeridian as two', () => {
    selects([170, -20, -170, -10], [FIJI_EAST, FIJI_WEST]);
    selects([178, -20, -179.5, -10], [FIJI_WEST]);
    selects([10, -90, 9, 90], [FRAME, BEND, INSIDE, FIJI_EAST, FIJI_WEST, NEAR]);
  });

  it('pages through everything, also what has no geometry', () => {
    expect(page(source, undefined, { limit: 3 })).toEqual({ ids: [1, 2, 3], returned: 3, more: true });
    expect(page(source, undefined, { limit: 3, offset: 6 })).toEqual({
      ids: [7, 8],
      returned: 2,
      more: false,
    });
    expect(page(source, undefined, { limit: 3, offset: 8 })).toEqual({ ids: [], returned: 0, more: false });
    expect(count({ filter: undefined, source })).toBe(SHAPES.length);
  });
});

it('gives the same features page by page as at once, and counts as many', () => {
  const { source } = inspectGeoPackage(WORLD_MAP)[0]!;
  const random = randomSource(4);
  let partial = 0;
  for (let i = 0; i < 40; i++) {
    const [x, y] = [-180 + 300 * random(), -80 + 120 * random()];
    const bbox: Box = [x, y, x + 60 * random(), y + 40 * random()];
    const { ids } = page(source, bbox, { limit: 1000 });
    const paged: number[] = [];
    for (let offset = 0, more = true; more; offset += 7) {
      const next = page(source, bbox, { limit: 7, offset });
      expect(next.returned).toBe(next.ids.length);
      paged.push(...next.ids);
      more = next.more;
    }
    expect(paged).toEqual(ids);
    expect(count({ source, filter: filterOf(source, bbox) })).toBe(ids.length);
    if (ids.length > 7) partial++;
  }
  expect(partial).toBeGreaterThan(5);
});
