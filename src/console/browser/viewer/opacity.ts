/** Paint properties that make the layers of a type transparent. */
export const OPACITY_PROPERTIES: Readonly<Record<string, readonly string[]>> = {
  fill: ['fill-opacity'],
  line: ['line-opacity'],
  circle: ['circle-opacity', 'circle-stroke-opacity'],
  symbol: ['icon-opacity', 'text-opacity'],
  raster: ['raster-opacity'],
  heatmap: ['heatmap-opacity'],
  'fill-extrusion': ['fill-extrusion-opacity'],
  'color-relief': ['color-relief-opacity'],
};

/**
 * Multiplies an opacity of a style by a factor. `zoom` is only allowed at the top of an expression, so expressions
 * that interpolate or step by zoom are scaled at their stops.
 */
export function scaledOpacity(value: unknown, share: number): unknown {
  if (share === 1) return value;
  if (value === undefined || value === null) return share;
  if (typeof value === 'number') return value * share;
  if (!Array.isArray(value)) return scaledFunction(value as { stops?: [unknown, unknown][] }, share);
  const [operator] = value as unknown[];
  // ['interpolate', type, input, stop, output, ...] and ['step', input, output, stop, output, ...]
  if (operator === 'interpolate')
    return value.map((part, i) => (i >= 4 && i % 2 === 0 ? scaledOpacity(part, share) : part));
  if (operator === 'step')
    return value.map((part, i) => (i >= 2 && i % 2 === 0 ? scaledOpacity(part, share) : part));
  return ['*', share, value];
}

function scaledFunction(value: { stops?: [unknown, unknown][] }, share: number): unknown {
  if (!value.stops) return value;
  return { ...value, stops: value.stops.map(([stop, output]) => [stop, scaledOpacity(output, share)]) };
}
