import { TaskFailure } from '../../../core/errors/failure.js';
import type { FeatureRow } from '../../../core/features/features.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';

/** Equal values have the same text, and others another one. */
export const formatGroupKey = (values: FeatureRow['values']) =>
  JSON.stringify(values.map((value) => [typeof value, String(value)]));

/** How many groups there may be, at most this number, where each has so many statistics. */
export const mostGroups = (most: number, statistics: number) =>
  Math.min(most, Math.floor(PROCESS_LIMITS.processStatistics / Math.max(1, statistics)));

export const tooManyGroups = (most: number) =>
  new TaskFailure('too-large', `There are more than ${most} groups with their statistics.`);

/** What is gathered for each group of equal values, in the order in which the groups came. */
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
