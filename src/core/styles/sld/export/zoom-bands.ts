import { rounded } from '../import/layer-draft.js';
import type { Expr } from '../values.js';

/**
 * Band of zoom levels. SLD supports values by scale only in separate rules, so zoom expressions become values in
 * bands.
 */

export interface ZoomBand {
  readonly minzoom: number | undefined;
  readonly maxzoom: number | undefined;
  /** The zoom of which the values are taken. */
  readonly at: number;
}

type ZoomExpression = readonly [string, ...Expr[]];

function isOverZoom(value: Expr): value is ZoomExpression {
  if (!Array.isArray(value)) return false;
  const [operator, a, b] = value as readonly Expr[];
  const input = operator === 'step' ? a : operator === 'interpolate' ? b : undefined;
  return Array.isArray(input) && input[0] === 'zoom';
}

/** Stops as pairs; the first of a step has no zoom. */
function listStops(value: ZoomExpression): [number, Expr][] {
  const parts = value[0] === 'step' ? [Number.NEGATIVE_INFINITY, ...value.slice(2)] : value.slice(3);
  const stops: [number, Expr][] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) stops.push([parts[i] as number, parts[i + 1]!]);
  return stops;
}

/** The bands that the values of a layer need; one without bounds where none depends on the zoom. */
export function computeZoomBands(
  values: readonly Expr[],
  minzoom: number | undefined,
  maxzoom: number | undefined,
): ZoomBand[] {
  const [low, high] = [minzoom ?? 0, maxzoom ?? 24];
  const edges = new Set<number>();
  for (const value of values.filter(isOverZoom)) {
    for (const edge of listEdges(value)) if (edge > low && edge < high) edges.add(edge);
  }
  const bounds = [minzoom, ...[...edges].sort((a, b) => a - b), maxzoom];
  return bounds.slice(1).map((end, i) => {
    const [from, to] = [bounds[i] ?? low, end ?? high];
    return { minzoom: bounds[i], maxzoom: end, at: (from + to) / 2 };
  });
}

/** Values that change continuously are sampled at each integer zoom level. */
function listEdges(value: ZoomExpression): number[] {
  const zooms = listStops(value).map(([zoom]) => zoom);
  if (value[0] === 'step') return zooms.filter(Number.isFinite);
  const edges: number[] = [];
  for (let zoom = Math.ceil(Math.max(0, zooms[0]!)); zoom <= Math.min(24, zooms.at(-1)!); zoom++)
    edges.push(zoom);
  return edges;
}

/** Value at a zoom level: numbers are interpolated, other values are those of the last stop. */
export function interpolateAtZoom(value: Expr, zoom: number): Expr {
  if (!isOverZoom(value)) return value;
  const stops = listStops(value);
  const next = stops.findIndex(([at]) => at > zoom);
  if (next === 0) return stops[0]![1];
  const [from, low] = stops.at(next === -1 ? -1 : next - 1)!;
  const [to, high] = next === -1 ? [from, low] : stops[next]!;
  if (value[0] === 'step' || typeof low !== 'number' || typeof high !== 'number' || to === from) return low;
  const curve = value[1] as readonly Expr[];
  const base = curve[0] === 'exponential' ? Number(curve[1]) : 1;
  const part =
    base === 1 ? (zoom - from) / (to - from) : (base ** (zoom - from) - 1) / (base ** (to - from) - 1);
  return rounded(low + (high - low) * part);
}
