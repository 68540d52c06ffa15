import type { Icons } from '../icons.js';
import type { LayerValues } from '../layer-values.js';
import { iconFile } from './symbol-icon.js';
import { translation, writeMapnikElement } from './xml.js';

/** Returns the symbolizers of a `line` layer. With a gap there are two lines, one on each side of it. */
export function lineSymbolizers(values: LayerValues, icons: Icons): string {
  if (!values.has('line-gap-width')) return strokes(values, icons, 1, false);
  return strokes(values, icons, 1, true) + strokes(values, icons, -1, true);
}

function strokes(values: LayerValues, icons: Icons, side: 1 | -1, gap: boolean): string {
  const common = {
    offset: offset(values, side, gap),
    'geometry-transform': translation(values.constant('line-translate')),
  };
  if (values.has('line-pattern')) {
    const file = iconFile(values, icons, 'line-pattern');
    return writeMapnikElement('LinePatternSymbolizer', {
      file,
      opacity: values.number('line-opacity'),
      ...common,
    });
  }
  return writeMapnikElement('LineSymbolizer', {
    stroke: values.color('line-color'),
    'stroke-width': values.number('line-width'),
    'stroke-opacity': values.number('line-opacity'),
    'stroke-linecap': values.constant<string>('line-cap'),
    'stroke-linejoin': join(values),
    'stroke-miterlimit': values.constant<number>('line-miter-limit'),
    'stroke-dasharray': dashes(values),
    ...common,
  });
}

/** Maximum width in canvas pixels at which line joins are not visible. */
const HAIRLINE = 1;

/**
 * Returns the line join. Round joins are most of the cost of a line, so hairlines get beveled joins. Mapnik's fast
 * line rasteriser would save another third, but omits pieces shorter than 1.5 pixels, so roads in pieces would
 * vanish.
 */
function join(values: LayerValues): string {
  const join = values.constant<string>('line-join');
  if (join !== 'round' || !values.isConstant('line-width')) return join;
  return values.constant<number>('line-width') * values.place.scale <= HAIRLINE ? 'bevel' : join;
}

/** Pixels to the right of the line's direction. */
function offset(values: LayerValues, side: 1 | -1, gap: boolean): string | undefined {
  if (!gap) return values.has('line-offset') ? values.number('line-offset') : undefined;
  const names = ['line-offset', 'line-gap-width', 'line-width'];
  return values.derive<[number, number, number]>(
    names,
    (shift, width, line) => shift + (side * (width + line)) / 2,
  );
}

/** MapLibre counts dashes in line widths, Mapnik in pixels. */
function dashes(values: LayerValues): string | undefined {
  if (!values.has('line-dasharray')) return undefined;
  const lengths = values.constant<number[] | undefined>('line-dasharray');
  if (!lengths || lengths.length === 0) return undefined;
  // If the width of a line depends on the feature, its pattern is the pattern of a line with a width of one pixel.
  const width = values.isConstant('line-width') ? values.constant<number>('line-width') : 1;
  const even = lengths.length % 2 === 0 ? lengths : [...lengths, ...lengths];
  return even.map((length) => Math.max(length * width, 0.01)).join(',');
}
