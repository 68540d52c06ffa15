import gdal from 'gdal-async';
import { describe, expect, it } from 'vitest';
import { isFullRun, repetitions } from '../../support/soak.js';
import {
  decode,
  HALF_WORLD,
  openDatabase,
  type Position,
  planeOptions,
  randomSource,
  ringArea,
  type Shape,
  WORLD_MAP,
  wkb,
} from '../support.js';
import { checkTile } from '../tiles/tile-rules.js';

/** Polygons that the clip box cuts: rings that do not touch themselves along it, the right holes in the right rings. */

const SIZE = 4096;
const db = openDatabase();
const encode = db.prepare<[string, Buffer], Buffer>('SELECT gr_mvt(?, 1, ?)').pluck();

type Rings = Position[][];

/** Polygons of a feature in tile coordinates, by the winding of its rings. */
function polygonsOf(rings: readonly (readonly { x: number; y: number }[])[]): Rings[] {
  const polygons: Rings[] = [];
  for (const ring of rings) {
    const positions = ring.map(({ x, y }): Position => [x, y]);
    if (ringArea(ring) > 0) polygons.push([positions]);
    else polygons.at(-1)!.push(positions);
  }
  return polygons;
}

/** The polygons that a tile shows of a geometry, whose coordinates are those of the tile: y down. */
function clip(shape: Shape, options: Record<string, unknown> = {}): Rings[] {
  const flip = (value: unknown): unknown =>
    Array.isArray(value) && typeof value[0] === 'number'
      ? [value[0], SIZE - (value[1] as number)]
      : (value as unknown[]).map(flip);
  const { type, coordinates } = shape as { type: 'MultiPolygon'; coordinates: Rings[] };
  const blob = wkb({ type, coordinates: flip(coordinates) as Rings[] });
  const tile = encode.get(planeOptions(options), blob)!;
  if (tile.length === 0) return [];
  checkTile(tile);
  return polygonsOf(decode(tile).plane!.feature(0).loadGeometry());
}

const clipPolygon = (coordinates: Rings, options?: Record<string, unknown>) =>
  clip({ type: 'Polygon', coordinates }, options);

/**
 * What is wrong along the border of the box: two edges of one geometry that overlap there, or a ring that is twice at
 * the same place of it.
 */
function borderFaults(polygons: Rings[], low: number, high: number): string[] {
  const faults: string[] = [];
  const rings = polygons.flat();
  for (const ring of rings) {
    const visits = new Set<string>();
    for (const [x, y] of ring.slice(1) as [number, number][]) {
      if (x !== low && x !== high && y !== low && y !== high) continue;
      if (visits.has(`${x} ${y}`)) faults.push(`twice at ${x} ${y}`);
      visits.add(`${x} ${y}`);
    }
  }
  for (const axis of [0, 1]) {
    for (const border of [low, high]) {
      const spans = rings
        .flatMap((ring) => ring.slice(1).map((b, i) => [ring[i]!, b]))
        .filter(([a, b]) => a![axis] === border && b![axis] === border)
        .map(([a, b]) => [a![1 - axis]!, b![1 - axis]!].sort((p, q) => p - q) as [number, number])
        .sort((p, q) => p[0] - q[0]);
      for (let i = 1; i < spans.length; i++)
        if (spans[i]![0] < spans[i - 1]![1]) faults.push(`axis ${axis} at ${border}: ${spans[i]}`);
    }
  }
  return faults;
}

const toGdal = (polygons: Rings[]) =>
  gdal.Geometry.fromGeoJson({ type: 'MultiPolygon', coordinates: polygons } as object) as gdal.MultiPolygon;

function valid(geometry: gdal.Geometry): boolean {
  try {
    return geometry.isValid();
  } catch {
    return false;
  }
}

/** The polygons of whatever an overlay gives. */
function parts(geometry: gdal.Geometry | null): Rings[] {
  if (!geometry || geometry.isEmpty()) return [];
  const { type, coordinates, geometries } = geometry.toObject() as {
    type: string;
    coordinates: unknown;
    geometries?: { type: string; coordinates: Rings }[];
  };
  if (type === 'Polygon') return [coordinates as Rings];
  if (type === 'MultiPolygon') return coordinates as Rings[];
  return (geometries ?? []).filter((one) => one.type === 'Polygon').map((one) => one.coordinates);
}

const areaOf = (polygons: Rings[]) =>
  polygons.flat().reduce((sum, ring) => sum + ringArea(ring.map(([x, y]) => ({ x: x!, y: y! }))), 0);

const perimeterOf = (polygons: Rings[]) =>
  polygons
    .flat()
    .reduce(
      (sum, ring) =>
        ring.slice(1).reduce((s, p, i) => s + Math.hypot(p[0]! - ring[i]![0]!, p[1]! - ring[i]![1]!), sum),
      0,
    );

const square = (low: number, high: number): Position[] => [
  [low, low],
  [high, low],
  [high, high],
  [low, high],
  [low, low],
];

type Random = () => number;

function star(random: Random, [cx, cy]: Position, size: number): Position[] {
  const n = 3 + Math.floor(random() * 40);
  const ring = Array.from({ length: n }, (_, i): Position => {
    const angle = (i / n) * 2 * Math.PI;
    const radius = size * (0.15 + 0.85 * random());
    return [cx! + radius * Math.cos(angle), cy! + radius * Math.sin(angle)];
  });
  return [...ring, ring[0]!];
}

/** Valid polygons with holes and narrow arms: a star around a place less smaller stars. */
function carved(random: Random, [x, y]: Position, size: number): Rings[] {
  let rest: gdal.Geometry | null = toGdal([[star(random, [x!, y!], size)]]);
  for (let i = Math.floor(random() * 25); i > 0 && rest; i--) {
    const near = [x! + (random() - 0.5) * size, y! + (random() - 0.5) * size];
    rest = rest.difference(toGdal([[star(random, near, size * (0.02 + 0.25 * random() ** 2))]]));
  }
  return parts(rest).filter((polygon) => valid(toGdal([polygon])));
}

const SCENES: Record<string, (random: Random, low: number, high: number) => Rings[]> = {
  'large ones': (random) =>
    carved(random, [random() * 7000 - 1500, random() * 7000 - 1500], 800 + random() * 5000),
  // As narrow as the grid itself.
  'small ones on the border': (random, low, high) => {
    const along = random() * SIZE;
    const across = (random() < 0.5 ? low : high) + random() * 4 - 2;
    return carved(random, random() < 0.5 ? [along, across] : [across, along], 4 + random() * 60);
  },
};

/** The rings with their first position least, and the least first. */
function normal(polygons: Rings[]): string[][] {
  const ring = (positions: Position[]) => {
    const open = positions.slice(1).map(([x, y]) => `${x} ${y}`);
    const first = open.indexOf([...open].sort()[0]!);
    return [...open.slice(first), ...open.slice(0, first)].join(', ');
  };
  return polygons.map(([exterior, ...holes]) => [ring(exterior!), ...holes.map(ring).sort()]).sort();
}

describe('polygons that the clip box cuts', () => {
  const IS_FULL = isFullRun(import.meta.url);
  const ROUNDS = repetitions(import.meta.url, 250, IS_FULL ? 150 : 30);
  it.each(
    Object.keys(SCENES).flatMap((scene) => [
      { scene, buffer: 0, simplify: 0 },
      { scene, buffer: 64, simplify: 0 },
      { scene, buffer: 0, simplify: 0.5 },
    ]),
  )(
    'are those of GEOS, rounded: $scene, buffer $buffer, simplify $simplify',
    ({ scene, buffer, simplify }) => {
      const random = randomSource(20261122);
      const [low, high] = [-buffer, SIZE + buffer];
      const box = toGdal([[square(low, high)]]);
      const seen = { polygons: 0, holes: 0, several: 0, invalid: 0 };
      for (let k = 0; k < ROUNDS; k++) {
        for (const polygon of SCENES[scene]!(random, low, high)) {
          const output = clipPolygon(polygon, { buffer, simplify });
          const exact = parts(toGdal([polygon]).intersection(box));
          expect(borderFaults(output, low, high), JSON.stringify(polygon)).toEqual([]);
          // Rounding moves an edge by less than a grid unit, thinning by half a unit more.
          const bound = perimeterOf(exact) * (Math.SQRT1_2 + simplify) + 4;
          expect(Math.abs(areaOf(output) - Math.abs(toGdal(exact).getArea()))).toBeLessThan(bound);
          for (const one of output) {
            seen.polygons++;
            seen.holes += one.length - 1;
            if (!valid(toGdal([one]))) seen.invalid++;
          }
          seen.several += Number(output.length > 1);
          if (simplify > 0) continue;
          if (!output.every((one) => valid(toGdal([one])))) {
            // What is not valid is so by rounding alone: GEOS's polygons are not either, once they are rounded.
            const rounded = exact.map((rings) => rings.map((ring) => ring.map((p) => p.map(Math.round))));
            expect(valid(toGdal(rounded)), JSON.stringify(polygon)).toBe(false);
            continue;
          }
          // Holes in the wrong ring would show as a difference.
          const missed = output.length && exact.length ? toGdal(exact).symDifference(toGdal(output)) : null;
          const difference = parts(missed).reduce((sum, one) => sum + Math.abs(toGdal([one]).getArea()), 0);
          expect(difference, JSON.stringify(polygon)).toBeLessThan(bound);
        }
      }
      expect(seen.several).toBeGreaterThan(ROUNDS / (scene === 'large ones' ? 3 : 8));
      expect(seen.holes).toBeGreaterThan(ROUNDS * (2 / 3));
      // Grown to the size of the grid, arms and gaps close: of large polygons next to none.
      if (scene === 'large ones') expect(seen.invalid).toBeLessThan(seen.polygons / 100);
    },
    120_000,
  );

  const rectangle = (x0: number, y0: number, x1: number, y1: number): Position[] => [
    [x0, y0],
    [x1, y0],
    [x1, y1],
    [x0, y1],
    [x0, y0],
  ];
  const closed = (...positions: Position[]): Position[] => [...positions, positions[0]!];
  /** Two arms that reach into the box from the left. */
  const COMB = closed(
    [-100, 100],
    [500, 100],
    [500, 200],
    [-50, 200],
    [-50, 300],
    [500, 300],
    [500, 400],
    [-100, 400],
  );
  const ARMS: Rings[] = [[rectangle(0, 100, 500, 200)], [rectangle(0, 300, 500, 400)]];
  /** From right to left: holes wind the other way. */
  const hole = (ring: Position[]) => [...ring].reverse();
  const BOX = rectangle(0, 0, SIZE, SIZE);
  const AROUND = rectangle(-100, -100, SIZE + 100, SIZE + 100);
  const WEDGE = closed([0, 300], [200, 200], [200, 400]);

  it.each<[string, Rings, Rings[]]>([
    ['two arms become two polygons', [COMB], ARMS],
    [
      'a hole stays in its arm',
      [COMB, rectangle(100, 330, 200, 370)],
      [ARMS[0]!, [...ARMS[1]!, hole(rectangle(100, 330, 200, 370))]],
    ],
    [
      'a hole over the border becomes a bay',
      [rectangle(-100, 100, 1000, 1000), rectangle(-50, 400, 300, 500)],
      [[closed([0, 100], [1000, 100], [1000, 1000], [0, 1000], [0, 500], [300, 500], [300, 400], [0, 400])]],
    ],
    [
      'a hole over the border of a polygon that contains the box',
      [AROUND, rectangle(-50, 400, 300, 500)],
      [[closed([0, 0], [SIZE, 0], [SIZE, SIZE], [0, SIZE], [0, 500], [300, 500], [300, 400], [0, 400])]],
    ],
    [
      'a hole along the border of a polygon that contains the box',
      [AROUND, rectangle(0, 400, 300, 500)],
      [[closed([0, 0], [SIZE, 0], [SIZE, SIZE], [0, SIZE], [0, 500], [300, 500], [300, 400], [0, 400])]],
    ],
    ['a polygon that contains the box', [AROUND], [[BOX]]],
    [
      'a hole inside of a polygon that contains the box',
      [AROUND, rectangle(100, 100, 200, 200)],
      [[BOX, hole(rectangle(100, 100, 200, 200))]],
    ],
    ['a hole beside the box', [rectangle(-900, -900, 5000, 5000), rectangle(-800, 100, -700, 200)], [[BOX]]],
    ['a hole that contains the box', [rectangle(-900, -900, 5000, 5000), AROUND], []],
    ['a hole that is the box', [AROUND, BOX], []],
    [
      'a hole from side to side',
      [AROUND, rectangle(-50, 1000, SIZE + 50, 2000)],
      [[rectangle(0, 0, SIZE, 1000)], [rectangle(0, 2000, SIZE, SIZE)]],
    ],
    [
      'a hole over a corner',
      [AROUND, rectangle(-50, -50, 300, 300)],
      [[closed([300, 0], [SIZE, 0], [SIZE, SIZE], [0, SIZE], [0, 300], [300, 300])]],
    ],
    [
      'arms around a corner',
      [
        closed(
          [-200, -200],
          [500, -200],
          [500, 100],
          [400, 100],
          [400, -50],
          [-50, -50],
          [-50, 400],
          [100, 400],
          [100, 500],
          [-200, 500],
        ),
      ],
      [[rectangle(400, 0, 500, 100)], [rectangle(0, 400, 100, 500)]],
    ],
    [
      'a corner between two sides',
      [closed([-200, -200], [500, -200], [500, 100], [100, 500], [-200, 500])],
      [[closed([0, 0], [500, 0], [500, 100], [100, 500], [0, 500])]],
    ],
    [
      'a vertex on the border from inside',
      [closed([0, 300], [200, 100], [400, 300], [200, 500])],
      [[closed([0, 300], [200, 100], [400, 300], [200, 500])]],
    ],
    ['a vertex on the border from outside', [closed([0, 300], [-200, 100], [-200, 500])], []],
    ['an edge along the border from inside', [rectangle(0, 100, 200, 200)], [[rectangle(0, 100, 200, 200)]]],
    ['an edge along the border from outside', [rectangle(-200, 100, 0, 200)], []],
    [
      'vertices along the border',
      [closed([0, 100], [0, 130], [200, 150], [0, 170], [0, 200], [300, 200], [300, 100])],
      [[closed([0, 100], [300, 100], [300, 200], [0, 200], [0, 170], [200, 150], [0, 130])]],
    ],
    [
      'teeth that touch the border from inside',
      [closed([0, 100], [500, 100], [500, 500], [0, 500], [100, 400], [0, 300], [100, 200])],
      [[closed([0, 100], [500, 100], [500, 500], [0, 500], [100, 400], [0, 300], [100, 200])]],
    ],
    [
      'a hole that touches the border',
      [rectangle(-100, 100, 1000, 1000), WEDGE],
      [[closed([0, 100], [1000, 100], [1000, 1000], [0, 1000], [0, 300]), hole(WEDGE)]],
    ],
    [
      'arms that meet on the border',
      [closed([-100, 100], [200, 100], [0, 200], [200, 300], [-100, 300])],
      [[closed([0, 100], [200, 100], [0, 200])], [closed([0, 200], [200, 300], [0, 300])]],
    ],
    ['an arm without width', [closed([-100, 100], [-50, 150], [500, 150], [-50, 150], [-100, 200])], []],
    [
      'an arm that the grid closes',
      [
        closed(
          [-100, 100],
          [500, 100],
          [500, 200],
          [-50, 200],
          [-50, 300],
          [500, 300.2],
          [-50, 300.4],
          [-100, 400],
        ),
      ],
      [[rectangle(0, 100, 500, 200)]],
    ],
    [
      'runs to and fro along the border',
      [closed([0, 100], [0, 600], [0, 150], [300, 150], [300, 100])],
      [[rectangle(0, 100, 300, 150)]],
    ],
  ])('%s', (_what, polygon, expected) => {
    // Whatever ring begins where, and winds how.
    for (let first = 0; first < polygon[0]!.length - 1; first++) {
      for (const wind of [(ring: Position[]) => ring, hole]) {
        const turned = polygon.map((ring) => {
          const open = ring.slice(1);
          const at = first % open.length;
          return wind(closed(...open.slice(at), ...open.slice(0, at)));
        });
        const output = clipPolygon(turned);
        expect(normal(output)).toEqual(normal(expected));
        expect(output.every((one) => valid(toGdal([one])))).toBe(true);
      }
    }
  });

  it('keep the polygons of a multipolygon apart', () => {
    const below = COMB.map(([x, y]): Position => [x!, y! + 1000]);
    const expected = [...ARMS, ...ARMS.map(([ring]) => [ring!.map(([x, y]): Position => [x!, y! + 1000])])];
    expect(normal(clip({ type: 'MultiPolygon', coordinates: [[COMB], [below]] }))).toEqual(normal(expected));
  });

  it('take any number', () => {
    for (const bad of [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      1e308,
      -1e308,
      1e15,
      -1e14,
    ]) {
      for (let i = 0; i < COMB.length - 1; i++) {
        for (const axis of [0, 1]) {
          const open = COMB.slice(1).map((p, k) => (k === i ? p.map((v, a) => (a === axis ? bad : v)) : p));
          for (const [x, y] of clipPolygon([closed(...open), rectangle(100, 330, 200, 370)]).flat(2))
            expect(Math.min(x!, y!) >= 0 && Math.max(x!, y!) <= SIZE).toBe(true);
        }
      }
    }
  });

  it('take polygons that meet one place of the border ever so often', () => {
    // The square of that many would last for hours.
    const teeth = IS_FULL ? 300_000 : 30_000;
    const ring = Array.from({ length: teeth }, (): Position[] => [
      [0, 2000],
      [1000, 1500],
      [1000, 2500],
    ]).flat();
    const output = clipPolygon([[[-100, 1900], ...ring, [-100, 2100], [-100, 1900]]]);
    expect(output.length).toBe(teeth);
  }, 60_000);

  it('leave countries valid but for what the grid closes inside of the box', () => {
    const countries = openDatabase(WORLD_MAP);
    const tile = countries.prepare<[string], Buffer>('SELECT gr_mvt(?, fid, geom) FROM countries').pluck();
    const seen = { polygons: 0, invalid: 0 };
    const zoom = 5;
    const side = (2 * HALF_WORLD) / 2 ** zoom;
    for (let row = 6; row < 20; row += 2) {
      for (let column = 0; column < 32; column += 3) {
        const [minx, maxy] = [column * side - HALF_WORLD, HALF_WORLD - row * side];
        const bytes = tile.get(
          planeOptions({
            from: 'EPSG:4326',
            bbox: [minx, maxy - side, minx + side, maxy],
            buffer: 64,
            simplify: 0.5,
          }),
        )!;
        if (bytes.length === 0) continue;
        const layer = decode(bytes).plane!;
        for (let i = 0; i < layer.length; i++) {
          const polygons = polygonsOf(layer.feature(i).loadGeometry());
          expect(borderFaults(polygons, -64, SIZE + 64), `${zoom}/${row}/${column}`).toEqual([]);
          seen.polygons += polygons.length;
          seen.invalid += polygons.filter((one) => !valid(toGdal([one]))).length;
        }
      }
    }
    countries.close();
    expect(seen.polygons).toBeGreaterThan(500);
    expect(seen.invalid).toBeLessThan(seen.polygons / 200);
  });
});
