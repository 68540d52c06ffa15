import type { PixelAdjustment } from '../../../core/rasters/rasters.js';
import { getPixelWords } from './pixel-words.js';

/** Finished pixels: RGBA, 4 bytes each, not premultiplied. */

/** Changes colours and opacity in place, by the formulas of MapLibre's raster layers and in their order. */
export function adjust(rgba: Uint8Array, adjustment: PixelAdjustment): void {
  const { opacity = 1, brightnessMin = 0, brightnessMax = 1 } = adjustment;
  const { contrast = 0, saturation = 0, hueRotate = 0 } = adjustment;
  const [same, next, last] = spinWeights(hueRotate);
  const gray = saturation > 0 ? 1 - 1 / (1.001 - saturation) : -saturation;
  const gain = contrast > 0 ? 1 / (1 - contrast) : 1 + contrast;
  const shade = (value: number): number => {
    const contrasted = (value / 255 - 0.5) * gain + 0.5;
    return Math.round(255 * (brightnessMin + (brightnessMax - brightnessMin) * clamped(contrasted)));
  };
  const onlyOpacity = Object.keys(adjustment).every((name) => name === 'opacity');
  for (let at = 0; at < rgba.length; at += 4) {
    rgba[at + 3] = Math.round(rgba[at + 3]! * opacity);
    if (onlyOpacity) continue;
    const [r, g, b] = [rgba[at]!, rgba[at + 1]!, rgba[at + 2]!];
    const red = r * same + g * next + b * last;
    const green = r * last + g * same + b * next;
    const blue = r * next + g * last + b * same;
    const mean = (red + green + blue) / 3;
    rgba[at] = byte(shade(red + (mean - red) * gray));
    rgba[at + 1] = byte(shade(green + (mean - green) * gray));
    rgba[at + 2] = byte(shade(blue + (mean - blue) * gray));
  }
}

/** Shares of red, green and blue in a red that is rotated on the colour circle. */
function spinWeights(degrees: number): [number, number, number] {
  const [sin, cos] = [Math.sin((degrees * Math.PI) / 180), Math.cos((degrees * Math.PI) / 180)];
  return [(2 * cos + 1) / 3, (-Math.sqrt(3) * sin - cos + 1) / 3, (Math.sqrt(3) * sin - cos + 1) / 3];
}

const clamped = (value: number) => Math.min(1, Math.max(0, value));
const byte = (value: number) => Math.min(255, Math.max(0, value));

/** Puts `above` over `below`, in place. */
export function blendOver(below: Uint8Array, above: Uint8Array): void {
  const [from, into] = [getPixelWords(above), getPixelWords(below)];
  for (let at = 0; at < below.length; at += 4) {
    const alpha = above[at + 3]!;
    if (alpha === 0) continue;
    if (alpha === 255 || below[at + 3] === 0) {
      into[at / 4] = from[at / 4]!;
      continue;
    }
    const over = alpha / 255;
    const under = (below[at + 3]! / 255) * (1 - over);
    const both = over + under;
    for (let channel = at; channel < at + 3; channel++)
      below[channel] = Math.round((above[channel]! * over + below[channel]! * under) / both);
    below[at + 3] = Math.round(both * 255);
  }
}
