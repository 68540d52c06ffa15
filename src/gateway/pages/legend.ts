import type { StyleLayer } from '../../core/style/model.js';
import type { MapGeometry } from './page-data.js';

/** A line of a legend: what is drawn in this colour. */
export interface LegendEntry {
  readonly shape: MapGeometry;
  readonly color: string;
  readonly label: string;
}

const MAX_ENTRIES = 24;
/** Style layers that tell features apart by a colour, and the shape that stands for each. */
const SHAPES: Readonly<Record<string, MapGeometry>> = {
  fill: 'polygon',
  'fill-extrusion': 'polygon',
  line: 'line',
  circle: 'point',
};

/** The classes of a style whose colours hang on the data; empty when it has one colour, or they cannot be listed. */
export function legendEntries(style: readonly StyleLayer[]): LegendEntry[] {
  for (const layer of style) {
    const shape = SHAPES[layer.type];
    const color = (layer.paint as Record<string, unknown> | undefined)?.[`${layer.type}-color`];
    const classes = shape ? classesOf(color) : [];
    if (classes.length > 1)
      return classes.slice(0, MAX_ENTRIES).map(([label, of]) => ({ shape: shape!, color: of, label }));
  }
  return [];
}

type Class = [label: string, color: string];

/** Labels and colours of a `match`, `step` or `interpolate` over data. */
function classesOf(expression: unknown): Class[] {
  if (!Array.isArray(expression)) return [];
  const [operator, ...rest] = expression as [unknown, ...unknown[]];
  const classes = operator === 'match' ? matched(rest) : operator === 'step' ? stepped(rest) : [];
  if (operator === 'interpolate') classes.push(...interpolated(rest));
  return classes.filter(([, color]) => typeof color === 'string');
}

function matched([, ...pairs]: unknown[]): Class[] {
  const classes: Class[] = [];
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const labels = Array.isArray(pairs[i]) ? (pairs[i] as unknown[]) : [pairs[i]];
    classes.push([labels.join(', '), pairs[i + 1] as string]);
  }
  if (pairs.length % 2 === 1) classes.push(['Other', pairs.at(-1) as string]);
  return classes;
}

function stepped([input, first, ...pairs]: unknown[]): Class[] {
  if (isZoom(input)) return [];
  const stops = pairs.filter((_, i) => i % 2 === 0).map(Number);
  const colors = [first, ...pairs.filter((_, i) => i % 2 === 1)] as string[];
  return colors.map((color, i) => {
    if (i === 0) return [`below ${shown(stops[0])}`, color];
    return [
      i === stops.length ? `${shown(stops[i - 1])} and more` : `${shown(stops[i - 1])} to ${shown(stops[i])}`,
      color,
    ];
  });
}

function interpolated([, input, ...pairs]: unknown[]): Class[] {
  if (isZoom(input)) return [];
  const classes: Class[] = [];
  for (let i = 0; i + 1 < pairs.length; i += 2)
    classes.push([shown(Number(pairs[i])), pairs[i + 1] as string]);
  return classes;
}

function isZoom(input: unknown): boolean {
  return Array.isArray(input) && input[0] === 'zoom';
}

function shown(value: number | undefined): string {
  return String(Number((value ?? 0).toPrecision(6)));
}
