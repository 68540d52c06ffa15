import type { RasterCollection } from '../../catalog/collection.js';
import { findDefaultLook, listDrawnRanges } from '../../catalog/default-look.js';
import { type Color, interpolateColor } from '../../rasters/color-ramps.js';
import { isGenericName } from '../../rasters/default-bands.js';
import { mapClasses } from '../../rasters/raster-classes.js';
import type { Colormap, RasterLook } from '../../rasters/raster-look.js';
import type { BandInfo } from '../../rasters/rasters.js';
import { formatEnd, roundStops } from './stops.js';

/** A colour of a raster. */
export interface ColorEntry {
  readonly kind: 'color';
  readonly label: string;
  readonly color: Color;
}

type Range = readonly [number, number];

/** Legend of a raster in its style, or as parameters of a request show it. */
export interface RasterLegend {
  /** Quantity of the colours. Absent for images. */
  readonly name?: string;
  readonly unit?: string;
  /** Values of the first and last colour. Absent for images and classes. */
  readonly range?: Range;
  readonly entries: readonly ColorEntry[];
}

const BLACK: Color = [0, 0, 0, 255];
const WHITE: Color = [255, 255, 255, 255];
const NEUTRAL: Color = [128, 128, 128, 255];
const CHANNELS = [
  ['Red', [220, 50, 47, 255]],
  ['Green', [40, 160, 60, 255]],
  ['Blue', [38, 110, 220, 255]],
] as const satisfies readonly (readonly [string, Color])[];

export function describeRaster(
  collection: RasterCollection,
  zoom: number,
  requested?: RasterLook,
): RasterLegend {
  const { bands, title } = collection;
  const look = requested ?? findDefaultLook(collection, zoom);
  const shown = listShownBands(bands, look);
  if (shown.length === 3 && look) return { entries: listChannels(collection, look, shown) };
  const [band] = shown;
  if (band?.classes && shown.length === 1 && isDrawnByClass(band, look))
    return {
      name: formatBandTitle(collection, band),
      entries: band.classes.map(({ name, color }) => ({ kind: 'color', label: name, color })),
    };
  if (shown.length > 1 || band?.colorInterpretation === 'Palette')
    return { entries: [{ kind: 'color', label: title, color: NEUTRAL }] };
  const range = look?.rescale?.[0] ?? findRange(collection, band, look);
  const isBounded = band?.type === 'Byte' && range[0] <= 0 && range[1] >= 255;
  const colormap = look?.colormap ?? { kind: 'ramp', colors: [BLACK, WHITE] };
  return {
    name: band ? formatBandTitle(collection, band) : 'Band math',
    ...(band?.unit && { unit: band.unit }),
    ...(colormap.kind === 'ramp' && { range: [roundEnd(range[0], range), roundEnd(range[1], range)] }),
    entries: listColors(colormap, range, isBounded),
  };
}

/** Whether a band has the colours of its file, from its colour table or as the default style has them. */
function isDrawnByClass(
  { classes = [], colorInterpretation }: BandInfo,
  look: RasterLook | undefined,
): boolean {
  if (colorInterpretation === 'Palette') return true;
  return (
    look?.colormap !== undefined && JSON.stringify(look.colormap) === JSON.stringify(mapClasses(classes))
  );
}

/** Bands of the channels; undefined for an expression. */
function listShownBands(
  bands: readonly BandInfo[],
  look: RasterLook | undefined,
): readonly (BandInfo | undefined)[] {
  if (look?.expressions)
    return look.expressions.map((one) => ('band' in one ? findBand(bands, one.band) : undefined));
  if (look?.bands) return look.bands.map((number) => findBand(bands, number));
  const colors = bands.filter(({ colorInterpretation }) => colorInterpretation !== 'Alpha');
  return look?.colormap || colors.length < 3 ? colors.slice(0, 1) : colors.slice(0, 3);
}

const findBand = (bands: readonly BandInfo[], number: number) => bands.find(({ band }) => band === number);

/** The title of a raster with one band, otherwise the name of the band. */
export function formatBandTitle({ bands, title }: RasterCollection, { band, description }: BandInfo): string {
  if (bands.length === 1 && isGenericName(description)) return title;
  return description || `Band ${band}`;
}

/** Values of the darkest and the brightest colour without a requested range, as the renderer finds them. */
function findRange(
  collection: RasterCollection,
  band: BandInfo | undefined,
  look: RasterLook | undefined,
): Range {
  if (!band || band.type === 'Byte') return [0, band ? 255 : 1];
  const common = listDrawnRanges(collection)?.[collection.bands.indexOf(band)];
  const { statistics, usualRange } = band;
  const own: Range | undefined = statistics && [statistics.min, statistics.max];
  return common ?? (look?.colormap || look?.rescale ? usualRange : undefined) ?? own ?? [0, 1];
}

const roundEnd = (value: number, range: Range) => Number(formatEnd(value, range));

function listChannels(
  collection: RasterCollection,
  look: RasterLook,
  shown: readonly (BandInfo | undefined)[],
): ColorEntry[] {
  return shown.map((band, i) => {
    const [channel, color] = CHANNELS[i]!;
    const name = band ? formatBandTitle(collection, band) : `expression ${i + 1}`;
    const range = look.rescale?.[i] ?? look.rescale?.[0];
    const unit = band?.unit ? ` ${band.unit}` : '';
    const values = range && `, ${formatEnd(range[0], range)} to ${formatEnd(range[1], range)}${unit}`;
    return { kind: 'color', label: `${channel}: ${name}${values ?? ''}`, color };
  });
}

function listColors(colormap: Colormap, range: Range, isBounded: boolean): ColorEntry[] {
  const { colors } = colormap;
  const entry = (label: string, color: Color): ColorEntry => ({ kind: 'color', label, color });
  switch (colormap.kind) {
    case 'ramp':
      return listRampStops(range, isBounded).map(({ label, at }) =>
        entry(label, interpolateColor(colors, at)),
      );
    case 'intervals':
      return colormap.bounds.map(([from, to], i) => entry(formatInterval(from, to), colors[i]!));
    case 'stops': {
      const last = colors.length - 1;
      const ends: Range = [colormap.values[0]!, colormap.values[last]!];
      return colormap.values.map((value, i) =>
        entry(`${i === 0 ? '≤ ' : i === last ? '≥ ' : ''}${formatEnd(value, ends)}`, colors[i]!),
      );
    }
    case 'values':
      return colormap.values.map((value, i) => entry(String(Number(value.toPrecision(6))), colors[i]!));
  }
}

/** Round values between the ends of a range, with their position from 0 to 1. Values beyond the ends have its colours. */
function listRampStops(range: Range, isBounded: boolean): { label: string; at: number }[] {
  const [low, high] = range;
  const [below, above] = isBounded ? ['', ''] : ['≤ ', '≥ '];
  return [
    { label: `${below}${formatEnd(low, range)}`, at: 0 },
    ...roundStops(range).map((value) => ({ label: String(value), at: (value - low) / (high - low) })),
    { label: `${above}${formatEnd(high, range)}`, at: 1 },
  ];
}

/** Limits beyond this value mean no limit. */
const UNBOUNDED = 1e300;

function formatInterval(from: number, to: number): string {
  const isOpen = [from <= -UNBOUNDED, to >= UNBOUNDED];
  const range: Range = [isOpen[0] ? to : from, isOpen[1] ? from : to];
  if (isOpen[0]) return `< ${formatEnd(to, range)}`;
  return isOpen[1] ? `≥ ${formatEnd(from, range)}` : `${formatEnd(from, range)} – ${formatEnd(to, range)}`;
}
