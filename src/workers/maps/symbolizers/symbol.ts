import type { Fonts } from '../fonts.js';
import type { IconColors, Icons } from '../icons.js';
import type { LayerValues } from '../layer-values.js';
import { iconFile } from './symbol-icon.js';
import { textAttributes, writeSymbolText } from './symbol-text.js';
import { translation, writeMapnikElement } from './xml.js';

/**
 * Returns the symbolizers of a `symbol` layer: an icon, a text, or both in one shield that is placed or omitted as
 * one unit.
 */
export function symbolSymbolizers(values: LayerValues, fonts: Fonts, icons: Icons): string {
  const text = values.has('text-field') ? writeSymbolText(values) : undefined;
  if (!values.has('icon-image')) {
    if (text === undefined) return '';
    return writeMapnikElement(
      'TextSymbolizer',
      { ...textAttributes(values, fonts), ...placement(values, 'text') },
      text,
    );
  }
  if (text === undefined) return icon(values, icons);
  return writeMapnikElement(
    'ShieldSymbolizer',
    {
      file: iconFile(values, icons, 'icon-image', constantColors(values)),
      'image-transform': iconTransform(values),
      'unlock-image': 'true',
      ...textAttributes(values, fonts),
      ...placement(values, 'text'),
    },
    text,
  );
}

function icon(values: LayerValues, icons: Icons): string {
  const colors = constantColors(values);
  const varies = colors === undefined && values.has('icon-color');
  return writeMapnikElement('MarkersSymbolizer', {
    file: iconFile(values, icons, 'icon-image', colors),
    transform: iconTransform(values),
    fill: varies ? values.color('icon-color') : undefined,
    opacity: values.number('icon-opacity'),
    'ignore-placement': values.constant<boolean>('icon-ignore-placement') ? 'true' : undefined,
    'geometry-transform': translation(values.constant('icon-translate')),
    'multi-policy': 'each',
    ...placement(values, 'icon'),
  });
}

/** Colours that the file of the icon can have; undefined when they depend on the feature. */
function constantColors(values: LayerValues): IconColors | undefined {
  const names = ['icon-color', 'icon-halo-color', 'icon-halo-width'];
  if (!names.every((name) => values.isConstant(name))) return undefined;
  const fill = String(values.constant('icon-color'));
  const width = values.constant<number>('icon-halo-width');
  return { fill, ...(width > 0 && { halo: { color: String(values.constant('icon-halo-color')), width } }) };
}

/** Applied from right to left: size, then the offset in sizes, then the turn. */
function iconTransform(values: LayerValues): string | undefined {
  const parts: string[] = [];
  if (values.has('icon-rotate')) parts.push(`rotate(${values.number('icon-rotate')})`);
  if (values.has('icon-size')) parts.push(`scale(${values.number('icon-size')})`);
  if (values.has('icon-offset')) {
    const at = (axis: 0 | 1) => values.derive<[[number, number]]>(['icon-offset'], (offset) => offset[axis]);
    parts.push(`translate(${at(0)},${at(1)})`);
  }
  return parts.length === 0 ? undefined : parts.join(' ');
}

function placement(values: LayerValues, of: 'text' | 'icon'): Record<string, string | number | undefined> {
  const along = values.constant<string>('symbol-placement') !== 'point';
  const overlap = values.constant<string | undefined>(`${of}-overlap`);
  const allowed = values.constant<boolean>(`${of}-allow-overlap`) || overlap === 'always';
  const spacing = values.constant<number>('symbol-spacing');
  return {
    // The label of a polygon is placed inside it.
    placement: along ? 'line' : 'interior',
    ...(along && { spacing }),
    'allow-overlap': allowed ? 'true' : undefined,
    'avoid-edges': values.place.tiled || values.constant<boolean>('symbol-avoid-edges') ? 'true' : undefined,
  };
}
