type Range = readonly [number, number];

/** Intervals of a legend between its round values, about. */
const INTERVALS = 6;
/** Steps of round values, and the digits behind the leading one. */
const STEPS = [
  [1, 0],
  [2, 0],
  [2.5, 1],
  [5, 0],
  [10, 0],
] as const;

/** Round values inside a range, not too near to its ends. */
export function roundStops([low, high]: Range): number[] {
  const { step, digits } = findStep([low, high]);
  const stops: number[] = [];
  for (let i = Math.ceil(low / step + 0.3); i <= high / step - 0.3 && stops.length < 3 * INTERVALS; i++)
    stops.push(Number((i * step).toFixed(digits)) + 0);
  return stops;
}

/** An end of a range, with one digit more than the round values. */
export function formatEnd(value: number, range: Range): string {
  const { digits } = findStep(range);
  const text = Number.isInteger(value) ? String(value) : String(Number(value.toFixed(digits + 1)) + 0);
  return text;
}

/** Distance of round values, and their digits behind the point. */
function findStep([low, high]: Range): { step: number; digits: number } {
  const span = Math.abs(high - low) || Math.abs(high) || 1;
  const power = Math.floor(Math.log10(span / INTERVALS));
  const leading = span / INTERVALS / 10 ** power;
  const [factor, more] = STEPS.find(([one]) => one >= leading * 0.999)!;
  return { step: factor * 10 ** power, digits: Math.min(99, Math.max(0, more - power)) };
}
