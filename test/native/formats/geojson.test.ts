import { describe, expect, it } from 'vitest';
import { geometryToGeoJSON } from '../../../src/native/index.js';
import { openDatabase, type Position, randomSource, WORLD_MAP, wkb } from '../support.js';

const SAME = { from: 'EPSG:3857', to: 'EPSG:3857' };
const db = openDatabase();

interface Feature {
  type: string;
  id?: unknown;
  geometry: { type: string; coordinates: number[][][] } | null;
  properties: Record<string, unknown>;
}

function features(sql: string, options: Record<string, unknown>, ...rest: unknown[]): Feature[] {
  const text = db
    .prepare<unknown[], Buffer>(`SELECT gr_geojson(?, ${sql})`)
    .pluck()
    .get(JSON.stringify({ ...SAME, ...options }), ...rest)!;
  return JSON.parse(`[${text.toString()}]`) as Feature[];
}

function signedArea(ring: number[][]): number {
  return ring.reduce((sum, [x, y], i) => {
    const [nx, ny] = ring[(i + 1) % ring.length] as [number, number];
    return sum + (x as number) * ny - nx * (y as number);
  }, 0);
}

describe('numbers', () => {
  it('writes coordinates as Number.toFixed does, without trailing zeros', () => {
    const random = randomSource(2026);
    const tricky = [
      0,
      -0,
      0.5,
      1.5,
      -0.5,
      1e-9,
      -1e-9,
      1.005,
      2.675,
      0.1,
      0.7,
      1e15,
      2 ** 52,
      2 ** 53 + 2,
      1e20,
    ];
    for (let precision = 0; precision <= 15; precision++) {
      const numbers = Array.from({ length: 6400 }, (_, i) => {
        const scale = 10 ** Math.floor(random() * (i % 9));
        const value = (random() - 0.5) * 2 * scale;
        // A third lies on or next to a rounding tie.
        return i % 3 === 0 ? (Math.floor(value * 1000) + 0.5) / 10 ** Math.floor(random() * 8) : value;
      });
      numbers.push(...tricky, ...tricky.map((v) => -v));
      const line: Position[] = numbers.map((v, i) => [v, numbers[numbers.length - 1 - i]!]);
      const text = geometryToGeoJSON(wkb({ type: 'LineString', coordinates: line }), { ...SAME, precision });
      const written = text.slice(text.indexOf('[[') + 2, -3).split('],[');
      expect(written).toHaveLength(numbers.length);
      written.forEach((pair, i) => {
        // Beyond 2^52 units of the last decimal ties go to even.
        if (precision > 0 && Math.abs(numbers[i]!) * 10 ** precision >= 2 ** 52) {
          expect(Math.abs(Number(pair.split(',')[0]) - numbers[i]!)).toBeLessThanOrEqual(
            Math.abs(numbers[i]!) * 2e-16,
          );
          return;
        }
        const fixed = numbers[i]!.toFixed(precision);
        const trimmed = fixed.includes('.') ? fixed.replace(/\.?0+$/, '') : fixed;
        if (pair.split(',')[0] !== (trimmed === '-0' ? '0' : trimmed)) {
          expect(`${numbers[i]} at ${precision}: ${pair.split(',')[0]}`).toBe(trimmed);
        }
      });
    }
  });

  it('writes attributes so that they read back exactly', () => {
    const random = randomSource(5);
    const values = Array.from(
      { length: 5000 },
      () => (random() - 0.5) * 10 ** Math.floor(random() * 600 - 300),
    );
    values.push(5e-324, 1.7976931348623157e308, -0.1, 100000, 1e21, 123456789.125);
    const [row] = features('1, NULL, @v', { fields: ['v'] }, { v: 1 });
    expect(row!.properties).toEqual({ v: 1 });
    const text = db
      .prepare<unknown[], Buffer>('SELECT gr_geojson(?, NULL, NULL, CAST(value AS REAL)) FROM json_each(?)')
      .pluck()
      .get(JSON.stringify({ ...SAME, fields: ['v'] }), JSON.stringify(values))!;
    const read = (JSON.parse(`[${text}]`) as Feature[]).map((f) => f.properties.v);
    expect(read).toEqual(values);
    const infinite = features('1, NULL, 9e999, -9e999, -9223372036854775808', { fields: ['a', 'b', 'c'] });
    expect(infinite[0]!.properties).toEqual({ a: null, b: null, c: -(2 ** 63) });
  });
});

describe('gr_geojson', () => {
  it('writes ids, null geometry and every kind of attribute', () => {
    const fields = [
      { name: 'i', type: 'integer' },
      { name: 'n', type: 'number' },
      { name: 's', type: 'string' },
      { name: 'yes', type: 'boolean' },
      { name: 'no', type: 'boolean' },
      { name: 'json', type: 'json' },
      { name: 'broken', type: 'json' },
      { name: 'day', type: 'date' },
      { name: 'time', type: 'date-time' },
      { name: 'bytes', type: 'binary' },
      { name: 'nothing', type: 'string' },
      { name: 'quo"te', type: 'string' },
    ];
    const [feature] = features(
      `'a"b', x'00', 1, 2.5, 'x', 1, 0, ' {"a":[1,null]} ', '{"a":', '2026-11-21', '2026-11-21T00:00:00Z', x'0001FF10', NULL, 'q'`,
      { fields },
    );
    expect(feature).toEqual({
      type: 'Feature',
      id: 'a"b',
      geometry: null,
      properties: {
        i: 1,
        n: 2.5,
        s: 'x',
        yes: true,
        no: false,
        json: { a: [1, null] },
        broken: '{"a":',
        day: '2026-11-21',
        time: '2026-11-21T00:00:00Z',
        bytes: 'AAH/EA==',
        nothing: null,
        'quo"te': 'q',
      },
    });
    expect(features('NULL, NULL', {})).toEqual([{ type: 'Feature', geometry: null, properties: {} }]);
  });

  it('escapes every character that JSON must escape, at every offset', () => {
    const specials = Array.from({ length: 0x120 }, (_, i) => String.fromCharCode(i))
      .join('')
      .slice(1);
    for (let pad = 0; pad < 20; pad++) {
      const text = `${'p'.repeat(pad)}${specials}€😀${'q'.repeat(pad)}"\\`;
      const [feature] = features('1, NULL, @text', { fields: ['v'] }, { text });
      expect(feature!.properties.v).toBe(text);
    }
  });

  it('replaces broken UTF-8', () => {
    for (const [hex, expected] of [
      ['C0AF', '\uFFFD\uFFFD'],
      ['EDA080', '\uFFFD\uFFFD\uFFFD'],
      ['F4908080', '\uFFFD\uFFFD\uFFFD\uFFFD'],
      ['61E282', 'a\uFFFD\uFFFD'],
      ['F09F9880', '😀'],
    ]) {
      const [feature] = features(`1, NULL, CAST(x'${hex}' AS TEXT)`, { fields: ['v'] });
      expect(feature!.properties.v).toBe(expected);
    }
  });

  it('takes only well-formed JSON as it is', () => {
    const fields = [{ name: 'v', type: 'json' }];
    for (const text of ['0', '-0.5e+7', '"\\ud83d\\ude00"', '[]', '{}', 'null', '[[[1]]]', ' true ', '"é"']) {
      expect(features('1, NULL, @text', { fields }, { text })[0]!.properties.v).toEqual(JSON.parse(text));
    }
    const deep = '['.repeat(5000) + ']'.repeat(5000);
    for (const text of [
      '',
      '01',
      '1.',
      '.5',
      '+1',
      "'a'",
      '[1,]',
      '{"a"}',
      '{a:1}',
      '"\n"',
      '"\\x"',
      '1 2',
      'nul',
      'NaN',
      deep,
    ]) {
      expect(features('1, NULL, @text', { fields }, { text })[0]!.properties.v).toBe(text);
    }
  });

  it('turns rings counterclockwise outside, clockwise inside, and closes them', () => {
    const ring: Position[] = [
      [0, 0],
      [0, 9],
      [9, 9],
      [9, 0],
    ];
    const hole: Position[] = [
      [1, 1],
      [2, 1],
      [2, 2],
      [1, 2],
      [1, 1],
    ];
    for (const outer of [ring, [...ring].reverse()]) {
      for (const inner of [hole, [...hole].reverse()]) {
        const geometry = JSON.parse(
          geometryToGeoJSON(wkb({ type: 'Polygon', coordinates: [outer, inner] }), SAME),
        );
        expect(geometry.coordinates.map((r: number[][]) => Math.sign(signedArea(r)))).toEqual([1, -1]);
        expect(geometry.coordinates.map((r: number[][]) => r.length)).toEqual([5, 5]);
        expect(geometry.coordinates[0].at(-1)).toEqual(geometry.coordinates[0][0]);
      }
    }
  });

  it('swaps axes and keeps Z on demand', () => {
    const blob = wkb(
      {
        type: 'LineString',
        coordinates: [
          [1, 2, 3],
          [4, 5, 6],
        ],
      },
      { dimension: 'XYZ' },
    );
    expect(geometryToGeoJSON(blob, { ...SAME, swap: true })).toBe(
      '{"type":"LineString","coordinates":[[2,1,3],[5,4,6]]}',
    );
  });

  it('leaves out parts that are no numbers, never the whole answer', () => {
    const good: Position[] = [
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 0],
    ];
    const bad: Position[] = [
      [0, 0],
      [Number.NaN, 0],
      [1, 1],
      [0, 0],
    ];
    const multi = geometryToGeoJSON(
      wkb({ type: 'MultiPolygon', coordinates: [[bad], [good], [good, bad]] }),
      SAME,
    );
    expect(JSON.parse(multi).coordinates).toEqual([[good], [good]]);
    expect(geometryToGeoJSON(wkb({ type: 'Polygon', coordinates: [bad] }), SAME)).toBe('null');
    expect(geometryToGeoJSON(wkb({ type: 'LineString', coordinates: [[1, 1]] }), SAME)).toBe('null');
  });

  it.each([
    ['{}', /'from' or 'to'/],
    ['[]', /not a JSON object/],
    [JSON.stringify({ ...SAME, precision: 16 }), /'precision'/],
    [JSON.stringify({ ...SAME, swap: 1 }), /'swap'/],
    [JSON.stringify({ ...SAME, fields: [{ name: 'a', type: 'colour' }] }), /'fields'/],
    [`${JSON.stringify(SAME)} x`, /not|wrong/],
  ])('refuses the options %s', (options, message) => {
    expect(() => db.prepare('SELECT gr_geojson(?, 1, NULL)').get(options)).toThrow(message);
  });

  it('writes the real data so that it reads back', () => {
    const world = openDatabase(WORLD_MAP);
    const options = { fields: ['name'], from: 'EPSG:4326', to: 'OGC:CRS84', precision: 6 };
    const text = world
      .prepare<[string], Buffer>('SELECT gr_geojson(?, fid, geom, name) FROM states_provinces')
      .pluck()
      .get(JSON.stringify(options))!;
    const read = JSON.parse(`[${text}]`) as Feature[];
    const rows = world.prepare(
      'SELECT fid, name, ST_MinX(geom) AS minx, ST_MaxY(geom) AS maxy FROM states_provinces',
    );
    rows.all().forEach((row, i) => {
      const { fid, name, minx, maxy } = row as { fid: number; name: string; minx: number; maxy: number };
      const feature = read[i]!;
      expect([feature.id, feature.properties.name]).toEqual([fid, name]);
      const positions = (feature.geometry!.coordinates as unknown as number[][][][]).flat(2);
      let [x, y] = [Infinity, -Infinity];
      for (const p of positions) {
        x = Math.min(x, p[0]!);
        y = Math.max(y, p[1]!);
      }
      expect(Math.abs(x - minx) < 1e-6 && Math.abs(y - maxy) < 1e-6).toBe(true);
      for (const polygon of feature.geometry!.coordinates as unknown as number[][][][]) {
        expect(signedArea(polygon[0]!)).toBeGreaterThanOrEqual(0);
      }
    });
    expect(read.length).toBe(rows.all().length);
  });
});

describe('times without a zone', () => {
  it('are UTC in every text, and in tiles', () => {
    const texts = ['2020-01-01T00:00:00.000', '2020-01-01 12:30', '2020-01-01T00:00:00.123456789'];
    const zoned = ['2020-01-01T00:00:00.000Z', '2020-01-01T12:30Z', '2020-01-01T00:00:00.123456789Z'];
    const same = [
      '2020-01-01T00:00:00Z',
      '2020-01-01T00:00:00+02:00',
      '2020-01-01',
      'soon',
      '+12020-01-01T00:00:00Z',
    ];
    const options = JSON.stringify({
      ...{ from: 'EPSG:4326', to: 'EPSG:4326', layer: 'a', bbox: [0, 0, 2, 2], type: 'a' },
      fields: [{ name: 't', type: 'date-time' }],
    });
    const point = wkb({ type: 'Point', coordinates: [1, 1] });
    for (const [i, text] of [...texts, ...same].entries()) {
      const shown = zoned[i] ?? text;
      for (const writer of ['gr_geojson', 'gr_csv', 'gr_gml', 'gr_mvt']) {
        const bytes = db.prepare(`SELECT ${writer}(?, 1, ?, ?)`).pluck().get(options, point, text) as Buffer;
        const written = Buffer.from(bytes).toString();
        expect([writer, text, written.includes(shown)]).toEqual([writer, text, true]);
        expect([writer, text, written.includes(`${shown}Z`)]).toEqual([writer, text, false]);
      }
    }
  });
});
