import { ramp } from '../../rasters/color-ramps.js';
import { hexColor } from '../hex-color.js';

/** Palettes that are distinguishable with common colour vision deficiencies. */
export const PALETTES = ['Viridis', 'CartoBold', 'RdBu'] as const;
export type PaletteName = (typeof PALETTES)[number];

/** Categories: CARTOColors Bold (CC BY 3.0, CARTO), in the order of the most different. */
const CARTO_BOLD = '7f3c8d 11a579 3969ac f2b701 e73f74 80ba5a e68310 008695 cf1c90 f97b72 4b4b8f a5aa99'
  .split(' ')
  .map((hex) => `#${hex}`);

/** Colours of the classes from low to high; up to 12 distinct colours for categories. */
export function paletteColors(name: PaletteName, count: number): string[] {
  if (name === 'CartoBold')
    return Array.from({ length: count }, (_, i) => CARTO_BOLD[i % CARTO_BOLD.length]!);
  // Low values are blue and high ones red, as in maps of weather.
  const colors = ramp(name === 'Viridis' ? 'viridis' : 'rdbu_r')!;
  return Array.from({ length: count }, (_, i) => {
    const at = count === 1 ? 0.5 : i / (count - 1);
    return between(colors, at * (colors.length - 1));
  });
}

function between(colors: readonly (readonly number[])[], at: number): string {
  const [low, high] = [colors[Math.floor(at)]!, colors[Math.ceil(at)]!];
  const part = at - Math.floor(at);
  return hexColor([0, 1, 2].map((i) => Math.round(low[i]! * (1 - part) + high[i]! * part)));
}
