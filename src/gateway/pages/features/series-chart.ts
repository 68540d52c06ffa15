import { html, type Markup } from '../../../core/values/html.js';
import { formatNumber } from './statistics.js';

export interface SeriesPoint {
  /** RFC 3339. */
  readonly time: string;
  /** Null without data: the line has a gap. */
  readonly value: number | null;
}

const WIDTH = 480;
const HEIGHT = 120;
/** Room for points at the edges. */
const MARGIN = 4;

/** A line chart over time. A table next to it contains its numbers. */
export function seriesChart(name: string, points: readonly SeriesPoint[]): Markup {
  const values = points.flatMap(({ value }) => value ?? []);
  if (values.length === 0) return html`<p class="muted">No data.</p>`;
  const [least, greatest] = [
    values.reduce((a, b) => Math.min(a, b)),
    values.reduce((a, b) => Math.max(a, b)),
  ];
  const instants = points.map(({ time }) => Date.parse(time));
  const [begin, end] = [instants[0]!, instants.at(-1)!];
  const x = (i: number) =>
    end === begin ? WIDTH / 2 : MARGIN + ((instants[i]! - begin) / (end - begin)) * (WIDTH - 2 * MARGIN);
  const y = (value: number) =>
    greatest === least
      ? HEIGHT / 2
      : HEIGHT - MARGIN - ((value - least) / (greatest - least)) * (HEIGHT - 2 * MARGIN);
  let path = '';
  let marks = '';
  points.forEach(({ value }, i) => {
    if (value === null) return;
    const at = `${round(x(i))} ${round(y(value))}`;
    path += `${(points[i - 1]?.value ?? null) === null ? 'M' : 'L'}${at}`;
    marks += `M${at}h0`;
  });
  const missing = points.length - values.length;
  const label = `${name} from ${points[0]!.time} to ${points.at(-1)!.time}: ${formatNumber(least, 6)} to ${formatNumber(greatest, 6)}${missing === 0 ? '' : `, without data at ${missing} of ${points.length} times`}`;
  return html`<div class="chart"><p class="chart-ends" aria-hidden="true"><span>${formatNumber(least, 6)} to ${formatNumber(greatest, 6)}</span></p><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}"><path class="series-line" d="${path}"/><path class="series-marks" d="${marks}"/><path class="chart-base" d="M0 ${HEIGHT}H${WIDTH}"/></svg><p class="chart-ends" aria-hidden="true"><span>${day(points[0]!.time)}</span><span>${day(points.at(-1)!.time)}</span></p></div>`;
}

const round = (value: number) => Math.round(value * 100) / 100;

const day = (time: string) => time.slice(0, time.indexOf('T'));
