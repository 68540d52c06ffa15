import { spawnSync } from 'node:child_process';
import { validateBytes } from 'gltf-validator';
import { describe, expect, it } from 'vitest';
import { readGlb, readSceneFeatures, type SceneFeature, sumVolume, type Vector } from '../../support/glb.js';
import { openDatabase, type Position, randomSource, type Shape, wkb } from '../support.js';

const db = openDatabase();

const RADIANS = Math.PI / 180;
const METRES_PER_DEGREE = 6378137 * RADIANS;

type Row = readonly [id: unknown, geometry: Uint8Array | null, ...values: unknown[]];

/** A tile around 0° 0°, where a degree of longitude has `METRES_PER_DEGREE`. */
const PLAIN = {
  fields: [],
  from: 'EPSG:4326',
  window: [-1, -1, 1, 1],
  origin: [0, 0],
  height: { otherwise: 10 },
};

function encode(rows: readonly Row[], changes: Record<string, unknown> = {}): Buffer {
  const options = { ...PLAIN, ...changes };
  const names = Array.from({ length: options.fields.length + 2 }, (_, i) => `column${i + 1}`);
  const select = `SELECT gr_glb(?, ${names.join(', ')}) FROM (VALUES ${rows
    .map(() => `(${names.map(() => '?').join(', ')})`)
    .join(', ')})`;
  // A JavaScript number would become a real number of SQLite.
  const values = rows.flat().map((value) => (Number.isSafeInteger(value) ? BigInt(value as number) : value));
  return db
    .prepare(select)
    .pluck()
    .get(JSON.stringify(options), ...values) as Buffer;
}

/** A polygon in metres around 0° 0° as degrees. */
function polygon(...rings: number[][][]): Buffer {
  const coordinates = rings.map((ring) =>
    [...ring, ring[0]!].map(([x, y]) => [x! / METRES_PER_DEGREE, y! / METRES_PER_DEGREE]),
  );
  return wkb({ type: 'Polygon', coordinates });
}

const square = (x: number, y: number, side: number): number[][] => [
  [x, y],
  [x + side, y],
  [x + side, y + side],
  [x, y + side],
];

/** Area of a ring in metres, as it is on the ellipsoid around 0° 0°. */
const areaOf = (ring: number[][]): number => {
  // Along the meridian a degree is shorter than along the equator.
  const flattening = 1 - 0.0066943799901413165;
  const sum = ring.reduce((total, [x, y], i) => {
    const [u, v] = ring[(i + 1) % ring.length]!;
    return total + x! * v! - u! * y!;
  }, 0);
  return (Math.abs(sum) / 2) * flattening;
};

const closeTo = (value: number, expected: number, relative: number) =>
  expect(Math.abs(value / expected - 1)).toBeLessThan(relative);

describe('extruded footprints', () => {
  it('have the volume of their area times their height, and face outwards', () => {
    const shape = [
      [0, 0],
      [40, 0],
      [40, 30],
      [20, 12],
      [0, 30],
    ];
    const hole = square(5, 3, 6);
    const [feature] = readSceneFeatures(encode([[1, polygon(shape, hole)]]));
    closeTo(sumVolume(feature!.triangles), (areaOf(shape) - areaOf(hole)) * 10, 1e-5);
  });

  it('do not depend on the orientation of the rings', () => {
    const hole = square(5, 3, 6);
    const volumes = [square(0, 0, 30), square(0, 0, 30).reverse()].flatMap((ring) =>
      [hole, [...hole].reverse()].map((inner) =>
        sumVolume(readSceneFeatures(encode([[1, polygon(ring, inner)]]))[0]!.triangles),
      ),
    );
    for (const volume of volumes) closeTo(volume, (areaOf(square(0, 0, 30)) - areaOf(hole)) * 10, 1e-5);
  });

  it.each([
    [
      'an edge',
      [
        [0, 15],
        [12, 9],
        [12, 21],
      ],
    ],
    [
      'the edge on the right',
      [
        [30, 15],
        [12, 9],
        [12, 21],
      ],
    ],
    [
      'a corner',
      [
        [0, 0],
        [12, 6],
        [6, 12],
      ],
    ],
    [
      'the corner on the right',
      [
        [30, 30],
        [12, 24],
        [24, 12],
      ],
    ],
    [
      'two edges',
      [
        [0, 15],
        [15, 12],
        [30, 15],
        [15, 18],
      ],
    ],
  ])('can have a hole that touches %s', (_, hole) => {
    const [feature] = readSceneFeatures(encode([[1, polygon(square(0, 0, 30), hole)]]));
    closeTo(sumVolume(feature!.triangles), (areaOf(square(0, 0, 30)) - areaOf(hole)) * 10, 1e-5);
  });

  it('can have holes that touch one another', () => {
    const holes = [
      [
        [6, 15],
        [15, 9],
        [15, 21],
      ],
      [
        [15, 21],
        [24, 18],
        [24, 27],
      ],
      [
        [15, 9],
        [18, 3],
        [24, 9],
      ],
    ];
    const [feature] = readSceneFeatures(encode([[1, polygon(square(0, 0, 30), ...holes)]]));
    const area = areaOf(square(0, 0, 30)) - holes.reduce((sum, hole) => sum + areaOf(hole), 0);
    closeTo(sumVolume(feature!.triangles), area * 10, 1e-5);
  });

  it('have the volume of random footprints with up to 200 corners and holes', () => {
    const random = randomSource(55);
    const rows: Row[] = [];
    const areas: number[] = [];
    for (let i = 0; i < 400; i++) {
      const corners = 3 + Math.floor(random() * 200);
      const centre = [(random() - 0.5) * 1000, (random() - 0.5) * 1000];
      const ring = Array.from({ length: corners }, (_, k) => {
        const angle = (2 * Math.PI * k) / corners;
        const radius = 30 + 30 * random();
        return [centre[0]! + radius * Math.cos(angle), centre[1]! + radius * Math.sin(angle)];
      });
      // The inscribed circle of the smallest ring has a radius of half its corners' distance.
      const holes =
        corners > 8
          ? [square(centre[0]! - 9, centre[1]! - 9, 8), square(centre[0]! + 1, centre[1]! + 1, 9)]
          : [];
      rows.push([i, polygon(ring, ...holes)]);
      areas.push(areaOf(ring) - holes.reduce((sum, hole) => sum + areaOf(hole), 0));
    }
    const features = readSceneFeatures(encode(rows));
    const ratios = features.map(({ triangles }, i) => sumVolume(triangles) / (areas[i]! * 10));
    expect(features).toHaveLength(400);
    expect(Math.max(...ratios.map((ratio) => Math.abs(ratio - 1)))).toBeLessThan(1e-4);
  });

  it('have walls with horizontal normals and a roof with a vertical one', () => {
    const [feature] = readSceneFeatures(encode([[1, polygon(square(0, 0, 30))]]));
    const { normals, triangles } = feature!;
    expect(triangles).toHaveLength(12);
    // Up is x at 0° 0°.
    const ups = normals.map(([x]) => Math.round(x * 100) / 100).sort((a, b) => a - b);
    expect(ups).toEqual([-1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    // Each normal is the one of its triangle.
    triangles.forEach(([a, b, c], i) => {
      const ab = b.map((v, k) => v - a[k]!);
      const ac = c.map((v, k) => v - a[k]!);
      const cross = [0, 1, 2].map(
        (k) => ab[(k + 1) % 3]! * ac[(k + 2) % 3]! - ab[(k + 2) % 3]! * ac[(k + 1) % 3]!,
      );
      const along = cross.reduce((sum, v, k) => sum + v * normals[i]![k]!, 0);
      expect(along / Math.hypot(...cross)).toBeGreaterThan(0.98);
    });
  });

  it('are open at the bottom on request', () => {
    const [feature] = readSceneFeatures(encode([[1, polygon(square(0, 0, 30))]], { floor: false }));
    expect(feature!.triangles).toHaveLength(10);
  });

  it('take heights and bases from columns, texts with units, Z, and the value for features without', () => {
    const fields = ['base', 'height'];
    const options = { fields, base: { column: 0, metres: 2 }, height: { column: 1, otherwise: 7 } };
    const flat = polygon(square(0, 0, 10));
    const raised = wkb(
      {
        type: 'Polygon',
        coordinates: [
          square(0, 0, 10)
            .concat([[0, 0]])
            .map(([x, y], i) => [x! / METRES_PER_DEGREE, y! / METRES_PER_DEGREE, 100 + i]),
        ],
      },
      { dimension: 'XYZ' },
    );
    const rows: Row[] = [
      [1, flat, 3, 5],
      [2, flat, '3 m', '5.5 m'],
      [3, flat, null, "10'"],
      [4, raised, null, '20 ft'],
      [5, flat, null, null],
      [6, flat, 'high', 'high'],
    ];
    const ranges = readSceneFeatures(encode(rows, options)).map(({ triangles }) => {
      // Heights at 0° 0°, to a millimetre.
      const heights = triangles.flat().map(([x, y, z]) => Math.hypot(x, y, z) - 6378137);
      return [Math.min(...heights), Math.max(...heights)].map((h) => Math.round(h * 100) / 100 + 0);
    });
    expect(ranges).toEqual([
      [6, 11],
      [6, 11.5],
      [0, 3.05],
      [100, 106.1],
      [0, 7],
      [0, 7],
    ]);
  });

  it('are counted if they have no height, no area or no readable geometry', () => {
    const fields = ['height'];
    const line = polygon([
      [0, 0],
      [0, 10],
      [0, 20],
    ]);
    const rows: Row[] = [
      [1, polygon(square(0, 0, 10)), 4],
      [2, polygon(square(0, 0, 10)), null],
      [3, polygon(square(0, 0, 10)), 0],
      [4, polygon(square(0, 0, 10)), -3],
      [5, line, 3],
      [6, Buffer.from('not a geometry'), 3],
      [7, null, 3],
      [8, wkb({ type: 'Point', coordinates: [0, 0] }), 3],
    ];
    const { document } = readGlb(encode(rows, { fields, height: { column: 0 } }));
    expect(document.asset.extras).toEqual({ features: 1, withoutHeight: 3, withoutArea: 1, unreadable: 1 });
  });

  it('with rings that cross are shown and counted', () => {
    const bow = polygon([
      [0, 0],
      [10, 10],
      [10, 0],
      [0, 8],
    ]);
    const { document } = readGlb(encode([[1, bow]]));
    expect(document.asset.extras).toEqual({ features: 1, crossedRings: 1 });
  });
});

describe('positions', () => {
  it('are where PROJ puts them, within a millimetre, in all parts of the earth', () => {
    const random = randomSource(7);
    const places = Array.from({ length: 60 }, () => [(random() - 0.5) * 358, (random() - 0.5) * 178]);
    const corners: number[][] = [];
    const found: Vector[] = [];
    for (const [lon, lat] of places as [number, number][]) {
      const ring = [
        [lon, lat],
        [lon + 0.003, lat],
        [lon + 0.003, lat + 0.003],
        [lon, lat],
      ];
      const blob = wkb({ type: 'Polygon', coordinates: [ring] });
      const tile = encode([[1, blob]], {
        window: [lon - 0.01, lat - 0.01, lon + 0.01, lat + 0.01],
        origin: [lon, lat],
        base: { otherwise: 120 },
      });
      const [{ triangles }] = readSceneFeatures(tile) as [SceneFeature];
      for (const [x, y] of ring.slice(0, 3)) for (const h of [120, 130]) corners.push([x!, y!, h]);
      found.push(...triangles.flat());
    }
    const input = corners.map(([x, y, h]) => `${y} ${x} ${h}`).join('\n');
    const proj = spawnSync('cs2cs', ['-f', '%.6f', 'EPSG:4979', 'EPSG:4978'], { input, encoding: 'utf8' });
    const expected = proj.stdout
      .trim()
      .split('\n')
      .map((text) => text.split(/\s+/).map(Number));
    expect(expected).toHaveLength(corners.length);
    const distances = expected.map((p) =>
      Math.min(...found.map((q) => Math.hypot(...q.map((v, i) => v - p[i]!)))),
    );
    expect(Math.max(...distances)).toBeLessThan(0.001);
  });

  it('are projected from the CRS of the data, with offsets of heights between the corners', () => {
    const projected = wkb({
      type: 'Polygon',
      coordinates: [
        [
          [500000, 0],
          [500010, 0],
          [500010, 10],
          [500000, 10],
          [500000, 0],
        ],
      ],
    });
    const tile = encode([[1, projected]], {
      from: 'EPSG:32631',
      window: [2, -1, 4, 1],
      origin: [3, 0],
      offsets: [40, 50, 60, 70],
    });
    const heights = readSceneFeatures(tile)[0]!
      .triangles.flat()
      .map((p) => Math.hypot(...p) - 6378137);
    // The centre of the window.
    expect(Math.min(...heights)).toBeCloseTo(55, 2);
  });

  it('belong to the tile of the first position: each feature is in exactly one of four tiles', () => {
    const random = randomSource(3);
    const rows: Row[] = Array.from({ length: 300 }, (_, i) => {
      const [x, y] =
        i < 4 ? [0, 0] : [Math.round((random() - 0.5) * 40) * 5, Math.round((random() - 0.5) * 40) * 5];
      return [i, polygon(square(x!, y!, 30))];
    });
    const size = 0.01;
    const ids = [
      [-size, -size],
      [0, -size],
      [-size, 0],
      [0, 0],
    ].flatMap(([w, s]) =>
      readSceneFeatures(encode(rows, { window: [w!, s!, w! + size, s! + size] })).map(
        ({ properties }) => properties['id'],
      ),
    );
    expect(ids.toSorted((a, b) => Number(a) - Number(b))).toEqual(rows.map(([id]) => id));
  });
});

describe('faces', () => {
  const h = 1 / METRES_PER_DEGREE;
  /** A cube of 10 m as six faces, outwards. */
  const cube: Position[][] = [
    [
      [0, 0, 0],
      [0, 10, 0],
      [10, 10, 0],
      [10, 0, 0],
    ],
    [
      [0, 0, 10],
      [10, 0, 10],
      [10, 10, 10],
      [0, 10, 10],
    ],
    [
      [0, 0, 0],
      [10, 0, 0],
      [10, 0, 10],
      [0, 0, 10],
    ],
    [
      [10, 0, 0],
      [10, 10, 0],
      [10, 10, 10],
      [10, 0, 10],
    ],
    [
      [10, 10, 0],
      [0, 10, 0],
      [0, 10, 10],
      [10, 10, 10],
    ],
    [
      [0, 10, 0],
      [0, 0, 0],
      [0, 0, 10],
      [0, 10, 10],
    ],
  ];
  const toDegrees = (ring: Position[]) => [...ring, ring[0]!].map(([x, y, z]) => [x! * h, y! * h, z!]);

  it('are triangulated on their own plane, walls too, and keep their orientation', () => {
    const solid: Shape = { type: 'MultiPolygon', coordinates: cube.map((ring) => [toDegrees(ring)]) };
    const blob = wkb(solid, { dimension: 'XYZ' });
    const [feature] = readSceneFeatures(encode([[1, blob]], { faces: true, metresPerZ: 2 }));
    expect(feature!.triangles).toHaveLength(12);
    closeTo(sumVolume(feature!.triangles), areaOf(square(0, 0, 10)) * 20, 1e-5);
  });

  it('can have holes in walls', () => {
    const wall: Shape = {
      type: 'Polygon',
      coordinates: [
        toDegrees([
          [0, 0, 0],
          [10, 0, 0],
          [10, 0, 10],
          [0, 0, 10],
        ]),
        toDegrees([
          [2, 0, 2],
          [2, 0, 8],
          [8, 0, 8],
          [8, 0, 2],
        ]),
      ],
    };
    const [feature] = readSceneFeatures(encode([[1, wkb(wall, { dimension: 'XYZ' })]], { faces: true }));
    const area = feature!.triangles.reduce((sum, [a, b, c]) => {
      const ab = b.map((v, k) => v - a[k]!);
      const ac = c.map((v, k) => v - a[k]!);
      const cross = [0, 1, 2].map(
        (k) => ab[(k + 1) % 3]! * ac[(k + 2) % 3]! - ab[(k + 2) % 3]! * ac[(k + 1) % 3]!,
      );
      return sum + Math.hypot(...cross) / 2;
    }, 0);
    closeTo(area, 64, 1e-4);
  });

  it('without Z are counted', () => {
    const { document } = readGlb(encode([[1, polygon(square(0, 0, 10))]], { faces: true }));
    expect(document.asset.extras).toEqual({ features: 0, withoutArea: 1 });
  });
});

describe('attributes', () => {
  const blob = polygon(square(0, 0, 10));
  const readColumn = (type: string | undefined, ...values: unknown[]) => {
    const fields = [type === undefined ? 'value' : { name: 'value', type }];
    const rows = values.map((value, i): Row => [i, blob, value]);
    const file = encode(rows, { fields, shown: 1 });
    const schema =
      readGlb(file).document.extensions!.EXT_structural_metadata.schema.classes.feature.properties;
    const { value: property } = schema;
    return {
      type: property && [property.type, property.componentType].filter(Boolean).join(' '),
      values: readSceneFeatures(file).map(({ properties }) => properties['value']),
    };
  };

  it.each([
    ['integers', undefined, [1, -2, 3], 'SCALAR INT32'],
    ['integers with nulls', undefined, [1, null, 3], 'SCALAR INT32'],
    ['the smallest integer and null', undefined, [-2147483648n, null], 'SCALAR INT64'],
    ['large integers', undefined, [2 ** 40, null], 'SCALAR INT64'],
    ['numbers', undefined, [1.5, 2.25, 1e300], 'SCALAR FLOAT64'],
    ['numbers with nulls', undefined, [1.5, null], 'SCALAR FLOAT64'],
    ['booleans', 'boolean', [1, 0, 1], 'BOOLEAN'],
    ['booleans with nulls', 'boolean', [1, null, 0], 'ENUM'],
    ['strings', undefined, ['a', '', 'straße 😀'], 'STRING'],
    ['strings with nulls', undefined, ['a', null, 'b'], 'STRING'],
    ['strings with nulls and all names of null', undefined, ['', null, 'null', 'null1'], 'STRING'],
  ])('are stored in the smallest type: %s', (_, type, values, expected) => {
    const result = readColumn(type, ...values);
    const shown = values.map((value) => {
      if (type === 'boolean')
        return value === null ? null : expected === 'ENUM' ? String(value === 1) : value === 1;
      return typeof value === 'bigint' ? Number(value) : value;
    });
    expect(result).toEqual({ type: expected, values: shown });
  });

  it('of different kinds become strings, and blobs nothing', () => {
    expect(readColumn(undefined, 1, 'a', 2.5, Buffer.from('blob'))).toEqual({
      type: 'STRING',
      values: ['1', 'a', '2.5', null],
    });
    expect(readColumn(undefined, null, Buffer.from('blob')).type).toBeUndefined();
  });

  it('keep names that are not identifiers, and ids next to a column of that name', () => {
    const fields = ['straße', '1st', 'a b', 'a_b', 'id', 'hidden'];
    const file = encode([['x', blob, 1, 2, 3, 4, 5, 6]], { fields, shown: 5 });
    const { properties } = readGlb(file).document.extensions!.EXT_structural_metadata.schema.classes.feature;
    expect(Object.keys(properties).every((id) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(id))).toBe(true);
    expect(readSceneFeatures(file)[0]!.properties).toEqual({
      feature_id: 'x',
      straße: 1,
      '1st': 2,
      'a b': 3,
      a_b: 4,
      id: 5,
    });
  });

  it('of omitted features are not in the file', () => {
    const fields = ['name', 'height'];
    const rows: Row[] = [
      [1, blob, 'kept', 3],
      [2, blob, 'dropped', null],
      [3, blob, 'also kept', 3],
    ];
    const file = encode(rows, { fields, shown: 1, height: { column: 1 } });
    expect(file.includes('dropped')).toBe(false);
    expect(readSceneFeatures(file).map(({ properties }) => properties)).toEqual([
      { id: 1, name: 'kept' },
      { id: 3, name: 'also kept' },
    ]);
  });
});

describe('files', () => {
  it('pass the validator of glTF without an error or warning', async () => {
    const random = randomSource(11);
    const many = (count: number): Row[] =>
      Array.from({ length: count }, (_, i) => [
        i,
        polygon(square((random() - 0.5) * 2000, (random() - 0.5) * 2000, 3 + random() * 30)),
        i % 3 === 0 ? null : `n${i}`,
        i % 5 === 0 ? null : i % 2,
      ]);
    const fields = ['name', { name: 'flag', type: 'boolean' }];
    for (const [count, changes] of [
      [1, {}],
      [50, { shown: 2 }],
      [4000, { shown: 1, color: [1, 0.5, 0, 0.5] }],
      [0, {}],
    ] as const) {
      const rows = count === 0 ? [[1, null, null, null] as const] : many(count);
      const { issues } = await validateBytes(new Uint8Array(encode(rows, { fields, ...changes })));
      expect({ count, errors: issues.numErrors, warnings: issues.numWarnings }).toEqual({
        count,
        errors: 0,
        warnings: 0,
      });
    }
  });

  it('beyond a limit fail with the reason', () => {
    const rows: Row[] = Array.from({ length: 5 }, (_, i) => [i, polygon(square(0, 0, 10))]);
    expect(() => encode(rows, { maxFeatures: 4 })).toThrow('gr_glb: the tile is too large');
    expect(() => encode(rows, { maxBytes: 1000 })).toThrow('gr_glb: the tile is too large');
  });

  it.each([
    [{ window: [0, 0, 0, 1] }, 'window'],
    [{ origin: [0] }, 'origin'],
    [{ origin: [0, 91] }, 'origin'],
    [{ height: {} }, 'height'],
    [{ height: { column: 3 } }, 'fields'],
    [{ shown: 2 }, 'fields'],
    [{ color: [1, 2, 0, 1] }, 'color'],
    [{ from: 'nowhere' }, 'nowhere'],
    [{ from: '' }, 'from'],
    [{ metresPerZ: 0 }, 'metresPerZ'],
  ])('with wrong options fail with the name of the option: %j', (changes, name) => {
    expect(() => encode([[1, polygon(square(0, 0, 10))]], changes)).toThrow(name);
  });

  it('do not depend on damaged geometries', () => {
    const random = randomSource(9);
    const blob = polygon(square(0, 0, 30), square(5, 5, 5));
    for (let i = 0; i < 2000; i++) {
      const damaged = Buffer.from(blob);
      for (let k = 0; k < 3; k++) damaged[Math.floor(random() * damaged.length)] = Math.floor(random() * 256);
      const file = encode([
        [1, damaged.subarray(0, 1 + Math.floor(random() * damaged.length))],
        [2, damaged],
      ]);
      readSceneFeatures(file);
    }
  });
});
