import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROCESS_LIMITS } from '../../src/core/processes/limits.js';
import { randomNumbers } from '../support/random.js';
import { expectSame, note, numbers, type Point, Reference, underLimits } from './reference.js';

/** Processes that compare features with each other, against PostGIS. */

let reference: Reference;

beforeAll(async () => {
  reference = await Reference.start();
  await reference.points('shops', 3857, scattered(3000, 7));
  await reference.points('homes', 3857, scattered(2500, 11));
  await reference.points('stations', 4326, degrees(400, 13));
});
afterAll(() => reference?.stop());

/** Points in a square of 100 km, half of them in its middle tenth. */
function scattered(count: number, seed: number): Point[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, (_, i) => {
    const [side, from] = i % 2 === 0 ? [100_000, 0] : [10_000, 45_000];
    return { x: from + random() * side, y: from + random() * side, value: Math.round(random() * 100) };
  });
}

/** Points over Switzerland and Austria. */
function degrees(count: number, seed: number): Point[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, () => ({
    ...{ x: 6 + random() * 11, y: 45.8 + random() * 3.2 },
    value: Math.round(random() * 100),
  }));
}

describe('analytics.nearest', () => {
  it('finds the same neighbours as an index of PostGIS', async () => {
    const inputs = { count: 3, unit: 'kilometre' };
    const { rows } = await reference.run(
      'analytics.nearest',
      inputs,
      reference.file('shops'),
      reference.file('homes'),
    );
    const theirs = await reference.query(`SELECT ST_Distance(s.geom, n.geom) / 1000 AS distance FROM shops s
      CROSS JOIN LATERAL (SELECT geom FROM homes ORDER BY s.geom <-> geom LIMIT 3) n`);
    expectSame('analytics.nearest', numbers(rows, 'distance'), numbers(theirs, 'distance'), 1e-12);
    expect(numbers(rows, 'rank').filter((rank) => rank === 3)).toHaveLength(3000);
  });

  it('looks no further than it may', async () => {
    const inputs = { count: 5, maxDistance: 150, innerOnly: true };
    const { rows } = await reference.run(
      'analytics.nearest',
      inputs,
      reference.file('shops'),
      reference.file('homes'),
    );
    const theirs =
      await reference.query(`SELECT ST_Distance(s.geom, n.geom) AS distance FROM shops s CROSS JOIN LATERAL
      (SELECT geom FROM homes WHERE ST_DWithin(s.geom, geom, 150) ORDER BY s.geom <-> geom LIMIT 5) n`);
    expect(theirs.length).toBeGreaterThan(500);
    expectSame('analytics.nearest', numbers(rows, 'distance'), numbers(theirs, 'distance'), 1e-12);
  });

  it('reads windows that are full in parts', async () => {
    await reference.points('far', 3857, [{ x: 1e7, y: 5e6, value: 0 }]);
    await underLimits({ processHeldBytes: 0, processNearest: 100, processWindow: 400 }, async () => {
      for (const name of ['shops', 'far']) {
        const files = [reference.file(name), reference.file('homes')] as const;
        const { rows } = await reference.run('analytics.nearest', {}, ...files);
        const theirs = await reference.query(`SELECT n.distance FROM ${name} s CROSS JOIN LATERAL
          (SELECT ST_Distance(s.geom, geom) AS distance FROM homes ORDER BY s.geom <-> geom LIMIT 1) n`);
        expectSame('analytics.nearest', numbers(rows, 'distance'), numbers(theirs, 'distance'), 1e-12);
      }
    });
  });

  it('measures over the ground from areas, in degrees', async () => {
    const { rows } = await reference.run(
      'analytics.nearest',
      { count: 2 },
      undefined,
      reference.file('stations'),
    );
    const theirs = await reference.query(`SELECT n.distance FROM countries c CROSS JOIN LATERAL
      (SELECT ST_Distance(c.geom::geography, geom::geography) AS distance FROM stations ORDER BY 1 LIMIT 2) n`);
    expectSame('analytics.nearest', numbers(rows, 'distance'), numbers(theirs, 'distance'), 1e-6);
  });

  it('finds neighbours across the antimeridian and the pole', async () => {
    const place = (x: number, y: number, value: number) => ({ x, y, value });
    await reference.points('edge', 4326, [place(179.9, 10, 1)]);
    await reference.points('pole', 4326, [place(20, 89.5, 2)]);
    await reference.points('others', 4326, [
      ...[place(-179.9, 10, 1), place(170, 10, 2), place(-160, 89.6, 3), place(20, 80, 4)],
    ]);
    for (const [from, to] of [
      ['edge', 1],
      ['pole', 3],
    ] as const) {
      const files = [reference.file(from), reference.file('others')] as const;
      const { rows } = await reference.run('analytics.nearest', {}, ...files);
      expect(numbers(rows, 'value_')).toEqual([to]);
    }
  });
});

describe('analytics.spatial-join', () => {
  it.each([
    ['in memory', PROCESS_LIMITS.processHeldBytes],
    ['in a file', 0],
  ])('takes what lies within a distance %s, nearest first, and counts it', (_, processHeldBytes) =>
    underLimits({ processHeldBytes }, async () => {
      const inputs = { predicate: 'dwithin', distance: 200, mode: 'each', innerOnly: true };
      const files = [reference.file('shops'), reference.file('homes')] as const;
      const { rows } = await reference.run('analytics.spatial-join', inputs, ...files);
      const theirs = await reference.query(
        'SELECT h.value FROM shops s JOIN homes h ON ST_DWithin(s.geom, h.geom, 200)',
      );
      expectSame('analytics.spatial-join', numbers(rows, 'value_'), numbers(theirs, 'value'), 0);
      const statistics = [{ type: 'sum', field: 'value', name: 'total' }];
      const { rows: counts } = await reference.run(
        'analytics.spatial-join',
        { ...inputs, mode: 'count', statistics },
        ...files,
      );
      const sums = await reference.query(`SELECT count(*) AS n, sum(h.value) AS total FROM shops s
        JOIN homes h ON ST_DWithin(s.geom, h.geom, 200) GROUP BY s.id`);
      expectSame('analytics.spatial-join', numbers(counts, 'matchCount'), numbers(sums, 'n'), 0);
      expectSame('analytics.spatial-join', numbers(counts, 'total'), numbers(sums, 'total'), 0);
    }),
  );

  it('counts and takes the nearest where more pairs lie within the distance than are in memory', async () => {
    const files = [reference.file('shops'), reference.file('homes')] as const;
    const within = (mode: string) => ({ predicate: 'dwithin', distance: 3000, mode, innerOnly: true });
    const { rows } = await reference.run('analytics.spatial-join', within('count'), ...files);
    const theirs = await reference.query(`SELECT count(*)::int AS n FROM shops s
      JOIN homes h ON ST_DWithin(s.geom, h.geom, 3000) GROUP BY s.id`);
    expectSame('analytics.spatial-join', numbers(rows, 'matchCount'), numbers(theirs, 'n'), 0);
    expect(numbers(rows, 'matchCount').reduce((sum, n) => sum + n, 0)).toBeGreaterThan(300_000);
    const first = await reference.run('analytics.spatial-join', within('first'), ...files);
    const nearest = await reference.query(`SELECT n.value FROM shops s CROSS JOIN LATERAL
      (SELECT h.geom, h.value FROM homes h ORDER BY s.geom <-> h.geom LIMIT 1) n WHERE ST_DWithin(s.geom, n.geom, 3000)`);
    expectSame('analytics.spatial-join', numbers(first.rows, 'value_'), numbers(nearest, 'value'), 0);
  });

  it('of too many pairs within a distance is refused', async () => {
    const inputs = { predicate: 'dwithin', distance: 200 };
    const files = [reference.file('shops'), reference.file('homes')] as const;
    await underLimits({ processPairs: 100 }, async () => {
      const each = reference.run('analytics.spatial-join', { ...inputs, mode: 'each' }, ...files);
      await expect(each).rejects.toMatchObject({ code: 'too-large' });
      const count = await reference.run('analytics.spatial-join', { ...inputs, mode: 'count' }, ...files);
      expect(count.rows).toHaveLength(3000);
    });
  });
});

it('analytics.points-in-polygons counts points, with statistics', async () => {
  const statistics = [{ type: 'avg', field: 'value' }];
  const { rows } = await reference.run(
    'analytics.points-in-polygons',
    { statistics },
    reference.file('provinces'),
    reference.file('stations'),
  );
  const theirs =
    await reference.query(`SELECT count(s.id) AS n, coalesce(avg(s.value), 0) AS mean FROM provinces p
    LEFT JOIN stations s ON ST_Contains(p.geom, s.geom) GROUP BY p.id`);
  expectSame('analytics.points-in-polygons', numbers(rows, 'pointCount'), numbers(theirs, 'n'), 0);
  expectSame('analytics.points-in-polygons', numbers(rows, 'avg_value'), numbers(theirs, 'mean'), 1e-12);
});

it('analytics.distance-matrix has each pair, without geometry', async () => {
  const { rows } = await reference.run('analytics.distance-matrix', { unit: 'kilometre' });
  const theirs =
    await reference.query(`SELECT c.id AS a, p.id AS b, ST_Distance(c.geom::geography, p.geom::geography) / 1000 AS d
    FROM countries c, provinces p`);
  const key = (a: unknown, b: unknown) => `${a} ${b}`;
  const distances = new Map(
    rows.map((row) => [key(row['inputId'], row['targetId']), Number(row['distance'])]),
  );
  expect(distances.size).toBe(theirs.length);
  const apart = theirs.map(({ a, b, d }) => Math.abs(distances.get(key(a, b))! - Number(d)));
  note('analytics.distance-matrix', Math.max(...apart));
  expect(Math.max(...apart)).toBeLessThan(0.001);
  expect(rows.every(({ geom }) => geom === null)).toBe(true);
});

it('analytics.overlay-shares has areas over the ground, and their shares', async () => {
  const { rows } = await reference.run('analytics.overlay-shares', { unit: 'kilometre' });
  const theirs = await reference.query(`SELECT ST_Area(i.geom::geography) / 1e6 AS area,
      ST_Area(i.geom::geography) / ST_Area(c.geom::geography) AS feature,
      ST_Area(i.geom::geography) / ST_Area(p.geom::geography) AS overlay
    FROM countries c JOIN provinces p ON ST_Intersects(c.geom, p.geom),
      LATERAL (SELECT ST_CollectionExtract(ST_Intersection(c.geom, p.geom), 3) AS geom) i WHERE ST_Area(i.geom) > 0`);
  expectSame('analytics.overlay-shares', numbers(rows, 'sharedArea'), numbers(theirs, 'area'), 1e-6);
  expectSame('analytics.overlay-shares', numbers(rows, 'featureShare'), numbers(theirs, 'feature'), 1e-6);
  expectSame('analytics.overlay-shares', numbers(rows, 'overlayShare'), numbers(theirs, 'overlay'), 1e-6);
});
