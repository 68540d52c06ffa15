import { beforeAll, describe, expect, it } from 'vitest';
import {
  askGeometryServer,
  type Json,
  polygon,
  polyline,
  python,
  square,
} from '../../support/geometry-server.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Relations of a GeometryServer are those of Shapely, and what ArcObjects says of its own. */

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

const ask = (members: Record<string, unknown>): Promise<Json> =>
  askGeometryServer(server.url, 'relation', { sr: 3857, ...members });

async function pairs(relation: string, one: Json[], other: Json[], relationParam?: string) {
  const [geometries1, geometries2] = [one, other].map((geometries) => ({ geometries }));
  const answer = await ask({
    ...{ geometries1, geometries2, relation: `esriGeometryRelation${relation}` },
    ...(relationParam === undefined ? {} : { relationParam }),
  });
  return answer.relations?.map((pair: Json) => [pair.geometry1Index, pair.geometry2Index]) ?? answer;
}

const areas = [
  square(0, 0, 10),
  square(5, 5, 10),
  square(10, 0, 10),
  square(10, 10, 3),
  square(2, 2, 4),
  square(40, 40, 1),
];
const lines = [
  polyline([
    [0, 0],
    [0, 10],
  ]),
  polyline([
    [-5, 5],
    [5, 5],
  ]),
  polyline([
    [2, 2],
    [8, 8],
  ]),
  polyline([
    [0, 10],
    [-5, 20],
  ]),
  polyline([
    [4, 4],
    [9, 9],
  ]),
  polyline([
    [8, 2],
    [2, 8],
  ]),
];

const SHAPELY: [string, string][] = [
  ['Disjoint', 'a.disjoint(b)'],
  ['Intersection', 'a.intersects(b)'],
  ['In', 'a.within(b)'],
  ['Within', 'a.covered_by(b)'],
  ['Touch', 'a.touches(b)'],
  ['Cross', 'a.crosses(b)'],
  ['Overlap', 'a.overlaps(b)'],
];

describe('relations of a GeometryServer', () => {
  it.each([
    ['areas', areas, areas],
    ['lines', lines, lines],
    ['lines and areas', lines, areas],
    ['areas and lines', areas, lines],
  ])('are those of Shapely for %s', async (_name, one, other) => {
    const shape = '(lambda g: Polygon(g["rings"][0]) if "rings" in g else LineString(g["paths"][0]))';
    const tests = SHAPELY.map(([name, test]) => `"${name}": lambda a, b: ${test}`).join();
    const expected = python(
      `{name: [[i, j] for i, a in enumerate(map(${shape}, given[0])) for j, b in enumerate(map(${shape}, given[1])) if test(a, b)] for name, test in {${tests}}.items()}`,
      [one, other],
    );
    expect(expected['Intersection'].length).toBeGreaterThan(2);
    for (const [name] of SHAPELY)
      expect([name, await pairs(name, one, other)]).toEqual([name, expected[name]]);
  });

  it('tell apart how boundaries meet', async () => {
    const [base] = areas;
    expect(await pairs('LineTouch', [base], areas)).toEqual([[0, 2]]);
    expect(await pairs('PointTouch', [base], areas)).toEqual([[0, 3]]);
    expect(await pairs('LineCoincidence', [base], areas)).toEqual([
      [0, 0],
      [0, 2],
    ]);
    expect(await pairs('LineCoincidence', lines.slice(0, 1), areas)).toEqual([[0, 0]]);
    expect(await pairs('LineCoincidence', [lines[2]], lines)).toEqual([
      [0, 2],
      [0, 4],
    ]);
    expect(await pairs('InteriorIntersection', [base], areas)).toEqual([
      [0, 0],
      [0, 1],
      [0, 4],
    ]);
    // A line on the boundary of an area is within it, but not in it.
    expect(await pairs('Within', [lines[0]], [base])).toEqual([[0, 0]]);
    expect(await pairs('In', [lines[0]], [base])).toEqual([]);
  });

  it('may be any pattern', async () => {
    const expected = python(
      '[i for i, g in enumerate(given) if Polygon(given[0]["rings"][0]).relate_pattern(Polygon(g["rings"][0]), "FF*FF****")]',
      areas,
    ).map((i: number) => [0, i]);
    expect(await pairs('Relation', [areas[0]], areas, 'FF*FF****')).toEqual(expected);
    expect(expected).toEqual([[0, 5]]);
    expect(await pairs('Relation', [areas[0]], areas, 'RELATE(G1, G2, "****1****")')).toEqual([
      [0, 0],
      [0, 2],
    ]);
  });

  it('repair what is not valid, and pass over nothing', async () => {
    const bow = polygon([
      [0, 0],
      [10, 10],
      [10, 0],
      [0, 10],
      [0, 0],
    ]);
    expect(
      await pairs(
        'Intersection',
        [bow],
        [
          { x: 9, y: 5 },
          { x: 5, y: 9 },
        ],
      ),
    ).toEqual([[0, 0]]);
  });

  it.each([
    ['Relation', 'T*', 'relationParam'],
    ['Near', undefined, 'relation'],
  ])('refuse what is wrong', async (relation, param, parameter) => {
    const { error } = await pairs(relation, areas, areas, param);
    expect([error.code, JSON.stringify(error)]).toEqual([400, expect.stringContaining(parameter)]);
  });

  it('refuse more pairs than fit an answer', async () => {
    const points = Array.from({ length: 1100 }, (_, i) => `${i},0`).join();
    const members = { geometries1: points, geometries2: points };
    const { error } = await ask({ ...members, relation: 'esriGeometryRelationDisjoint' });
    expect([error.code, error.message]).toEqual([400, expect.stringContaining('pairs')]);
  });
});
