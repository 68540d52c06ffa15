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

/** A GeometryServer cuts, offsets, reshapes, trims and completes as Esri's reference says; sizes are those of Shapely. */

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

const ask = (operation: string, members: Record<string, unknown>): Promise<Json> =>
  askGeometryServer(server.url, operation, { sr: 3857, ...members });

const list = (type: string, ...geometries: Json[]) => ({ geometryType: `esriGeometry${type}`, geometries });

/** Areas of polygons, by Shapely, where their rings are exteriors. */
const areasOf = (geometries: Json[]): number[] =>
  python('[sum(Polygon(r).area for r in g["rings"]) for g in given]', geometries);

describe('cut', () => {
  const up = polyline([
    [5, -5],
    [5, 15],
  ]);

  it('makes a left and a right part of an area', async () => {
    const answer = await ask('cut', {
      cutter: up,
      target: list('Polygon', square(0, 0, 10), square(20, 20, 1), square(4, 0, 10)),
    });
    expect(answer.cutIndexes).toEqual([0, 0, 2, 2]);
    expect(areasOf(answer.geometries)).toEqual([50, 50, 10, 90]);
    const xs = (at: number) => answer.geometries[at].rings.flat().map(([x]: number[]) => x);
    expect([Math.max(...xs(0)), Math.min(...xs(1))]).toEqual([5, 5]);
    const back = await ask('cut', {
      cutter: polyline([
        [5, 15],
        [5, -5],
      ]),
      target: list('Polygon', square(4, 0, 10)),
    });
    expect(areasOf(back.geometries)).toEqual([90, 10]);
  });

  it('groups the parts of one side, and leaves others alone', async () => {
    const comb = polygon([
      [0, 0],
      [0, 10],
      [2, 10],
      [2, 2],
      [8, 2],
      [8, 10],
      [10, 10],
      [10, 0],
      [0, 0],
    ]);
    const across = await ask('cut', {
      cutter: polyline([
        [-1, 5],
        [11, 5],
      ]),
      target: list('Polygon', comb),
    });
    expect(areasOf(across.geometries)).toEqual([20, 32]);
    expect(across.geometries[0].rings).toHaveLength(2);
    // A cutter that comes back: what lies between is left of it there, and right of it here.
    const twice = await ask('cut', {
      cutter: polyline([
        [2, -1],
        [2, 11],
        [8, 11],
        [8, -1],
      ]),
      target: list('Polygon', square(0, 0, 10)),
    });
    expect(areasOf(twice.geometries)).toEqual([40, 60]);
    const undefinedPart = await ask('cut', {
      cutter: polyline(
        [
          [2, -1],
          [2, 11],
          [8, 11],
          [8, 12],
        ],
        [
          [8, -1],
          [8, 11],
        ],
      ),
      target: list('Polygon', square(0, 0, 10)),
    });
    expect(areasOf(undefinedPart.geometries)).toEqual([20, 20, 60]);
  });

  it('cuts as Shapely splits, also at odd angles', async () => {
    const ring = Array.from({ length: 40 }, (_, i): number[] => {
      const [angle, radius] = [(-i / 40) * 2 * Math.PI, i % 2 === 0 ? 1000 : 640.7];
      return [5e6 + Math.cos(angle) * radius, 4e6 + Math.sin(angle) * radius];
    });
    const target = polygon([...ring, ring[0]!]);
    const cutter = polyline([
      [5e6 - 2000, 4e6 + 690.3],
      [5e6 + 1777, 4e6 + 810.9],
    ]);
    const expected = python(
      '[g.area for g in ops.split(Polygon(given[0]["rings"][0]), LineString(given[1]["paths"][0])).geoms]',
      [target, cutter],
    );
    expect(expected.length).toBeGreaterThan(2);
    const { geometries } = await ask('cut', { cutter, target: list('Polygon', target) });
    expect(geometries).toHaveLength(2);
    const sizes: number[] = geometries.flatMap((one: Json) =>
      areasOf(one.rings.map((r: number[][]) => polygon(r))),
    );
    const sorted = (numbers: number[]) => [...numbers].sort((a, b) => a - b);
    for (const [i, size] of sorted(sizes).entries()) expect(size).toBeCloseTo(sorted(expected)[i]!, 3);
  });

  it('cuts lines, in their direction', async () => {
    const zigzag = polyline(
      [
        [0, 0],
        [10, 0],
        [10, 2],
        [0, 2],
      ],
      [
        [20, 0],
        [21, 0],
      ],
    );
    const answer = await ask('cut', {
      cutter: up,
      target: list(
        'Polyline',
        zigzag,
        polyline([
          [0, 0],
          [1, 1],
        ]),
      ),
    });
    expect(answer.cutIndexes).toEqual([0, 0, 0]);
    expect(answer.geometries.map((one: Json) => one.paths)).toEqual([
      [
        [
          [0, 0],
          [5, 0],
        ],
        [
          [5, 2],
          [0, 2],
        ],
      ],
      [
        [
          [5, 0],
          [10, 0],
          [10, 2],
          [5, 2],
        ],
      ],
      [
        [
          [20, 0],
          [21, 0],
        ],
      ],
    ]);
  });

  it('takes what runs along the cutter for right', async () => {
    const along = polyline([
      [0, 5],
      [5, 5],
      [5, 8],
      [9, 8],
    ]);
    const { geometries } = await ask('cut', { cutter: up, target: list('Polyline', along) });
    expect(geometries.map((one: Json) => one.paths)).toEqual([
      [
        [
          [0, 5],
          [5, 5],
        ],
      ],
      [
        [
          [5, 5],
          [5, 8],
        ],
        [
          [5, 8],
          [9, 8],
        ],
      ],
    ]);
  });

  it('answers nothing where nothing is cut', async () => {
    const answer = await ask('cut', { cutter: up, target: list('Polygon', square(20, 20, 5)) });
    expect([answer.geometries, answer.cutIndexes]).toEqual([[], []]);
    const dangling = await ask('cut', {
      cutter: polyline([
        [5, -5],
        [5, 5],
      ]),
      target: list('Polygon', square(0, 0, 10)),
    });
    expect(dangling.geometries).toEqual([]);
  });
});

describe('offset', () => {
  const bent = polyline([
    [0, 0],
    [10, 0],
    [10, 10],
  ]);

  it.each([
    ['Mitered', 2, 'mitre'],
    ['Mitered', -2, 'mitre'],
    ['Rounded', 2, 'round'],
  ])('%s by %d is that of Shapely', async (how, distance, join) => {
    const answer = await ask('offset', {
      geometries: list('Polyline', bent),
      offsetDistance: distance,
      offsetHow: `esriGeometryOffset${how}`,
    });
    const apart = python(
      'LineString(given[0]).hausdorff_distance(LineString(given[1]).offset_curve(-given[2], quad_segs=16, join_style=given[3], mitre_limit=10))',
      [answer.geometries[0].paths[0], bent.paths[0], distance, join],
    );
    expect(apart).toBeLessThan(1e-9);
    // The right of a line to the east is south.
    expect(Math.sign(answer.geometries[0].paths[0][0][1])).toBe(-Math.sign(distance));
  });

  it('cuts corners off, in units, and shrinks areas on their right', async () => {
    const members = { geometries: list('Polyline', bent), offsetDistance: 0.002, offsetUnit: 9036 };
    const corners = async (more: object) =>
      (await ask('offset', { ...members, ...more })).geometries[0].paths[0].length;
    expect(await corners({ offsetHow: 'esriGeometryOffsetMitered' })).toBe(3);
    expect(await corners({ offsetHow: 'esriGeometryOffsetBevelled' })).toBe(4);
    const area = { geometries: list('Polygon', square(0, 0, 10)), offsetDistance: 1 };
    expect(areasOf((await ask('offset', area)).geometries)).toEqual([64]);
    expect(areasOf((await ask('offset', { ...area, offsetDistance: -1 })).geometries)).toEqual([144]);
  });
});

describe('reshape', () => {
  it('takes a line along another', async () => {
    const target = {
      geometryType: 'esriGeometryPolyline',
      geometry: polyline([
        [0, 0],
        [10, 0],
      ]),
    };
    const detour = [
      [8, -1],
      [8, 3],
      [2, 3],
      [2, -1],
    ];
    const { geometry } = await ask('reshape', { target, reshaper: polyline(detour) });
    expect(geometry.paths).toEqual([
      [
        [0, 0],
        [2, 0],
        [2, 3],
        [8, 3],
        [8, 0],
        [10, 0],
      ],
    ]);
  });

  it('adds to areas, and takes from them', async () => {
    const target = { geometryType: 'esriGeometryPolygon', geometry: square(0, 0, 10) };
    const size = async (reshaper: Json) =>
      areasOf([(await ask('reshape', { target, reshaper })).geometry])[0];
    expect(
      await size(
        polyline([
          [9, 2],
          [15, 2],
          [15, 4],
          [9, 4],
        ]),
      ),
    ).toBe(110);
    expect(
      await size(
        polyline([
          [11, 2],
          [8, 2],
          [8, 4],
          [11, 4],
        ]),
      ),
    ).toBe(96);
    expect(
      await size(
        polyline([
          [4, 11],
          [4, -1],
        ]),
      ),
    ).toBe(60);
    // The ends of the ring lie on what is replaced.
    expect(
      await size(
        polyline([
          [-1, 1],
          [1, 1],
          [1, -1],
        ]),
      ),
    ).toBe(99);
  });

  it.each([
    [
      'meets it once',
      polyline([
        [5, 5],
        [5, 15],
      ]),
    ],
    [
      'crosses itself',
      polyline([
        [2, 11],
        [2, 5],
        [8, 5],
        [8, 13],
        [5, 13],
        [5, 4],
        [6, 4],
        [6, 11],
      ]),
    ],
  ])('refuses a line that %s', async (_why, reshaper) => {
    const { error } = await ask('reshape', { target: square(0, 0, 10), reshaper });
    expect([error.code, error.message + error.details]).toEqual([400, expect.stringContaining('reshaper')]);
  });
});

describe('trimExtend', () => {
  const guide = polyline([
    [10, -10],
    [10, 10],
  ]);
  const trim = async (members: Record<string, unknown>) =>
    (await ask('trimExtend', { trimExtendTo: guide, ...members })).geometries.map((one: Json) => one.paths);

  it('keeps what is left, and goes on to the guide', async () => {
    const polylines = [
      polyline([
        [0, 0],
        [20, 0],
      ]),
      polyline([
        [0, 1],
        [5, 1],
      ]),
      polyline([
        [0, 3],
        [5, 2.5],
      ]),
      polyline([
        [0, 0],
        [0, 5],
      ]),
    ];
    expect(await trim({ polylines })).toEqual([
      [
        [
          [0, 0],
          [10, 0],
        ],
      ],
      [
        [
          [0, 1],
          [5, 1],
          [10, 1],
        ],
      ],
      [
        [
          [0, 3],
          [5, 2.5],
          [10, 2],
        ],
      ],
      [],
    ]);
  });

  it('heeds the flags', async () => {
    const polylines = [
      polyline([
        [5, 1],
        [0, 1],
      ]),
    ];
    expect(await trim({ polylines })).toEqual([
      [
        [
          [10, 1],
          [5, 1],
          [0, 1],
        ],
      ],
    ]);
    expect(await trim({ polylines, extendHow: 1 })).toEqual([
      [
        [
          [10, 1],
          [0, 1],
        ],
      ],
    ]);
    expect(await trim({ polylines, extendHow: 8 })).toEqual([[]]);
    expect(await trim({ polylines, extendHow: 16 })).toEqual([
      [
        [
          [10, 1],
          [5, 1],
          [0, 1],
        ],
      ],
    ]);
    expect((await ask('trimExtend', { polylines, trimExtendTo: guide, extendHow: 64 })).error.code).toBe(400);
  });
});

describe('autoComplete', () => {
  it('fills what lines and areas enclose', async () => {
    const polygons = [square(0, 0, 10), square(20, 0, 10)];
    const polylines = [
      polyline([
        [9, 8],
        [21, 8],
      ]),
      polyline([
        [8, 3],
        [22, 3],
      ]),
    ];
    const { geometries, geometryType } = await ask('autoComplete', { polygons, polylines });
    expect([geometryType, areasOf(geometries)]).toEqual(['esriGeometryPolygon', [50]]);
  });

  it('leaves gaps alone that were there before', async () => {
    const frame = polygon(
      [
        [0, 0],
        [0, 9],
        [9, 9],
        [9, 0],
        [0, 0],
      ],
      [
        [3, 3],
        [6, 3],
        [6, 6],
        [3, 6],
        [3, 3],
      ],
    );
    const polylines = [
      polyline([
        [9, 5],
        [12, 5],
        [12, 7],
        [9, 7],
      ]),
    ];
    const { geometries } = await ask('autoComplete', { polygons: [frame], polylines });
    expect(areasOf(geometries)).toEqual([6]);
  });
});

it.each([
  [
    'cut',
    {
      target: list('Point', { x: 1, y: 1 }),
      cutter: polyline([
        [0, 0],
        [1, 1],
      ]),
    },
    'target',
  ],
  ['cut', { target: list('Polygon', square(0, 0, 1)), cutter: square(0, 0, 1) }, 'cutter'],
  ['cut', { target: list('Polygon', square(0, 0, 1)) }, 'cutter'],
  [
    'offset',
    {
      geometries: list(
        'Polyline',
        polyline([
          [0, 0],
          [1, 1],
        ]),
      ),
    },
    'offsetDistance',
  ],
  ['offset', { geometries: '1,1', offsetDistance: 1 }, 'geometries'],
  [
    'offset',
    { geometries: [square(0, 0, 1)], offsetDistance: 1, offsetHow: 'esriGeometryOffsetSoft' },
    'offsetHow',
  ],
  [
    'trimExtend',
    {
      polylines: [square(0, 0, 1)],
      trimExtendTo: polyline([
        [0, 0],
        [1, 1],
      ]),
    },
    'polylines',
  ],
  ['autoComplete', { polygons: [square(0, 0, 1)], polylines: [square(0, 0, 1)] }, 'polylines'],
])('%s refuses what is wrong', async (operation, members, parameter) => {
  const { error } = await ask(operation, members);
  expect([error.code, JSON.stringify(error)]).toEqual([400, expect.stringContaining(parameter)]);
});
