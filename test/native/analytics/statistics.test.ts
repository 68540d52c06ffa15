import { describe, expect, it } from 'vitest';
import { isFullRun } from '../../support/soak.js';
import { openDatabase, randomSource } from '../support.js';

/** Aggregates that SQLite lacks, beside what defines them. */

const db = openDatabase();
const of = (sql: string, values: readonly unknown[]) =>
  db.prepare(`SELECT ${sql} FROM json_each(?)`).pluck().get(JSON.stringify(values));

const random = randomSource(5);
const NUMBERS = Array.from({ length: 501 }, () => random() * 1e6 + 1e9);
const SORTED = [...NUMBERS].sort((a, b) => a - b);

describe('gr_bin', () => {
  const bin = (value: unknown, limits: readonly number[]) => {
    const { buffer } = Float64Array.from(limits);
    return db.prepare('SELECT gr_bin(?, ?, 0)').pluck().get(value, Buffer.from(buffer));
  };

  it('is the place among ascending limits', () => {
    const limits = SORTED.slice(0, 100);
    for (const value of [...limits, 0, 2e9, ...NUMBERS.slice(0, 50)]) {
      const place = limits.filter((limit) => limit <= value).length - 1;
      const last = value === limits[99] ? 98 : place;
      expect([value, bin(value, limits)]).toEqual([value, place < 0 || last > 98 ? null : last]);
    }
  });

  it('compares integers beyond 2^53 with all their digits', () => {
    const large = [1n, 2n, 3n].map((i) => 2n ** 60n + i);
    const blob = Buffer.from(BigInt64Array.from(large).buffer);
    const among = (value: unknown) => db.prepare('SELECT gr_bin(?, ?, 1)').pluck().get(value, blob);
    expect([2n ** 60n, ...large, 2n ** 60n + 4n].map(among)).toEqual([null, 0, 1, 1, null]);
    expect([2 ** 53, 2n ** 53n - 1n, -5n].map((value) => bin(value, [0, 2 ** 53, 2 ** 54]))).toEqual([
      1,
      0,
      null,
    ]);
    expect(bin(2n ** 63n - 1n, [0, 2 ** 63, 2 ** 64])).toBe(0);
    expect(bin(-3n, [-3.5, -2.5, 0])).toBe(0);
  });

  it('is NULL for what is no number, and without two limits', () => {
    for (const value of [null, 'x', '1', Number.POSITIVE_INFINITY, Buffer.from('1')])
      expect(bin(value, [0, 2])).toBeNull();
    for (const limits of [[], [1]]) expect(bin(1, limits)).toBeNull();
    expect(db.prepare('SELECT gr_bin(1, ?, 0)').pluck().get(Buffer.alloc(15))).toBeNull();
    expect(db.prepare("SELECT gr_bin(1, 'text', 0)").pluck().get()).toBeNull();
  });
});

describe('gr_var_samp', () => {
  it('is the variance of a sample', () => {
    const mean = NUMBERS.reduce((sum, value) => sum + value, 0) / NUMBERS.length;
    const squares = NUMBERS.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    expect(of('gr_var_samp(value)', NUMBERS)).toBeCloseTo(squares / (NUMBERS.length - 1), -3);
    expect(of('gr_var_samp(value)', [2, 4, 4, 4, 5, 5, 7, 9])).toBeCloseTo(32 / 7, 12);
  });

  it('is that of integers that differ in their last digits', () => {
    const values = [1, 3, 5, 7].map((i) => `(${2n ** 60n + BigInt(i)})`);
    const sql = `SELECT gr_var_samp(column1), gr_percentile_disc(column1, 0.5, 0), gr_percentile_disc(column1, 0, 1)
      FROM (VALUES ${values.join(',')})`;
    const [variance, middle, greatest] = db.prepare(sql).safeIntegers().raw().get() as unknown[];
    expect(variance).toBeCloseTo(20 / 3, 12);
    expect([middle, greatest]).toEqual([2n ** 60n + 3n, 2n ** 60n + 7n]);
    const mixed = `SELECT gr_percentile_disc(column1, 0, 0) FROM (VALUES (3), (2.5), (4))`;
    expect(db.prepare(mixed).pluck().get()).toBe(2.5);
  });

  it('leaves out what is no number', () => {
    expect(of('gr_var_samp(value)', [1, null, 'x', '7', 3])).toBe(2);
    expect(of('gr_var_samp(CASE value WHEN 9 THEN 9e999 ELSE value END)', [1, 9, 3])).toBe(2);
  });

  it('is NULL below two numbers', () => {
    expect(of('gr_var_samp(value)', [])).toBeNull();
    expect(of('gr_var_samp(value)', [5, null])).toBeNull();
  });
});

describe('percentiles', () => {
  it.each([0, 0.1, 0.25, 0.5, 1 / 3, 0.999, 1])('are those of SQL at %d', (fraction) => {
    for (const [descending, sorted] of [
      [0, SORTED],
      [1, [...SORTED].reverse()],
    ] as const) {
      const place = fraction * (sorted.length - 1);
      const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
      expect(of(`gr_percentile_cont(value, ${fraction}, ${descending})`, NUMBERS)).toBeCloseTo(
        low + (high - low) * (place - Math.floor(place)),
        5,
      );
      const discrete = sorted.find((_, i) => (i + 1) / sorted.length >= fraction);
      expect(of(`gr_percentile_disc(value, ${fraction}, ${descending})`, NUMBERS)).toBe(discrete);
    }
  });

  it('leave out what is no number, and are NULL without any', () => {
    expect(of('gr_percentile_cont(value, 0.5, 0)', [null, 'x', 1, 2])).toBe(1.5);
    expect(of('gr_percentile_disc(value, 0.5, 0)', ['x'])).toBeNull();
    expect(of('gr_percentile_cont(value, 0.5, 0)', [])).toBeNull();
  });

  it('are of groups', () => {
    const rows = db
      .prepare(
        'SELECT gr_percentile_disc(value, 0.5, 0) FROM json_each(?) GROUP BY value % 2 ORDER BY value % 2',
      )
      .pluck()
      .all(JSON.stringify([1, 2, 3, 4, 5, 6]));
    expect(rows).toEqual([4, 3]);
  });

  it.each(['-0.1', '1.1', '9e999'])('refuse the fraction %s', (fraction) => {
    expect(() => of(`gr_percentile_cont(value, ${fraction}, 0)`, [1, 2])).toThrow('from 0 to 1');
  });

  it.runIf(isFullRun(import.meta.url))('hold a bounded number of values', () => {
    const count = 2 ** 25 + 1;
    const all = `FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${count}) SELECT i FROM n)`;
    expect(() => db.prepare(`SELECT gr_percentile_disc(i, 0.5, 0) ${all}`).get()).toThrow('too many values');
    expect(of('gr_percentile_disc(value, 0.5, 0)', [1])).toBe(1);
  });
});
