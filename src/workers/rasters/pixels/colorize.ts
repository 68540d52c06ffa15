/** Values to colours. */

import type { Color } from '../../../core/rasters/color-ramps.js';
import type { Colormap } from '../../../core/rasters/raster-look.js';
import { GRAY, getPixelWords, OPAQUE, roundToByte } from './pixel-words.js';
import type { Stretch } from './stretch.js';

/**
 * Writes the colours of `count` values into RGBA, starting with pixel `from`. Pixels without a colour remain
 * unchanged.
 */
export type Colorize = (values: Float64Array, count: number, rgba: Uint8Array, from: number) => void;

/** Finer than 255 shades, so that the steps of a ramp cannot be seen. */
const RAMP_STEPS = 1024;

export function colorizer(colormap: Colormap, range: Stretch): Colorize {
  switch (colormap.kind) {
    case 'ramp':
      return lookup(rampColors(colormap.colors), range);
    case 'stops': {
      const { values, colors } = colormap;
      const word = new Uint8Array(4);
      const words = getPixelWords(word);
      return each((value) => {
        word.set(between(values, colors, value));
        return words[0];
      });
    }
    case 'values': {
      const { values, colors } = colormap;
      const words = wordsIn(colors);
      const byValue = new Map(values.map((value, i) => [value, words[i]!]));
      return each((value) => byValue.get(value));
    }
    case 'intervals': {
      const { bounds, colors } = colormap;
      const words = wordsIn(colors);
      return each((value) => words[bounds.findIndex(([low, high]) => value >= low && value < high)]);
    }
  }
}

/** Shades of one channel, or of all three when it is the only one. */
export function shader({ min, max }: Stretch, channel: number | 'gray'): Colorize {
  const factor = 255 / (max - min);
  if (channel === 'gray')
    return (values, count, rgba, from) => {
      const into = getPixelWords(rgba);
      for (let i = 0; i < count; i++)
        into[from + i] = (GRAY * roundToByte((values[i]! - min) * factor)) | OPAQUE;
    };
  return (values, count, rgba, from) => {
    for (let i = 0, at = from * 4; i < count; i++, at += 4) {
      rgba[at + channel] = roundToByte((values[i]! - min) * factor);
      rgba[at + 3] = 255;
    }
  };
}

function rampColors(colors: readonly Color[]): Uint8Array {
  const table = new Uint8Array(RAMP_STEPS * 4);
  const places = colors.map((_, i) => i / (colors.length - 1));
  for (let step = 0; step < RAMP_STEPS; step++)
    table.set(between(places, colors, step / (RAMP_STEPS - 1)), step * 4);
  return table;
}

function lookup(table: Uint8Array, { min, max }: Stretch): Colorize {
  const factor = (RAMP_STEPS - 1) / (max - min);
  const words = getPixelWords(table);
  return (values, count, rgba, from) => {
    const into = getPixelWords(rgba);
    for (let i = 0; i < count; i++) {
      const step = Math.round((values[i]! - min) * factor);
      into[from + i] = words[Math.min(RAMP_STEPS - 1, Math.max(0, step)) || 0]!;
    }
  };
}

const wordsIn = (colors: readonly Color[]): Uint32Array => getPixelWords(Uint8Array.from(colors.flat()));

function each(colorOf: (value: number) => number | undefined): Colorize {
  return (values, count, rgba, from) => {
    const into = getPixelWords(rgba);
    // Neighbours often have the same value.
    let [last, color] = [Number.NaN, undefined as number | undefined];
    for (let i = 0; i < count; i++) {
      const value = values[i]!;
      if (value !== last) [last, color] = [value, colorOf(value)];
      if (color !== undefined) into[from + i] = color;
    }
  };
}

/** Returns the colour at a value between ascending values. Outside them, returns the nearest colour. */
function between(values: readonly number[], colors: readonly Color[], value: number): number[] {
  let high = values.findIndex((one) => one >= value);
  if (high < 0) high = values.length - 1;
  const low = Math.max(0, high - 1);
  const span = values[high]! - values[low]!;
  const part = span > 0 ? Math.min(1, Math.max(0, (value - values[low]!) / span)) : 1;
  return colors[low]!.map((from, i) => Math.round(from + (colors[high]![i]! - from) * part));
}
