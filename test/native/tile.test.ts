import { describe, expect, it } from 'vitest';
import {
  decode,
  geoPackageBlob,
  HALF_WORLD,
  openDatabase,
  type Position,
  planeOptions,
  randomSource,
  ringArea,
  WORLD_MAP,
  wkb,
} from './support.js';

const db = openDatabase();
const encode = db.prepare<[string, Buffer | null], Buffer>('SELECT gr_mvt(?, 1, ?)').pluck();

const square = (x: number, y: number, side: number, clockwise = false): Position[] => {
  const ring: Position[] = [
    [x, y],
    [x + side, y],
    [x + side, y + side],
    [x, y + side],
    [x, y],
  ];
  return clockwise ? ring.reverse() : ring;
};

function ringsOf(tile: Buffer, feature = 0) {
  return decode(tile).plane!.feature(feature).loadGeometry();
}

describe('gr_mvt geometry', () => {
  it('winds exterior rings positive and holes negative, whatever the input', () => {
    for (const outer of [false, true]) {
      for (const inner of [false, true]) {
        const polygon = [square(100, 100, 1000, outer), square(300, 300, 200, inner)];
        const tile = encode.get(planeOptions(), wkb({ type: 'Polygon', coordinates: polygon }))!;
        expect(ringsOf(tile).map(ringArea)).toEqual([1_000_000, -40_000]);
      }
    }
  });

  it('keeps polygons of a multipolygon apart', () => {
    const tile = encode.get(
      planeOptions(),
      wkb({
        type: 'MultiPolygon',
        coordinates: [[square(0, 0, 100, true), square(10, 10, 20)], [square(500, 500, 50)]],
      }),
    )!;
    expect(ringsOf(tile).map(ringArea)).toEqual([10_000, -400, 2500]);
  });

  it('puts y down and rounds to the grid', () => {
    const tile = encode.get(planeOptions(), wkb({ type: 'Point', coordinates: [10.4, 4085.6] }))!;
    expect(ringsOf(tile)).toEqual([[expect.objectContaining({ x: 10, y: 10 })]]);
  });

  it('drops repeated vertices, collapsed rings and the features they leave empty', () => {
    const line = wkb({
      type: 'LineString',
      coordinates: [
        [1, 1],
        [1.2, 1.1],
        [1.3, 1.3],
        [9, 1],
        [9.1, 1],
      ],
    });
    expect(ringsOf(encode.get(planeOptions(), line)!)[0]).toHaveLength(2);
    const still = wkb({
      type: 'LineString',
      coordinates: [
        [1, 1],
        [1.2, 1.1],
      ],
    });
    expect(encode.get(planeOptions(), still)).toHaveLength(0);
    const speck = wkb({ type: 'Polygon', coordinates: [square(5, 5, 0.3)] });
    expect(encode.get(planeOptions(), speck)).toHaveLength(0);
    const sliver = wkb({
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [50, 0],
          [100, 0.2],
          [0, 0],
        ],
      ],
    });
    expect(encode.get(planeOptions(), sliver)).toHaveLength(0);
    const lostHole = wkb({ type: 'Polygon', coordinates: [square(0, 0, 100), square(50, 50, 0.2)] });
    expect(ringsOf(encode.get(planeOptions(), lostHole)!)).toHaveLength(1);
  });

  it('closes rings that come open', () => {
    const open = wkb({ type: 'Polygon', coordinates: [square(10, 10, 100).slice(0, 4)] });
    expect(ringsOf(encode.get(planeOptions(), open)!).map(ringArea)).toEqual([10_000]);
  });

  it('skips what is no geometry, and says nothing of it', () => {
    for (const blob of [null, Buffer.alloc(0), Buffer.from('GP'), Buffer.from('nonsense bytes here')]) {
      expect(encode.get(planeOptions(), blob)).toHaveLength(0);
    }
    const flagged = geoPackageBlob(wkb({ type: 'Point', coordinates: [1, 1] }), { empty: true });
    expect(encode.get(planeOptions(), flagged)).toHaveLength(0);
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, 1e308, -1e308]) {
      const line = wkb({
        type: 'LineString',
        coordinates: [
          [0, 0],
          [bad, 5],
          [10, 10],
        ],
      });
      const tile = encode.get(planeOptions(), line)!;
      for (const part of tile.length === 0 ? [] : ringsOf(tile)) {
        for (const p of part) expect(Math.max(Math.abs(p.x), Math.abs(p.y))).toBeLessThanOrEqual(4096);
      }
    }
  });

  it('makes one feature per kind of geometry of a collection', () => {
    const tile = encode.get(
      planeOptions(),
      wkb({
        type: 'GeometryCollection',
        geometries: [
          { type: 'Polygon', coordinates: [square(0, 0, 9)] },
          { type: 'Point', coordinates: [1, 1] },
          {
            type: 'MultiLineString',
            coordinates: [
              [
                [0, 0],
                [5, 5],
              ],
            ],
          },
          { type: 'Point', coordinates: [2, 2] },
        ],
      }),
    )!;
    const layer = decode(tile).plane!;
    expect([0, 1, 2].map((i) => layer.feature(i).type)).toEqual([1, 2, 3]);
    expect(layer.feature(0).loadGeometry()).toHaveLength(2);
    expect(db.prepare('SELECT gr_mvt_count(?)').pluck().get(tile)).toBe(3);
  });

  it('simplifies within the tolerance and not without it', () => {
    const random = randomSource(7);
    const line = Array.from({ length: 2000 }, (_, i): Position => [i * 2, 2000 + random() * 6]);
    const blob = wkb({ type: 'LineString', coordinates: line });
    const full = ringsOf(encode.get(planeOptions(), blob)!)[0]!;
    expect(full).toHaveLength(2000);
    for (const simplify of [1, 3, 8]) {
      const thin = ringsOf(encode.get(planeOptions({ simplify }), blob)!)[0]!;
      expect(thin.length).toBeLessThan(full.length);
      let segment = 0;
      for (const p of full) {
        while (thin[segment + 1]!.x < p.x) segment++;
        const [a, b] = [thin[segment]!, thin[segment + 1]!];
        const across = Math.abs((b.x - a.x) * (a.y - p.y) - (a.x - p.x) * (b.y - a.y));
        expect(across / Math.hypot(b.x - a.x, b.y - a.y)).toBeLessThanOrEqual(simplify);
      }
    }
  });

  it('drops a closed line that thinning leaves without length', () => {
    const loop = wkb({
      type: 'LineString',
      coordinates: [
        [100, 100],
        [101, 100],
        [101, 101],
        [100, 100],
      ],
    });
    expect(encode.get(planeOptions({ simplify: 3 }), loop)).toHaveLength(0);
    expect(ringsOf(encode.get(planeOptions({ simplify: 0 }), loop)!)[0]).toHaveLength(4);
  });

  it('thins a hostile zigzag in time that grows with its length', () => {
    const zigzag = Array.from({ length: 200_000 }, (_, i): Position => [i / 50, (i % 2) * 4000]);
    const blob = wkb({ type: 'LineString', coordinates: zigzag });
    const started = performance.now();
    expect(encode.get(planeOptions({ simplify: 0.5 }), blob)!.length).toBeGreaterThan(0);
    // 0.15 s; the square of the length would be 40 s.
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('thins rings to no fewer than four positions, or drops them', () => {
    const random = randomSource(21);
    for (let k = 0; k < 300; k++) {
      const n = 3 + Math.floor(random() * 30);
      const size = 1 + random() * 30;
      const ring = Array.from({ length: n }, (_, i): Position => {
        const angle = (i / n) * 2 * Math.PI;
        const r = size * (0.3 + random());
        return [2000 + r * Math.cos(angle), 2000 + r * Math.sin(angle)];
      });
      const blob = wkb({ type: 'Polygon', coordinates: [[...ring, ring[0]!]] });
      const tile = encode.get(planeOptions({ simplify: random() * 10 }), blob)!;
      if (tile.length === 0) continue;
      const [thin] = ringsOf(tile);
      expect(thin!.length).toBeGreaterThanOrEqual(4);
      expect(ringArea(thin!)).toBeGreaterThan(0);
    }
  });
});

describe('gr_mvt layer', () => {
  const point = wkb({ type: 'Point', coordinates: [1, 1] });

  it('writes version, extent, name and ids', () => {
    const tile = db
      .prepare<[string, Buffer], Buffer>(
        "SELECT gr_mvt(?, id, ?) FROM (SELECT 1 AS id UNION ALL SELECT -1 UNION ALL SELECT 9007199254740991 UNION ALL SELECT 'a' UNION ALL SELECT NULL)",
      )
      .pluck()
      .get(planeOptions({ layer: 'Städte', extent: 512 }), point)!;
    const layer = decode(tile).Städte!;
    expect([layer.version, layer.extent, layer.length]).toEqual([2, 512, 5]);
    const ids = [0, 1, 2, 3, 4].map((i) => layer.feature(i).id);
    expect(ids).toEqual([1, undefined, 9007199254740991, undefined, undefined]);
  });

  it('carries each kind of value and leaves NULL and blobs out', () => {
    const names = ['i', 'n', 'd', 's', 'yes', 'no', 'null', 'blob', 'big', 'empty'];
    const fields = names.map((name) => (name === 'yes' || name === 'no' ? { name, type: 'boolean' } : name));
    const tile = db
      .prepare<[string, Buffer], Buffer>(
        "SELECT gr_mvt(?, 1, ?, 42, -7, 1.5, 'text', 1, 0, NULL, x'00', 1e300, '')",
      )
      .pluck()
      .get(planeOptions({ fields }), point)!;
    expect(decode(tile).plane!.feature(0).properties).toEqual({
      i: 42,
      n: -7,
      d: 1.5,
      s: 'text',
      yes: true,
      no: false,
      big: 1e300,
      empty: '',
    });
  });

  it('stores each key and value once', () => {
    db.exec('DROP TABLE IF EXISTS t; CREATE TABLE t (a, b, c)');
    const insert = db.prepare('INSERT INTO t VALUES (?, ?, ?)');
    for (let i = 0; i < 3000; i++) insert.run(i % 700, `name ${i % 500}`, (i % 40) / 4);
    const tile = db
      .prepare<[string, Buffer], Buffer>('SELECT gr_mvt(?, rowid, ?, a, b, c) FROM t')
      .pluck()
      .get(planeOptions({ fields: ['a', 'b', 'c'] }), point)!;
    const layer = decode(tile).plane! as unknown as { _keys: string[]; _values: unknown[] };
    expect(layer._keys).toEqual(['a', 'b', 'c']);
    // Ten of the quarters are whole numbers, which the first column has too.
    expect(layer._values).toHaveLength(700 + 500 + 40 - 10);
    const all = decode(tile).plane!;
    for (let i = 0; i < 3000; i++) {
      expect(all.feature(i).properties).toEqual({ a: i % 700, b: `name ${i % 500}`, c: (i % 40) / 4 });
    }
  });

  it('replaces broken UTF-8', () => {
    const tile = db
      .prepare<[string, Buffer], Buffer>("SELECT gr_mvt(?, 1, ?, CAST(x'61FF62C3' AS TEXT))")
      .pluck()
      .get(planeOptions({ fields: ['s'] }), point)!;
    expect(decode(tile).plane!.feature(0).properties).toEqual({ s: 'a\uFFFDb\uFFFD' });
  });

  it('answers an empty blob for no rows and for groups that see nothing', () => {
    const none = db
      .prepare<[string, Buffer], Buffer>('SELECT gr_mvt(?, 1, ?) FROM (SELECT 1) WHERE 0')
      .pluck();
    expect(none.get(planeOptions(), point)).toHaveLength(0);
    expect(db.prepare("SELECT gr_mvt_count(x'')").pluck().get()).toBe(0);
  });

  it('encodes several groups at once', () => {
    const rows = db
      .prepare(
        'SELECT g, gr_mvt(?, v, ?) AS tile FROM (SELECT value % 7 AS g, value AS v FROM json_each(?)) GROUP BY g',
      )
      .all(planeOptions(), point, JSON.stringify(Array.from({ length: 70 }, (_, i) => i))) as {
      tile: Buffer;
    }[];
    expect(rows.map((row) => decode(row.tile).plane!.length)).toEqual(Array(7).fill(10));
  });

  it('takes hundreds of columns', () => {
    const names = Array.from({ length: 900 }, (_, i) => `c${i}`);
    const values = names.map((_, i) => i).join();
    const tile = db
      .prepare<[string, Buffer], Buffer>(`SELECT gr_mvt(?, 1, ?, ${values})`)
      .pluck()
      .get(planeOptions({ fields: names }), point)!;
    expect(Object.keys(decode(tile).plane!.feature(0).properties)).toHaveLength(900);
  });

  it.each([
    ['not json', /not a JSON object/],
    ['{"layer":5}', /'layer'/],
    [planeOptions({ layer: '' }), /lack 'layer'/],
    [planeOptions({ bbox: [0, 0, 0, 1] }), /bbox/],
    [planeOptions({ bbox: [0, 0, 1] }), /'bbox'/],
    [planeOptions({ extent: 0 }), /extent/],
    [planeOptions({ extent: 4096.5 }), /'extent'/],
    [planeOptions({ buffer: -1 }), /'buffer'/],
    [planeOptions({ simplify: -1 }), /simplify/],
    [planeOptions({ from: '' }), /'from' or 'to'/],
    [planeOptions({ from: 'EPSG:999999' }), /unknown coordinate reference system: EPSG:999999/],
    [planeOptions({ fields: ['a'] }), /name 1 fields, the call has 0 values/],
  ])('refuses the options %s', (options, message) => {
    expect(() => encode.get(options, point)).toThrow(message);
  });

  it('refuses bytes that are no tile in gr_mvt_count', () => {
    expect(() => db.prepare("SELECT gr_mvt_count(x'ff')").get()).toThrow(/not a vector tile/);
    expect(db.prepare('SELECT gr_mvt_count(NULL) IS NULL').pluck().get()).toBe(1);
  });
});

describe('real data', () => {
  const world = openDatabase(WORLD_MAP);

  it('encodes every tile of three zoom levels by the rules', () => {
    const query = world
      .prepare<[string], Buffer>('SELECT gr_mvt(?, fid, geom, name, iso_a2) FROM states_provinces')
      .pluck();
    let features = 0;
    for (let z = 0; z < 3; z++) {
      const side = (2 * HALF_WORLD) / 2 ** z;
      for (let x = 0; x < 2 ** z; x++) {
        for (let y = 0; y < 2 ** z; y++) {
          const [minx, maxy] = [-HALF_WORLD + x * side, HALF_WORLD - y * side];
          const bbox = [minx, maxy - side, minx + side, maxy];
          const options = {
            layer: 's',
            fields: ['name', 'iso_a2'],
            from: 'EPSG:4326',
            to: 'EPSG:3857',
            bbox,
          };
          const tile = query.get(JSON.stringify({ ...options, simplify: 0.5 }))!;
          if (tile.length === 0) continue;
          const layer = decode(tile).s!;
          features += layer.length;
          for (let i = 0; i < layer.length; i++) {
            const rings = layer.feature(i).loadGeometry();
            expect(ringArea(rings[0]!)).toBeGreaterThan(0);
            for (const ring of rings) {
              expect(ring.length).toBeGreaterThanOrEqual(4);
              expect(ringArea(ring)).not.toBe(0);
              for (const p of ring) {
                expect(p.x >= -64 && p.x <= 4160 && p.y >= -64 && p.y <= 4160).toBe(true);
              }
            }
          }
        }
      }
    }
    expect(features).toBeGreaterThan(10_000);
  });
});
