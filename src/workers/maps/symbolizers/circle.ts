import type { LayerValues } from '../layer-values.js';
import { translation, writeMapnikElement } from './xml.js';

/** Returns the symbolizers of a `circle` layer. MapLibre draws the stroke outside the radius, Mapnik on the edge. */
export function circleSymbolizers(values: LayerValues): string {
  const diameter = values.derive<[number, number]>(
    ['circle-radius', 'circle-stroke-width'],
    (radius, stroke) => 2 * radius + stroke,
  );
  return writeMapnikElement('MarkersSymbolizer', {
    'marker-type': 'ellipse',
    width: diameter,
    height: diameter,
    fill: values.color('circle-color'),
    'fill-opacity': values.number('circle-opacity'),
    stroke: values.color('circle-stroke-color'),
    'stroke-width': values.number('circle-stroke-width'),
    'stroke-opacity': values.number('circle-stroke-opacity'),
    'geometry-transform': translation(values.constant('circle-translate')),
    'allow-overlap': 'true',
    'ignore-placement': 'true',
    'multi-policy': 'each',
  });
}
