import { describe, expect, it } from 'vitest';
import { NumberColumn, TextColumn, TimeColumn } from '../../../src/workers/features/statistics/columns.js';
import { DistinctEstimate } from '../../../src/workers/features/statistics/distinct.js';

/** Numbers that look random and are the same each time. */
function* sequence(n: number): Generator<number> {
  let state = 12345;
  for (let i = 0; i < n; i++) yield (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
}

function gathered(values: Iterable<number | string | bigint>, whole = false) {
  const column = new NumberColumn(whole);
  for (const value of values) column.add(value);
  return column.statistics();
}

describe('numbers', () => {
  it.each<[string, number[], boolean]>([
    ['few decimals', [0.1, 0.3, 0.29, 0.7, 1.1, 0.3], false],
    ['whole numbers', [1, 2, 2, 3, 40, 41, 1000], true],
    ['negative ones', [-5.5, -0.1, 0, 3, -1e-9], false],
    ['one value', [7, 7, 7], false],
    ['neighbours', [1e15, 1e15 + 1, 1e15 + 2], true],
    ['very large and very small', [-1e300, 1e-300, 1e300], false],
    ['the largest', [Number.MAX_VALUE / 2, -Number.MAX_VALUE / 2], false],
    ['many', [...sequence(50_000)], false],
    ['many, skewed', [...sequence(50_000)].map((x) => Math.exp(20 * x)), false],
    ['many whole ones', [...sequence(50_000)].map((x) => Math.floor(x * 1e6) - 500_000), true],
    ['many near each other, far from zero', [...sequence(20_000)].map((x) => 1e9 + x), false],
  ])('of the kind %s are counted in bins that hold just them', (_, values, whole) => {
    const { bins, min, max } = gathered(values, whole);
    expect(bins.length).toBeLessThanOrEqual(24);
    for (const { from, to, count } of bins)
      expect(count, `${from} to ${to}`).toBe(values.filter((value) => value >= from && value < to).length);
    expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(values.length);
    expect([min, max]).toEqual([
      values.reduce((a, b) => Math.min(a, b)),
      values.reduce((a, b) => Math.max(a, b)),
    ]);
  });

  it('have mean, deviation and quantiles', () => {
    const { mean, stddev, quantiles, quantileValues } = gathered([1, 2, 3, 4, 5]);
    expect([mean, quantileValues]).toEqual([3, 5]);
    expect(stddev).toBeCloseTo(Math.sqrt(2.5), 12);
    expect(quantiles.map(({ value }) => value)).toEqual([1.2, 2, 3, 4, 4.8]);
  });

  it('have quantiles of a sample where they are many, near the true ones', () => {
    const values = [...sequence(200_000)];
    const { quantiles, quantileValues } = gathered(values);
    expect(quantileValues).toBe(20_000);
    for (const { p, value } of quantiles) expect(Math.abs(value - p)).toBeLessThan(0.02);
  });

  it('keep the digits that doubles do not hold, and count what is no number', () => {
    const { min, max, notFinite, bins } = gathered([9007199254740993n, '9007199254740995', Number.NaN], true);
    expect([min, max, notFinite]).toEqual(['9007199254740993', '9007199254740995', 1]);
    // Neighbours that are one double.
    const neighbours = [2n ** 60n + 3n, 2n ** 60n + 1n, 2n ** 60n + 5n];
    expect(gathered(neighbours, true)).toMatchObject({ min: `${neighbours[1]}`, max: `${neighbours[2]}` });
    expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(2);
    expect(gathered([])).toMatchObject({ min: null, max: null, mean: null, bins: [], quantiles: [] });
  });
});

describe('times', () => {
  const column = (values: string[], days: boolean) => {
    const made = new TimeColumn(days);
    for (const value of values) made.add(value);
    return made.statistics();
  };
  const day = (i: number) => new Date(Date.UTC(1900, 0, 1 + i)).toISOString();

  it.each<[string, string[], boolean]>([
    ['minutes', ['2020-01-01T10:00:30Z', '2020-01-01T10:05:00Z', '2020-01-01 10:05:59'], false],
    [
      'a day',
      Array.from({ length: 24 }, (_, h) => `2020-01-01T${String(h).padStart(2, '0')}:30:00+02:00`),
      false,
    ],
    ['weeks', Array.from({ length: 200 }, (_, i) => day(i).slice(0, 10)), true],
    ['a century', Array.from({ length: 36_000 }, (_, i) => day(i)), false],
    ['history', ['0200-05-01', '1999-12-31', '1500-01-01'], true],
  ])('of %s are counted in bins of the calendar that hold just them', (_, values, days) => {
    const { bins } = column(values, days);
    const instants = values.map((value) =>
      Date.parse(
        /[Z+]|^[^T ]*$/.test(value.slice(10)) || value.length === 10 ? value : `${value.replace(' ', 'T')}Z`,
      ),
    );
    expect(bins.length).toBeLessThanOrEqual(60);
    expect(bins.length).toBeGreaterThan(1);
    for (const { from, to, count } of bins)
      expect(count, `${from} to ${to}`).toBe(
        instants.filter((x) => x >= Date.parse(from) && x < Date.parse(to)).length,
      );
  });
});

describe('texts', () => {
  it('are counted exactly while they are few', () => {
    const column = new TextColumn(100);
    for (const text of ['a', 'b', 'a', 'c', 'a', 'b', '']) column.add(text);
    expect(column.statistics()).toEqual({
      kind: 'text',
      distinct: 4,
      distinctExact: true,
      top: [
        { value: 'a', count: 3 },
        { value: 'b', count: 2 },
        { value: '', count: 1 },
        { value: 'c', count: 1 },
      ],
      topError: 0,
    });
  });

  it('keep the frequent ones within the error they tell, and estimate how many there are', () => {
    const column = new TextColumn(500);
    let i = 0;
    for (const x of sequence(100_000)) {
      column.add(x < 0.2 ? 'often' : `rare ${i}`);
      i++;
    }
    const often = [...sequence(100_000)].filter((x) => x < 0.2).length;
    const { distinct, distinctExact, top, topError } = column.statistics();
    expect(distinctExact).toBe(false);
    expect(Math.abs(distinct / (100_001 - often) - 1)).toBeLessThan(0.06);
    expect(top[0]!.value).toBe('often');
    expect(top[0]!.count).toBeLessThanOrEqual(often);
    expect(top[0]!.count + topError).toBeGreaterThanOrEqual(often);
  });

  it.each([10, 1000, 300_000])('are estimated: %i of them', (n) => {
    const estimate = new DistinctEstimate();
    for (let i = 0; i < n; i++) estimate.add(`text ${i}`);
    expect(Math.abs(estimate.estimate() / n - 1)).toBeLessThan(0.06);
  });
});
