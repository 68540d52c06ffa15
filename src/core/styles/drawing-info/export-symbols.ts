import { Color } from '@maplibre/maplibre-gl-style-spec';
import type { StyleLayer } from '../model.js';
import { interpolateAtZoom } from '../sld/export/zoom-bands.js';
import { ICON_PIXELS, MARK_PIXELS } from '../sld/graphic.js';
import type { Expr } from '../sld/values.js';
import type { DrawingReport } from './report.js';

const POINTS_PER_PIXEL = 72 / 96;

/** The zoom whose values are written where they change with it. */
const ZOOM = 12;

/** Constant values of a layer. Values that depend on the feature are reported and replaced by their default. */
export class Constants {
  constructor(
    readonly layer: StyleLayer,
    readonly report: DrawingReport,
  ) {}

  raw(name: string): Expr | undefined {
    const { layout, paint } = this.layer;
    const value = ({ ...layout, ...paint } as Record<string, Expr>)[name];
    return value === undefined ? undefined : interpolateAtZoom(value, ZOOM);
  }

  number(name: string, usual: number): number {
    const value = this.raw(name);
    if (typeof value === 'number' || value === undefined) return value ?? usual;
    this.#varies(name);
    return usual;
  }

  /** Pixels as points. */
  points(name: string, usual: number): number {
    return Number((this.number(name, usual) * POINTS_PER_PIXEL).toPrecision(8));
  }

  /** `[red, green, blue, opacity]`, 0 to 255. */
  color(name: string, opacityName: string | undefined, usual = '#000000'): number[] {
    const value = this.raw(name) ?? usual;
    if (typeof value !== 'string') this.#varies(name);
    const color = Color.parse(typeof value === 'string' ? value : usual) ?? Color.parse(usual)!;
    const opacity = opacityName === undefined ? 1 : this.number(opacityName, 1);
    const [red, green, blue, alpha] = color.rgb;
    return [red, green, blue, alpha * opacity].map((part) => Math.round(part * 255));
  }

  text(name: string): string | undefined {
    const value = this.raw(name);
    return typeof value === 'string' ? value : undefined;
  }

  #varies(name: string): void {
    const guidance =
      'A value that depends on the feature in another way than the classes is left at its default.';
    this.report.add('RENDERER_PAYLOAD_INCOMPLETE', name, guidance);
  }
}

/** One symbol of Esri for layers that draw the same features; null when none can be written. */
export function createEsriSymbol(
  layers: readonly StyleLayer[],
  report: DrawingReport,
): Record<string, unknown> | null {
  const of = (type: StyleLayer['type']) => layers.filter((layer) => layer.type === type);
  const [fills, lines, circles, icons] = [of('fill'), of('line'), of('circle'), of('symbol')];
  const halo = circles.length === 2 ? readHalo(circles, report) : null;
  if (lines.length > 1 || fills.length > 1 || circles.length - (halo ? 1 : 0) + icons.length > 1) {
    report.add(
      'SYMBOL_TYPE_UNSUPPORTED',
      'layers',
      'Only the uppermost of several layers of one type is written.',
    );
  }
  const [fill, line, circle, icon] = [fills.at(-1), lines.at(-1), circles.at(-1), icons.at(-1)];
  if (fill) return areaSymbol(new Constants(fill, report), line && lineSymbol(new Constants(line, report)));
  if (circle) return circleSymbol(new Constants(circle, report), halo);
  if (icon) return iconSymbol(new Constants(icon, report));
  return line ? lineSymbol(new Constants(line, report)) : null;
}

function areaSymbol(
  values: Constants,
  outline: Record<string, unknown> | undefined,
): Record<string, unknown> {
  const color = values.color('fill-color', 'fill-opacity');
  const own = values.text('fill-outline-color');
  const thin =
    own === undefined
      ? null
      : {
          type: 'esriSLS',
          style: 'esriSLSSolid',
          color: values.color('fill-outline-color', undefined),
          width: 0.75,
        };
  return { type: 'esriSFS', style: 'esriSFSSolid', color, outline: outline ?? thin };
}

function lineSymbol(values: Constants): Record<string, unknown> {
  return {
    type: 'esriSLS',
    style: dashStyle(values.raw('line-dasharray')),
    color: values.color('line-color', 'line-opacity'),
    width: values.points('line-width', 1),
  };
}

/** The name of dashes with about as many parts and proportions. */
function dashStyle(dashes: Expr | undefined): string {
  const of = Array.isArray(dashes) && dashes[0] === 'literal' ? dashes[1] : dashes;
  if (!Array.isArray(of) || of.length === 0 || of.some((part) => typeof part !== 'number'))
    return 'esriSLSSolid';
  if (of.length >= 6) return 'esriSLSDashDotDot';
  if (of.length >= 4) return 'esriSLSDashDot';
  return (of[0] as number) <= 1.5 ? 'esriSLSDot' : 'esriSLSDash';
}

function buildOutline(values: Constants, prefix: string, opacity: string | undefined, usual: number) {
  const width = values.points(`${prefix}-width`, usual);
  return width === 0 ? null : { color: values.color(`${prefix}-color`, opacity), width };
}

/** The visible ring of the lower of two circles as an outline; null if the upper circle covers it or has an outline. */
function readHalo([lower, upper]: readonly StyleLayer[], report: DrawingReport) {
  const [below, above] = [new Constants(lower!, report), new Constants(upper!, report)];
  const isOutlined = [below, above].some((values) => values.number('circle-stroke-width', 0) !== 0);
  const width = below.points('circle-radius', 5) - above.points('circle-radius', 5);
  if (isOutlined || width <= 0) return null;
  return { color: below.color('circle-color', 'circle-opacity'), width };
}

function circleSymbol(values: Constants, halo: object | null): Record<string, unknown> {
  const [x, y] = moved(values, 'circle-translate');
  return {
    type: 'esriSMS',
    style: 'esriSMSCircle',
    color: values.color('circle-color', 'circle-opacity'),
    size: values.points('circle-radius', 5) * 2,
    angle: 0,
    xoffset: x,
    yoffset: y,
    outline: halo ?? buildOutline(values, 'circle-stroke', 'circle-stroke-opacity', 0),
  };
}

const STYLES: ReadonlyMap<string | undefined, string> = new Map([
  ['mark-circle', 'esriSMSCircle'],
  ['mark-square', 'esriSMSSquare'],
  ['mark-triangle', 'esriSMSTriangle'],
  ['mark-cross', 'esriSMSCross'],
  ['mark-x', 'esriSMSX'],
  ['mark-diamond', 'esriSMSDiamond'],
]);

function iconSymbol(values: Constants): Record<string, unknown> | null {
  const image = values.text('icon-image');
  const style = STYLES.get(image) ?? (image?.startsWith('mark-') ? 'esriSMSSquare' : undefined);
  const side = image?.startsWith('mark-') ? MARK_PIXELS : ICON_PIXELS;
  const size = values.points('icon-size', 1) * side;
  const [xoffset, yoffset] = moved(values, 'icon-translate');
  const place = { angle: -values.number('icon-rotate', 0) + 0, xoffset, yoffset };
  if (style === undefined) return picture(values, image, size, place);
  if (!STYLES.has(image))
    values.report.add('SYMBOL_TYPE_UNSUPPORTED', image!, 'The mark is written as a square.');
  const outline = buildOutline(values, 'icon-halo', undefined, 0);
  return {
    type: 'esriSMS',
    style,
    color: values.color('icon-color', 'icon-opacity'),
    size,
    ...place,
    outline,
  };
}

function picture(
  values: Constants,
  image: string | undefined,
  size: number,
  place: Readonly<Record<string, number>>,
): Record<string, unknown> | null {
  const metadata = values.layer.metadata as Record<string, Record<string, string>> | undefined;
  const uri = image === undefined ? undefined : metadata?.['graticule:images']?.[image];
  const [, contentType, imageData] = /^data:([^;,]+);base64,(.+)$/.exec(uri ?? '') ?? [];
  if (imageData === undefined) {
    values.report.add('PICTURE_MARKER_PARTIAL', image ?? 'icon-image', 'Icons of the server are left out.');
    return null;
  }
  return { type: 'esriPMS', imageData, contentType, width: size, height: size, ...place };
}

/** Pixels to the right and down as points to the right and up. */
function moved(values: Constants, name: string): [number, number] {
  const of = values.raw(name);
  if (!Array.isArray(of) || typeof of[0] !== 'number' || typeof of[1] !== 'number') return [0, 0];
  return [of[0] * POINTS_PER_PIXEL, -of[1] * POINTS_PER_PIXEL + 0];
}
