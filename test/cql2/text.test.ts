import { describe, expect, it } from 'vitest';
import { Cql2Error, parseJson, parseText, print, toJson } from '../../src/core/cql2/index.js';
import { RandomFilter, seeded } from './random.js';

/** CQL2 text (OGC 21-065r2, annex B) and its JSON say the same. */

const ring = [
  [36.319836, 32.288087],
  [36.320041, 32.288032],
  [36.32021, 32.288402],
  [36.319836, 32.288087],
];
const p = (property: string) => ({ property });
const at = (op: string, ...args: unknown[]) => ({ op, args });

/** Examples of the standard and of its test suite. */
const EXAMPLES: [text: string, json: unknown][] = [
  ["city='Toronto'", at('=', p('city'), 'Toronto')],
  ['avg(windSpeed) < 4', at('<', at('avg', p('windSpeed')), 4)],
  ['balance-150.0 > 0', at('>', at('-', p('balance'), 150), 0)],
  ["updated >= date('1970-01-01')", at('>=', p('updated'), { date: '1970-01-01' })],
  ['geometry IS NOT NULL', at('not', at('isNull', p('geometry')))],
  ["name LIKE 'Smith%'", at('like', p('name'), 'Smith%')],
  ["name NOT LIKE 'B_r%'", at('not', at('like', p('name'), 'B_r%'))],
  ['depth BETWEEN 100.0 and 150.0', at('between', p('depth'), 100, 150)],
  ["cityName IN ('Toronto','Frankfurt')", at('in', p('cityName'), ['Toronto', 'Frankfurt'])],
  ['category NOT IN (1,2,3,4)', at('not', at('in', p('category'), [1, 2, 3, 4]))],
  [
    "CASEI(road_class) IN (CASEI('Οδος'),CASEI('Straße'))",
    at('in', at('casei', p('road_class')), [at('casei', 'Οδος'), at('casei', 'Straße')]),
  ],
  [
    "ACCENTI(etat_vol) = ACCENTI('débárquér')",
    at('=', at('accenti', p('etat_vol')), at('accenti', 'débárquér')),
  ],
  [
    'S_INTERSECTS(geometry,POLYGON((36.319836 32.288087,36.320041 32.288032,36.320210 32.288402,36.319836 32.288087)))',
    at('s_intersects', p('geometry'), { type: 'Polygon', coordinates: [ring] }),
  ],
  ['S_INTERSECTS(geom,BBOX(150,-90,-150,90))', at('s_intersects', p('geom'), { bbox: [150, -90, -150, 90] })],
  [
    'S_WITHIN(geom,MULTIPOINT(7 50,10 51))',
    at('s_within', p('geom'), {
      type: 'MultiPoint',
      coordinates: [
        [7, 50],
        [10, 51],
      ],
    }),
  ],
  [
    'S_CROSSES(LINESTRING Z(0 0 1,1 1 2),road)',
    at(
      's_crosses',
      {
        type: 'LineString',
        coordinates: [
          [0, 0, 1],
          [1, 1, 2],
        ],
      },
      p('road'),
    ),
  ],
  [
    'S_EQUALS(geom,GEOMETRYCOLLECTION(POINT(1 2),MULTIPOLYGON(((0 0,1 0,1 1,0 0)))))',
    at('s_equals', p('geom'), {
      type: 'GeometryCollection',
      geometries: [
        { type: 'Point', coordinates: [1, 2] },
        {
          type: 'MultiPolygon',
          coordinates: [
            [
              [
                [0, 0],
                [1, 0],
                [1, 1],
                [0, 0],
              ],
            ],
          ],
        },
      ],
    }),
  ],
  [
    "T_DURING(INTERVAL(starts_at, ends_at), INTERVAL('2005-01-10', '2010-02-10'))",
    at('t_during', { interval: [p('starts_at'), p('ends_at')] }, { interval: ['2005-01-10', '2010-02-10'] }),
  ],
  [
    "t_finishedby(interval(start,end),interval('..','2022-04-16T10:13:19Z'))",
    at('t_finishedBy', { interval: [p('start'), p('end')] }, { interval: ['..', '2022-04-16T10:13:19Z'] }),
  ],
  [
    't_after("date",timestamp(\'2022-04-16T10:13:19Z\'))',
    at('t_after', p('date'), { timestamp: '2022-04-16T10:13:19Z' }),
  ],
  [
    "A_CONTAINS(layer:ids, ('layers-ca','layers-us'))",
    at('a_contains', p('layer:ids'), ['layers-ca', 'layers-us']),
  ],
  ["a_containedby(layer:ids, ('x'))", at('a_containedBy', p('layer:ids'), ['x'])],
  ['a_equals(ids, ())', at('a_equals', p('ids'), [])],
  ['vehicle_height > (bridge_clearance-1)', at('>', p('vehicle_height'), at('-', p('bridge_clearance'), 1))],
  ['pop_other>=1038290-2*2^0', at('>=', p('pop_other'), at('-', 1038290, at('*', 2, at('^', 2, 0))))],
  ['pop_other>1038290-21 div 10', at('>', p('pop_other'), at('-', 1038290, at('div', 21, 10)))],
  ['pop_other>1038290-5%2', at('>', p('pop_other'), at('-', 1038290, at('%', 5, 2)))],
  [
    "floors>5 AND material='brick' OR NOT swimming_pool=true",
    at(
      'or',
      at('and', at('>', p('floors'), 5), at('=', p('material'), 'brick')),
      at('not', at('=', p('swimming_pool'), true)),
    ),
  ],
  ["'København'=name", at('=', 'København', p('name'))],
  ['a=-1e3 and .5<b', at('and', at('=', p('a'), -1000), at('<', 0.5, p('b')))],
  ['a = -b', at('=', p('a'), at('*', -1, p('b')))],
  ['TRUE', true],
  ['swimming_pool', at('=', p('swimming_pool'), true)],
  ['(floors>5) = true', at('=', at('>', p('floors'), 5), true)],
  ['"an ""odd"" name" = 1', at('=', p('an "odd" name'), 1)],
];

describe('examples', () => {
  it.each(EXAMPLES)('%s', (text, json) => {
    const tree = parseText(text);
    expect(toJson(tree)).toEqual(json);
    expect(parseJson(json)).toEqual(tree);
    expect(parseText(print(tree))).toEqual(tree);
  });
});

describe('strings', () => {
  it.each([
    ["'Via dell''Avvento'", "Via dell'Avvento"],
    ["'it\\'s'", "it's"],
    ["'\\a\\b\\t\\n\\v\\f\\r'", '\x07\b\t\n\v\f\r'],
    ["'\\\\'", '\\'],
    ["'\\%\\_'", '\\%\\_'],
    ["'😀'", '😀'],
  ])('%s', (literal, value) => {
    const tree = parseText(`a = ${literal}`);
    expect(tree).toEqual(at('=', p('a'), value));
    expect(parseText(print(tree))).toEqual(tree);
  });
});

describe('names that look like keywords', () => {
  it('need quotes when the grammar reserves them', () => {
    expect(print(parseText('"and" = 1'))).toBe('"and" = 1');
    expect(() => parseText('and = 1')).toThrow("expected an operand at 1, found 'and'");
  });

  it('are no keywords for being members of every JavaScript object', () => {
    expect(toJson(parseText('constructor(1) = toString'))).toEqual(
      at('=', at('constructor', 1), p('toString')),
    );
  });

  it('are names where no literal follows', () => {
    expect(print(parseText("date = '2020'"))).toBe('"date" = \'2020\'');
    expect(print(parseText('point > 1'))).toBe('"point" > 1');
  });
});

describe('errors', () => {
  it.each([
    ['(a = 1', "expected ')' at 7, found the end of the filter", 7],
    ['a == 1', "expected an operand at 4, found '='", 4],
    ['a = 1 b', "expected an operator or the end of the filter at 7, found 'b'", 7],
    ['a BETWEEN 1 OR 2', "expected AND at 13, found 'OR'", 13],
    ["a = 'x", 'the string that starts at 5 has no end', 5],
    ['a = "x', 'the name that starts at 5 has no end', 5],
    ['a NOT 1', "expected LIKE, BETWEEN or IN at 7, found '1'", 7],
    ['a IS 1', "expected NULL at 6, found '1'", 6],
    ['a = #', "unexpected '#' at 5", 5],
    ['a = 1e999', 'the number at 5 is too large', 5],
    ['', 'expected an operand at 1, found the end of the filter', 1],
    ['s_intersects(a)', "'s_intersects' at 1 takes 2 operands, found 1", 1],
    ['s_intersects(a, POINT(1))', "expected a number at 24, found ')'", 24],
    ['s_intersects(a, BBOX(1,2,3))', "expected ',' at 27, found ')'", 27],
    ['s_intersects(a, GEOMETRYCOLLECTION(a))', "expected a geometry at 36, found 'a'", 36],
    ['a = DATE(1)', "expected a date in quotes at 10, found '1'", 10],
    [
      't_after(a, INTERVAL(1, 2))',
      "expected a date, a timestamp, '..' or a property name at 21, found '1'",
      21,
    ],
    ['2 ^ 3 ^ 4 = a', "expected an operator or the end of the filter at 7, found '^'", 7],
    ['a = \ud800', 'invalid character at 5', 5],
    ["a = '\0'", 'invalid character at 6', 6],
  ])('%s', (text, message, position) => {
    const error = failure(() => parseText(text));
    expect(error.message).toBe(message);
    expect(error.position).toBe(position);
  });

  it('says when a filter is no predicate', () => {
    expect(() => parseText("'x'")).toThrow('a filter must be a predicate');
  });

  it('shows only the beginning of long text, on one line', () => {
    const { message } = failure(() => parseText(`a = 1 ${'\n"'.padEnd(9000, 'x')}"`));
    expect(message.length).toBeLessThan(200);
    expect(message).not.toContain('\n');
  });
});

function failure(work: () => unknown): Cql2Error {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(Cql2Error);
    return error as Cql2Error;
  }
  throw new Error('nothing failed');
}

describe('hostile filters end in an error', () => {
  const hostile: [what: string, text: string, message: RegExp][] = [
    ['parentheses', '('.repeat(10_000), /nested/],
    ['NOT', `${'NOT '.repeat(10_000)}a`, /nested/],
    ['functions', 'f('.repeat(10_000), /nested/],
    ['arrays', `a_equals(a, ${'(1, '.repeat(10_000)}`, /nested/],
    ['sums', `a = ${'1 + '.repeat(10_000)}1`, /nested/],
    ['comparisons', `${'a=1 AND '.repeat(7000)}a=1`, /more than 10000 operators/],
    ['a megabyte', `a = '${'x'.repeat(1_000_000)}'`, /longer than/],
    ['a megabyte of quotes', "'".repeat(1_000_000), /longer than/],
    ['quotes', `a = ${"'".repeat(60_001)}`, /has no end/],
    ['signs', `a = ${'-'.repeat(60_000)}`, /expected an operand/],
  ];
  it.each(hostile)('%s', (_, text, message) => {
    expect(failure(() => parseText(text)).message).toMatch(message);
  });

  it('takes long flat filters', () => {
    const ids = Array.from({ length: 9000 }, (_, i) => i).join(',');
    expect(toJson(parseText(`id IN (${ids})`))).toMatchObject({ op: 'in' });
    const conjunction = parseText(Array.from({ length: 2000 }, () => 'a = 1').join(' AND '));
    expect(print(conjunction)).toHaveLength(2000 * 5 + 1999 * 5);
  });
});

describe('every tree', () => {
  it('reads back from its text and from its JSON', () => {
    const filters = new RandomFilter(seeded(1));
    for (let i = 0; i < 3000; i++) {
      const tree = filters.boolean(4);
      const text = print(tree);
      const read = parseText(text);
      expect(print(read), text).toBe(text);
      expect(toJson(read), text).toEqual(toJson(tree));
      expect(parseJson(JSON.parse(JSON.stringify(toJson(read))))).toEqual(read);
    }
  });
});
