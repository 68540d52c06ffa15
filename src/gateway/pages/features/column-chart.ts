import { html, type Markup } from '../../../core/values/html.js';

/** One column. */
export interface Bar {
  /** Shown when the pointer rests on it. */
  readonly label: string;
  readonly value: number;
  /** Data for the script. */
  readonly data: string;
}

export interface ColumnChart {
  /** Text of the picture for screen readers. */
  readonly label: string;
  readonly bars: readonly Bar[];
  /** Below the first and the last column. */
  readonly first: string;
  readonly last: string;
}

const WIDTH = 480;
const HEIGHT = 120;
/** Minimum height, so that a small count next to large ones stays visible. */
const LEAST = 2;

/** A column chart. A table next to it contains its numbers. */
export function columnChart({ label, bars, first, last }: ColumnChart): Markup {
  const greatest = Math.max(1, ...bars.map(({ value }) => value));
  const step = WIDTH / bars.length;
  const gap = Math.min(2, step / 8);
  const columns = bars.map(({ label: title, value, data }, i) => {
    const height = value === 0 ? 0 : Math.max(LEAST, (value / greatest) * HEIGHT);
    const x = round(i * step + gap / 2);
    const width = round(step - gap);
    return html`<g class="bar" data-clause="${data}"><title>${title}</title><rect class="bar-room" x="${x}" y="0" width="${width}" height="${HEIGHT}"/><rect class="bar-value" x="${x}" y="${round(HEIGHT - height)}" width="${width}" height="${round(height)}"/></g>`;
  });
  const ends =
    bars.length > 1
      ? html`<p class="chart-ends" aria-hidden="true"><span><bdi>${first}</bdi></span><span><bdi>${last}</bdi></span></p>`
      : undefined;
  return html`<div class="chart"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">${columns}<path class="chart-base" d="M0 ${HEIGHT}H${WIDTH}"/></svg>${ends}</div>`;
}

const round = (value: number) => Math.round(value * 100) / 100;
