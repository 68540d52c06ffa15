import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { listBands, parseBandMath } from '../../../src/core/rasters/band-math/index.js';
import { BLOCK, compile } from '../../../src/workers/rasters/pixels/band-math.js';

/** Values of three bands over more than one block. */
const COUNT = BLOCK + 100;
const bands = new Map(
  [1, 2, 3].map((band) => [
    band,
    Float32Array.from({ length: COUNT }, (_, i) => ((i * 7 * band) % 101) - 20 * (band - 1)),
  ]),
);

function evaluate(text: string): number[] {
  const [expression] = parseBandMath(text);
  const run = compile(expression!);
  const results: number[] = [];
  for (let from = 0; from < COUNT; from += BLOCK) {
    const count = Math.min(BLOCK, COUNT - from);
    results.push(...run(bands, from, count).subarray(0, count));
  }
  return results;
}

/** What numpy makes of the same text. */
function numpy(texts: readonly string[]): number[][] {
  const script = `
import functools, json, sys
import numpy as np
data = json.load(sys.stdin)
names = {f'b{i + 1}': np.array(v, dtype=float) for i, v in enumerate(data['bands'])}
for name in ('abs sqrt exp log log10 log2 log1p expm1 sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh floor ceil '
             'round sign clip where').split():
    names[name] = getattr(np, name)
names['min'] = lambda *a: functools.reduce(np.minimum, a)
names['max'] = lambda *a: functools.reduce(np.maximum, a)
with np.errstate(all='ignore'):
    out = [np.broadcast_to(np.asarray(eval(t, {}, names), dtype=float), (len(data['bands'][0]),)) for t in data['texts']]
print(json.dumps([[None if not np.isfinite(x) else x for x in row] for row in out]))`;
  const input = JSON.stringify({ bands: [...bands.values()].map((band) => [...band]), texts });
  const options = { input, encoding: 'utf8', maxBuffer: 1 << 28 } as const;
  return JSON.parse(execFileSync('/usr/bin/python3', ['-c', script], options));
}

const EXPRESSIONS = [
  '(b1-b2)/(b1+b2)',
  'b1',
  '1.5',
  '-b1**2',
  '2**-b1',
  '2**3**2',
  '-2*-b2 - +3',
  'b1 - b2 - b3',
  'b1 / 4 / 2',
  'b1 % 7 + b2 % -7',
  'b1*b2+b3*.5e1',
  'b1 + 2 < b2 * 3',
  '(b1 >= b2) & (b2 != 3) | ~(b3 == 0)',
  'where(b1 > 50, b2, -1)',
  'min(b1, b2, b3, 10) + max(b1, b2)',
  'clip(b2, 0, 30)',
  'sqrt(b2) + log(b3) + log10(b1) + log2(b1) + log1p(b1)',
  'sin(b1)*cos(b2) - tan(b3/100) + arctan2(b1, b2)',
  'arcsin(b1/100) + arccos(b1/100) + arctan(b2)',
  'sinh(b1/20) + cosh(b1/20) - tanh(b2) + expm1(b1/50) + exp(b2/50)',
  'floor(b2/3) + ceil(b2/3) + round(b2/2) + sign(b3) + abs(b3)',
];

describe('band math', () => {
  it('agrees with numpy', () => {
    // In Python ~ of a comparison is of a boolean array, as here.
    const wanted = numpy(EXPRESSIONS);
    EXPRESSIONS.forEach((text, i) => {
      const found = evaluate(text);
      expect(found).toHaveLength(COUNT);
      const wrong = found.findIndex((value, at) => {
        const other = wanted[i]![at];
        if (other === null || other === undefined) return Number.isFinite(value);
        return !(Math.abs(value - other) <= 1e-9 * Math.max(1, Math.abs(other)));
      });
      expect(wrong < 0 ? text : `${text}: ${found[wrong]} is not ${wanted[i]![wrong]}`).toBe(text);
    });
  });

  it('takes several expressions, and knows their bands', () => {
    const found = parseBandMath('b4; b10*2 ;B1+b4');
    expect([found.length, listBands(found)]).toEqual([3, [1, 4, 10]]);
  });

  it.each([
    ['', 'is empty'],
    ['b1;', 'is empty'],
    ['b1 +', 'ends before it is complete'],
    ['(b1', "'\u0029' is expected"],
    ['b1)', "'\u0029' is not expected"],
    ['b1 b2', "'b2' is not expected"],
    ['1 < b1 < 2', 'parentheses'],
    ['b1 ^ 2', "'^ 2' is not part of an expression. Use bands (b1, b2 …), numbers, operators and functions"],
    ['band1', "'band1' is neither"],
    ['constructor(b1)', 'is neither'],
    ['__proto__', 'is neither'],
    ['process.exit()', "'.exit\u0028\u0029' is not part of an expression"],
    ['sqrt(b1, b2)', 'takes 1 arguments'],
    ['where(b1)', 'takes 3 arguments'],
    ['sqrt', "'\u0028' is expected"],
    [
      'b1; "text"',
      `'"text"' is not part of an expression. Use bands (b1, b2 …), numbers, operators and functions`,
    ],
    [`${'('.repeat(70)}b1${')'.repeat(70)}`, 'nested deeper'],
    [`b1${'+b1'.repeat(200)}`, 'more than 250 parts'],
    [`b1${' '.repeat(3000)}`, 'must have at most 2000 characters'],
    [`${'-'.repeat(1000)}b1`, 'nested deeper'],
    [`2${'**2'.repeat(100)}`, 'nested deeper'],
  ])('refuses %j', (text, reason) => {
    expect(() => parseBandMath(text)).toThrow(reason);
  });

  it('survives mutations of expressions: a tree or a reason, quickly', () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    const letters = 'b1234567890.+-*/%<>=!&|~(),; esqrtminwhere';
    for (let round = 0; round < 3000; round++) {
      const text = [...EXPRESSIONS[random(EXPRESSIONS.length)]!];
      for (let change = 0; change <= random(4); change++)
        text.splice(random(text.length + 1), random(3), letters[random(letters.length)]!);
      try {
        for (const expression of parseBandMath(text.join(''))) compile(expression);
      } catch (error) {
        expect((error as Error).name).toBe('BandMathError');
      }
    }
  });
});
