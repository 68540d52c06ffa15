import {
  ALL_FEATURES,
  type Call,
  type Expression,
  NO_FEATURES,
  type Operand,
} from '../../src/core/cql2/ast.js';

/** Random filters from a seed, for the fields of `FIELDS`. */

export type Random = () => number;

export const TEXTS = [
  '',
  'a',
  'A',
  'ab',
  'Abc',
  'Straße',
  'STRASSE',
  'København',
  'kobenhavn',
  'Οδος',
  'ΟΔΟΣ',
  "it's",
  'a%b',
  'a_b',
  'a\\b',
  '100%',
  ' x ',
  'éa',
  'e\u0301a',
  '日本',
  '😀',
  'naïve',
  '*?[x]',
];
export const NUMBERS = [0, 1, -1, 2, 3, 7, -7, 10, 0.5, 2.5, -2.5, 1.5, 100, 1e6, -3];
export const DATES = ['2019-12-31', '2020-01-01', '2020-02-29', '2021-06-15', '2022-04-16'];
export const TIMES = [
  '2019-12-31T23:59:59Z',
  '2020-01-01T00:00:00Z',
  '2020-02-29T12:30:15.25Z',
  '2021-06-15T06:00:00Z',
  '2022-04-16T10:13:19Z',
];

export const pick = <T>(random: Random, values: readonly T[]): T =>
  values[Math.floor(random() * values.length)]!;

const property = (name: string) => ({ property: name });
const call = (op: string, ...args: Operand[]): Call => ({ op, args });

export class RandomFilter {
  constructor(
    readonly random: Random,
    readonly allowed: { spatial: boolean } = { spatial: true },
  ) {}

  boolean(depth: number): Expression {
    const r = this.random();
    if (depth > 0 && r < 0.25)
      return call(pick(this.random, ['and', 'or']), ...this.several(2, 3, () => this.boolean(depth - 1)));
    if (depth > 0 && r < 0.35) return call('not', this.boolean(depth - 1));
    return this.predicate(depth);
  }

  several<T>(least: number, most: number, make: () => T): T[] {
    return Array.from({ length: least + Math.floor(this.random() * (most - least + 1)) }, make);
  }

  predicate(depth: number): Expression {
    const kinds: (() => Expression)[] = [
      () => this.comparison(depth),
      () => this.comparison(depth),
      () => call('isNull', this.any(depth)),
      () => call('like', this.text(depth), this.pattern()),
      () => call('between', this.number(depth), this.number(depth), this.number(depth)),
      () => this.inList(depth),
      () =>
        call(
          pick(this.random, ['t_after', 't_before', 't_disjoint', 't_equals', 't_intersects']),
          this.time(),
          this.time(),
        ),
      () =>
        call(
          pick(this.random, [
            't_contains',
            't_during',
            't_finishedBy',
            't_finishes',
            't_meets',
            't_metBy',
            't_overlappedBy',
            't_overlaps',
            't_startedBy',
            't_starts',
          ]),
          this.interval(),
          this.interval(),
        ),
      () =>
        call(
          pick(this.random, ['a_equals', 'a_contains', 'a_containedBy', 'a_overlaps']),
          property('tags'),
          this.array(),
        ),
      () => call(pick(this.random, ['startswith', 'endswith', 'contains']), this.text(depth), this.text(0)),
      () => pick<Expression>(this.random, [ALL_FEATURES, NO_FEATURES, call('=', property('flag'), true)]),
    ];
    if (this.allowed.spatial)
      kinds.push(
        () => this.spatial(),
        () => this.spatial(),
      );
    return pick(this.random, kinds)();
  }

  comparison(depth: number): Expression {
    const op = pick(this.random, ['=', '<>', '<', '>', '<=', '>=']);
    const make = pick(this.random, [
      () => this.text(depth),
      () => this.number(depth),
      () => this.instant(),
      () => this.flag(),
    ]);
    return call(op, make(), make());
  }

  inList(depth: number): Expression {
    const make = pick(this.random, [() => this.text(depth), () => this.number(depth), () => this.instant()]);
    return call('in', make(), this.several(1, 4, make));
  }

  any(depth: number): Operand {
    return pick(this.random, [
      () => this.text(depth),
      () => this.number(depth),
      () => this.instant(),
      () => property('geom'),
      () => property('tags'),
    ])();
  }

  flag(): Operand {
    return pick<Operand>(this.random, [property('flag'), true, false]);
  }

  text(depth: number): Operand {
    const r = this.random();
    if (depth > 0 && r < 0.15)
      return call(pick(this.random, ['casei', 'accenti', 'upper', 'lower', 'trim']), this.text(depth - 1));
    if (depth > 0 && r < 0.2) return call('concat', this.text(depth - 1), this.text(depth - 1));
    if (depth > 0 && r < 0.25)
      return call(
        'substring',
        this.text(depth - 1),
        pick(this.random, [0, 1, 2]),
        pick(this.random, [0, 1, 3]),
      );
    return r < 0.65 ? property(pick(this.random, ['name', 'other'])) : pick(this.random, TEXTS);
  }

  pattern(): Operand {
    const text = this.several(0, 3, () =>
      pick(this.random, ['%', '_', 'a', 'A', 'b', '\\%', '\\_', '\\\\', 'ß', 'ø', '*', '?', '[']),
    ).join('');
    return pick<Operand>(this.random, [text, call('casei', text), call('accenti', call('casei', text))]);
  }

  number(depth: number): Operand {
    const r = this.random();
    if (depth > 0 && r < 0.2)
      return call(
        pick(this.random, ['+', '-', '*', '/', '%', 'div', '^']),
        this.number(depth - 1),
        this.number(depth - 1),
      );
    if (depth > 0 && r < 0.3)
      return call(pick(this.random, ['abs', 'floor', 'ceil', 'round', 'sqrt']), this.number(depth - 1));
    if (r < 0.35) return call('length', this.text(depth - 1));
    if (r < 0.4) return call(pick(this.random, ['year', 'month', 'day']), this.instant());
    if (r < 0.43) return call(pick(this.random, ['hour', 'minute', 'second']), property('at'));
    return r < 0.75 ? property(pick(this.random, ['pop', 'size', 'fid'])) : pick(this.random, NUMBERS);
  }

  instant(): Operand {
    return pick<() => Operand>(this.random, [
      () => property('day'),
      () => property('at'),
      () => property('until'),
      () => ({ date: pick(this.random, DATES) }),
      () => ({ timestamp: pick(this.random, TIMES) }),
    ])();
  }

  time(): Operand {
    return this.random() < 0.5 ? this.instant() : this.interval();
  }

  interval(): Operand {
    const ends = this.random() < 0.5 ? DATES : TIMES;
    if (this.random() < 0.4) return { interval: [property('at'), property('until')] };
    const [a, b] = [pick(this.random, ends), pick(this.random, ends)].sort();
    return { interval: [this.random() < 0.15 ? '..' : a!, this.random() < 0.15 ? '..' : b!] };
  }

  array(): Operand {
    return this.several(0, 3, () => pick<Operand>(this.random, ['a', 'b', "it's", 1, 2.5, true, false]));
  }

  spatial(): Expression {
    const op = pick(this.random, [
      's_intersects',
      's_disjoint',
      's_within',
      's_contains',
      's_touches',
      's_overlaps',
      's_crosses',
      's_equals',
      's_dwithin',
      's_beyond',
    ]);
    const literal = this.geometry();
    const args: Operand[] = this.random() < 0.7 ? [property('geom'), literal] : [literal, property('geom')];
    if (op === 's_dwithin' || op === 's_beyond') args.push(pick(this.random, [0, 50_000, 300_000, 700_000]));
    return call(op, ...args);
  }

  geometry(): Operand {
    const at = () => [Math.round(this.random() * 20), Math.round(this.random() * 20)];
    const [x, y] = at() as [number, number];
    const size = 1 + Math.round(this.random() * 8);
    const ring = [
      [x, y],
      [x + size, y],
      [x + size, y + size],
      [x, y + size],
      [x, y],
    ];
    return pick<() => Operand>(this.random, [
      () => ({ bbox: [x, y, x + size, y + size] }),
      () => ({ type: 'Point', coordinates: [x, y] }),
      () => ({
        type: 'LineString',
        coordinates: [
          [x, y],
          [x + size, y + 1],
        ],
      }),
      () => ({ type: 'Polygon', coordinates: [ring] }),
      () => ({ type: 'MultiPoint', coordinates: [at(), [x, y]] }),
      () => ({
        type: 'GeometryCollection',
        geometries: [
          { type: 'Point', coordinates: at() },
          { type: 'Polygon', coordinates: [ring] },
        ],
      }),
      () => ({ type: 'MultiPolygon', coordinates: [[ring]] }),
    ])();
  }
}

/** mulberry32 */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
