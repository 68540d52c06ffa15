import { plainBoxes } from '../../core/box.js';
import { html, type Markup } from '../../core/html.js';
import type { Box } from '../../core/tasks.js';

const MERIDIANS = [-150, -120, -90, -60, -30, 0, 30, 60, 90, 120, 150];
const PARALLELS = [-60, -30, 0, 30, 60];
/** Degrees: a smaller extent would be invisible, so it is marked by a square of this side. */
const LEAST_SIDE = 7;

/** The world's graticule with an extent marked on it, drawn without scripts. Decorative: the text says it too. */
export function extentPicture(box: Box | undefined): Markup {
  const meridians = MERIDIANS.map((x) => `M${x} -90V90`).join('');
  const parallels = PARALLELS.map((y) => `M-180 ${y}H180`).join('');
  return html`<svg class="extent" viewBox="-181 -91 362 182" aria-hidden="true" focusable="false"><rect class="sea" x="-180" y="-90" width="360" height="180"/><path class="grid" d="${meridians}${parallels}"/><path class="equator" d="M-180 0H180M0 -90V90"/>${box ? plainBoxes(box).map(rectangle) : undefined}</svg>`;
}

function rectangle([west, south, east, north]: Box): Markup {
  const [x, width] = widened(west, east);
  const [y, height] = widened(-north, -south);
  return html`<rect class="here" x="${fixed(x)}" y="${fixed(y)}" width="${fixed(width)}" height="${fixed(height)}"/>`;
}

function widened(from: number, to: number): [start: number, length: number] {
  const length = to - from;
  return length >= LEAST_SIDE ? [from, length] : [(from + to - LEAST_SIDE) / 2, LEAST_SIDE];
}

function fixed(value: number): string {
  return String(Math.round(value * 100) / 100);
}
