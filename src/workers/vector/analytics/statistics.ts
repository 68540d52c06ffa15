import type { Statistic } from '../../../core/analytics.js';
import type { FeatureRow } from '../../../core/features.js';

export type Value = FeatureRow['values'][number];

/** Count, mean and squares of the values of one field so far (Welford), with the least and the greatest. */
class Running {
  count = 0;
  mean = 0;
  sum = 0;
  /** The sum with all its digits; undefined after the first value that is not an integer. */
  whole: bigint | undefined = 0n;
  squares = 0;
  least: Value = null;
  greatest: Value = null;

  add(value: Value): void {
    if (value === null || value === undefined) return;
    this.count++;
    if (this.least === null || value < this.least) this.least = value;
    if (this.greatest === null || value > this.greatest) this.greatest = value;
    const number = Number(value);
    const delta = number - this.mean;
    this.sum += number;
    if (this.whole !== undefined)
      this.whole =
        typeof value === 'bigint' || Number.isSafeInteger(value)
          ? this.whole + BigInt(value as bigint | number)
          : undefined;
    this.mean += delta / this.count;
    this.squares += delta * (number - this.mean);
  }

  get(type: Statistic['type']): Value {
    const variance = this.count < 2 ? null : this.squares / (this.count - 1);
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
        return this.count === 0 ? null : this.mean;
      case 'var':
        return variance;
      case 'stddev':
        return variance === null ? null : Math.sqrt(variance);
    }
  }

  /** The exact sum where a number or 64 bits hold it. */
  #total(): Value {
    const { whole } = this;
    if (whole === undefined) return this.sum;
    const double = Number(whole);
    return Number.isSafeInteger(double) || BigInt.asIntN(64, whole) !== whole ? double : whole;
  }
}

/** The statistics of one group of features. */
export class Group {
  count = 0;
  readonly #fields: Map<string, Running>;

  constructor(readonly statistics: readonly Statistic[]) {
    this.#fields = new Map(statistics.map(({ field }) => [field, new Running()]));
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
