import { MARK_SIDE, MARKS } from '../marks.js';
import { Untranslatable } from './export/untranslatable.js';
import { parameter } from './expression.js';
import type { SldContext } from './import/context.js';
import {
  length,
  members,
  Parameters,
  product,
  readParameterValue,
  times,
  type Unit,
} from './import/layer-draft.js';
import { elements, findChild, readNumberContent, readTextContent, type XmlElement } from './import/xml.js';
import { shortenName } from './report.js';
import type { Expr } from './values.js';

/** An SE Graphic: one mark or icon, and how it stands. Lengths in units of the symbolizer. */
export interface Graphic {
  /** A mark by its name, such as `square`; or an icon. */
  readonly mark?: string;
  readonly icon?: Expr;
  /** Images that the icon needs, by name: `data:` URIs. */
  readonly images?: Readonly<Record<string, string>>;
  readonly size: Expr | undefined;
  readonly opacity: Expr | undefined;
  readonly rotation: Expr | undefined;
  readonly fill?: Expr;
  readonly fillOpacity?: Expr;
  readonly stroke?: Expr;
  readonly strokeWidth?: Expr;
  readonly strokeOpacity?: Expr;
  readonly anchor: string | undefined;
  readonly displacement: readonly [number, number] | undefined;
}

/** `icon-size` of marks counts in these. */
export const MARK_PIXELS = MARK_SIDE;
/** The same of icons, which are those of Maki. */
export const ICON_PIXELS = 15;

/** Other names of marks that we draw. */
const ALIASES: Readonly<Record<string, string>> = {
  rectangle: 'square',
  equilateral_triangle: 'triangle',
  regular_star: 'star',
  cross_fill: 'cross',
  cross2: 'x',
  cross_x: 'x',
  filled_arrowhead: 'arrowhead',
  oarrow: 'arrow',
  carrow: 'arrow',
  vertline: 'line',
  horline: 'dash',
};

/** Returns undefined with diagnostics if no part can be drawn. Without a graphic, it is a gray square. */
export function readGraphic(graphic: XmlElement | undefined, context: SldContext): Graphic | undefined {
  const parts = graphic ? elements(graphic) : [];
  const common = {
    size: readParameterValue(findChild(graphic, 'Size'), context, 'number'),
    opacity: readParameterValue(findChild(graphic, 'Opacity'), context, 'number'),
    rotation: readParameterValue(findChild(graphic, 'Rotation'), context, 'number'),
    anchor: readAnchor(findChild(graphic, 'AnchorPoint'), context),
    displacement: readDisplacement(findChild(graphic, 'Displacement'), context),
  };
  // The author's first choice that we can draw.
  const candidates = parts.filter(({ name }) => name === 'Mark' || name === 'ExternalGraphic');
  if (candidates.length === 0) return { ...common, ...readMark(undefined, context) };
  for (const candidate of candidates) {
    const shape = candidate.name === 'Mark' ? readMark(candidate, context) : parseIcon(candidate, context);
    if (shape) return { ...common, ...shape };
  }
  return undefined;
}

type Drawn = Partial<Graphic>;

function readMark(mark: XmlElement | undefined, context: SldContext): Drawn {
  const fill = findChild(mark, 'Fill');
  const stroke = findChild(mark, 'Stroke');
  const [filled, stroked] = [new Parameters(fill, context), new Parameters(stroke, context)];
  if (mark && (findChild(mark, 'ExternalMark') || findChild(mark, 'MarkIndex'))) {
    context.report.warn(
      'ExternalMark',
      'Marks of other files are drawn as their well-known name, or as squares.',
    );
  }
  // Default mark: gray with a black outline (SE §11.3.2).
  const bare = !fill && !stroke;
  return {
    mark: markName(readTextContent(findChild(mark, 'WellKnownName')) ?? 'square', context),
    ...(fill || bare
      ? { fill: filled.get('fill', 'color') ?? '#808080', fillOpacity: filled.get('fill-opacity', 'number') }
      : {}),
    ...(stroke || bare
      ? {
          stroke: stroked.get('stroke', 'color') ?? '#000000',
          strokeWidth: stroked.get('stroke-width', 'number') ?? 1,
          strokeOpacity: stroked.get('stroke-opacity', 'number'),
        }
      : {}),
  };
}

function markName(wellKnownName: string, context: SldContext): string {
  const name = wellKnownName.replace(/^shape:\/\//, '').toLowerCase();
  if (Object.hasOwn(MARKS, `mark-${name}`)) return name;
  if (Object.hasOwn(ALIASES, name)) return ALIASES[name]!;
  context.report.warn('WellKnownName', `The mark ${shortenName(wellKnownName, 40)} is drawn as a square.`);
  return 'square';
}

/** An image within the text, or an icon of our set by the name of its file. */
function parseIcon(graphic: XmlElement, context: SldContext): Drawn | undefined {
  const resource = findChild(graphic, 'OnlineResource')?.attributes;
  const href = resource?.['href'] ?? '';
  const image = href.startsWith('data:') ? href : inlineImage(graphic);
  if (image !== undefined) {
    const name = `image-${computeImageHash(image)}`;
    context.report.warn('ExternalGraphic', 'The image is kept with the style, but not drawn by this server.');
    return { icon: name, images: { [name]: image } };
  }
  const file = href.split(/[?#]/)[0]!.split('/').at(-1)!;
  const [name = ''] = /^[a-z][a-z0-9-]*?(?=(?:-\d{2})?(?:\.[a-z]+)?$)/i.exec(file.slice(0, 100)) ?? [];
  if (name !== '' && context.target.icons?.has(name)) return { icon: name };
  context.report.error('ExternalGraphic', `The image ${shortenName(href)} is not one that we have.`);
  return undefined;
}

function inlineImage(graphic: XmlElement): string | undefined {
  const inline = findChild(graphic, 'InlineContent');
  const format = readTextContent(findChild(graphic, 'Format')) ?? 'image/png';
  const text = readTextContent(inline)?.replace(/\s+/g, '');
  if (!inline || text === undefined || !/^[\w.+/-]{3,60}$/.test(format)) return undefined;
  return /^base64$/i.test(inline.attributes['encoding'] ?? '') ? `data:${format};base64,${text}` : undefined;
}

/** The same image has the same name (FNV-1a). */
export function computeImageHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, '0');
}

/** Anchors of SE are parts of the graphic from its lower left corner; MapLibre has nine names. */
export function readAnchor(anchor: XmlElement | undefined, context: SldContext): string | undefined {
  if (!anchor) return undefined;
  const [x, y] = ['AnchorPointX', 'AnchorPointY'].map(
    (name) => constantNumber(findChild(anchor, name), context) ?? 0.5,
  );
  const vertical = ['bottom', '', 'top'][Math.min(2, Math.max(0, Math.round(y! * 2)))]!;
  const horizontal = ['left', '', 'right'][Math.min(2, Math.max(0, Math.round(x! * 2)))]!;
  return [vertical, horizontal].filter((part) => part !== '').join('-') || 'center';
}

/** To the right and up, in units. */
export function readDisplacement(
  of: XmlElement | undefined,
  context: SldContext,
): [number, number] | undefined {
  if (!of) return undefined;
  const [x, y] = ['DisplacementX', 'DisplacementY'].map(
    (name) => constantNumber(findChild(of, name), context) ?? 0,
  );
  return x === 0 && y === 0 ? undefined : [x!, y!];
}

function constantNumber(of: XmlElement | undefined, context: SldContext): number | undefined {
  return context.attempt('warn', () => {
    if (!of) return undefined;
    const value = readNumberContent(of) ?? parameter(of, context, 'number');
    if (typeof value === 'number' || value === undefined) return value;
    throw new Untranslatable(of.name, `${of.name} must be constant.`);
  });
}

/** Members of a symbol layer that draw a graphic. */
export function iconMembers(
  graphic: Graphic,
  unit: Unit,
): { paint: Record<string, Expr>; layout: Record<string, Expr>; metadata?: Record<string, unknown> } {
  const isMark = graphic.mark !== undefined;
  const [x, y] = graphic.displacement ?? [];
  const size = graphic.size ?? (isMark ? 6 : undefined);
  const paint = members({
    'icon-color': isMark ? (graphic.fill ?? 'rgba(0,0,0,0)') : undefined,
    'icon-opacity': product(graphic.opacity, isMark ? graphic.fillOpacity : undefined),
    'icon-halo-color': isMark ? graphic.stroke : undefined,
    'icon-halo-width': isMark && graphic.stroke !== undefined ? length(graphic.strokeWidth, unit) : undefined,
    'icon-translate': x === undefined ? undefined : [x, -y!],
  });
  const layout = members({
    'icon-image': isMark ? `mark-${graphic.mark}` : graphic.icon,
    'icon-size': length(size, unit, 1 / (isMark ? MARK_PIXELS : ICON_PIXELS)),
    'icon-rotate': graphic.rotation,
    'icon-anchor': graphic.anchor === 'center' ? undefined : graphic.anchor,
    'icon-allow-overlap': true,
    'icon-ignore-placement': true,
  });
  const images = graphic.images && { 'graticule:images': graphic.images };
  return { paint, layout, ...(images ? { metadata: images } : {}) };
}

/** Members of a circle layer. The outline of SE is drawn half within the circle, that of MapLibre around it. */
export function circlePaint(graphic: Graphic, unit: Unit): Record<string, Expr> {
  const size = graphic.size ?? 6;
  const { stroke, strokeWidth } = graphic;
  const [x, y] = graphic.displacement ?? [];
  const inner =
    stroke !== undefined && typeof size === 'number' && typeof strokeWidth === 'number'
      ? Math.max(0, size - strokeWidth)
      : size;
  return members({
    'circle-radius': length(times(inner, 0.5), unit),
    'circle-color': graphic.fill ?? 'rgba(0,0,0,0)',
    'circle-opacity': product(graphic.opacity, graphic.fillOpacity),
    'circle-stroke-color': stroke,
    'circle-stroke-width': stroke === undefined ? undefined : length(strokeWidth, unit),
    'circle-stroke-opacity':
      stroke === undefined ? undefined : product(graphic.opacity, graphic.strokeOpacity),
    'circle-translate': x === undefined ? undefined : [x, -y!],
  });
}
