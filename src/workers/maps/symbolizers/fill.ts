import type { Icons } from '../icons.js';
import type { LayerValues } from '../layer-values.js';
import { iconFile } from './symbol-icon.js';
import { translation, writeMapnikElement } from './xml.js';

/** A `fill` layer; extrusions are drawn flat, as seen from above. */
export function fillSymbolizers(values: LayerValues, icons: Icons): string {
  const { type } = values.layer;
  const transform = translation(values.constant(`${type}-translate`));
  if (values.has(`${type}-pattern`)) {
    return writeMapnikElement('PolygonPatternSymbolizer', {
      file: iconFile(values, icons, `${type}-pattern`),
      opacity: values.number(`${type}-opacity`),
      'geometry-transform': transform,
    });
  }
  const fill = writeMapnikElement('PolygonSymbolizer', {
    fill: values.color(`${type}-color`),
    'fill-opacity': values.number(`${type}-opacity`),
    'geometry-transform': transform,
  });
  return values.has('fill-outline-color') ? fill + outline(values, transform) : fill;
}

/** Returns an outline that is one pixel wide at any scale. */
function outline(values: LayerValues, transform: string | undefined): string {
  return writeMapnikElement('LineSymbolizer', {
    stroke: values.color('fill-outline-color'),
    'stroke-width': 1,
    'stroke-opacity': values.number('fill-opacity'),
    'geometry-transform': transform,
  });
}
