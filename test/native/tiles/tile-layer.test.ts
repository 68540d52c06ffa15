import { describe, expect, it } from 'vitest';
import { decode, HALF_WORLD, openDatabase, planeOptions, ringArea, WORLD_MAP, wkb } from '../support.js';

const db = openDatabase();
const encode = db.prepare<[string, Buffer | null], Buffer>('SELECT gr_mvt(?, 1, ?)').pluck();

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
              // Not one by one: a million expectations take half a minute.
              const isInside = (at: number) => at >= -64 && at <= 4160;
              expect(ring.filter(({ x, y }) => !isInside(x) || !isInside(y))).toEqual([]);
            }
          }
        }
      }
    }
    expect(features).toBeGreaterThan(10_000);
  });
});
