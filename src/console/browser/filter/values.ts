import type { StatisticsResult } from '../../../core/features/field-statistics.js';

/** A value of a field, and how many features have it. */
export interface OfferedValue {
  readonly value: string;
  readonly count: number;
}

/** Frequent values of the fields, from the statistics of the collection. They are loaded once. */
export class FieldValues {
  #statistics: Promise<StatisticsResult | undefined> | undefined;

  constructor(readonly url: string) {}

  async list(field: string): Promise<readonly OfferedValue[]> {
    this.#statistics ??= this.#load();
    const found = (await this.#statistics)?.fields.find(({ name }) => name === field);
    if (found?.kind === 'text') return found.top;
    // Bins of one integer each.
    if (found?.kind === 'number' && found.bins.every(({ from, to }) => to - from === 1))
      return found.bins
        .map(({ from, count }) => ({ value: String(from), count }))
        .filter(({ count }) => count > 0);
    return [];
  }

  async #load(): Promise<StatisticsResult | undefined> {
    try {
      const answer = await fetch(`${this.url}?f=json`);
      return answer.ok ? ((await answer.json()) as StatisticsResult) : undefined;
    } catch {
      return undefined;
    }
  }
}
