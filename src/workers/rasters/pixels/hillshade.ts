import type { Color } from '../../../core/rasters/color-ramps.js';
import type { Hillshade } from '../../../core/rasters/rasters.js';
import type { Cancellation } from '../../threads/cancellation.js';
import type { RasterHandle } from '../handles.js';
import type { ImageWindow } from '../warp.js';
import { readBandValues } from './picture.js';
import { giveBack, takeBuffer } from './pixel-buffers.js';

/**
 * Shadows of the relief of band 1 in metres: Horn's slopes, coloured by the formula of MapLibre's standard hillshade.
 * `pixelMetres` is the size of a pixel on the ground.
 */
export async function drawHillshade(
  handle: RasterHandle,
  hillshade: Hillshade,
  pixelMetres: readonly [number, number],
  window: ImageWindow,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  const rgba = new Uint8Array(takeBuffer(window.width * window.height * 4)).fill(0);
  const heights = await readBandValues(handle, 1, grown(window), cancellation);
  if (!heights) return rgba;
  const shade = shader(hillshade);
  const stride = window.width + 2;
  const [perX, perY] = pixelMetres.map((metres) => hillshade.steepness / (8 * metres)) as [number, number];
  for (let y = 0, at = 0; y < window.height; y++) {
    for (let x = 0; x < window.width; x++, at += 4) {
      const centre = (y + 1) * stride + x + 1;
      const height = heights[centre]!;
      if (Number.isNaN(height)) continue;
      // The terrain continues level beyond the edge of the data.
      const near = (offset: number) => {
        const value = heights[centre + offset]!;
        return Number.isNaN(value) ? height : value;
      };
      const [a, b, c] = [near(-stride - 1), near(-stride), near(-stride + 1)];
      const [d, f] = [near(-1), near(1)];
      const [g, h, i] = [near(stride - 1), near(stride), near(stride + 1)];
      const dx = (c + f + f + i - (a + d + d + g)) * perX;
      const dy = (g + h + h + i - (a + b + b + c)) * perY;
      shade(dx, dy, rgba, at);
    }
  }
  giveBack(heights);
  return rgba;
}

/** One pixel more on each side. */
function grown({ box, crs, width, height }: ImageWindow): ImageWindow {
  const [dx, dy] = [(box[2] - box[0]) / width, (box[3] - box[1]) / height];
  return {
    box: [box[0] - dx, box[1] - dy, box[2] + dx, box[3] + dy],
    crs,
    width: width + 2,
    height: height + 2,
  };
}

type Shade = (dx: number, dy: number, rgba: Uint8Array, at: number) => void;

/** Returns the function that writes the colour of one pixel, not premultiplied. Colours are mixed premultiplied, from 0 to 1. */
function shader({ azimuth, exaggeration, shadow, highlight, accent }: Hillshade): Shade {
  const light = (azimuth * Math.PI) / 180 + Math.PI;
  const base = 1.875 - exaggeration * 1.75;
  const steepest = 0.5 * Math.PI;
  const strength = Math.min(1, exaggeration * 2);
  const [dark, bright, edge] = [premultiplied(shadow), premultiplied(highlight), premultiplied(accent)];
  return (dx, dy, rgba, at) => {
    const slope = Math.atan(1.25 * Math.hypot(dx, dy));
    const aspect = dx === 0 ? (Math.PI / 2) * (dy > 0 ? 1 : -1) : Math.atan2(dy, -dx);
    const scaled = exaggeration === 0.5 ? slope : ((base ** slope - 1) / (base ** steepest - 1)) * steepest;
    const turned = (aspect + light) / Math.PI + 0.5;
    const lit = Math.abs(turned - 2 * Math.floor(turned / 2) - 1);
    const [shading, edging] = [Math.sin(scaled) * strength, (1 - Math.cos(scaled)) * strength];
    const mixed = (channel: 0 | 1 | 2 | 3) =>
      (dark[channel] + (bright[channel] - dark[channel]) * lit) * shading;
    const alpha = mixed(3);
    const value = (channel: 0 | 1 | 2 | 3) => edge[channel] * edging * (1 - alpha) + mixed(channel);
    const opacity = value(3);
    if (opacity <= 0) return;
    rgba[at] = Math.round((255 * value(0)) / opacity);
    rgba[at + 1] = Math.round((255 * value(1)) / opacity);
    rgba[at + 2] = Math.round((255 * value(2)) / opacity);
    rgba[at + 3] = Math.round(255 * Math.min(1, opacity));
  };
}

function premultiplied([r, g, b, a]: Color): [number, number, number, number] {
  const alpha = a / 255;
  return [(r / 255) * alpha, (g / 255) * alpha, (b / 255) * alpha, alpha];
}
