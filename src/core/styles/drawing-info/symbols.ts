import { hexColor } from '../hex-color.js';
import { computeImageHash, ICON_PIXELS, MARK_PIXELS } from '../sld/graphic.js';
import { members, rounded, type SldLayerDraft } from '../sld/import/layer-draft.js';
import type { Expr } from '../sld/values.js';
import { type Json, readJsonNumber, readJsonString, record } from './json.js';
import type { DrawingReport } from './report.js';

/** Esri measures in points. */
const PIXELS_PER_POINT = 96 / 72;

export function pixels(points: unknown, usual: number): number {
  return rounded((readJsonNumber(points) ?? usual) * PIXELS_PER_POINT);
}

/** `[red, green, blue, opacity]`, all 0 to 255, faded; undefined when there is no colour at all. */
export function cssColor(color: unknown, opacity = 1): string | undefined {
  if (!Array.isArray(color) || color.length < 3) return undefined;
  const [red, green, blue, alpha = 255] = color.map((part) =>
    Math.min(255, Math.max(0, readJsonNumber(part) ?? 0)),
  );
  const visibility = (alpha! / 255) * opacity;
  const bytes = [red!, green!, blue!].map(Math.round);
  if (visibility >= 1) return hexColor(bytes);
  return `rgba(${bytes.join(',')},${rounded(Number(visibility.toFixed(4)))})`;
}

/** Lengths of dashes in widths of the line. */
const DASHES: Readonly<Record<string, readonly number[]>> = {
  esriSLSDash: [4, 3],
  esriSLSDot: [1, 3],
  esriSLSDashDot: [4, 3, 1, 3],
  esriSLSDashDotDot: [4, 3, 1, 3, 1, 3],
  esriSLSShortDash: [4, 1],
  esriSLSShortDot: [1, 1],
  esriSLSShortDashDot: [4, 1, 1, 1],
  esriSLSShortDashDotDot: [4, 1, 1, 1, 1, 1],
  esriSLSLongDash: [8, 3],
  esriSLSLongDashDot: [8, 3, 1, 3],
};

const MARKS: Readonly<Record<string, string>> = {
  esriSMSSquare: 'square',
  esriSMSCross: 'cross',
  esriSMSX: 'x',
  esriSMSDiamond: 'diamond',
  esriSMSTriangle: 'triangle',
};

/** Style layers that draw a symbol, bottom layer first. An unknown type gives no layer, and a finding. */
export function readSymbolDrawings(symbol: unknown, opacity: number, report: DrawingReport): SldLayerDraft[] {
  const of = record(symbol);
  const type = readJsonString(of?.['type']);
  switch (type) {
    case 'esriSFS':
      return areaDrawings(of!, opacity, report);
    case 'esriSLS':
      return lineDrawings(of!, opacity);
    case 'esriSMS':
      return [markDrawing(of!, opacity)];
    case 'esriPMS':
      return pictureDrawings(of!, opacity, report);
    case undefined:
      report.add('RENDERER_PAYLOAD_INCOMPLETE', 'symbol', 'Give each class a symbol with a type.');
      return [];
    default:
      report.add('SYMBOL_TYPE_UNSUPPORTED', type, 'Use esriSFS, esriSLS, esriSMS, esriPMS or esriTS.');
      return [];
  }
}

function areaDrawings(symbol: Json, opacity: number, report: DrawingReport): SldLayerDraft[] {
  const style = readJsonString(symbol['style']) ?? 'esriSFSSolid';
  const solid = style === 'esriSFSSolid';
  if (!solid && style !== 'esriSFSNull') {
    report.add('SYMBOL_TYPE_UNSUPPORTED', `esriSFS ${style}`, 'Patterns are drawn as a lighter fill.');
  }
  const color =
    style === 'esriSFSNull' ? undefined : cssColor(symbol['color'], solid ? opacity : opacity * 0.3);
  const outline = record(symbol['outline']);
  const fill: SldLayerDraft[] = color === undefined ? [] : [{ type: 'fill', paint: { 'fill-color': color } }];
  return [...fill, ...(outline ? lineDrawings(outline, opacity) : [])];
}

function lineDrawings(symbol: Json, opacity: number): SldLayerDraft[] {
  const style = readJsonString(symbol['style']) ?? 'esriSLSSolid';
  const color = cssColor(symbol['color'], opacity);
  const width = pixels(symbol['width'], 1);
  if (style === 'esriSLSNull' || color === undefined || width <= 0) return [];
  const dashes = Object.hasOwn(DASHES, style) ? DASHES[style] : undefined;
  const paint = members({ 'line-color': color, 'line-width': width, 'line-dasharray': dashes });
  const [cap, join] = [WORDS.get(String(symbol['cap'])), WORDS.get(String(symbol['join']))];
  return [{ type: 'line', paint, layout: members({ 'line-cap': cap, 'line-join': join }) }];
}

const WORDS = new Map([
  ['esriLCSRound', 'round'],
  ['esriLCSButt', 'butt'],
  ['esriLCSSquare', 'square'],
  ['esriLJSRound', 'round'],
  ['esriLJSMiter', 'miter'],
  ['esriLJSBevel', 'bevel'],
]);

/** Moves to the right and up, in points; MapLibre counts down. */
function translation(symbol: Json): Expr | undefined {
  const [x, y] = [pixels(symbol['xoffset'], 0), pixels(symbol['yoffset'], 0)];
  return x === 0 && y === 0 ? undefined : [x, -y];
}

function markDrawing(symbol: Json, opacity: number): SldLayerDraft {
  const outline = record(symbol['outline']);
  const stroke = outline && cssColor(outline['color'], opacity);
  const width = outline && pixels(outline['width'], 1);
  const fill = cssColor(symbol['color'], opacity) ?? 'rgba(0,0,0,0)';
  const size = pixels(symbol['size'], 8);
  const style = readJsonString(symbol['style']) ?? 'esriSMSCircle';
  const mark = Object.hasOwn(MARKS, style) ? MARKS[style] : undefined;
  if (mark === undefined) {
    const paint = members({
      'circle-color': fill,
      'circle-radius': rounded(size / 2),
      'circle-stroke-color': stroke,
      'circle-stroke-width': stroke === undefined ? undefined : width,
      'circle-translate': translation(symbol),
    });
    return { type: 'circle', paint };
  }
  const paint = members({
    // Crosses are lines: only their outline has a colour.
    'icon-color': mark === 'cross' || mark === 'x' ? (stroke ?? fill) : fill,
    'icon-halo-color': stroke,
    'icon-halo-width': stroke === undefined ? undefined : width,
    'icon-translate': translation(symbol),
  });
  return { type: 'symbol', paint, layout: iconLayout(`mark-${mark}`, size / MARK_PIXELS, symbol) };
}

/** Angles of Esri run against the clock. */
function iconLayout(image: string, size: number, symbol: Json): Record<string, Expr> {
  const angle = readJsonNumber(symbol['angle']) ?? 0;
  return members({
    'icon-image': image,
    'icon-size': rounded(size),
    'icon-rotate': angle === 0 ? undefined : -angle,
    'icon-allow-overlap': true,
    'icon-ignore-placement': true,
  });
}

function pictureDrawings(symbol: Json, opacity: number, report: DrawingReport): SldLayerDraft[] {
  const data = readJsonString(symbol['imageData']);
  const type = readJsonString(symbol['contentType']) ?? 'image/png';
  if (data === undefined || !/^image\/[\w.+-]{1,40}$/.test(type) || !/^[A-Za-z0-9+/=\s]+$/.test(data)) {
    report.add('PICTURE_MARKER_PARTIAL', 'esriPMS', 'Pictures are drawn when they are in imageData.');
    return [];
  }
  report.add(
    'PICTURE_MARKER_PARTIAL',
    'esriPMS',
    'Pictures are kept with the style, but not drawn by this server.',
  );
  const uri = `data:${type};base64,${data.replace(/\s+/g, '')}`;
  const name = `image-${computeImageHash(uri)}`;
  const [width, height] = [pixels(symbol['width'], 12), pixels(symbol['height'], 12)];
  if (width !== height) {
    report.add('PICTURE_MARKER_PARTIAL', 'esriPMS', 'Pictures keep their proportions: the height counts.');
  }
  return [
    {
      type: 'symbol',
      paint: members({
        'icon-opacity': opacity === 1 ? undefined : opacity,
        'icon-translate': translation(symbol),
      }),
      layout: iconLayout(name, height / ICON_PIXELS, symbol),
      metadata: { 'graticule:images': { [name]: uri } },
    },
  ];
}
