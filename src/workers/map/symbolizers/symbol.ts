import type { Fonts } from '../fonts.js';
import type { Icons } from '../icons.js';
import type { LayerValues } from '../layer-values.js';
import { iconFile } from './symbol-icon.js';
import { textAttributes, textOf } from './symbol-text.js';
import { element, translation } from './xml.js';

/** A `symbol` layer: an icon, a text, or both in one shield that is placed or left out as a whole. */
export function symbolSymbolizers(values: LayerValues, fonts: Fonts, icons: Icons): string {
  const text = values.has('text-field') ? textOf(values) : undefined;
  if (!values.has('icon-image')) {
    if (text === undefined) return '';
    return element(
      'TextSymbolizer',
      { ...textAttributes(values, fonts), ...placement(values, 'text') },
      text,
    );
  }
  if (text === undefined) return icon(values, icons);
  return element(
    'ShieldSymbolizer',
    {
      file: iconFile(values, icons, 'icon-image'),
      'image-transform': iconTransform(values),
      'unlock-image': 'true',
      ...textAttributes(values, fonts),
      ...placement(values, 'text'),
    },
    text,
  );
}

function icon(values: LayerValues, icons: Icons): string {
  const color = values.has('icon-color') ? values.color('icon-color') : undefined;
  const halo = values.has('icon-halo-width');
  return element('MarkersSymbolizer', {
    file: iconFile(values, icons, 'icon-image'),
    transform: iconTransform(values),
    fill: color,
    opacity: values.number('icon-opacity'),
    ...(halo && {
      stroke: values.color('icon-halo-color'),
      'stroke-width': values.number('icon-halo-width'),
    }),
    'ignore-placement': values.constant<boolean>('icon-ignore-placement') ? 'true' : undefined,
    'geometry-transform': translation(values.constant('icon-translate')),
    'multi-policy': 'each',
    ...placement(values, 'icon'),
  });
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
    // A label of a polygon stands within it.
    placement: along ? 'line' : 'interior',
    ...(along && { spacing }),
    'allow-overlap': allowed ? 'true' : undefined,
    'avoid-edges': values.constant<boolean>('symbol-avoid-edges') ? 'true' : undefined,
  };
}
