import { xmlEscaped } from '../../../core/values/xml-text.js';
import type { Fonts } from '../fonts.js';
import type { LayerValues } from '../layer-values.js';
import { withTokens } from './tokens.js';

/** Ems above and below the letters of a line, about. */
const LINE_SPACE = 0.13;

type Attributes = Record<string, string | number | undefined>;

/** Returns the text expression for Mapnik: it refers to the attribute that contains the finished text. */
export function writeSymbolText(values: LayerValues): string {
  const transform = values.constant<string>('text-transform');
  const transformText = (text: unknown) => transformed(String(text ?? ''), transform);
  const tokens = withTokens(values, 'text-field');
  if (tokens) return `[${values.attribute((feature) => transformText(tokens(feature)))}]`;
  const text = values.derive(['text-field'], transformText);
  return values.isConstant('text-field') ? xmlEscaped(`'${text.replace(/['\\]/g, '\\$&')}'`) : text;
}

function transformed(text: string, transform: string): string {
  if (transform === 'uppercase') return text.toLocaleUpperCase('und');
  return transform === 'lowercase' ? text.toLocaleLowerCase('und') : text;
}

export function textAttributes(values: LayerValues, fonts: Fonts): Attributes {
  const along = values.constant<string>('symbol-placement') !== 'point';
  const opacity = values.number('text-opacity');
  const inEms = (name: string) =>
    values.derive<[number, number]>([name, 'text-size'], (ems, size) => ems * size);
  return {
    'fontset-name': fonts.fontSet(values.constant('text-font')),
    size: values.number('text-size'),
    fill: values.color('text-color'),
    opacity,
    ...(values.has('text-halo-width') && {
      'halo-radius': values.number('text-halo-width'),
      'halo-fill': values.color('text-halo-color'),
      'halo-opacity': opacity,
      'halo-rasterizer': 'full',
    }),
    'character-spacing': values.has('text-letter-spacing') ? inEms('text-letter-spacing') : undefined,
    'line-spacing': values.derive<[number, number]>(
      ['text-line-height', 'text-size'],
      (height, size) => (height - 1.2) * size,
    ),
    // MapLibre keeps lines of text apart by their height, Mapnik by their letters.
    margin: values.constant<number>('text-padding') + LINE_SPACE * values.constant<number>('text-size'),
    ...(along ? alongLine(values) : atPoint(values, inEms)),
  };
}

function alongLine(values: LayerValues): Attributes {
  return {
    'max-char-angle-delta': values.constant<number>('text-max-angle'),
    upright: values.constant<boolean>('text-keep-upright') ? 'auto' : 'left-only',
    // Same as in MapLibre: the distance of repeated text is half the spacing or more.
    'repeat-distance': values.constant<number>('symbol-spacing') / 2,
    dy: values.has('text-offset') ? offset(values, 1) : undefined,
  };
}

/** Position of Mapnik's text relative to the point, for each anchor. */
const ACROSS: Record<string, string> = { left: 'right', right: 'left' };
const ALONG: Record<string, string> = { top: 'bottom', bottom: 'top' };
const COMPASS: Record<string, string> = {
  center: 'X',
  top: 'S',
  bottom: 'N',
  left: 'E',
  right: 'W',
  'top-left': 'SE',
  'top-right': 'SW',
  'bottom-left': 'NE',
  'bottom-right': 'NW',
};

function atPoint(values: LayerValues, inEms: (name: string) => string): Attributes {
  const anchor = values.constant<string>('text-anchor');
  const [first, second = first] = anchor.split('-') as [string, string?];
  const justify = values.constant<string>('text-justify');
  const variable = values.has('text-variable-anchor')
    ? values.constant<string[]>('text-variable-anchor')
    : undefined;
  return {
    'horizontal-alignment': ACROSS[second] ?? 'middle',
    'vertical-alignment': ALONG[first] ?? 'middle',
    'justify-alignment': justify === 'auto' || justify === 'center' ? 'middle' : justify,
    ...(variable && {
      'placement-type': 'simple',
      placements: variable.map((each) => COMPASS[each]).join(','),
    }),
    dx: offset(values, 0),
    dy: below(values, SHIFT[first] ?? 0),
    'wrap-width': inEms('text-max-width'),
    orientation: values.has('text-rotate') ? values.number('text-rotate') : undefined,
  };
}

/** MapLibre aligns the line of text, Mapnik its letters. */
const SHIFT: Record<string, number> = { top: LINE_SPACE, bottom: -LINE_SPACE };

/** Returns the pixels by which the text is below its point. */
function below(values: LayerValues, shift: number): string {
  return values.derive<[[number, number], number, number]>(
    ['text-offset', 'text-radial-offset', 'text-size'],
    (ems, radial, size) => {
      const distance = radial ? radial * Math.sign(shift) : ems[1];
      return (distance + shift) * size;
    },
  );
}

function offset(values: LayerValues, axis: 0 | 1): string | undefined {
  if (!values.has('text-offset')) return undefined;
  return values.derive<[[number, number], number]>(
    ['text-offset', 'text-size'],
    (ems, size) => ems[axis] * size,
  );
}
