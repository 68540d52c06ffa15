import { iconMembers, readGraphic } from './graphic.js';
import type { SldContext } from './import/context.js';
import {
  length,
  members,
  Parameters,
  readConstant,
  readParameterValue,
  rounded,
  type SldLayerDraft,
  type Unit,
} from './import/layer-draft.js';
import { asNumber, findChild, type XmlElement } from './import/xml.js';
import type { Expr } from './values.js';

const JOINS: Readonly<Record<string, string>> = {
  mitre: 'miter',
  miter: 'miter',
  round: 'round',
  bevel: 'bevel',
};
const CAPS = new Set(['butt', 'round', 'square']);

/** The drawings of a Stroke: a line, or marks along one. `offset` in units to the left of the line's direction. */
export function strokeDrawings(
  stroke: XmlElement,
  context: SldContext,
  unit: Unit,
  offset?: Expr,
): SldLayerDraft[] {
  const graphic = findChild(stroke, 'GraphicStroke');
  if (graphic) return marksAlong(graphic, context, unit);
  const parameters = new Parameters(stroke, context);
  if (findChild(stroke, 'GraphicFill')) {
    context.report.warn('GraphicFill', 'A line is not filled with graphics: it has one colour.');
  }
  const width = parameters.get('stroke-width', 'number') ?? 1;
  if (width === 0) return [];
  const paint = members({
    'line-color': parameters.get('stroke', 'color') ?? '#000000',
    'line-width': length(width, unit),
    'line-opacity': parameters.get('stroke-opacity', 'number'),
    'line-dasharray': dashes(parameters, width, context),
    // MapLibre counts offsets to the right.
    'line-offset': offset === undefined ? undefined : length(offset, unit, -1),
  });
  return [{ type: 'line', paint, layout: lineLayout(parameters, context) }];
}

function lineLayout(parameters: Parameters, context: SldContext): Record<string, Expr> {
  const join = parameters.constant('stroke-linejoin', 'string');
  const cap = parameters.constant('stroke-linecap', 'string');
  const isJoin = join === undefined || Object.hasOwn(JOINS, join);
  if (!isJoin) context.report.warn('stroke-linejoin', 'There is no such join: corners are mitred.');
  const isCap = cap === undefined || CAPS.has(String(cap));
  if (!isCap) context.report.warn('stroke-linecap', 'There is no such cap: ends are cut.');
  return members({
    'line-join': isJoin && join !== undefined ? JOINS[join] : undefined,
    'line-cap': isCap ? cap : undefined,
  });
}

/** SLD has pixels, MapLibre widths of the line. */
function dashes(parameters: Parameters, width: Expr, context: SldContext): Expr | undefined {
  const text = parameters.constant('stroke-dasharray', 'string');
  if (text === undefined) return undefined;
  const lengths = String(text)
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map(asNumber);
  const usable =
    lengths.length > 0 && lengths.length <= 32 && lengths.every((one) => one !== undefined && one >= 0);
  if (!usable || lengths.every((one) => one === 0)) {
    context.report.warn('stroke-dasharray', 'Dashes are positive lengths: the line is drawn without.');
    return undefined;
  }
  if (parameters.constant('stroke-dashoffset', 'number')) {
    context.report.warn('stroke-dashoffset', 'Dashes begin at the start of the line.');
  }
  // Lengths of an odd number are repeated, so that gaps become dashes the second time.
  const even = lengths.length % 2 === 1 ? [...lengths, ...lengths] : lengths;
  if (typeof width !== 'number') {
    context.report.warn(
      'stroke-dasharray',
      'Dashes are as long as for a width of 1 and grow with the width.',
    );
    return ['literal', even as number[]];
  }
  return even.map((one) => rounded(one! / width));
}

function marksAlong(holder: XmlElement, context: SldContext, unit: Unit): SldLayerDraft[] {
  const graphic = readGraphic(findChild(holder, 'Graphic'), context);
  if (!graphic) return [];
  context.report.warn('GraphicStroke', 'Graphics along a line are symbols of their own at equal distances.');
  const gap = readParameterValue(findChild(holder, 'Gap'), context, 'number') ?? 0;
  const size = typeof graphic.size === 'number' ? graphic.size : 16;
  const spacing = typeof gap === 'number' ? Math.max(1, gap + size) : (['+', gap, size] as Expr);
  if (readConstant(findChild(holder, 'InitialGap'), context, 'number')) {
    context.report.warn('InitialGap', 'The renderer chooses the position of the first graphic.');
  }
  const { paint, layout } = iconMembers(graphic, unit);
  return [
    {
      type: 'symbol',
      paint,
      layout: {
        ...layout,
        'symbol-placement': 'line',
        'symbol-spacing': spacing,
        'icon-rotation-alignment': 'map',
      },
    },
  ];
}
