/** Classification methods for numbers. Each returns ascending inner limits; a class includes its lower limit. */

export type NumericMethod = 'EqualInterval' | 'Quantile' | 'NaturalBreaks';

/**
 * Limits of at most `count` classes of ascending values; fewer for few distinct values. Natural breaks use the
 * frequency of values, if weights are given.
 */
export function computeBreaks(
  method: NumericMethod,
  sorted: readonly number[],
  count: number,
  weights?: readonly number[],
): number[] {
  const [least, most] = [sorted[0]!, sorted.at(-1)!];
  const breaks = METHODS[method](sorted, count, weights);
  const tidy = [...new Set(breaks)].sort((a, b) => a - b);
  return tidy.filter((limit) => limit > least && limit <= most);
}

type Method = (sorted: readonly number[], count: number, weights?: readonly number[]) => number[];

const METHODS: Readonly<Record<NumericMethod, Method>> = {
  EqualInterval: equalIntervals,
  Quantile: quantiles,
  NaturalBreaks: naturalBreaks,
};

function equalIntervals(sorted: readonly number[], count: number): number[] {
  const [least, most] = [sorted[0]!, sorted.at(-1)!];
  // Halves first: the difference of the ends may be beyond all numbers.
  return inner(count).map((i) => Number((least * (1 - i / count) + most * (i / count)).toPrecision(6)));
}

function quantiles(sorted: readonly number[], count: number): number[] {
  return inner(count).map((i) => sorted[Math.round((i / count) * sorted.length)] ?? sorted.at(-1)!);
}

function inner(count: number): number[] {
  return Array.from({ length: count - 1 }, (_, i) => i + 1);
}

/**
 * The classes with the least sum of squares about their means (Wang and Song 2011, Ckmeans.1d.dp). The best start of the
 * last class never moves back as values are added, so each row of the table is filled by halving: O(k n log n).
 */
function naturalBreaks(sorted: readonly number[], count: number, weights?: readonly number[]): number[] {
  const n = sorted.length;
  const classes = Math.min(count, n);
  const cost = squaresBetween(sorted, weights);
  let row = Float64Array.from({ length: n }, (_, i) => cost(0, i));
  const starts: Int32Array[] = [];
  for (let k = 1; k < classes; k++) {
    const [next, start] = [new Float64Array(n), new Int32Array(n)];
    fillRow(row, next, start, cost, k);
    starts.push(start);
    row = next;
  }
  const limits: number[] = [];
  for (let k = classes - 1, end = n - 1; k >= 1 && end >= 0; k--) {
    const start = starts[k - 1]![end]!;
    limits.push(sorted[start]!);
    end = start - 1;
  }
  return limits;
}

type Cost = (from: number, to: number) => number;

/** The sum of squares about the mean of the values from one index to another, both included. */
function squaresBetween(values: readonly number[], weights?: readonly number[]): Cost {
  // Shifted to the middle and scaled, or squares of large values lose their small digits, or all.
  const middle = values[Math.floor(values.length / 2)]!;
  const scale = Math.max(Math.abs(values.at(-1)! - middle), Math.abs(values[0]! - middle)) || 1;
  const [counts, sums, squares] = [0, 1, 2].map(() => new Float64Array(values.length + 1)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  values.forEach((value, i) => {
    const shifted = (value - middle) / scale;
    const weight = weights?.[i] ?? 1;
    counts[i + 1] = counts[i]! + weight;
    sums[i + 1] = sums[i]! + weight * shifted;
    squares[i + 1] = squares[i]! + weight * shifted * shifted;
  });
  return (from, to) => {
    const sum = sums[to + 1]! - sums[from]!;
    return Math.max(0, squares[to + 1]! - squares[from]! - (sum * sum) / (counts[to + 1]! - counts[from]!));
  };
}

/** Fills the row of one class more. */
function fillRow(row: Float64Array, next: Float64Array, start: Int32Array, cost: Cost, k: number): void {
  const fill = (low: number, high: number, first: number, last: number): void => {
    if (low > high) return;
    const middle = (low + high) >> 1;
    let [best, at] = [Number.POSITIVE_INFINITY, first];
    for (let i = Math.max(first, k); i <= Math.min(last, middle); i++) {
      const total = row[i - 1]! + cost(i, middle);
      if (total < best) [best, at] = [total, i];
    }
    next[middle] = best;
    start[middle] = at;
    fill(low, middle - 1, first, at);
    fill(middle + 1, high, at, last);
  };
  fill(k, row.length - 1, k, row.length - 1);
}
