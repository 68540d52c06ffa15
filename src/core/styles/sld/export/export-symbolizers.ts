import type { StyleLayer } from '../../model.js';
import { ICON_PIXELS, MARK_PIXELS } from '../graphic.js';
import type { SldLayerValues } from '../import/layer-values.js';
import type { Expr } from '../values.js';
import { pointAnchor } from './export-anchor.js';
import { lookElements, reliefColormap } from './export-raster.js';
import { xml, xmlText } from './xml-writer.js';

/** Writer of a layer type as SE 1.1 symbolizers. Properties that are not read are reported. */

type Writer = (values: SldLayerValues) => string[];

const WRITERS: Readonly<Partial<Record<StyleLayer['type'], Writer>>> = {
  fill: (values) => [polygon(values)],
  line: (values) => [lineSymbolizer(values)],
  circle: (values) => [circle(values)],
  symbol: (values) => [...icon(values), ...label(values)],
  raster: (values) => [xml('se:RasterSymbolizer', raster(values))],
  hillshade: (values) => [xml('se:RasterSymbolizer', [relief(values)])],
  'color-relief': (values) => [xml('se:RasterSymbolizer', colorRelief(values))],
};

export function canExport(type: StyleLayer['type']): boolean {
  return WRITERS[type] !== undefined;
}

export function writeSymbolizers(type: StyleLayer['type'], values: SldLayerValues): string[] {
  return WRITERS[type]?.(values) ?? [];
}

function polygon(values: SldLayerValues): string {
  const outline = values.parameter('stroke', 'fill-outline-color');
  const moved = values.constants('fill-translate');
  values.lost('fill-pattern');
  return xml('se:PolygonSymbolizer', [
    xml('se:Fill', [
      values.parameter('fill', 'fill-color', '#000000'),
      values.parameter('fill-opacity', 'fill-opacity'),
    ]),
    outline === undefined ? undefined : xml('se:Stroke', [outline]),
    moved && displacement(moved[0]!, -moved[1]!),
  ]);
}

function displacement(x: number, y: number): string {
  return xml('se:Displacement', [xmlText('se:DisplacementX', x), xmlText('se:DisplacementY', y)]);
}

/** Metres of a width that doubles with each zoom, as importing writes it. */
const GROUND_PIXEL = 78_271.516964;

function groundWidth(width: Expr): Expr | undefined {
  if (!Array.isArray(width) || width[0] !== 'interpolate' || width.length !== 7) return undefined;
  const [, curve, , from, low, to, high] = width as readonly Expr[];
  const doubles = JSON.stringify(curve) === '["exponential",2]' && from === 0 && to === 24;
  if (!doubles || typeof low !== 'number' || typeof high !== 'number') return undefined;
  return Math.abs(high / (low * 2 ** 24) - 1) < 1e-6
    ? Number((low * GROUND_PIXEL).toPrecision(8))
    : undefined;
}

function lineSymbolizer(values: SldLayerValues): string {
  const ground = groundWidth(values.raw('line-width') ?? null);
  if (ground !== undefined) values.replace('line-width', ground);
  for (const name of ['line-pattern', 'line-gradient', 'line-gap-width', 'line-blur', 'line-translate'])
    values.lost(name);
  const offset = values.scaled('line-offset', -1);
  const stroke = xml('se:Stroke', strokeParameters(values));
  const uom = ground === undefined ? undefined : 'http://www.opengeospatial.org/se/units/metre';
  return xml('se:LineSymbolizer', [stroke, offset && xml('se:PerpendicularOffset', [offset])], { uom });
}

const JOIN: Readonly<Record<string, string>> = { miter: 'mitre' };

function strokeParameters(values: SldLayerValues): (string | undefined)[] {
  const join = values.word('line-join');
  const cap = values.word('line-cap');
  return [
    values.parameter('stroke', 'line-color', '#000000'),
    values.parameter('stroke-opacity', 'line-opacity'),
    values.parameter('stroke-width', 'line-width', 1),
    join === undefined ? undefined : svg('stroke-linejoin', JOIN[join] ?? join),
    cap === undefined ? undefined : svg('stroke-linecap', cap),
    dashes(values),
  ];
}

function svg(name: string, text: string | number): string {
  return xmlText('se:SvgParameter', text, { name });
}

function dashes(values: SldLayerValues): string | undefined {
  const lengths = values.constants('line-dasharray');
  if (!lengths) return undefined;
  const width = values.raw('line-width') ?? 1;
  if (typeof width !== 'number') values.warn('line-dasharray', 'Dashes are written as for a width of 1.');
  const by = typeof width === 'number' ? width : 1;
  return svg('stroke-dasharray', lengths.map((one) => Number((one * by).toPrecision(8))).join(' '));
}

function circle(values: SldLayerValues): string {
  const [radius, width] = [values.raw('circle-radius') ?? 5, values.raw('circle-stroke-width') ?? 0];
  for (const name of ['circle-blur', 'circle-pitch-alignment', 'circle-pitch-scale']) values.lost(name);
  const stroked = width !== 0;
  const size: Expr =
    typeof radius === 'number' && typeof width === 'number' ? radius * 2 + width : ['*', radius, 2];
  const moved = values.constants('circle-translate');
  const mark = xml('se:Mark', [
    xmlText('se:WellKnownName', 'circle'),
    xml('se:Fill', [
      values.parameter('fill', 'circle-color', '#000000'),
      values.parameter('fill-opacity', 'circle-opacity'),
    ]),
    stroked
      ? xml('se:Stroke', [
          values.parameter('stroke', 'circle-stroke-color', '#000000'),
          values.parameter('stroke-opacity', 'circle-stroke-opacity'),
          values.parameter('stroke-width', 'circle-stroke-width', 0),
        ])
      : undefined,
  ]);
  const content = [mark, values.element('se:Size', size), moved && displacement(moved[0]!, -moved[1]!)];
  return xml('se:PointSymbolizer', [xml('se:Graphic', content)]);
}

function icon(values: SldLayerValues): string[] {
  const image = values.raw('icon-image');
  if (image === undefined) return [];
  if (typeof image !== 'string') {
    values.warn('icon-image', 'The image depends on the feature: it is not written.');
    return [];
  }
  const moved = values.constants('icon-translate');
  const side = image.startsWith('mark-') ? MARK_PIXELS : ICON_PIXELS;
  const graphic = xml('se:Graphic', [
    image.startsWith('mark-') ? mark(image.slice('mark-'.length), values) : externalGraphic(image, values),
    values.scaled('icon-size', side, 'se:Size', 1),
    values.scaled('icon-rotate', 1, 'se:Rotation'),
    pointAnchor(values.word('icon-anchor')),
    moved && displacement(moved[0]!, -moved[1]!),
  ]);
  if (values.word('symbol-placement') === undefined) return [xml('se:PointSymbolizer', [graphic])];
  const spacing = values.raw('symbol-spacing') ?? 250;
  const size = values.raw('icon-size') ?? 1;
  const gap =
    typeof spacing === 'number' && typeof size === 'number' ? Math.max(0, spacing - size * side) : 0;
  const stroke = xml('se:GraphicStroke', [graphic, xmlText('se:Gap', gap)]);
  return [xml('se:LineSymbolizer', [xml('se:Stroke', [stroke])])];
}

function mark(name: string, values: SldLayerValues): string {
  const stroked = values.raw('icon-halo-width') !== undefined || values.raw('icon-halo-color') !== undefined;
  return xml('se:Mark', [
    xmlText('se:WellKnownName', name),
    xml('se:Fill', [
      values.parameter('fill', 'icon-color', '#000000'),
      values.parameter('fill-opacity', 'icon-opacity'),
    ]),
    stroked
      ? xml('se:Stroke', [
          values.parameter('stroke', 'icon-halo-color', '#000000'),
          values.parameter('stroke-width', 'icon-halo-width', 0),
        ])
      : undefined,
  ]);
}

function externalGraphic(image: string, values: SldLayerValues): string {
  const icon = values.image(image);
  const href = icon ?? `${image}.svg`;
  const format = /^data:([\w.+/-]+)/.exec(href)?.[1] ?? 'image/svg+xml';
  const resource = xml('se:OnlineResource', [], { 'xlink:type': 'simple', 'xlink:href': href });
  return xml('se:ExternalGraphic', [resource, xmlText('se:Format', format)]);
}

function label(values: SldLayerValues): string[] {
  const text = values.raw('text-field');
  if (text === undefined || text === '') return [];
  const labelXml = values.element('se:Label', tokens(text));
  if (labelXml === undefined) return [];
  const halo = values.raw('text-halo-width');
  return [
    xml('se:TextSymbolizer', [
      labelXml,
      xml('se:Font', fontParameters(values)),
      placement(values),
      halo === undefined || halo === 0
        ? undefined
        : xml('se:Halo', [
            values.element('se:Radius', halo),
            xml('se:Fill', [values.parameter('fill', 'text-halo-color', '#ffffff')]),
          ]),
      xml('se:Fill', [
        values.parameter('fill', 'text-color', '#000000'),
        values.parameter('fill-opacity', 'text-opacity'),
      ]),
      ...options(values),
    ]),
  ];
}

/** Names in braces are attributes in older styles. */
function tokens(text: Expr): Expr {
  if (typeof text !== 'string' || !/\{[^{}]+\}/.test(text)) return text;
  const parts = text.split(/(\{[^{}]+\})/).filter((part) => part !== '');
  return [
    'concat',
    ...parts.map((part): Expr => (/^\{.+\}$/.test(part) ? ['get', part.slice(1, -1)] : part)),
  ];
}

function fontParameters(values: SldLayerValues): (string | undefined)[] {
  const [font = 'Noto Sans Regular'] = values.words('text-font') ?? [];
  const family = font.replace(/ (?:Regular|Bold|Italic|Bold Italic)$/, '');
  return [
    svg('font-family', family),
    values.parameter('font-size', 'text-size', 16),
    / Bold/.test(font) ? svg('font-weight', 'bold') : undefined,
    / Italic/.test(font) ? svg('font-style', 'italic') : undefined,
  ];
}

function computeEm(values: SldLayerValues): number {
  const size = values.raw('text-size') ?? 16;
  return typeof size === 'number' ? size : 10;
}

function placement(values: SldLayerValues): string {
  const em = computeEm(values);
  const [x = 0, y = 0] = values.constants('text-offset') ?? [];
  const along = values.word('symbol-placement');
  if (along !== undefined) {
    const offset = y === 0 ? undefined : xmlText('se:PerpendicularOffset', tidy(-y * em));
    const repeated = along === 'line' ? xmlText('se:IsRepeated', 'true') : undefined;
    const spacing = values.raw('symbol-spacing');
    const gap = along === 'line' && typeof spacing === 'number' ? xmlText('se:Gap', spacing) : undefined;
    const upright =
      values.word('text-rotation-alignment') === 'viewport' ? xmlText('se:IsAligned', 'false') : undefined;
    return xml('se:LabelPlacement', [xml('se:LinePlacement', [offset, repeated, gap, upright])]);
  }
  const [first] = values.words('text-variable-anchor') ?? [];
  const parts = [
    pointAnchor(first ?? values.word('text-anchor') ?? 'center'),
    x === 0 && y === 0 ? undefined : displacement(tidy(x * em), tidy(-y * em)),
    values.scaled('text-rotate', 1, 'se:Rotation'),
  ];
  return xml('se:LabelPlacement', [xml('se:PointPlacement', parts)]);
}

function tidy(value: number): number {
  return Number(value.toPrecision(8)) + 0;
}

/** Properties that require vendor options of GeoServer. */
function options(values: SldLayerValues): (string | undefined)[] {
  const em = computeEm(values);
  const option = (name: string, value: Expr | undefined, factor = 1) =>
    typeof value === 'number' ? xmlText('se:VendorOption', tidy(value * factor), { name }) : undefined;
  const free = values.words('text-variable-anchor') ? values.raw('text-radial-offset') : undefined;
  const overlaps = values.raw('text-allow-overlap') === true;
  return [
    option('autoWrap', values.raw('text-max-width'), em),
    option('spaceAround', values.raw('text-padding')),
    option('maxAngleDelta', values.raw('text-max-angle')),
    option('maxDisplacement', free, 2 * em),
    overlaps ? xmlText('se:VendorOption', 'false', { name: 'conflictResolution' }) : undefined,
    values.scaled('symbol-sort-key', -1, 'se:Priority'),
  ];
}

function raster(values: SldLayerValues): (string | undefined)[] {
  for (const name of [
    'raster-hue-rotate',
    'raster-saturation',
    'raster-contrast',
    'raster-brightness-min',
    'raster-brightness-max',
  ]) {
    values.lost(name);
  }
  return [values.parameterElement('se:Opacity', 'raster-opacity'), ...lookElements(values), values.relief];
}

function relief(values: SldLayerValues): string {
  const exaggeration = values.raw('hillshade-exaggeration') ?? 0.5;
  const factor = typeof exaggeration === 'number' ? exaggeration * 110 : 55;
  return xml('se:ShadedRelief', [xmlText('se:ReliefFactor', tidy(factor))]);
}

export { relief as reliefOf };

function colorRelief(values: SldLayerValues): (string | undefined)[] {
  return [values.parameterElement('se:Opacity', 'color-relief-opacity'), reliefColormap(values)];
}
