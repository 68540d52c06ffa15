import type {
  BooleanStatistics,
  NumberStatistics,
  TextStatistics,
  TimeStatistics,
} from '../../../core/features/field-statistics.js';
import { exactNumber } from '../../../core/values/exact-number.js';
import { compareNumbers } from '../../../core/values/sortable-digits.js';
import { Spread } from '../analytics/spread.js';
import type { Value } from '../analytics/statistics.js';
import { DistinctEstimate } from './distinct.js';
import { NumberBins } from './number-bins.js';
import { TimeBins } from './time-bins.js';

/** Statistics of one attribute, collected value by value. Values are never NULL. */
export interface ColumnCollector<S> {
  add(value: NonNullable<Value>): void;
  statistics(): S;
}

const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
/** Values that quantiles are computed from; of more, as many are drawn at random. */
const SAMPLE = 20_000;

export class NumberColumn implements ColumnCollector<NumberStatistics> {
  readonly #bins = new NumberBins();
  readonly #sample: number[] = [];
  readonly #random = randomNumbers();
  readonly #spread = new Spread();
  #notFinite = 0;
  #least: ComparableNumber | undefined;
  #greatest: ComparableNumber | undefined;

  constructor(readonly whole: boolean) {}

  add(value: NonNullable<Value>): void {
    const number = Number(value);
    if (!Number.isFinite(number)) {
      this.#notFinite++;
      return;
    }
    this.#spread.add(
      typeof value === 'bigint' ? value : typeof value === 'string' ? exactNumber(value) : number,
    );
    if (this.#least === undefined || isLess({ number, value }, this.#least)) this.#least = { number, value };
    if (this.#greatest === undefined || isLess(this.#greatest, { number, value }))
      this.#greatest = { number, value };
    this.#bins.add(number);
    this.#draw(number);
  }

  /** Each value so far is in the sample with the same probability (reservoir sampling). */
  #draw(number: number): void {
    if (this.#sample.length < SAMPLE) this.#sample.push(number);
    else {
      const place = Math.floor(this.#random() * this.#spread.count);
      if (place < SAMPLE) this.#sample[place] = number;
    }
  }

  statistics(): NumberStatistics {
    const [least, greatest] = [this.#least, this.#greatest];
    const { mean, variance } = this.#spread;
    return {
      kind: 'number',
      min: exact(least?.value),
      max: exact(greatest?.value),
      mean,
      stddev: variance === null ? null : Math.sqrt(variance),
      quantiles: this.#quantiles(),
      quantileValues: this.#sample.length,
      notFinite: this.#notFinite,
      bins: least && greatest ? this.#bins.bins(least.number, greatest.number, this.whole) : [],
    };
  }

  #quantiles(): { p: number; value: number }[] {
    const sorted = Float64Array.from(this.#sample).sort();
    if (sorted.length === 0) return [];
    return QUANTILES.map((p) => {
      const place = p * (sorted.length - 1);
      const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
      return { p, value: low + (high - low) * (place - Math.floor(place)) };
    });
  }
}

interface ComparableNumber {
  /** The nearest double. */
  readonly number: number;
  readonly value: NonNullable<Value>;
}

/** Compares by all digits where the doubles are equal. */
function isLess(a: ComparableNumber, b: ComparableNumber): boolean {
  if (a.number !== b.number) return a.number < b.number;
  if (a.value === b.value) return false;
  return compareNumbers(exactNumber(String(a.value)), exactNumber(String(b.value))) < 0;
}

/** Returns a number if a double can represent it, otherwise its digits. */
function exact(value: Value | undefined): number | string | null {
  if (value === undefined || value === null) return null;
  const number = Number(value);
  const integer = typeof value === 'bigint' || (typeof value === 'string' && /^[+-]?\d+$/.test(value));
  return integer && !Number.isSafeInteger(number) ? String(value) : number;
}

/** The same sequence for each column, so that the same rows have the same statistics (mulberry32). */
function randomNumbers(): () => number {
  let state = 1;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Values that a column of texts shows. */
const TOP = 20;
/**
 * Maximum characters of a text that is shown. Longer texts are counted but not shown, because they are not category
 * names.
 */
const LONGEST = 100;

export class TextColumn implements ColumnCollector<TextStatistics> {
  #counts = new Map<string, number>();
  readonly #distinct = new DistinctEstimate();
  #forgotten = 0;
  #hasLong = false;

  /** @param capacity Values that are counted at a time. */
  constructor(readonly capacity: number) {}

  add(value: NonNullable<Value>): void {
    const text = String(value);
    const count = this.#counts.get(text);
    if (count !== undefined) {
      this.#counts.set(text, count + 1);
      return;
    }
    this.#distinct.add(text);
    if (text.length > LONGEST) {
      this.#hasLong = true;
      return;
    }
    // A value that was removed may have occurred as often as the removed values.
    this.#counts.set(text, 1);
    if (this.#counts.size > this.capacity) this.#forget();
  }

  /** Forgets the rarest values: all counts are lowered by the same number (Misra and Gries). */
  #forget(): void {
    while (this.#counts.size > this.capacity / 2) {
      const less = Math.min(...buildSample(this.#counts.values()));
      this.#forgotten += less;
      for (const [text, count] of this.#counts)
        if (count <= less) this.#counts.delete(text);
        else this.#counts.set(text, count - less);
    }
  }

  statistics(): TextStatistics {
    const distinctExact = this.#forgotten === 0 && !this.#hasLong;
    const top = [...this.#counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, TOP);
    return {
      kind: 'text',
      distinct: distinctExact ? this.#counts.size : this.#distinct.estimate(),
      distinctExact,
      top: top.map(([value, count]) => ({ value, count })),
      topError: this.#forgotten,
    };
  }
}

/** Yields the counts from which the reduction is computed. Their minimum is 1 or more, so the reduction ends. */
function* buildSample(counts: Iterable<number>): Generator<number> {
  let left = 1000;
  for (const count of counts) {
    if (left-- === 0) return;
    yield count;
  }
}

export class TimeColumn implements ColumnCollector<TimeStatistics> {
  readonly #bins = new TimeBins();
  #first = Infinity;
  #last = -Infinity;

  constructor(readonly days: boolean) {}

  add(value: NonNullable<Value>): void {
    const instant = parseInstant(String(value));
    if (Number.isNaN(instant)) return;
    this.#first = Math.min(this.#first, instant);
    this.#last = Math.max(this.#last, instant);
    this.#bins.add(instant);
  }

  statistics(): TimeStatistics {
    if (this.#first > this.#last) return { kind: 'time', min: null, max: null, bins: [] };
    const text = (instant: number) => timeText(instant, this.days);
    return {
      kind: 'time',
      min: text(this.#first),
      max: text(this.#last),
      bins: this.#bins.bins(this.#first, this.#last, this.days).map(({ from, to, count }) => ({
        from: text(from),
        to: text(to),
        count,
      })),
    };
  }
}

/** A time that names no zone is in UTC. */
function parseInstant(text: string): number {
  const iso = text.replace(' ', 'T');
  return Date.parse(/T.*(Z|[+-]\d\d:?\d\d)$|^[^T]*$/i.test(iso) ? iso : `${iso}Z`);
}

function timeText(instant: number, days: boolean): string {
  const text = new Date(instant).toISOString();
  return days ? text.slice(0, text.indexOf('T')) : text.replace(/\.000Z$/, 'Z');
}

export class BooleanColumn implements ColumnCollector<BooleanStatistics> {
  #true = 0;
  #false = 0;

  add(value: NonNullable<Value>): void {
    if (value === true || value === 1) this.#true++;
    else this.#false++;
  }

  statistics(): BooleanStatistics {
    return { kind: 'boolean', true: this.#true, false: this.#false };
  }
}
