import { type Color, parseColor } from '../../../rasters/color-ramps.js';
import type { Colormap, RasterLook } from '../../../rasters/raster-look.js';
import { hexColor } from '../../hex-color.js';
import type { SldLayerValues } from '../import/layer-values.js';
import type { Expr } from '../values.js';
import { xml, xmlText } from './xml-writer.js';

/** The bands, stretch and colour map of `metadata["graticule:look"]`. */
export function lookElements(values: SldLayerValues): (string | undefined)[] {
  const look = values.metadata('graticule:look') as RasterLook | undefined;
  if (!look) return [];
  if (look.expressions) values.warn('expressions', 'Band math has no counterpart.');
  if (look.nodata !== undefined) values.warn('nodata', 'A value that is transparent has no counterpart.');
  const { bands, rescale, colormap } = look;
  return [
    bands && channels(bands, rescale),
    colormap && colormapElement(colormap, values),
    !bands && rescale?.length === 1 ? stretch(rescale[0]!) : undefined,
  ];
}

function channels(bands: readonly number[], rescale: RasterLook['rescale']): string {
  const names = bands.length === 1 ? ['GrayChannel'] : ['RedChannel', 'GreenChannel', 'BlueChannel'];
  const range = (i: number) => rescale?.[rescale.length === 1 ? 0 : i];
  return xml(
    'se:ChannelSelection',
    names.map((name, i) => {
      const of = range(i);
      return xml(`se:${name}`, [xmlText('se:SourceChannelName', bands[i]!), of && stretch(of)]);
    }),
  );
}

/** Range of values, as vendor options, because SE has no element for it. */
function stretch([low, high]: readonly [number, number]): string {
  const option = (name: string, text: string | number) => xmlText('se:VendorOption', text, { name });
  return xml('se:ContrastEnhancement', [
    xml('se:Normalize', [
      option('algorithm', 'StretchToMinimumMaximum'),
      option('minValue', low),
      option('maxValue', high),
    ]),
  ]);
}

/** In the form of SLD 1.0, which programs read also in 1.1: SE has no opacity of a class. */
function colormapElement(map: Colormap, values: SldLayerValues): string | undefined {
  if (map.kind === 'ramp') {
    values.warn(
      'colormap',
      'A ramp over the range of the values has no counterpart: its values must be known.',
    );
    return undefined;
  }
  if (map.kind !== 'intervals') {
    return entries(map.kind === 'stops' ? 'ramp' : 'values', map.values, map.colors);
  }
  const joined = map.bounds.every(([low], i) => i === 0 || low === map.bounds[i - 1]![1]);
  if (!joined) values.warn('colormap', 'Gaps between the intervals are filled.');
  const ends = map.bounds.map(([, high]) => high);
  return entries('intervals', ends, map.colors);
}

function entries(type: string, quantities: readonly number[], colors: readonly Color[]): string {
  const items = quantities.map((quantity, i) => {
    const [red, green, blue, alpha] = colors[i]!;
    const color = hexColor([red, green, blue]);
    const opacity = alpha === 255 ? undefined : String(Number((alpha / 255).toFixed(4)));
    return xml('se:ColorMapEntry', [], { color, quantity: String(quantity), opacity });
  });
  return xml('se:ColorMap', items, { type });
}

/** `color-relief-color`: colours over ["elevation"]. */
export function reliefColormap(values: SldLayerValues): string | undefined {
  const color = values.raw('color-relief-color');
  const [operator, ...rest] = Array.isArray(color) ? (color as readonly Expr[]) : [];
  const parts = operator === 'interpolate' ? rest.slice(2) : operator === 'step' ? rest.slice(1) : [];
  // The first colour of a step has no start, and the last has no end.
  const stops = operator === 'step' ? [...parts, MOST] : parts;
  const quantities = stops.filter((_, i) => i % 2 === (operator === 'step' ? 1 : 0)) as number[];
  const colors = stops
    .filter((_, i) => i % 2 === (operator === 'step' ? 0 : 1))
    .map((one) => parseColor(one));
  if (colors.length === 0 || colors.some((one) => one === undefined)) {
    values.warn('color-relief-color', 'Only colours as #rrggbb at elevations have a counterpart.');
    return undefined;
  }
  return entries(operator === 'step' ? 'intervals' : 'ramp', quantities, colors as Color[]);
}

const MOST = 1e300;
