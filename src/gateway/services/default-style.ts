import type { GeometryType, SimpleStyle } from '../../core/tasks.js';

/** Colours that are told apart with the common colour vision deficiencies (Okabe and Ito). */
const PALETTE = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#6a51a3', '#8c6d31'];

/** The same collection always gets the same colour. */
function colourOf(id: string): string {
  let hash = 0;
  for (const char of id) hash = (hash * 31 + char.codePointAt(0)!) >>> 0;
  return PALETTE[hash % PALETTE.length]!;
}

/** A look for a layer that has no style: quiet fills, clear outlines, visible points. */
export function defaultStyle(geometryType: GeometryType, id: string): SimpleStyle {
  const colour = colourOf(id);
  switch (geometryType) {
    case 'Point':
    case 'MultiPoint':
      return { pointColor: colour, pointRadius: 4, stroke: '#ffffff', strokeWidth: 1, strokeOpacity: 0.9 };
    case 'LineString':
    case 'MultiLineString':
      return { stroke: colour, strokeWidth: 1.5, strokeOpacity: 1 };
    default:
      return {
        fill: colour,
        fillOpacity: 0.35,
        stroke: colour,
        strokeWidth: 1,
        strokeOpacity: 0.9,
        pointColor: colour,
        pointRadius: 4,
      };
  }
}
