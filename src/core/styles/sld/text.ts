import { unknownFont } from '../fonts.js';
import { withOpacity } from './color.js';
import { readAnchor, readDisplacement } from './graphic.js';
import type { SldContext } from './import/context.js';
import {
  length,
  members,
  Parameters,
  readConstant,
  readParameterValue,
  readSymbolizerUnit,
  rounded,
  type SldLayerDraft,
  times,
  type Unit,
} from './import/layer-draft.js';
import { all, asNumber, findChild, readTextContent, type XmlElement } from './import/xml.js';
import { shortenName } from './report.js';
import type { Expr } from './values.js';

/** Fallback font family. */
export const FONT_FAMILY = 'Noto Sans';

export function textDrawings(symbolizer: XmlElement, context: SldContext): SldLayerDraft[] {
  const unit = readSymbolizerUnit(symbolizer, context);
  const label = findChild(symbolizer, 'Label');
  const text = readParameterValue(label, context, 'string');
  if (text === undefined) {
    context.report.error('Label', 'There is no label that can be drawn.');
    return [];
  }
  if (findChild(symbolizer, 'Graphic'))
    context.report.warn('Graphic', 'The graphic behind the label is not drawn.');
  const font = new Parameters(findChild(symbolizer, 'Font'), context);
  const size = font.get('font-size', 'number') ?? 10;
  const options = readOptions(symbolizer);
  const layout = {
    'text-field': plain(text),
    'text-font': buildFont(font, context),
    'text-size': length(size, unit) ?? size,
    ...readPlacement(symbolizer, size, options, context),
    ...optionMembers(options, size, unit, context),
    ...readPriority(symbolizer, context),
  };
  return [{ type: 'symbol', paint: textPaint(symbolizer, context, unit), layout }];
}

/** Braces in a constant text would name attributes. */
function plain(text: Expr): Expr {
  return typeof text === 'string' && text.includes('{') ? ['concat', text] : text;
}

function buildFont(font: Parameters, context: SldContext): Expr {
  const family = String(font.constant('font-family', 'string') ?? FONT_FAMILY);
  const isFont = unknownFont([`${family} Regular`]) === undefined;
  if (!isFont) context.report.warn('font-family', `${shortenName(family)} is drawn as ${FONT_FAMILY}.`);
  const weight = String(font.constant('font-weight', 'string') ?? 'normal');
  const style = String(font.constant('font-style', 'string') ?? 'normal');
  const bold = /bold/i.test(weight) || (asNumber(weight) ?? 400) >= 600 || /\bbold/i.test(family);
  const italic = /italic|oblique/i.test(style);
  const face = [bold ? 'Bold' : '', italic ? 'Italic' : ''].filter((part) => part !== '').join(' ');
  const name = `${isFont ? family : FONT_FAMILY} ${face || 'Regular'}`;
  return [unknownFont([name]) === undefined ? name : `${FONT_FAMILY} ${face || 'Regular'}`];
}

function textPaint(symbolizer: XmlElement, context: SldContext, unit: Unit): Record<string, Expr> {
  const fill = new Parameters(findChild(symbolizer, 'Fill'), context);
  const halo = findChild(symbolizer, 'Halo');
  const haloFill = new Parameters(findChild(halo, 'Fill'), context);
  const opacity = haloFill.get('fill-opacity', 'number');
  const color = haloFill.get('fill', 'color') ?? '#ffffff';
  const translucent =
    typeof color === 'string' && typeof opacity === 'number' ? withOpacity(color, opacity) : color;
  return members({
    'text-color': fill.get('fill', 'color') ?? '#000000',
    'text-opacity': fill.get('fill-opacity', 'number'),
    'text-halo-color': halo ? translucent : undefined,
    'text-halo-width': halo
      ? length(readParameterValue(findChild(halo, 'Radius'), context, 'number') ?? 1, unit)
      : undefined,
  });
}

/** Vendor options of GeoServer by lower case name. */
function readOptions(symbolizer: XmlElement): ReadonlyMap<string, string> {
  return new Map(
    all(symbolizer, 'VendorOption').map((one) => [
      (one.attributes['name'] ?? '').toLowerCase(),
      readTextContent(one) ?? '',
    ]),
  );
}

function readPlacement(
  symbolizer: XmlElement,
  size: Expr,
  options: ReadonlyMap<string, string>,
  context: SldContext,
): Record<string, Expr> {
  const placement = findChild(symbolizer, 'LabelPlacement');
  const along = findChild(placement, 'LinePlacement');
  if (along || options.get('followline') === 'true') return linePlacement(along, size, options, context);
  const point = findChild(placement, 'PointPlacement');
  const anchor = readAnchor(findChild(point, 'AnchorPoint'), context);
  const moved = readDisplacement(findChild(point, 'Displacement'), context);
  const em = computeEm(size, context, moved !== undefined);
  const free = asNumber(options.get('maxdisplacement')) ?? 0;
  const rotation = readParameterValue(findChild(point, 'Rotation'), context, 'number');
  // The default position of a label is right of a point, and in the middle of other geometries.
  const usual = pointsOnly(context) && point ? 'left' : 'center';
  const offset = moved && { 'text-offset': [rounded(moved[0] / em), rounded(-moved[1] / em)] };
  if (free > 0)
    return { ...variable(anchor ?? usual, rounded(free / 2 / em)), ...members({ 'text-rotate': rotation }) };
  return members({ 'text-anchor': anchor ?? usual, ...offset, 'text-rotate': rotation });
}

function pointsOnly({ target: { geometryType } }: SldContext): boolean {
  return geometryType === 'Point' || geometryType === 'MultiPoint';
}

function variable(first: string, radius: number): Record<string, Expr> {
  const anchors = [...new Set([first, 'left', 'right', 'top', 'bottom'])];
  return { 'text-variable-anchor': anchors, 'text-radial-offset': radius };
}

/** Pixels of an em; MapLibre moves labels by ems. */
function computeEm(size: Expr, context: SldContext, matters: boolean): number {
  if (typeof size === 'number' && size > 0) return size;
  if (matters) context.report.warn('Displacement', 'Labels are moved as for a font size of 10.');
  return 10;
}

function linePlacement(
  along: XmlElement | undefined,
  size: Expr,
  options: ReadonlyMap<string, string>,
  context: SldContext,
): Record<string, Expr> {
  const repeat = asNumber(options.get('repeat')) ?? 0;
  const gap = readConstant(findChild(along, 'Gap'), context, 'number');
  const repeated = repeat > 0 || readTextContent(findChild(along, 'IsRepeated')) === 'true';
  const spacing = repeat > 0 ? repeat : typeof gap === 'number' && gap > 0 ? gap : undefined;
  const offset = readConstant(findChild(along, 'PerpendicularOffset'), context, 'number');
  const em = computeEm(size, context, offset !== undefined);
  const aligned = readTextContent(findChild(along, 'IsAligned')) !== 'false';
  return members({
    'symbol-placement': repeated ? 'line' : 'line-center',
    'symbol-spacing': repeated ? spacing : undefined,
    'text-offset': typeof offset === 'number' && offset !== 0 ? [0, rounded(-offset / em)] : undefined,
    'text-rotation-alignment': aligned ? undefined : 'viewport',
  });
}

const KNOWN_OPTIONS = new Set([
  'followline',
  'repeat',
  'maxdisplacement',
  'spacearound',
  'autowrap',
  'conflictresolution',
  'maxangledelta',
  'partials',
]);

function optionMembers(
  options: ReadonlyMap<string, string>,
  size: Expr,
  unit: Unit,
  context: SldContext,
): Record<string, Expr> {
  for (const name of options.keys()) {
    if (!KNOWN_OPTIONS.has(name))
      context.report.warn('VendorOption', `The option ${name.slice(0, 40)} has no counterpart.`);
  }
  const [wrap, space, bend] = ['autowrap', 'spacearound', 'maxangledelta'].map((name) =>
    asNumber(options.get(name)),
  );
  const overlaps = options.get('conflictresolution') === 'false';
  const em = computeEm(size, context, false);
  return members({
    'text-max-width': wrap !== undefined && wrap > 0 ? rounded(wrap / em) : undefined,
    'text-padding': space !== undefined && space >= 0 ? length(space, unit) : undefined,
    'text-max-angle': bend !== undefined && bend > 0 ? bend : undefined,
    'text-allow-overlap': overlaps ? true : undefined,
    'text-ignore-placement': overlaps ? true : undefined,
  });
}

/** The highest priority of GeoServer is the first to be placed. */
function readPriority(symbolizer: XmlElement, context: SldContext): Record<string, Expr> {
  const priority = readParameterValue(findChild(symbolizer, 'Priority'), context, 'number');
  return priority === undefined ? {} : { 'symbol-sort-key': times(priority, -1) };
}
