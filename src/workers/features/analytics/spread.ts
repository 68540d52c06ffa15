import { type AnyNumber, difference, toDouble } from '../../../core/values/exact-number.js';

/** Count, mean and squared differences of numbers so far (Welford), of their distances from the first one. */
export class Spread {
  count = 0;
  #first: AnyNumber | bigint = 0;
  #mean = 0;
  #squares = 0;

  add(value: AnyNumber | bigint): void {
    if (this.count === 0) this.#first = value;
    // Numbers that differ in their last digits are the same double.
    const distance = difference(value, this.#first);
    this.count++;
    const delta = distance - this.#mean;
    this.#mean += delta / this.count;
    this.#squares += delta * (distance - this.#mean);
  }

  get mean(): number | null {
    return this.count === 0 ? null : toDouble(this.#first as AnyNumber) + this.#mean;
  }

  /** Sample variance. */
  get variance(): number | null {
    return this.count < 2 ? null : this.#squares / (this.count - 1);
  }
}
