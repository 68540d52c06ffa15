import { ramp } from '../rasters/color-ramps.js';
import { chooseDefaultBands, type RasterContext } from '../rasters/default-bands.js';
import { mapClasses } from '../rasters/raster-classes.js';
import type { BandInfo } from '../rasters/rasters.js';
import type { GeometryType } from '../sources/vector-source.js';
import { circlesWithHalo } from './circles.js';
import { LOOK } from './look.js';
import type { MapStyle, StyleLayer } from './model.js';
import type { PointSpread } from './point-density.js';

/** Colours that are distinguishable with common colour vision deficiencies (Okabe and Ito). */
const PALETTE = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#6a51a3', '#8c6d31'];

/** The same collection always gets the same colour. */
function formatColour(id: string): string {
  let hash = 0;
  for (const char of id) hash = (hash * 31 + char.codePointAt(0)!) >>> 0;
  return PALETTE[hash % PALETTE.length]!;
}

/** Full width from zoom level 5; thinner below, because outlines are close to each other. */
const zoomed = (width: number): never =>
  ['interpolate', ['linear'], ['zoom'], 0, width * 0.4, 5, width] as never;

/**
 * Default style of a vector layer: light fills, clear outlines, visible points. The circles of many points shrink where
 * they would cover each other.
 */
export function defaultStyle(geometryType: GeometryType, id: string, spread?: PointSpread): MapStyle {
  const colour = formatColour(id);
  if (geometryType.endsWith('Point'))
    return { version: 0, layers: circlesWithHalo(colour, { radius: 4, spread }) };
  if (geometryType.endsWith('LineString')) return { version: 0, layers: [lines(colour)] };
  if (geometryType.endsWith('Polygon')) return { version: 0, layers: polygons(colour) };
  const only = (type: string, layer: StyleLayer): StyleLayer =>
    ({ ...layer, filter: ['==', ['geometry-type'], type] }) as StyleLayer;
  return {
    version: 0,
    layers: [
      ...polygons(colour).map((layer) => only('Polygon', layer)),
      only('LineString', lines(colour)),
      ...circlesWithHalo(colour, { radius: 4 }).map((layer) => only('Point', layer)),
    ],
  };
}

/** A raster as its colours, bands or values suggest. */
export const RASTER_STYLE: MapStyle = { version: 0, layers: [{ id: 'raster', type: 'raster' }] };

/** Default ramp: brightness increases with the value, readable with colour vision deficiencies and in gray. */
const PERCEPTUAL = ramp('viridis')!;

/**
 * Default style of a raster. Images (red, green and blue bands, a colour table, gray bytes) are drawn unchanged, and
 * scenes of several bands in natural colours. Classes have their colours in the file. The first band of other rasters gets a colour ramp.
 */
export function defaultRasterStyle(bands: readonly BandInfo[], naming?: RasterContext): MapStyle {
  const choice = chooseDefaultBands(bands, naming);
  const colors = bands.filter(({ colorInterpretation }) => colorInterpretation !== 'Alpha');
  const [first] = colors;
  if (colors.length === 1 && first?.classes && first.colorInterpretation !== 'Palette') {
    const look = { bands: [first.band], colormap: mapClasses(first.classes) };
    return { version: 0, layers: [{ id: 'raster', type: 'raster', metadata: { [LOOK]: look } }] };
  }
  if (choice.kind === 'image') return RASTER_STYLE;
  const shown = choice.kind === 'scene' ? choice.bands : [choice.band];
  const rescale = findByteRanges(shown.map((number) => bands.find(({ band }) => band === number)!));
  const look = {
    bands: shown,
    ...(rescale && { rescale }),
    ...(choice.kind === 'quantity' && { colormap: { kind: 'ramp', colors: PERCEPTUAL } }),
  };
  return { version: 0, layers: [{ id: 'raster', type: 'raster', metadata: { [LOOK]: look } }] };
}

/** Ranges of bytes, which would be dark from 0 to 255. Other types have their ranges by default. */
function findByteRanges(bands: readonly BandInfo[]): (readonly [number, number])[] | undefined {
  const ranges = bands.flatMap(({ type, usualRange }) => (type === 'Byte' && usualRange ? [usualRange] : []));
  return ranges.length === bands.length ? ranges : undefined;
}

function polygons(colour: string): StyleLayer[] {
  return [
    {
      id: 'fill',
      type: 'fill',
      paint: { 'fill-color': colour, 'fill-opacity': 0.35, 'fill-antialias': false },
    },
    {
      id: 'outline',
      type: 'line',
      layout: { 'line-cap': 'round', 'line-join': 'round' },
      paint: { 'line-color': colour, 'line-width': zoomed(1), 'line-opacity': 0.9 },
    },
  ];
}

function lines(colour: string): StyleLayer {
  return {
    id: 'line',
    type: 'line',
    layout: { 'line-cap': 'round', 'line-join': 'round' },
    paint: { 'line-color': colour, 'line-width': zoomed(1.5) },
  };
}
