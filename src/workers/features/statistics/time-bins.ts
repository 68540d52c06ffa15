import type { HistogramBin } from '../../../core/features/field-statistics.js';

/** Cells that are kept. More are merged into coarser ones. */
const CELLS = 4096;
/** Maximum number of bars of a chart. */
const BARS = 60;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Span of the calendar, in UTC: a fixed span in milliseconds, or a number of months. */
type Span = { readonly ms: number; readonly start?: number } | { readonly months: number };

/** Each span contains complete spans of the previous size. */
const CELL_SPANS: readonly Span[] = [
  { ms: MINUTE },
  { ms: HOUR },
  { ms: DAY },
  { months: 1 },
  { months: 12 },
];

/** A Monday. */
const MONDAY = Date.UTC(1970, 0, 5);

/** Spans of bars, with the finest cells from which they cannot be built. */
const BAR_SPANS: readonly { span: Span; cell: number }[] = [
  { span: { ms: MINUTE }, cell: 0 },
  { span: { ms: 5 * MINUTE }, cell: 0 },
  { span: { ms: 15 * MINUTE }, cell: 0 },
  { span: { ms: HOUR }, cell: 1 },
  { span: { ms: 6 * HOUR }, cell: 1 },
  { span: { ms: DAY }, cell: 2 },
  { span: { ms: 7 * DAY, start: MONDAY }, cell: 2 },
  ...[1, 3].map((months) => ({ span: { months }, cell: 3 })),
  ...[1, 5, 10, 50, 100, 500, 1000].map((years) => ({ span: { months: 12 * years }, cell: 4 })),
];

/** Counts instants in cells of the calendar, from minutes up, in bounded memory. */
export class TimeBins {
  /** By the start of the cell. */
  #cells = new Map<number, number>();
  #level = 0;

  add(instant: number): void {
    const start = computeStart(instant, CELL_SPANS[this.#level]!);
    const count = this.#cells.get(start);
    this.#cells.set(start, (count ?? 0) + 1);
    if (count !== undefined) return;
    while (this.#cells.size > CELLS && this.#level < CELL_SPANS.length - 1) this.#merge();
  }

  /** Bars from the first to the last instant. `days`: none is shorter than a day. */
  bins(first: number, last: number, days: boolean): HistogramBin<number>[] {
    const span = BAR_SPANS.filter(
      ({ cell }, i) => cell >= Math.max(this.#level, days ? 2 : 0) || i === BAR_SPANS.length - 1,
    )
      .map((bar) => bar.span)
      .find((one) => computeNumber(last, one) - computeNumber(first, one) < BARS)!;
    const begin = computeNumber(first, span);
    const bins = Array.from({ length: computeNumber(last, span) - begin + 1 }, (_, i) => ({
      from: startOfNumber(begin + i, span),
      to: startOfNumber(begin + i + 1, span),
      count: 0,
    }));
    for (const [start, count] of this.#cells)
      bins[Math.max(0, Math.min(bins.length - 1, computeNumber(start, span) - begin))]!.count += count;
    return bins;
  }

  #merge(): void {
    const span = CELL_SPANS[++this.#level]!;
    const merged = new Map<number, number>();
    for (const [start, count] of this.#cells) {
      const key = computeStart(start, span);
      merged.set(key, (merged.get(key) ?? 0) + count);
    }
    this.#cells = merged;
  }
}

const computeStart = (instant: number, span: Span) => startOfNumber(computeNumber(instant, span), span);

/** Returns the number of spans before the span that contains an instant. */
function computeNumber(instant: number, span: Span): number {
  if ('ms' in span) return Math.floor((instant - (span.start ?? 0)) / span.ms);
  const date = new Date(instant);
  return Math.floor((date.getUTCFullYear() * 12 + date.getUTCMonth()) / span.months);
}

function startOfNumber(number: number, span: Span): number {
  if ('ms' in span) return number * span.ms + (span.start ?? 0);
  const months = number * span.months;
  const date = new Date(0);
  date.setUTCFullYear(Math.floor(months / 12), ((months % 12) + 12) % 12, 1);
  return date.getTime();
}
