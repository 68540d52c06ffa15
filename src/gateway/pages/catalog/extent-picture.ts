import type { Box } from '../../../core/geometry/box.js';
import { plainBoxes } from '../../../core/geometry/box.js';
import { html, type Markup } from '../../../core/values/html.js';
import { assetUrl } from '../layout.js';

/** Minimum width in degrees, because the coastlines have a small scale. */
const MIN_WIDTH = 48;
/** Fraction of the picture's width or height that an extent fills. */
const SHARE = 0.4;
/** Height divided by width. */
const RATIO = 0.5;
/** Minimum width of a marker that stays visible, as a fraction of the picture's width. */
const MIN_SIDE = 0.035;

/**
 * Draws the region around an extent and marks the extent, without scripts. The picture is decorative, because the
 * text also gives the extent.
 */
export function extentPicture(box: Box | undefined, baseUrl: string): Markup {
  const boxes = box ? plainBoxes(box) : [];
  const [x, y, width] = buildWindow(boxes);
  const view = [x, y, width, width * RATIO].map(fixed).join(' ');
  const least = width * MIN_SIDE;
  return html`<svg class="extent" viewBox="${view}" preserveAspectRatio="xMidYMid slice" aria-hidden="true" focusable="false"><image href="${assetUrl(baseUrl, 'world.svg')}" x="-180" y="-90" width="360" height="180"/>${boxes.map((one) => rectangle(one, least))}</svg>`;
}

/** Left, top and width of the visible region, y downwards. */
function buildWindow(boxes: readonly Box[]): [x: number, y: number, width: number] {
  const [box] = boxes;
  if (!box || boxes.length > 1) return [-180, -90, 360];
  const [west, south, east, north] = box;
  const width = Math.min(360, Math.max(MIN_WIDTH, (east - west) / SHARE, (north - south) / SHARE / RATIO));
  const within = (middle: number, side: number, limit: number) =>
    Math.min(limit - side, Math.max(-limit, middle - side / 2));
  const x = within((west + east) / 2, width, 180);
  const y = within(-(south + north) / 2, width * RATIO, 90);
  return [x, y, width];
}

function rectangle([west, south, east, north]: Box, least: number): Markup {
  const [x, width] = widened(west, east, least);
  const [y, height] = widened(-north, -south, least);
  return html`<rect class="here" x="${fixed(x)}" y="${fixed(y)}" width="${fixed(width)}" height="${fixed(height)}"/>`;
}

function widened(from: number, to: number, least: number): [start: number, length: number] {
  const length = to - from;
  return length >= least ? [from, length] : [(from + to - least) / 2, least];
}

function fixed(value: number): string {
  return String(Math.round(value * 100) / 100);
}
