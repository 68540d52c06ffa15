import type { BandInfo } from './rasters.js';

/** Bands that a raster shows by default, counted from 1. */
export type DefaultBands =
  /** The colours of an image, unchanged. */
  | { readonly kind: 'image' }
  /** Red, green and blue of a scene. */
  | { readonly kind: 'scene'; readonly bands: readonly [number, number, number] }
  /** One quantity with a colour ramp. */
  | { readonly kind: 'quantity'; readonly band: number };

export interface RasterContext {
  /** Whether the bands are variables of a multidimensional file, which have different quantities. */
  readonly isGridded?: boolean;
  /** File name, which can name the sensor. */
  readonly name?: string;
}

/**
 * Chooses the bands to show first. Colour interpretations count most, then names of bands (words, or band codes of
 * Landsat, Sentinel-2 and MODIS), then the number of bands without names.
 */
export function chooseDefaultBands(
  bands: readonly BandInfo[],
  { isGridded = false, name = '' }: RasterContext = {},
): DefaultBands {
  const colors = bands.filter(({ colorInterpretation }) => colorInterpretation !== 'Alpha');
  const [first] = colors;
  if (!first || first.colorInterpretation === 'Palette' || declaresColors(colors)) return { kind: 'image' };
  const named = findColorWords(colors) ?? findBandCodes(colors, name);
  if (named) return { kind: 'scene', bands: named };
  const quantity = { kind: 'quantity', band: first.band } as const;
  if (isGridded || (colors.length > 1 && colors.some(isNamedQuantity))) return quantity;
  return chooseByCount(colors) ?? quantity;
}

function declaresColors(bands: readonly BandInfo[]): boolean {
  return ['Red', 'Green', 'Blue'].every((color) =>
    bands.some(({ colorInterpretation }) => colorInterpretation === color),
  );
}

/** Words such as `Red` or `Surface reflectance, red`, but not `Red edge 1`. */
function findColorWords(bands: readonly BandInfo[]): [number, number, number] | undefined {
  const find = (color: string) => {
    const word = new RegExp(`(?:^|[^a-z])${color}(?![a-z])(?![ _-]?edge)`, 'i');
    return bands.find(({ description }) => word.test(description))?.band;
  };
  return complete([find('red'), find('green'), find('blue')]);
}

/** `B4`, `B04`, `SR_B4`, `B4 (665 nm)`, `sur_refl_b01`. */
const CODE = /^(sur_refl_|sr_|toa_)?b_?0?(\d{1,2}a?)(?![a-z0-9])/i;

/** File names of Landsat 4 to 7, whose sensors TM and ETM+ have red in band 3. */
const THEMATIC_MAPPER = /(?:^|[^a-z0-9])(?:L[ET]?0?[457](?![0-9])|E?TM(?![a-z]))/i;

function findBandCodes(bands: readonly BandInfo[], name: string): [number, number, number] | undefined {
  const codes = new Map<string, number>();
  let isModis = false;
  for (const { band, description } of bands) {
    const [, prefix, code] = CODE.exec(description) ?? [];
    if (code === undefined) continue;
    isModis ||= prefix?.toLowerCase() === 'sur_refl_';
    codes.set(code.toLowerCase(), band);
  }
  // Collections of Landsat 4 to 7 omit the thermal band 6; Landsat 8 and 9 have a band 6 in the infrared.
  const isThematicMapper =
    THEMATIC_MAPPER.test(name) || (['1', '5', '7'].every((code) => codes.has(code)) && !codes.has('6'));
  const order = isModis ? ['1', '4', '3'] : isThematicMapper ? ['3', '2', '1'] : ['4', '3', '2'];
  return complete(order.map((code) => codes.get(code)));
}

function complete(bands: readonly (number | undefined)[]): [number, number, number] | undefined {
  return bands.every((band) => band !== undefined) ? (bands as [number, number, number]) : undefined;
}

/** Whether a unit or a name says that the band is not one of several colours. */
function isNamedQuantity({ description, unit }: BandInfo): boolean {
  return unit !== '' || !isGenericName(description);
}

/** Whether a name only counts bands: empty, `Band 1`, `Layer_1`. */
export function isGenericName(name: string): boolean {
  return /^(?:(?:b|band|layer|channel)?[ _-]?\d*)$/i.test(name);
}

/** Types of sensor values. */
const SENSOR_TYPES = new Set(['Byte', 'UInt16', 'Int16']);

/** Bands without names by increasing wavelength: Landsat has 6 or 7 of them, Sentinel-2 has 13. */
function chooseByCount(bands: readonly BandInfo[]): DefaultBands | undefined {
  const [first] = bands;
  const count = bands.length;
  // Three or four bands are the colours of a camera, with near infrared; a byte a pixel is a scan or a shaded relief.
  if (count === 3 || count === 4 || (count === 1 && first!.type === 'Byte')) return { kind: 'image' };
  if (!SENSOR_TYPES.has(first!.type) || bands.some(({ type }) => type !== first!.type)) return undefined;
  const [red, green, blue] = count === 13 ? [3, 2, 1] : [2, 1, 0];
  if (count !== 13 && (count < 5 || count > 7)) return undefined;
  return { kind: 'scene', bands: [bands[red!]!.band, bands[green!]!.band, bands[blue!]!.band] };
}
