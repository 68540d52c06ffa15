/** Counts of durations in buckets of 9 % width, which can be added up over threads and processes. */

const PER_OCTAVE = 8;
/** Binary logarithm of the lower bound of the first bucket, in milliseconds. */
const FIRST_OCTAVE = -7;
const OCTAVES = 26;
const SIZE = OCTAVES * PER_OCTAVE;

export const emptyDurations = (): number[] => new Array<number>(SIZE).fill(0);

export function countDuration(counts: number[], ms: number): void {
  const at = ms > 0 ? Math.floor((Math.log2(ms) - FIRST_OCTAVE) * PER_OCTAVE) : 0;
  counts[Math.min(SIZE - 1, Math.max(0, at))]! += 1;
}

export function addDurations(to: number[], counts: readonly number[]): void {
  counts.forEach((count, i) => {
    to[i] = (to[i] ?? 0) + count;
  });
}

/** Estimates a quantile, with a relative error of at most 4.5 %. 0 without durations. */
export function estimateQuantile(counts: readonly number[], quantile: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return 0;
  let left = Math.ceil(total * quantile);
  const at = counts.findIndex((count) => {
    left -= count;
    return left <= 0;
  });
  return 2 ** ((at + 0.5) / PER_OCTAVE + FIRST_OCTAVE);
}
