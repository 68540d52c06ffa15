import { TaskFailure } from '../../../core/errors/failure.js';
import type { FeatureRow } from '../../../core/features/features.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';

/** Returns the same text for equal values, and different texts for different values. */
export const formatGroupKey = (values: FeatureRow['values']) =>
  JSON.stringify(values.map((value) => [typeof value, String(value)]));

/** Returns the maximum number of groups with this many statistics each, limited to `most`. */
export const mostGroups = (most: number, statistics: number) =>
  Math.min(most, Math.floor(PROCESS_LIMITS.processStatistics / Math.max(1, statistics)));

export const tooManyGroups = (most: number) =>
  new TaskFailure('too-large', `There are more than ${most} groups with their statistics.`);

/** Data of each group of equal values, in the order in which the groups first occurred. */
export class ValueGroups<T> {
  readonly #groups = new Map<string, T>();
  readonly #most: number;

  /** `statistics`: how many each group has. */
  constructor(statistics: number) {
    this.#most = mostGroups(PROCESS_LIMITS.processGroups, statistics);
  }

  get size(): number {
    return this.#groups.size;
  }

  /** The group of these values; the first time a new one. Throws `too-large`. */
  of(values: FeatureRow['values'], create: () => T): T {
    const key = formatGroupKey(values);
    let group = this.#groups.get(key);
    if (group === undefined) {
      if (this.size >= this.#most) throw tooManyGroups(this.#most);
      this.#groups.set(key, (group = create()));
    }
    return group;
  }

  all(): Iterable<T> {
    return this.#groups.values();
  }
}
