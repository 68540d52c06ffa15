/** Values to colours. */

import type { Color } from '../../core/color-ramps.js';
import type { Colormap } from '../../core/raster-look.js';
import type { Stretch } from './stretch.js';

/** Writes the colours of `count` values into RGBA from pixel `from` on; pixels without a colour stay as they are. */
export type Colorize = (values: Float64Array, count: number, rgba: Uint8Array, from: number) => void;

/** Finer than 255 shades, so that the steps of a ramp cannot be seen. */
const RAMP_STEPS = 1024;

export function colorizer(colormap: Colormap, range: Stretch): Colorize {
  switch (colormap.kind) {
    case 'ramp':
      return lookup(rampColors(colormap.colors), range);
    case 'stops':
      return each((value) => between(colormap.values, colormap.colors, value));
    case 'values': {
      const colors = new Map(colormap.values.map((value, i) => [value, colormap.colors[i]!]));
      return each((value) => colors.get(value));
    }
    case 'intervals': {
      const { bounds, colors } = colormap;
      return each((value) => colors[bounds.findIndex(([low, high]) => value >= low && value < high)]);
    }
  }
}

/** Shades of one channel, or of all three when it is the only one. */
export function shader({ min, max }: Stretch, channel: number | 'gray'): Colorize {
  const factor = 255 / (max - min);
  return (values, count, rgba, from) => {
    for (let i = 0, at = from * 4; i < count; i++, at += 4) {
      const shade = Math.min(255, Math.max(0, Math.round((values[i]! - min) * factor)));
      if (channel === 'gray') rgba[at] = rgba[at + 1] = rgba[at + 2] = shade;
      else rgba[at + channel] = shade;
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
  return (values, count, rgba, from) => {
    for (let i = 0, at = from * 4; i < count; i++, at += 4) {
      const step = Math.min(RAMP_STEPS - 1, Math.max(0, Math.round((values[i]! - min) * factor))) * 4;
      rgba[at] = table[step]!;
      rgba[at + 1] = table[step + 1]!;
      rgba[at + 2] = table[step + 2]!;
      rgba[at + 3] = table[step + 3]!;
    }
  };
}

function each(colorOf: (value: number) => ArrayLike<number> | undefined): Colorize {
  return (values, count, rgba, from) => {
    for (let i = 0; i < count; i++) {
      const color = colorOf(values[i]!);
      if (color) rgba.set(color, (from + i) * 4);
    }
  };
}

/** The colour at a value between ascending ones; beyond them that of the nearest. */
function between(values: readonly number[], colors: readonly Color[], value: number): number[] {
  let high = values.findIndex((one) => one >= value);
  if (high < 0) high = values.length - 1;
  const low = Math.max(0, high - 1);
  const span = values[high]! - values[low]!;
  const part = span > 0 ? Math.min(1, Math.max(0, (value - values[low]!) / span)) : 1;
  return colors[low]!.map((from, i) => Math.round(from + (colors[high]![i]! - from) * part));
}
