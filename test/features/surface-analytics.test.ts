import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { latLngToCell } from 'h3-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { createSpatialIndex, prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { geoPackageBlob, type Position, type Shape, wkb } from '../native/support.js';
import { startServer, type TestServer } from '../support/server.js';

/** Analytics over HTTP: members, properties, limits and errors of the interface contract. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-test-'));
let server: TestServer;
let areasLayer: number;

/** Two groups of five points some 100 m apart, 10 km from each other, and one point far from both. */
const GROUPS: Position[] = [
  [11, 48],
  [11.1, 48.05],
];
const POINTS: Position[] = [
  ...GROUPS.flatMap(([x, y]) => Array.from({ length: 5 }, (_, i) => [x! + (i % 3) * 0.001, y! + i * 0.0005])),
  [12, 48.5],
];
const square = (x: number, y: number, size: number): Shape => ({
  type: 'Polygon',
  coordinates: [
    [
      [x, y],
      [x + size, y],
      [x + size, y + size],
      [x, y + size],
      [x, y],
    ],
  ],
});

function writeStore(path: string): void {
  const db = connect(path, false);
  prepareStore(db);
  const layer = (name: string, type: string, columns: string) =>
    db.exec(`CREATE TABLE ${name} (fid INTEGER PRIMARY KEY, geom ${type}, ${columns});
      INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('${name}', 'features', '${name}', 4326);
      INSERT INTO gpkg_geometry_columns VALUES ('${name}', 'geom', '${type}', 4326, 0, 0)`);
  layer('places', 'POINT', 'kind TEXT, size INTEGER, seen DATE');
  const place = db.prepare('INSERT INTO places VALUES (?, ?, ?, ?, ?)');
  for (const [i, coordinates] of POINTS.entries()) {
    const blob = geoPackageBlob(wkb({ type: 'Point', coordinates }));
    const day = `2020-01-${String(i + 1).padStart(2, '0')}`;
    place.run(i + 1, blob, i % 2 ? 'odd' : 'even', i === 10 ? null : i, day);
  }
  place.run(12, null, 'nowhere', 1, null);
  layer('areas', 'POLYGON', 'name TEXT, weight REAL');
  const area = db.prepare('INSERT INTO areas VALUES (?, ?, ?, ?)');
  area.run(1, geoPackageBlob(wkb(square(10.99, 47.99, 0.02))), 'west', 1.5);
  area.run(2, geoPackageBlob(wkb(square(10.9, 47.9, 0.5))), 'all', 2.5);
  area.run(3, geoPackageBlob(wkb(square(0, 0, 1))), 'none', 9);
  for (const name of ['places', 'areas']) createSpatialIndex(db, name, 'geom', 'fid');
  db.close();
}

beforeAll(async () => {
  writeStore(join(folder, 'town.gpkg'));
  server = await startServer({ sources: [folder] });
  const document = (await (await fetch(`${server.url}/ogc/features/collections/areas?f=json`)).json()) as {
    links: { href: string }[];
  };
  const link = document.links.find(({ href }) => /\/ogc\/maps\/collections\/\d+\/map/.test(href))!;
  areasLayer = Number(/collections\/(\d+)\/map/.exec(link.href)![1]);
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  status: number;
  type: string | null;
  body: {
    detail: string;
    features: {
      id?: number;
      geometry: { type: string; coordinates: never };
      properties: Record<string, never>;
    }[];
    numberReturned: number;
    metadata?: Record<string, unknown>;
    errors?: { name: string }[];
  };
}

async function answer(response: Response): Promise<Answer> {
  const body = (await response.json()) as Answer['body'];
  return { status: response.status, type: response.headers.get('content-type'), body };
}

const url = (path: string, collection = 'places') =>
  `${server.url}/ogc/features/collections/${collection}/${path}`;
const post = async (operation: string, body: object, collection?: string) =>
  answer(
    await fetch(url(operation, collection), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  );
const properties = ({ body }: Answer) =>
  body.features.map((feature) => feature.properties as Record<string, unknown>);
const metadata = (operation: string, more = {}) => ({
  operation,
  inputTruncated: false,
  resultTruncated: false,
  maxInputFeatures: 100_000,
  ...more,
});

describe('GET h3', () => {
  it('counts features by cell, as h3-js sees the cells', async () => {
    const statistics = JSON.stringify([{ statisticType: 'sum', onStatisticField: 'size' }]);
    const found = await answer(
      await fetch(`${url('h3')}?resolution=7&outStatistics=${encodeURIComponent(statistics)}`),
    );
    expect(found).toMatchObject({ status: 200, type: 'application/geo+json' });
    const expected = new Map<string, { count: number; sum: number | null }>();
    POINTS.forEach(([x, y], i) => {
      const cell = latLngToCell(y!, x!, 7);
      const { count, sum } = expected.get(cell) ?? { count: 0, sum: null };
      expected.set(cell, { count: count + 1, sum: i === 10 ? sum : (sum ?? 0) + i });
    });
    expect(properties(found)).toEqual(
      [...expected]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([h3, { count, sum }]) => ({ h3, count, sum_size: sum })),
    );
    expect(found.body.numberReturned).toBe(expected.size);
    expect(found.body.metadata).toBeUndefined();
    for (const { geometry } of found.body.features) expect(geometry.type).toBe('Polygon');
  });

  it('filters by where', async () => {
    const found = await answer(
      await fetch(`${url('h3')}?resolution=0&where=${encodeURIComponent("kind = 'odd'")}`),
    );
    expect(properties(found).reduce((sum, { count }) => sum + (count as number), 0)).toBe(5);
  });

  it.each([
    ['', 'resolution'],
    ['resolution=16', 'resolution'],
    ['resolution=x', 'resolution'],
    ['resolution=1&where=nonsense%20%3D', 'where'],
    ['resolution=1&outStatistics=[', 'outStatistics'],
    ['resolution=1&what=1', 'what'],
  ])('refuses %s', async (query, name) => {
    const refused = await answer(await fetch(`${url('h3')}?${query}`));
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ name }] } });
  });

  it('knows no other collections', async () => {
    expect((await fetch(`${url('h3', 'nothing')}?resolution=1`)).status).toBe(404);
  });
});

describe('POST clusters', () => {
  it('finds the groups by DBSCAN, with ids and attributes', async () => {
    const found = await post('clusters', { eps: 500, minPoints: 3 });
    expect(found).toMatchObject({ status: 200, type: 'application/geo+json' });
    expect(found.body.metadata).toEqual(metadata('clusters'));
    expect(properties(found).map(({ clusterId }) => clusterId)).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, -1]);
    expect(found.body.features[3]).toEqual({
      type: 'Feature',
      id: 4,
      geometry: { type: 'Point', coordinates: POINTS[3] },
      properties: {
        objectId: 4,
        attributes: { kind: 'odd', size: 3, seen: '2020-01-04' },
        clusterId: 0,
      },
    });
  });

  it('draws hulls with statistics', async () => {
    const outStatistics = [
      { statisticType: 'avg', onStatisticField: 'size', outStatisticFieldName: 'mean' },
      { statisticType: 'max', onStatisticField: 'kind' },
      { statisticType: 'stddev', onStatisticField: 'size' },
    ];
    const found = await post('clusters', {
      eps: 500,
      minPoints: 3,
      returnHullPerCluster: true,
      outStatistics,
    });
    expect(found.body.metadata).toEqual(metadata('clusters', { maxOutputRows: 10_000 }));
    const [first, second] = found.body.features;
    expect(first!.properties).toEqual({
      clusterId: 0,
      featureCount: 5,
      mean: 2,
      max_kind: 'odd',
      stddev_size: expect.closeTo(Math.sqrt(2.5), 9),
    });
    expect(second!.properties).toMatchObject({ clusterId: 1, mean: 7 });
    expect(first!.geometry.type).toBe('Polygon');
    const ring = first!.geometry.coordinates[0] as Position[];
    expect(ring.every((corner) => POINTS.slice(0, 5).some((point) => point.join() === corner.join()))).toBe(
      true,
    );
  });

  it('takes forms: k-means of two, filtered', async () => {
    const form = new URLSearchParams({ algorithm: 'kmeans', k: '2', where: 'size IS NOT NULL', f: 'json' });
    const found = await answer(await fetch(url('clusters'), { method: 'POST', body: form }));
    expect(found.status).toBe(200);
    expect(properties(found).map(({ clusterId }) => clusterId)).toEqual(
      [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1].slice(0, 10),
    );
  });

  const ok = { eps: 500, minPoints: 3 };
  it.each([
    [{}, 'eps'],
    [{ eps: 0, minPoints: 1 }, 'eps'],
    [{ eps: 100_001, minPoints: 1 }, 'eps'],
    [{ eps: 1 }, 'minPoints'],
    [{ eps: 1, minPoints: 1.5 }, 'minPoints'],
    [{ algorithm: 'optics' }, 'algorithm'],
    [{ algorithm: 'kmeans' }, 'k'],
    [{ algorithm: 'kmeans', k: 1001 }, 'k'],
    [{ ...ok, outStatistics: [{ statisticType: 'sum', onStatisticField: 'size' }] }, 'outStatistics'],
    [
      {
        ...ok,
        returnHullPerCluster: true,
        outStatistics: [{ statisticType: 'sum', onStatisticField: 'kind' }],
      },
      'outStatistics',
    ],
    [
      { ...ok, returnHullPerCluster: true, outStatistics: { statisticType: 'sum', onStatisticField: 'no' } },
      'outStatistics',
    ],
    [{ ...ok, returnHullPerCluster: 'perhaps' }, 'returnHullPerCluster'],
    [{ ...ok, where: "kind = 'a" }, 'where'],
    [{ ...ok, where: 'kind; DROP TABLE places' }, 'where'],
    [{ ...ok, objectIds: '1,x' }, 'objectIds'],
    [{ ...ok, geometry: '1,2,3' }, 'geometry'],
    [{ ...ok, geometry: { rings: [[[0, 0]]] } }, 'geometry'],
    [{ ...ok, geometry: { x: 1, y: 'a' } }, 'geometry'],
    [{ ...ok, geometry: { x: 1, y: 1 }, geometryType: 'esriGeometryPolygon' }, 'geometryType'],
    [{ ...ok, geometry: { x: 1, y: 1 }, inSR: 999_999 }, 'inSR'],
    [{ ...ok, geometry: { x: 1, y: 1 }, spatialRel: 'esriSpatialRelWithinDistance' }, 'spatialRel'],
    [{ ...ok, time: 'yesterday' }, 'time'],
    [{ ...ok, time: '1', timeRelation: 'esriTimeRelationAfter' }, 'timeRelation'],
    [{ ...ok, surprise: 1 }, '/'],
    [[], '/'],
  ])('refuses %j', async (body, name) => {
    const refused = await post('clusters', body);
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ name }] } });
  });

  it('takes no other media types, and needs a body', async () => {
    const headers = { 'content-type': 'text/plain' };
    expect((await fetch(url('clusters'), { method: 'POST', headers, body: '{}' })).status).toBe(415);
    expect((await fetch(url('clusters'), { method: 'POST' })).status).toBe(400);
    const json = { 'content-type': 'application/json' };
    expect((await fetch(url('clusters'), { method: 'POST', headers: json, body: '{"eps":' })).status).toBe(
      400,
    );
    expect((await post('clusters', ok, 'nothing')).status).toBe(404);
  });
});

describe('shared filters', () => {
  const idsOf = async (filter: object) =>
    (await post('clusters', { eps: 1, minPoints: 1, ...filter })).body.features.map(({ id }) => id);

  it('select by attributes, ids, time and geometry together', async () => {
    expect(await idsOf({ where: "kind = 'even' AND size >= 6" })).toEqual([7, 9]);
    expect(await idsOf({ where: "seen > DATE '2020-01-09' OR size != 1 AND size < 3" })).toEqual([
      1, 3, 10, 11,
    ]);
    expect(await idsOf({ objectIds: '2, 3,99' })).toEqual([2, 3]);
    const january = (day: number) => Date.UTC(2020, 0, day);
    expect(await idsOf({ time: `${january(2)},${january(4)}` })).toEqual([2, 3, 4]);
    expect(await idsOf({ time: `null,${january(2)}` })).toEqual([1, 2]);
    expect(await idsOf({ geometry: '10.9,47.9,11.05,48.1', objectIds: '1,7,11' })).toEqual([1]);
    expect(await idsOf({ geometry: { x: 12, y: 48.5 } })).toEqual([11]);
    const [x, y] = [1_224_514.4, 6_106_854.8];
    const mercator = {
      xmin: x - 50,
      ymin: y - 50,
      xmax: x + 50,
      ymax: y + 50,
      spatialReference: { wkid: 102100 },
    };
    expect(await idsOf({ geometry: mercator })).toEqual([1]);
    expect(await idsOf({ geometry: JSON.stringify(mercator) })).toEqual([1]);
    const rings = [
      [
        [10, 47],
        [10, 49],
        [13, 49],
        [13, 47],
      ],
      [
        [10.9, 47.9],
        [11.5, 47.9],
        [11.5, 48.2],
        [10.9, 48.2],
      ],
    ];
    expect(await idsOf({ geometry: { rings }, spatialRel: 'esriSpatialRelContains' })).toEqual([11]);
  });
});

describe('POST spatial-join', () => {
  it('counts, carries and summarises what each feature meets', async () => {
    const outStatistics = [{ statisticType: 'sum', onStatisticField: 'weight' }];
    const found = await post('spatial-join', { joinLayerId: areasLayer, carryFields: 'name', outStatistics });
    expect(found.body.metadata).toEqual(metadata('spatial-join'));
    expect(found.body.numberReturned).toBe(12);
    const [first] = properties(found);
    expect(first).toEqual({
      objectId: 1,
      attributes: { kind: 'even', size: 0, seen: '2020-01-01' },
      matchCount: 2,
      name: ['west', 'all'],
      sum_weight: 4,
    });
    expect(properties(found).map(({ matchCount }) => matchCount)).toEqual([
      2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0, 0,
    ]);
    expect(properties(found)[10]).toMatchObject({ name: [], sum_weight: null });
  });

  it('joins by containment and by distance over the ground', async () => {
    const within = await post('spatial-join', { joinLayerId: areasLayer, predicate: 'within' });
    expect(properties(within)[0]).toMatchObject({ matchCount: 2 });
    const contains = await post('spatial-join', { joinLayerId: areasLayer, predicate: 'contains' });
    expect(properties(contains)[0]).toMatchObject({ matchCount: 0 });
    const near = (distance: number) =>
      post('spatial-join', { joinLayerId: String(areasLayer), predicate: 'dwithin', distance });
    // The eleventh point is 0.6 degrees of longitude east and 0.1 north of a corner: 45.6 km.
    expect(properties(await near(45_000))[10]).toMatchObject({ matchCount: 0 });
    expect(properties(await near(46_500))[10]).toMatchObject({ matchCount: 1 });
  });

  it('refuses what it cannot join', async () => {
    const self = (await post('spatial-join', { joinLayerId: areasLayer }, 'areas')).body;
    expect(self.errors).toMatchObject([{ name: 'joinLayerId' }]);
    for (const [body, name] of [
      [{}, '/'],
      [{ joinLayerId: 999 }, 'joinLayerId'],
      [{ joinLayerId: areasLayer, predicate: 'touches' }, 'predicate'],
      [{ joinLayerId: areasLayer, predicate: 'dwithin' }, 'distance'],
      [{ joinLayerId: areasLayer, carryFields: 'kind' }, 'carryFields'],
    ] as const)
      expect(await post('spatial-join', body)).toMatchObject({ status: 400, body: { errors: [{ name }] } });
  });
});

describe('POST buffer-aggregate', () => {
  const areaOf = (ring: Position[]) => {
    const metres = Math.cos((48 * Math.PI) / 180) * 111_320 * 111_200;
    let sum = 0;
    for (let i = 1; i < ring.length; i++)
      sum += ring[i - 1]![0]! * ring[i]![1]! - ring[i]![0]! * ring[i - 1]![1]!;
    return (Math.abs(sum) / 2) * metres;
  };

  it('buffers each feature', async () => {
    const found = await post('buffer-aggregate', {
      distance: 1,
      unit: 'km',
      dissolve: false,
      objectIds: '1,12',
    });
    expect(found.body.metadata).toEqual(metadata('buffer-aggregate'));
    const [circle, nowhere] = found.body.features;
    expect(circle!.properties).toEqual({ objectId: 1 });
    // 32 corners of a circle of a kilometre.
    expect(areaOf(circle!.geometry.coordinates[0]) / (Math.PI * 1e6)).toBeCloseTo(0.9936, 2);
    expect(nowhere).toMatchObject({ geometry: null, properties: { objectId: 12 } });
  });

  it('dissolves by groups, with statistics', async () => {
    const outStatistics = [{ statisticType: 'count', onStatisticField: 'size', outStatisticFieldName: 'n' }];
    const found = await post('buffer-aggregate', {
      distance: 2000,
      groupByFields: 'kind',
      outStatistics,
      where: "kind <> 'nowhere'",
    });
    expect(properties(found)).toEqual([
      { kind: 'even', featureCount: 6, n: 5 },
      { kind: 'odd', featureCount: 5, n: 5 },
    ]);
    expect(found.body.features.map(({ geometry }) => (geometry.coordinates as unknown[]).length)).toEqual([
      3, 2,
    ]);
    const all = await post('buffer-aggregate', { distance: 2000 });
    expect(properties(all)).toEqual([{ featureCount: 12 }]);
  });

  it.each([
    [{}, '/'],
    [{ distance: -1 }, 'distance'],
    [{ distance: 63, unit: 'miles' }, 'distance'],
    [{ distance: 1, unit: 'ells' }, 'unit'],
    [{ distance: 1, groupByFields: 'nothing' }, 'groupByFields'],
    [
      { distance: 1, dissolve: false, outStatistics: [{ statisticType: 'count', onStatisticField: 'size' }] },
      'outStatistics',
    ],
  ])('refuses %j', async (body, name) => {
    expect(await post('buffer-aggregate', body)).toMatchObject({ status: 400, body: { errors: [{ name }] } });
  });
});

describe('POST density', () => {
  it.each(['hex', 'square-grid'])('counts every feature with a place once, in %s cells', async (mode) => {
    const found = await post('density', { cellSize: 2000, mode, weightField: 'size' });
    expect(found.body.metadata).toEqual(metadata('density', { maxOutputRows: 10_000 }));
    const cells = properties(found) as { cellId: string; featureCount: number; weight: number }[];
    expect(cells.reduce((sum, { featureCount }) => sum + featureCount, 0)).toBe(11);
    expect(cells.reduce((sum, { weight }) => sum + weight, 0)).toBe(45);
    expect(new Set(cells.map(({ cellId }) => cellId)).size).toBe(cells.length);
    expect(found.body.features[0]!.geometry.coordinates[0]).toHaveLength(mode === 'hex' ? 7 : 5);
  });

  it.each([
    [{}, '/'],
    [{ cellSize: 9 }, 'cellSize'],
    [{ cellSize: 100_001 }, 'cellSize'],
    [{ cellSize: 100, mode: 'triangle' }, 'mode'],
    [{ cellSize: 100, weightField: 'kind' }, 'weightField'],
  ])('refuses %j', async (body, name) => {
    expect(await post('density', body)).toMatchObject({ status: 400, body: { errors: [{ name }] } });
  });

  it('answers for a collection whose features are all filtered away', async () => {
    for (const [operation, body] of [
      ['density', { cellSize: 100 }],
      ['clusters', { eps: 1, minPoints: 1 }],
      ['clusters', { algorithm: 'kmeans', k: 3, returnHullPerCluster: true }],
      ['buffer-aggregate', { distance: 1 }],
    ] as const)
      expect((await post(operation, { ...body, where: 'size > 1000' })).body, operation).toMatchObject({
        features: [],
        numberReturned: 0,
      });
  });
});

describe('licensing', () => {
  it('answers 402 without the entitlement, and to nothing else', async () => {
    const licensed = await startServer({ sources: [folder], env: { SVC_LICENSING__ENABLED: 'true' } });
    try {
      const base = `${licensed.url}/ogc/features/collections/places`;
      const headers = { 'content-type': 'application/json' };
      const refused = await fetch(`${base}/density`, { method: 'POST', headers, body: '{"cellSize":100}' });
      expect(refused.status).toBe(402);
      expect(await refused.json()).toMatchObject({ code: 'entitlement-missing' });
      expect((await fetch(`${base}/h3?resolution=3`)).status).toBe(200);
    } finally {
      await licensed.stop();
    }
  });
});
