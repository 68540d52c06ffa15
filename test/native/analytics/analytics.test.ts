import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  bufferUnion,
  centroids,
  dbscan,
  joinGeometrySets,
  kmeans,
  neighbourSums,
  ringsToGeoJson,
} from '../../../src/native/analytics.js';
import { geojsonToWkb } from '../../../src/native/index.js';
import { convexHull } from '../../../src/workers/features/analytics/hull.js';
import { metric } from '../../../src/workers/features/analytics/plane.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { randomSource, type Shape, wkb } from '../support.js';

const CRS84 = 'OGC:CRS84';

/** DBSCAN by its definition: labels of core points, null for all others. */
function coreClusters(points: Float64Array, dimensions: number, eps: number, minPoints: number) {
  const n = points.length / dimensions;
  const near = (a: number, b: number) => {
    let sum = 0;
    for (let d = 0; d < dimensions; d++)
      sum += (points[a * dimensions + d]! - points[b * dimensions + d]!) ** 2;
    return sum <= eps * eps;
  };
  const all = Array.from({ length: n }, (_, i) => i);
  const neighbours = all.map((i) => all.filter((j) => near(i, j)));
  const core = neighbours.map((list) => list.length >= minPoints);
  const labels: (number | null)[] = all.map(() => null);
  let next = 0;
  for (const start of all) {
    if (!core[start] || labels[start] !== null) continue;
    const queue = [start];
    labels[start] = next;
    for (let i = queue.pop(); i !== undefined; i = queue.pop()) {
      for (const j of neighbours[i]!) {
        if (!core[j] || labels[j] !== null) continue;
        labels[j] = next;
        queue.push(j);
      }
    }
    next++;
  }
  return { labels, neighbours, core };
}

describe('dbscan', () => {
  it.each([2, 3] as const)('gives the clusters of the definition in %i dimensions', (dimensions) => {
    const random = randomSource(17);
    for (let round = 0; round < 40; round++) {
      const n = 50 + Math.floor(random() * 400);
      const centres = Array.from({ length: 6 }, () =>
        Array.from({ length: dimensions }, () => random() * 100 - 50),
      );
      // Rounded in some rounds, so that many points coincide and distances are exactly eps.
      const step = round % 3 === 0 ? 1 : 1e-6;
      const points = Float64Array.from({ length: n * dimensions }, (_, i) => {
        const centre = centres[Math.floor(i / dimensions) % 6]![i % dimensions]!;
        return Math.round((centre + (random() - 0.5) * (i % 5 === 0 ? 80 : 15)) / step) * step;
      });
      const eps = step === 1 ? 2 : 1 + random() * 4;
      const minPoints = 1 + Math.floor(random() * 8);
      const found = dbscan(points, dimensions, eps, minPoints);
      const { labels, neighbours, core } = coreClusters(points, dimensions, eps, minPoints);
      const names = new Map<number, number>();
      for (let i = 0; i < n; i++) {
        if (!core[i]) continue;
        expect(found[i]).toBeGreaterThanOrEqual(0);
        if (!names.has(labels[i]!)) names.set(labels[i]!, found[i]!);
        expect(found[i]).toBe(names.get(labels[i]!));
      }
      expect(new Set(names.values()).size).toBe(names.size);
      for (let i = 0; i < n; i++) {
        if (core[i]) continue;
        const reachable = neighbours[i]!.filter((j) => core[j]).map((j) => found[j]);
        if (reachable.length === 0) expect(found[i]).toBe(-1);
        else expect(reachable).toContain(found[i]);
      }
      const order = [...new Set(found.filter((label) => label >= 0))];
      expect(order).toEqual(order.map((_, i) => i));
    }
  });

  it('bears far, equal and few points, and refuses what is none', () => {
    expect([...dbscan(new Float64Array(0), 2, 1, 1)]).toEqual([]);
    expect([...dbscan(new Float64Array(200), 2, 1, 100)]).toEqual(Array(100).fill(0));
    expect([...dbscan(new Float64Array(200), 2, 1, 101)]).toEqual(Array(100).fill(-1));
    expect([...dbscan(Float64Array.of(0, 0, 1e15, -1e15, 1e-9, 0), 2, 1e-300, 1)]).toEqual([0, 1, 0]);
    expect([...dbscan(Float64Array.of(-1e9, 0, 1e9, 0, 0, 0), 3, 1e-3, 2)]).toEqual([-1, -1]);
    expect(() => dbscan(Float64Array.of(0, Number.NaN), 2, 1, 1)).toThrow(/finite/);
    expect(() => dbscan(Float64Array.of(0), 2, 1, 1)).toThrow(TypeError);
    expect(() => dbscan(new Float64Array(2), 2, 0, 1)).toThrow(/eps/);
  });
});

describe('kmeans', () => {
  const spread = (points: Float64Array, labels: Int32Array, k: number) => {
    const sums = Array.from({ length: k }, () => [0, 0, 0]);
    labels.forEach((label, i) => {
      const sum = sums[label]!;
      sum[0]! += points[2 * i]!;
      sum[1]! += points[2 * i + 1]!;
      sum[2]! += 1;
    });
    const means = sums.map(([x, y, n]) => [x! / n!, y! / n!] as const);
    const square = (i: number, [x, y]: readonly [number, number]) =>
      (points[2 * i]! - x) ** 2 + (points[2 * i + 1]! - y) ** 2;
    return { means, square };
  };

  it('finds groups that lie apart', () => {
    const random = randomSource(8);
    const points = Float64Array.from(
      { length: 3000 },
      (_, i) => (Math.floor(i / 2) % 10) * 100 + random() * 20,
    );
    const labels = kmeans(points, 2, 10);
    expect([...labels]).toEqual(Array.from(labels, (_, i) => i % 10));
    expect(kmeans(points, 2, 10)).toEqual(labels);
  });

  it('leaves nearly every point with the nearest mean', () => {
    const random = randomSource(9);
    const points = Float64Array.from({ length: 8000 }, () => random() * 1000 + random() * 300);
    for (const k of [1, 2, 7, 60]) {
      const labels = kmeans(points, 2, k);
      expect(new Set(labels).size).toBe(k);
      const { means, square } = spread(points, labels, k);
      let astray = 0;
      labels.forEach((label, i) => {
        const own = square(i, means[label]!);
        if (means.some((mean) => square(i, mean) < own - 1e-6)) astray++;
      });
      expect(astray).toBeLessThanOrEqual(labels.length * 0.01);
    }
  });

  it('ends before an iteration where its caller says so', () => {
    const random = randomSource(10);
    const points = Float64Array.from({ length: 4000 }, () => random());
    let checks = 0;
    const endAt = (last: number) => () => {
      if (++checks === last) throw new Error('enough');
    };
    kmeans(points, 2, 20, endAt(0));
    expect(checks).toBeGreaterThan(3);
    checks = 0;
    expect(() => kmeans(points, 2, 20, endAt(3))).toThrow('enough');
    expect(checks).toBe(3);
  });

  it('never parts points that coincide', () => {
    expect([...kmeans(Float64Array.of(1, 1, 2, 2, 1, 1, 2, 2), 2, 5)]).toEqual([0, 1, 0, 1]);
    expect([...kmeans(new Float64Array(0), 2, 3)]).toEqual([]);
    expect([...kmeans(Float64Array.of(1, 2, 3), 3, 1000)]).toEqual([0]);
    expect(() => kmeans(new Float64Array(2), 2, 0)).toThrow(/k must/);
  });
});

describe('sums over neighbours', () => {
  it.each([
    [2, 0.05],
    [3, 0.2],
    [2, 5],
    [3, 1e-9],
  ] as const)('are those of all pairs: %i coordinates within %d', (dimensions, radius) => {
    const random = randomSource(dimensions);
    const n = 400;
    // Some lie at the same place, and some in the corners of cells.
    const points = Float64Array.from(
      { length: n * dimensions },
      () => Math.round(random() * 200) / 200 - 0.5,
    );
    const values = Float64Array.from({ length: n }, () => random() - 0.5);
    const { counts, sums } = neighbourSums(points, dimensions, values, radius);
    for (let i = 0; i < n; i++) {
      let [count, sum] = [0, 0];
      for (let j = 0; j < n; j++) {
        let square = 0;
        for (let d = 0; d < dimensions; d++)
          square += (points[i * dimensions + d]! - points[j * dimensions + d]!) ** 2;
        if (square > radius * radius) continue;
        count++;
        sum += values[j]!;
      }
      expect(counts[i]).toBe(count);
      expect(sums[i]).toBeCloseTo(sum, 10);
    }
  });

  it('are as quick where every point is a neighbour, and end where their caller says so', () => {
    const n = 200_000;
    const points = Float64Array.from({ length: 2 * n }, (_, i) => i % 1009);
    const start = performance.now();
    let checks = 0;
    const { counts, sums } = neighbourSums(points, 2, new Float64Array(n).fill(2), 2000, () => {
      checks++;
    });
    // 40,000,000,000 pairs one by one take a minute.
    expect(performance.now() - start).toBeLessThan(5000);
    expect(checks).toBe(20);
    expect(new Set(counts)).toEqual(new Set([n]));
    expect(new Set(sums)).toEqual(new Set([2 * n]));
    const end = () => {
      throw new Error('enough');
    };
    expect(() => neighbourSums(points, 2, new Float64Array(n), 1, end)).toThrow('enough');
  });

  it('need finite points and as many values', () => {
    expect(() => neighbourSums(Float64Array.of(0, Number.NaN), 2, Float64Array.of(1), 1)).toThrow(/finite/);
    expect(() => neighbourSums(Float64Array.of(0, 0), 2, Float64Array.of(), 1)).toThrow(/value for each/);
    expect(() => neighbourSums(Float64Array.of(0, 0), 2, Float64Array.of(1), 0)).toThrow(/positive/);
    expect(neighbourSums(new Float64Array(), 3, new Float64Array(), 1).counts).toHaveLength(0);
  });
});

describe('metric', () => {
  it('keeps distances over the ground, wherever the points are', () => {
    const line = (positions: number[]) => {
      const { points, dimensions } = metric(Float64Array.from(positions));
      return Math.hypot(
        ...Array.from({ length: dimensions }, (_, d) => points[d]! - points[dimensions + d]!),
      );
    };
    // Geodesics on WGS 84.
    expect(line([11, 48, 11, 48.5]) / 55_597.7).toBeCloseTo(1, 3);
    expect(line([179.9, 0, -179.9, 0]) / 22_263.9).toBeCloseTo(1, 3);
    expect(line([10, 60, 14, 60]) / 222_958).toBeCloseTo(1, 2);
    const { points, dimensions } = metric(Float64Array.of(0, 89.9, 180, 89.9, 90, 0));
    expect(dimensions).toBe(3);
    expect(Math.hypot(points[0]! - points[3]!, points[1]! - points[4]!) / 22_338.8).toBeCloseTo(1, 4);
  });
});

describe('rings', () => {
  it('become points, lines and polygons', () => {
    const texts = ringsToGeoJson(
      Float64Array.of(1, 2, 0, 0, 3, 4, 0, 0, 1, 0, 1, 1),
      Uint32Array.of(1, 3, 6),
    );
    expect(texts.map((text) => JSON.parse(text).type)).toEqual(['Point', 'LineString', 'Polygon']);
    expect(() => ringsToGeoJson(new Float64Array(2), Uint32Array.of(2))).toThrow(TypeError);
  });

  it('of convex hulls hold all their points', () => {
    const random = randomSource(12);
    for (let round = 0; round < 50; round++) {
      const xy = Float64Array.from({ length: 2 * (1 + Math.floor(random() * 40)) }, () =>
        Math.round(random() * 9),
      );
      const all = Array.from({ length: xy.length / 2 }, (_, i) => i);
      const hull = convexHull(xy, all);
      if (hull.length < 3) continue;
      hull.forEach((a, k) => {
        const b = hull[(k + 1) % hull.length]!;
        for (const p of all) {
          const turn =
            (xy[2 * b]! - xy[2 * a]!) * (xy[2 * p + 1]! - xy[2 * a + 1]!) -
            (xy[2 * b + 1]! - xy[2 * a + 1]!) * (xy[2 * p]! - xy[2 * a]!);
          expect(turn).toBeGreaterThanOrEqual(0);
        }
      });
    }
    expect(convexHull(Float64Array.of(1, 1, 1, 1), [0, 1])).toHaveLength(1);
    expect(convexHull(Float64Array.of(0, 0, 1, 1, 2, 2), [0, 1, 2])).toHaveLength(2);
  });
});

describe('beside PostGIS', () => {
  let postgres: TestPostgres;
  let client: pg.Client;

  beforeAll(async () => {
    postgres = await startPostgres();
    client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
  });
  afterAll(async () => {
    await client?.end();
    await postgres?.stop();
  });

  const blobs = async (wkts: string[]): Promise<Buffer[]> =>
    (await client.query('SELECT ST_AsBinary(g::geometry) AS g FROM unnest($1::text[]) g', [wkts])).rows.map(
      ({ g }) => g,
    );

  it('centroids are those of ST_Centroid', async () => {
    const wkts = [
      'POINT(1 2)',
      'MULTIPOINT(0 0, 1 0, 5 5)',
      'LINESTRING(0 0, 10 0, 10 1)',
      'MULTILINESTRING((0 0, 1 0), (5 5, 5 9))',
      'POLYGON((0 0, 10 0, 10 10, 0 10, 0 0), (1 1, 1 3, 3 3, 3 1, 1 1))',
      'POLYGON((0 0, 0 10, 10 10, 10 0, 0 0), (1 1, 1 3, 3 3, 3 1, 1 1))',
      'MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))',
      'GEOMETRYCOLLECTION(POINT(50 50), LINESTRING(0 0, 2 0), POLYGON((0 0, 1 0, 1 1, 0 0)))',
      'POLYGON((1 1, 2 2, 1 1, 1 1))',
      'LINESTRING(3 3, 3 3)',
    ];
    const { rows } = await client.query(
      'SELECT ST_X(c) AS x, ST_Y(c) AS y FROM (SELECT ST_Centroid(g::geometry) AS c FROM unnest($1::text[]) g) t',
      [wkts],
    );
    const found = centroids(await blobs(wkts), CRS84);
    rows.forEach(({ x, y }, i) => {
      expect(found[2 * i], wkts[i]).toBeCloseTo(x, 9);
      expect(found[2 * i + 1], wkts[i]).toBeCloseTo(y, 9);
    });
    const none = centroids([null, Buffer.from('x'), wkb({ type: 'Polygon', coordinates: [] })], CRS84);
    expect(none.every(Number.isNaN)).toBe(true);
  });

  it('buffers have the area of ST_Buffer of geography', async () => {
    const wkts = [
      'POINT(11 48)',
      'LINESTRING(11 48, 11.2 48.1)',
      'POLYGON((11 48, 11.3 48, 11.3 48.2, 11 48.2, 11 48))',
      'MULTIPOINT(-70 -33, -70.1 -33.05)',
      'POINT(20 70)',
    ];
    for (const [i, blob] of (await blobs(wkts)).entries()) {
      for (const metres of [100, 5000, 50_000]) {
        const text = bufferUnion([blob], CRS84, metres);
        const { rows } = await client.query(
          `SELECT ST_Area(ST_GeomFromGeoJSON($1)::geography) AS ours, ST_Area(ST_Buffer($2::geography, $3)) AS theirs`,
          [text, wkts[i], metres],
        );
        expect(rows[0].ours / rows[0].theirs, `${wkts[i]} by ${metres}`).toBeCloseTo(1, 2);
      }
    }
  });

  it('buffers hold what lies within the distance, across zones, the antimeridian and the pole', async () => {
    const shapes: [string, number][] = [
      ['LINESTRING(-10 50, 20 50)', 80_000],
      ['LINESTRING(170 10, 179.9 12)', 60_000],
      ['POINT(30 89.9)', 50_000],
      ['POLYGON((-20 0, 25 0, 25 30, -20 30, -20 0))', 100_000],
    ];
    for (const [wkt, metres] of shapes) {
      const [blob] = await blobs([wkt]);
      const text = bufferUnion([blob!], CRS84, metres);
      // Places around the geometry, near and far; edges of geography are great circles, so the lines are made dense.
      const { rows } = await client.query(
        `WITH g AS (SELECT ST_Segmentize($1::geometry, 0.05) AS line, ST_GeomFromGeoJSON($2) AS buffer)
         SELECT ST_Distance(p::geography, line::geography) / $3 AS ratio, ST_Intersects(p, buffer) AS inside, ST_IsValid(buffer) AS valid,
           ST_AsText(p) AS p
         FROM g, LATERAL (SELECT ST_SetSRID(ST_MakePoint(mod(x + 540, 360) - 180, least(90, y)), 4326) AS p
           FROM generate_series((ST_XMin(line) - 3)::numeric, (ST_XMax(line) + 3)::numeric, 0.77) x,
                generate_series((ST_YMin(line) - 1)::numeric, (ST_YMax(line) + 1)::numeric, 0.31) y) places`,
        [`SRID=4326;${wkt}`, text, metres],
      );
      expect(rows[0].valid).toBe(true);
      for (const { ratio, inside, p } of rows) {
        if (Math.abs(ratio - 1) < 0.02) continue;
        expect(inside, `${wkt}: ${p} at ${ratio}`).toBe(ratio < 1);
      }
    }
  });

  it('joins pair what PostGIS pairs', async () => {
    const random = randomSource(6);
    const shape = () => {
      const [x, y, s] = [random() * 3, random() * 3, random()];
      if (random() < 0.3) return `POINT(${x} ${y})`;
      if (random() < 0.3) return `LINESTRING(${x} ${y}, ${x + s} ${y + s / 2})`;
      return `POLYGON((${x} ${y}, ${x + s} ${y}, ${x + s} ${y + s}, ${x} ${y}))`;
    };
    const left = Array.from({ length: 80 }, shape);
    const right = Array.from({ length: 90 }, shape);
    const [l, r] = [await blobs(left), await blobs(right)];
    for (const [predicate, condition] of [
      ['intersects', 'ST_Intersects(a.g::geometry, b.g::geometry)'],
      ['contains', 'ST_Contains(a.g::geometry, b.g::geometry)'],
      ['within', 'ST_Within(a.g::geometry, b.g::geometry)'],
      ['dwithin', 'ST_DWithin(a.g::geography, b.g::geography, 20000)'],
    ] as const) {
      const { rows } = await client.query(
        `SELECT a.i - 1 AS a, b.i - 1 AS b FROM unnest($1::text[]) WITH ORDINALITY a(g, i), unnest($2::text[]) WITH ORDINALITY b(g, i)
         WHERE ${condition} ORDER BY 1, 2`,
        [left, right],
      );
      const found = joinGeometrySets(
        { blobs: l, crs: CRS84 },
        { blobs: r, crs: CRS84 },
        predicate,
        20_000,
        1e6,
      );
      expect(found.looks).toBe(left.length);
      expect([...found.pairs], predicate).toEqual(rows.flatMap(({ a, b }) => [Number(a), Number(b)]));
      expect(rows.length).toBeGreaterThan(0);
    }
    const some = joinGeometrySets({ blobs: l, crs: CRS84 }, { blobs: r, crs: CRS84 }, 'intersects', 0, 10);
    expect(some.looks).toBeLessThan(left.length);
    expect(some.pairs.length).toBeLessThan(2 * 100);
  });
});

describe('joins', () => {
  it('reproject the right side, and step over what is no geometry', () => {
    const square: Shape = {
      type: 'Polygon',
      coordinates: [
        [
          [11, 48],
          [12, 48],
          [12, 49],
          [11, 49],
          [11, 48],
        ],
      ],
    };
    const far = geojsonToWkb({ type: 'Point', coordinates: [11.5, 48.5] }, { from: CRS84, to: 'EPSG:25832' });
    const left = [null, wkb(square), Buffer.from('x')];
    const found = joinGeometrySets(
      { blobs: left, crs: CRS84 },
      { blobs: [null, far], crs: 'EPSG:25832' },
      'contains',
      0,
      10,
    );
    expect([...found.pairs]).toEqual([1, 1]);
    expect([
      ...joinGeometrySets({ blobs: [], crs: CRS84 }, { blobs: [], crs: CRS84 }, 'intersects', 0, 10).pairs,
    ]).toEqual([]);
  });

  it('see across the antimeridian by distance', () => {
    const east = wkb({ type: 'Point', coordinates: [179.99, 0] });
    const west = wkb({ type: 'Point', coordinates: [-179.99, 0] });
    const pairs = (metres: number) => [
      ...joinGeometrySets({ blobs: [east], crs: CRS84 }, { blobs: [west], crs: CRS84 }, 'dwithin', metres, 10)
        .pairs,
    ];
    expect(pairs(2300)).toEqual([0, 0]);
    expect(pairs(2200)).toEqual([]);
  });
});

it('centroids of parts that were cut at 180 degrees lie between them', () => {
  const square = (west: number, east: number) => [
    [
      [west, 0],
      [east, 0],
      [east, 2],
      [west, 2],
      [west, 0],
    ],
  ];
  const blob = (parts: object[][]) =>
    geojsonToWkb({ type: 'MultiPolygon', coordinates: parts }, { from: CRS84, to: CRS84 });
  const cut = blob([square(170, 180), square(-180, -176)]);
  expect([...centroids([cut], CRS84)]).toEqual([177, 1]);
  expect([...centroids([blob([square(177, 180), square(-180, -170)])], CRS84)][0]).toBeCloseTo(-176.5, 9);
  // In metres the parts are two places, and a part around the Earth has its middle on the other side.
  expect([...centroids([cut], 'EPSG:3857', 'EPSG:3857')][0]).toBeCloseTo((175 * 10 - 178 * 4) / 14, 9);
  const around = blob([square(-180, 180), square(170, 180)]);
  expect([...centroids([around], CRS84)][0]).toBeCloseTo((175 * 10) / 370, 9);
});
