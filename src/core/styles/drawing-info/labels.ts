import type { StyleLayer } from '../model.js';
import type { SldContext } from '../sld/import/context.js';
import { members, rounded } from '../sld/import/layer-draft.js';
import { FONT_FAMILY } from '../sld/text.js';
import type { Expr } from '../sld/values.js';
import { scaleToZoom } from '../zoom.js';
import { type Json, readJsonNumber, readJsonString, record, records } from './json.js';
import type { DrawingReport } from './report.js';
import { cssColor, pixels } from './symbols.js';

/** Label classes of one layer that are read. */
const MAX_LABELS = 20;

/** A symbol layer for each class of labelingInfo. */
export function createLabelLayers(document: Json, report: DrawingReport, context: SldContext): StyleLayer[] {
  if (document['showLabels'] === false) return [];
  return records(document['labelingInfo'])
    .slice(0, MAX_LABELS)
    .map((info, i) => labelLayer(info, i, report, context))
    .filter((layer) => layer !== undefined);
}

function labelLayer(
  info: Json,
  i: number,
  report: DrawingReport,
  context: SldContext,
): StyleLayer | undefined {
  const label = labelText(info, context);
  if (label === undefined) {
    const guidance = 'Label expressions join attributes and texts: [NAME] CONCAT " " CONCAT [CODE].';
    report.add('RENDERER_PAYLOAD_INCOMPLETE', 'labelExpression', guidance);
    return undefined;
  }
  const symbol = record(info['symbol']) ?? {};
  if (readJsonString(symbol['type']) !== 'esriTS') {
    report.add(
      'SYMBOL_TYPE_UNSUPPORTED',
      readJsonString(symbol['type']) ?? 'labelingInfo',
      'Labels are drawn with esriTS.',
    );
  }
  if (readJsonString(info['where'])) {
    report.add('RENDERER_PAYLOAD_INCOMPLETE', 'labelingInfo where', 'The labels of all features are drawn.');
  }
  const layer = {
    id: `label-${i + 1}`,
    type: 'symbol',
    ...zooms(info),
    layout: {
      'text-field': label,
      ...fontLayout(symbol),
      ...placement(readJsonString(info['labelPlacement']) ?? '', symbol),
    },
    paint: members({
      'text-color': cssColor(symbol['color']) ?? '#000000',
      'text-halo-color': cssColor(symbol['haloColor']),
      'text-halo-width':
        readJsonNumber(symbol['haloSize']) === undefined ? undefined : pixels(symbol['haloSize'], 0),
    }),
  };
  return layer as unknown as StyleLayer;
}

/** Zoom range of labels. minScale has the largest denominator; 0 means no limit. */
function zooms(info: Json): { minzoom?: number; maxzoom?: number } {
  const [smallest, largest] = [readJsonNumber(info['minScale']) ?? 0, readJsonNumber(info['maxScale']) ?? 0];
  const zoom = (scale: number) => Math.min(24, Math.max(0, rounded(scaleToZoom(scale))));
  return {
    ...(smallest > 0 ? { minzoom: zoom(smallest) } : {}),
    ...(largest > 0 ? { maxzoom: zoom(largest) } : {}),
  };
}

function fontLayout(symbol: Json): Record<string, Expr> {
  const font = record(symbol['font']) ?? {};
  const bold = readJsonString(font['weight']) === 'bold' || readJsonString(font['weight']) === 'bolder';
  const italic = readJsonString(font['style']) === 'italic' || readJsonString(font['style']) === 'oblique';
  const face = `${bold ? 'Bold' : ''}${bold && italic ? ' ' : ''}${italic ? 'Italic' : ''}`;
  const angle = readJsonNumber(symbol['angle']) ?? 0;
  return members({
    'text-font': [`${FONT_FAMILY} ${face || 'Regular'}`],
    'text-size': pixels(font['size'], 10),
    'text-rotate': angle === 0 ? undefined : -angle,
  });
}

/** Placement of a label relative to its point. */
function placement(name: string, symbol: Json): Record<string, Expr> {
  if (name.startsWith('esriServerLinePlacement')) return { 'symbol-placement': 'line-center' };
  const side = /PointLabelPlacement(Above|Below|Center)(Left|Right|Center)?$/.exec(name);
  if (!side) return {};
  const vertical = side[1] === 'Above' ? 'bottom' : side[1] === 'Below' ? 'top' : '';
  const horizontal = side[2] === 'Left' ? 'right' : side[2] === 'Right' ? 'left' : '';
  const anchor = [vertical, horizontal].filter((part) => part !== '').join('-') || 'center';
  const size = pixels(record(symbol['font'])?.['size'], 10);
  // Beside the mark, not on it.
  const [x, y] = [
    horizontal === '' ? 0 : horizontal === 'left' ? 6 : -6,
    vertical === '' ? 0 : vertical === 'top' ? 6 : -6,
  ];
  return { 'text-anchor': anchor, 'text-offset': [rounded(x / size), rounded(y / size)] };
}

const TOKEN =
  /\s*(?:\[([^\]"]{1,128})\]|\{([^{}"]{1,128})\}|\$feature\.(\w{1,128})|\$feature\[["']([^"'\]]{1,128})["']\]|"([^"]{0,200})"|'([^']{0,200})'|(CONCAT\b|\+|&)|(;))\s*/iy;

/** Concatenated attributes and strings; undefined for expressions that compute. */
function labelText(info: Json, context: SldContext): Expr | undefined {
  const expression = record(info['labelExpressionInfo']);
  const template =
    readJsonString(expression?.['value']) ??
    readJsonString(expression?.['expression']) ??
    readJsonString(info['labelExpression']);
  if (template === undefined || template.length > 2000) return undefined;
  const parts: Expr[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < template.length) {
    const token = TOKEN.exec(template);
    if (!token) return undefined;
    const name = token[1] ?? token[2] ?? token[3] ?? token[4];
    const quoted = token[5] ?? token[6];
    if (name !== undefined) parts.push(['to-string', ['get', context.property(name).name]]);
    else if (quoted !== undefined && quoted !== '') parts.push(quoted);
  }
  if (parts.length === 0) return undefined;
  return parts.length === 1 ? parts[0] : ['concat', ...parts];
}
