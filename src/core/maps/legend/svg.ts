import type { IconOutline } from '../../styles/symbols.js';
import { xmlEscaped } from '../../values/xml-text.js';
import type { LegendLine, SymbolEntry } from './entries.js';
import { drawnBy, type EntrySymbol } from './entry-symbols.js';

/** Pixels of a legend's lines: a swatch, then the label. */
export const ROW = {
  height: 24,
  swatch: { x: 6, width: 34, height: 16 },
  text: { x: 50, size: 13 },
} as const;

/** Outlines of icons by name. */
export type IconPaths = Readonly<Record<string, IconOutline>>;

/** Names of the icons that a legend shows. */
export function legendIcons(entries: readonly LegendLine[], zoom: number): string[] {
  const drawings = entries.flatMap((entry) => (entry.kind === 'symbol' ? drawnBy(entry, zoom) : []));
  return [...new Set(drawings.map(({ icon }) => icon).filter((name) => name !== undefined))];
}

/** Width of a legend in pixels; letters are taken to be as wide as an average one. */
export function legendWidth(entries: readonly LegendLine[]): number {
  const widths = entries.map(
    (entry) => labelX(entry) + Math.min(600, Math.ceil([...entry.label].length * ROW.text.size * 0.62)) + 10,
  );
  return Math.max(ROW.text.x + 10, ...widths);
}

/** Start of the label of a line, in pixels. */
export function labelX({ kind }: LegendLine): number {
  return kind === 'text' ? ROW.swatch.x : ROW.text.x;
}

/** A legend as an SVG document: one line per entry. */
export function legendSvg(entries: readonly LegendLine[], zoom: number, icons: IconPaths): string {
  const [width, height] = [legendWidth(entries), Math.max(1, entries.length) * ROW.height];
  const rows = entries.map((entry, i) => row(entry, i * ROW.height, zoom, icons)).join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Noto Sans, sans-serif" font-size="${ROW.text.size}">${rows}</svg>`;
}

function row(entry: LegendLine, top: number, zoom: number, icons: IconPaths): string {
  const baseline = top + ROW.height / 2 + ROW.text.size * 0.36;
  const label = `<text x="${labelX(entry)}" y="${baseline}" fill="#222">${xmlEscaped(entry.label)}</text>`;
  if (entry.kind === 'text') return label;
  if (entry.kind === 'color') {
    const [r, g, b, a] = entry.color;
    return rect(top, `fill="rgb(${r},${g},${b})" fill-opacity="${a / 255}"`) + label;
  }
  return (
    drawnBy(entry, zoom)
      .map((drawing) => symbol(drawing, entry.shape, top, icons))
      .join('') + label
  );
}

interface Swatch {
  readonly drawing: EntrySymbol;
  readonly shape: SymbolEntry['shape'];
  readonly top: number;
  readonly icons: IconPaths;
  /** Attributes of its filling and outline. */
  readonly fill: string;
}

/** Draws the swatch of each layer type; other types have no swatch. */
const SWATCHES: { readonly [T in EntrySymbol['type']]?: (swatch: Swatch) => string } = {
  fill: ({ top, fill }) => rect(top, fill),
  'fill-extrusion': ({ top, fill }) => rect(top, fill),
  line: ({ drawing, shape, top }) => line(drawing, shape, top),
  circle: ({ drawing, top, fill }) =>
    `<circle cx="${middle.x}" cy="${top + middle.y}" r="${Math.min(drawing.radius ?? 5, ROW.height / 2 - 1)}" ${fill}/>`,
  symbol: ({ drawing, top, icons }) => icon(drawing, top, icons),
};

function symbol(drawing: EntrySymbol, shape: SymbolEntry['shape'], top: number, icons: IconPaths): string {
  const { type, color, opacity, strokeColor, strokeWidth } = drawing;
  const stroke = strokeWidth
    ? ` stroke="${xmlEscaped(strokeColor ?? 'none')}" stroke-width="${strokeWidth}"`
    : '';
  const fill = `fill="${xmlEscaped(color ?? 'none')}" fill-opacity="${opacity ?? 1}"${stroke}`;
  return SWATCHES[type]?.({ drawing, shape, top, icons, fill }) ?? '';
}

const middle = { x: ROW.swatch.x + ROW.swatch.width / 2, y: ROW.height / 2 };

function rect(top: number, attributes: string): string {
  const { x, width, height } = ROW.swatch;
  return `<rect x="${x}" y="${top + (ROW.height - height) / 2}" width="${width}" height="${height}" ${attributes}/>`;
}

function line(
  { color, opacity, width, dashes }: EntrySymbol,
  shape: SymbolEntry['shape'],
  top: number,
): string {
  const stroke = `fill="none" stroke="${xmlEscaped(color ?? 'none')}" stroke-opacity="${opacity ?? 1}" stroke-width="${Math.min(width ?? 1, ROW.height)}"${dashes ? ` stroke-dasharray="${dashes.join(' ')}"` : ''} stroke-linejoin="round"`;
  if (shape === 'polygon') return rect(top, stroke);
  const { x, width: side } = ROW.swatch;
  const y = top + middle.y;
  return `<path d="M${x} ${y + 4}L${x + side / 3} ${y - 4}L${x + (2 * side) / 3} ${y + 4}L${x + side} ${y - 4}" ${stroke}/>`;
}

function icon({ icon: name, color, size = 1 }: EntrySymbol, top: number, icons: IconPaths): string {
  const path = name === undefined ? undefined : icons[name];
  if (!path) return '';
  const scale = Math.min(size, (ROW.height - 2) / path.side);
  const offset = (path.side * scale) / 2;
  return `<path transform="translate(${middle.x - offset} ${top + middle.y - offset}) scale(${scale})" fill="${xmlEscaped(color ?? '#000')}" d="${xmlEscaped(path.path)}"/>`;
}
