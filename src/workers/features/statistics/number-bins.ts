import type { HistogramBin } from '../../../core/features/field-statistics.js';

/** Cells that are kept. More are merged into coarser ones. */
const CELLS = 4096;
/** Maximum number of bars of a chart. */
const BARS = 24;

/** A width of cells: `mantissa` times ten to the power of `exponent`. */
interface Width {
  mantissa: 1 | 2 | 5;
  exponent: number;
}

/**
 * Counts numbers in cells of round widths. It starts with exact values and merges cells into wider ones (1, 5, 10, 50
 * ...) when there are too many. One pass therefore counts each bar exactly in bounded memory.
 */
export class NumberBins {
  /** By value, then by the number of the cell. */
  #cells = new Map<number, number>();
  #width: Width | undefined;

  add(value: number): void {
    const key = this.#width ? computeCell(value, this.#width) : value;
    const count = this.#cells.get(key);
    this.#cells.set(key, (count ?? 0) + 1);
    if (count === undefined && this.#cells.size > CELLS) this.#merge();
  }

  /** Returns bars from the minimum to the maximum, including empty bars. */
  bins(min: number, max: number, whole: boolean): HistogramBin<number>[] {
    const width = this.#barWidth(min, max, whole);
    const [first, last] = [computeCell(min, width), computeCell(max, width)];
    const bins = Array.from({ length: last - first + 1 }, (_, i) => ({
      from: edge(first + i, width),
      to: Math.min(edge(first + i + 1, width), Number.MAX_VALUE),
      count: 0,
    }));
    for (const [key, count] of this.#cells) {
      const cell = this.#width ? (key * size(this.#width)) / size(width) : computeCell(key, width);
      // A cell belongs to one bar. Its middle determines the bar, independent of rounding in the division.
      const half = this.#width ? size(this.#width) / size(width) / 2 : 0;
      bins[Math.max(0, Math.min(bins.length - 1, Math.floor(cell + half) - first))]!.count += count;
    }
    return bins;
  }

  #merge(): void {
    while (this.#cells.size > CELLS / 2) {
      const before = this.#width;
      this.#width = before ? wider(before) : this.#firstWidth();
      const merged = new Map<number, number>();
      for (const [key, count] of this.#cells) {
        const cell = before ? Math.floor(key / ratio(before)) : computeCell(key, this.#width);
        merged.set(cell, (merged.get(cell) ?? 0) + count);
      }
      this.#cells = merged;
    }
  }

  /** Returns the width that distributes the values so far over about the maximum number of cells. */
  #firstWidth(): Width {
    let [least, greatest] = [Infinity, -Infinity];
    for (const value of this.#cells.keys()) {
      least = Math.min(least, value);
      greatest = Math.max(greatest, value);
    }
    const span = greatest / CELLS - least / CELLS;
    // The cell numbers remain integers that a double can represent.
    const digits = Math.max(Math.abs(least), Math.abs(greatest)) * 1e-14;
    const exponent = Math.floor(Math.log10(Math.max(span, digits, Number.MIN_VALUE)));
    return { mantissa: 1, exponent: Math.max(-300, exponent) };
  }

  /** Returns the smallest round width that results in few enough bars, each of which contains complete cells. */
  #barWidth(min: number, max: number, whole: boolean): Width {
    const span = max / BARS - min / BARS;
    const least = this.#width ? size(this.#width) : whole ? 1 : 0;
    const greatest = Math.max(Math.abs(min), Math.abs(max));
    // Adjacent numbers cannot be distinguished below this width.
    const floor = Math.max(span, least, greatest * 1e-12);
    if (floor === 0) return { mantissa: 1, exponent: 0 };
    let width: Width = { mantissa: 1, exponent: Math.max(-300, Math.floor(Math.log10(floor)) - 1) };
    while (!fits(width, min, max, least)) width = next(width);
    return width;
  }
}

function fits(width: Width, min: number, max: number, least: number): boolean {
  return size(width) >= least * (1 - 1e-9) && computeCell(max, width) - computeCell(min, width) < BARS;
}

function next({ mantissa, exponent }: Width): Width {
  if (mantissa === 1) return { mantissa: 2, exponent };
  return mantissa === 2 ? { mantissa: 5, exponent } : { mantissa: 1, exponent: exponent + 1 };
}

/** The next width that is a multiple. */
function wider({ mantissa, exponent }: Width): Width {
  return mantissa === 1 ? { mantissa: 5, exponent } : { mantissa: 1, exponent: exponent + 1 };
}

const ratio = ({ mantissa }: Width) => (mantissa === 1 ? 5 : 2);

const size = (width: Width) => edge(1, width);

/** Returns the lower edge of a cell: the number with exactly its decimal digits. */
function edge(cell: number, { mantissa, exponent }: Width): number {
  const units = cell * mantissa;
  return exponent >= 0 ? units * 10 ** exponent : units / 10 ** -exponent;
}

/** Returns the cell that contains a value. Its edges are compared, because a division can round to the next cell. */
function computeCell(value: number, width: Width): number {
  const cell = Math.floor(
    width.exponent >= 0
      ? value / (width.mantissa * 10 ** width.exponent)
      : (value * 10 ** -width.exponent) / width.mantissa,
  );
  if (value < edge(cell, width)) return cell - 1;
  return value >= edge(cell + 1, width) ? cell + 1 : cell;
}
