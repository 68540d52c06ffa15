import { LIMITS } from '../../kit/limits.js';
import { type Color, parseColor } from '../../rasters/color-ramps.js';
import type { Colormap } from '../../rasters/raster-look.js';
import { Untranslatable } from './export/untranslatable.js';
import type { SldContext } from './import/context.js';
import { members, readParameterValue, type SldLayerDraft } from './import/layer-draft.js';
import {
  all,
  asNumber,
  elements,
  findChild,
  readNumberContent,
  readTextContent,
  type XmlElement,
} from './import/xml.js';
import { literalAs } from './values.js';

interface LookDraft {
  bands?: number[];
  rescale?: [number, number][];
  colormap?: Colormap;
}

/** Raster layer with rendering settings in its metadata, and a relief layer on top if requested. */
export function rasterDrawings(symbolizer: XmlElement, context: SldContext): SldLayerDraft[] {
  const look: LookDraft = { ...channels(symbolizer, context), ...colormap(symbolizer, context) };
  const whole = findChild(symbolizer, 'ContrastEnhancement');
  const stretch = whole && readStretch(whole, context);
  if (stretch && !look.colormap) look.rescale = [stretch];
  for (const name of ['OverlapBehavior', 'ImageOutline']) {
    if (findChild(symbolizer, name)) context.report.warn(name, `${name} was omitted.`);
  }
  const relief = findChild(symbolizer, 'ShadedRelief');
  const opacity = readParameterValue(findChild(symbolizer, 'Opacity'), context, 'number');
  const metadata = Object.keys(look).length === 0 ? undefined : { 'graticule:look': look };
  const raster: SldLayerDraft = {
    type: 'raster',
    paint: members({ 'raster-opacity': opacity }),
    ...(metadata ? { metadata } : {}),
  };
  return relief ? [raster, hillshade(relief)] : [raster];
}

/** A relief factor of 55 is usual in SLD; MapLibre's half is. */
function hillshade(relief: XmlElement): SldLayerDraft {
  const factor = readNumberContent(findChild(relief, 'ReliefFactor')) ?? 55;
  return { type: 'hillshade', paint: { 'hillshade-exaggeration': Math.min(1, Math.max(0, factor / 110)) } };
}

function channels(symbolizer: XmlElement, context: SldContext): LookDraft {
  const selection = findChild(symbolizer, 'ChannelSelection');
  if (!selection) return {};
  const gray = findChild(selection, 'GrayChannel');
  const bandNames = gray
    ? [gray]
    : ['RedChannel', 'GreenChannel', 'BlueChannel'].map((name) => findChild(selection, name));
  const bands = bandNames.map((channel) => readNumberContent(findChild(channel, 'SourceChannelName')));
  if (bands.some((band) => band === undefined || !Number.isInteger(band) || band < 1)) {
    context.report.warn(
      'ChannelSelection',
      'Channels are numbers of bands, from 1: the usual bands are shown.',
    );
    return {};
  }
  const stretches = bandNames.map((channel) => {
    const enhancement = findChild(channel, 'ContrastEnhancement');
    return enhancement && readStretch(enhancement, context);
  });
  const rescale = stretches.every((one) => one !== undefined) ? { rescale: stretches } : {};
  return { bands: bands as number[], ...rescale };
}

/** The range that a linear stretch names; programs write it as options of the vendor. */
function readStretch(enhancement: XmlElement, context: SldContext): [number, number] | undefined {
  const method = elements(enhancement).find(({ name }) => name === 'Normalize' || name === 'Histogram');
  const gamma = readNumberContent(findChild(enhancement, 'GammaValue'));
  if (gamma !== undefined && gamma !== 1)
    context.report.warn('GammaValue', 'Shades are stretched in proportion.');
  if (!method) return undefined;
  const options = new Map(
    [...all(method, 'VendorOption'), ...all(method, 'Parameter')].map((one) => [
      (one.attributes['name'] ?? '').toLowerCase(),
      asNumber(readTextContent(one)),
    ]),
  );
  const [low, high] = [options.get('minvalue'), options.get('maxvalue')];
  if (low !== undefined && high !== undefined && low < high) return [low, high];
  context.report.warn(method.name, 'Values are stretched over the range of the raster.');
  return undefined;
}

interface Entry {
  readonly value: number;
  readonly color: Color;
}

function colormap(symbolizer: XmlElement, context: SldContext): LookDraft {
  const map = findChild(symbolizer, 'ColorMap');
  if (!map) return {};
  const relief = context.attempt('error', () => {
    const [classes] = elements(map).filter(({ name }) => name === 'Categorize' || name === 'Interpolate');
    return classes ? classified(classes) : entriesMap(map, context);
  });
  return relief ? { colormap: relief } : {};
}

/** The ColorMap of SLD 1.0, with the types that GeoServer added. */
function entriesMap(map: XmlElement, context: SldContext): Colormap {
  const entries = all(map, 'ColorMapEntry').map(parseEntry);
  const type = (map.attributes['type'] ?? 'ramp').toLowerCase();
  if (entries.length > LIMITS.colormapEntries) throw tooMany();
  if (entries.length === 0) throw new Untranslatable('ColorMap', 'The colour map is empty.');
  const values = entries.map(({ value }) => value);
  const colors = entries.map(({ color }) => color);
  if (type === 'values') return { kind: 'values', values, colors };
  if (values.some((value, i) => i > 0 && value <= values[i - 1]!)) {
    throw new Untranslatable('ColorMapEntry', 'Quantities do not ascend.');
  }
  if (type === 'intervals') return { kind: 'intervals', bounds: bounds(values, false), colors };
  if (type !== 'ramp') context.report.warn('ColorMap', `The type ${type.slice(0, 20)} is drawn as a ramp.`);
  return { kind: 'stops', values, colors };
}

function parseEntry(entry: XmlElement): Entry {
  const { quantity, opacity } = entry.attributes;
  const value = asNumber(quantity);
  if (value === undefined) throw new Untranslatable('ColorMapEntry', 'A quantity is a number.');
  const alpha = opacity === undefined ? 1 : asNumber(opacity);
  if (alpha === undefined) throw new Untranslatable('ColorMapEntry', 'An opacity is a number.');
  return { value, color: bytes(entry.attributes['color'] ?? '', alpha) };
}

function bytes(text: string, opacity = 1): Color {
  const color = parseColor(literalAs(text, 'color'));
  if (!color) throw new Untranslatable('ColorMapEntry', 'Colours of a colour map are written as #rrggbb.');
  return [color[0], color[1], color[2], Math.round(255 * Math.min(1, Math.max(0, opacity)))];
}

/** Intervals of values: each ends below the next value. The last has no end if the first has no explicit start. */
function bounds(values: readonly number[], open: boolean): [number, number][] {
  const ends: [number, number][] = values.map((value, i) => [values[i - 1] ?? LEAST, value]);
  return open ? [...ends, [values.at(-1)!, MOST]] : ends;
}

/** JSON has no infinity. */
const [LEAST, MOST] = [-1e300, 1e300];

/** The ColorMap of SE 1.1: Categorize or Interpolate over the values of the raster. */
function classified(classes: XmlElement): Colormap {
  if (classes.name === 'Interpolate') {
    const points = all(classes, 'InterpolationPoint');
    if (points.length > LIMITS.colormapEntries) throw tooMany();
    const values = points.map((point) => constant(findChild(point, 'Data')));
    const colors = points.map((point) => bytes(readTextContent(findChild(point, 'Value')) ?? ''));
    if (values.length === 0) throw new Untranslatable('Interpolate', 'There are no points.');
    return { kind: 'stops', values, colors };
  }
  const values = all(classes, 'Threshold').map(constant);
  const colors = all(classes, 'Value').map((value) => bytes(readTextContent(value) ?? ''));
  if (colors.length > LIMITS.colormapEntries) throw tooMany();
  if (values.length === 0 || colors.length !== values.length + 1) {
    throw new Untranslatable('Categorize', 'Thresholds and values do not alternate.');
  }
  return { kind: 'intervals', bounds: bounds(values, true), colors };
}

function constant(of: XmlElement | undefined): number {
  const value = readNumberContent(of);
  if (value === undefined) throw new Untranslatable(of?.name ?? 'Data', 'The value is a number.');
  return value;
}

function tooMany(): Untranslatable {
  return new Untranslatable('ColorMap', `A colour map has ${LIMITS.colormapEntries} colours at most.`);
}
