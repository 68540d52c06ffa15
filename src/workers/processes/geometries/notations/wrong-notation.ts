/** Text that tells no place, or a place that a notation has no text for. */
export class WrongNotation extends Error {
  override readonly name = 'WrongNotation';
}

/** A number of so many digits, rounded or cut off; `unit` is that of its last digit. */
export function formatDigits(
  value: number,
  unit: number,
  { digits, rounds }: { digits: number; rounds: boolean },
): string {
  // What was computed may be below a whole number by rounding alone.
  const count = rounds ? Math.round(value / unit) : Math.floor(value / unit + 1e-6);
  return `${count}`.padStart(digits, '0');
}
