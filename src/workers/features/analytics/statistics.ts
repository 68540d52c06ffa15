import type { Statistic } from '../../../core/features/analytics.js';
import type { FeatureRow } from '../../../core/features/features.js';
import { type ExactNumber, exactNumber, isExactNumber } from '../../../core/values/exact-number.js';
import { compareNumbers } from '../../../core/values/sortable-digits.js';
import { Spread } from './spread.js';

export type Value = FeatureRow['values'][number] | ExactNumber;

/** Count, sum and spread of the values of one field so far, with the minimum and the maximum. */
class RunningStatistics {
  count = 0;
  sum = 0;
  readonly #spread = new Spread();
  /** The sum with all its digits; undefined after the first value that is not an integer. */
  whole: bigint | undefined = 0n;
  least: Value = null;
  greatest: Value = null;

  add(value: Value): void {
    if (value === null || value === undefined) return;
    this.count++;
    if (this.least === null || isLess(value, this.least)) this.least = value;
    if (this.greatest === null || isLess(this.greatest, value)) this.greatest = value;
    const number = Number(value);
    this.sum += number;
    if (this.whole !== undefined)
      this.whole =
        typeof value === 'bigint' || Number.isSafeInteger(value)
          ? this.whole + BigInt(value as bigint | number)
          : undefined;
    this.#spread.add(typeof value === 'bigint' || isExactNumber(value) ? value : number);
  }

  get(type: Statistic['type']): Value {
    const { mean, variance } = this.#spread;
    switch (type) {
      case 'count':
        return this.count;
      case 'min':
        return this.least;
      case 'max':
        return this.greatest;
      case 'sum':
        return this.count === 0 ? null : this.#total();
      case 'avg':
        return mean;
      case 'var':
        return variance;
      case 'stddev':
        return variance === null ? null : Math.sqrt(variance);
    }
  }

  /** Exact sum, if a number or 64 bits can represent it. */
  #total(): Value {
    const { whole } = this;
    if (whole === undefined) return this.sum;
    const double = Number(whole);
    return Number.isSafeInteger(double) || BigInt.asIntN(64, whole) !== whole ? double : whole;
  }
}

/** Compares numbers with more digits than a double can represent. */
function isLess(a: NonNullable<Value>, b: NonNullable<Value>): boolean {
  if (!isExactNumber(a) && !isExactNumber(b)) return a < b;
  return compareNumbers(exactNumber(String(a)), exactNumber(String(b))) < 0;
}

/** The statistics of one group of features. */
export class StatisticsGroup {
  count = 0;
  readonly #fields: Map<string, RunningStatistics>;

  constructor(readonly statistics: readonly Statistic[]) {
    this.#fields = new Map(statistics.map(({ field }) => [field, new RunningStatistics()]));
  }

  /** Counts a feature; `read` gives its value of a field. */
  add(read: (field: string) => Value): void {
    this.count++;
    for (const [field, running] of this.#fields) running.add(read(field));
  }

  /** The statistics by their names. */
  properties(): Record<string, Value> {
    return Object.fromEntries(
      this.statistics.map(({ type, field, name }) => [name, this.#fields.get(field)!.get(type)]),
    );
  }
}
