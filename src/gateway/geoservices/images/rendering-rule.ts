import type { RasterCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { BandMathError, parseBandMath } from '../../../core/rasters/band-math/index.js';
import { type Color, ramp } from '../../../core/rasters/color-ramps.js';
import type { AskedLook } from '../../../core/rasters/look-params.js';
import type { BandInfo } from '../../../core/rasters/rasters.js';
import type { StyleLayer } from '../../../core/styles/model.js';
import { scalarNumber, scalarText } from '../../../services/geoservices/scalar.js';
import { type Members, readObjectMember, requireObject } from '../members.js';

/**
 * Converts the raster functions of a rendering rule (Esri's "Raster function objects") to options of Graticule's
 * renderer. Nested functions are evaluated from the inside out. Throws 400 with the name `renderingRule`.
 */

type Look = Partial<AskedLook>;

export interface ImageRendering {
  readonly look: Look;
  /** In place of the style of the raster. */
  readonly style?: readonly StyleLayer[];
}

interface Step {
  readonly collection: RasterCollection;
  readonly args: Members;
  /** Result of the nested function. */
  readonly inner: ImageRendering;
}

/** Functions may be within one another, that deep. */
const MAX_DEPTH = 8;

export function parseRenderingRule(collection: RasterCollection, members: Members): ImageRendering {
  const rule = readObjectMember(members, 'renderingRule');
  return rule ? readFunction(collection, rule, 0) : { look: {} };
}

function readFunction(collection: RasterCollection, rule: Members, depth: number): ImageRendering {
  if (depth > MAX_DEPTH) wrong(`must have at most ${MAX_DEPTH} nested functions`);
  const name = rule['rasterFunction'];
  const args = requireObject('renderingRule', rule['rasterFunctionArguments'] ?? {});
  const within = args['Raster'] ?? args['raster'];
  const inner =
    typeof within === 'object' && within !== null
      ? readFunction(collection, within as Members, depth + 1)
      : { look: {} };
  if (name === undefined || name === '' || name === 'None') return inner;
  const key = scalarText('renderingRule', name).toLowerCase();
  const read = Object.hasOwn(FUNCTIONS, key) ? FUNCTIONS[key] : undefined;
  if (!read) wrong(`has the function '${key.slice(0, 60)}', which is not supported`);
  const { look, style = inner.style } = read({ collection, args, inner });
  return { look: { ...inner.look, ...look }, ...(style ? { style } : {}) };
}

const FUNCTIONS: Readonly<Record<string, (step: Step) => ImageRendering>> = {
  extractband: ({ collection, args }) => ({
    look: { bands: listBands(collection, readList(args, 'BandIDs', 'BandIds')) },
  }),
  stretch: (step) => ({ look: stretched(step) }),
  colormap: ({ args, inner }) => ({ look: { ...takeFirst(inner.look), colormap: readColormap(args) } }),
  ndvi: ({ collection, args }) => ({
    look: index(collection, readNumber(args, 'InfraredBandID'), readNumber(args, 'VisibleBandID')),
  }),
  bandarithmetic: ({ collection, args }) => ({ look: arithmetic(collection, args) }),
  hillshade: ({ args }) => ({ look: {}, style: [relief(args)] }),
};

function wrong(detail: string): never {
  throw badParameter('renderingRule', detail);
}

/** Converts band numbers counted from 0 to numbers counted from 1. */
function listBands({ bands }: RasterCollection, ids: readonly unknown[]): number[] {
  const numbers = ids.map((id) => scalarNumber('renderingRule', id) + 1);
  if (!numbers.every((number) => Number.isInteger(number) && number >= 1 && number <= bands.length))
    wrong(`must name bands from 0 to ${bands.length - 1}`);
  // With two bands only the first is shown, with more than three the first three.
  return numbers.length >= 3 ? numbers.slice(0, 3) : numbers.slice(0, 1);
}

function readList(args: Members, ...names: readonly string[]): readonly unknown[] {
  const value = names.map((name) => args[name]).find((one) => one !== undefined);
  if (!Array.isArray(value) || value.length === 0) wrong(`must have the array ${names[0]}`);
  return value;
}

function readNumber(args: Members, name: string, fallback?: number): number {
  const value = args[name] ?? fallback;
  if (typeof value !== 'number' || !Number.isFinite(value)) wrong(`must have the number ${name}`);
  return value;
}

const STANDARD_DEVIATION = 3;
const MINIMUM_MAXIMUM = 5;

/** Values for the darkest and the brightest shade: from the arguments, or from the statistics of the bands. */
function stretched({ collection, args, inner }: Step): Look {
  const type = readNumber(args, 'StretchType', 0);
  if (type === 0) return {};
  if (type !== STANDARD_DEVIATION && type !== MINIMUM_MAXIMUM)
    wrong(`has the stretch type ${type}. Use 0, ${STANDARD_DEVIATION} or ${MINIMUM_MAXIMUM}`);
  const own = args['Statistics'];
  const rows = Array.isArray(own) && own.length > 0 ? own.map(readStatistics) : shownBands(collection, inner);
  const deviations = readNumber(args, 'NumberOfStandardDeviations', 2);
  const ranges = rows.map(({ min, max, mean, stdDev }): [number, number] =>
    type === MINIMUM_MAXIMUM
      ? [min, max]
      : [Math.max(min, mean - deviations * stdDev), Math.min(max, mean + deviations * stdDev)],
  );
  if (ranges.length === 0 || !ranges.every(([min, max]) => min < max))
    wrong('must stretch a range of values');
  return { rescale: ranges.length >= 3 ? ranges.slice(0, 3) : ranges.slice(0, 1) };
}

type Statistics = NonNullable<BandInfo['statistics']>;

/** `[min, max, mean, standard deviation]`. */
function readStatistics(row: unknown): Statistics {
  const [min, max, mean = 0, stdDev = 0] = readNumbers(row);
  if (![min, max, mean, stdDev].every(Number.isFinite)) wrong('must have numbers in Statistics');
  return { min: min!, max: max!, mean, stdDev };
}

function shownBands({ bands }: RasterCollection, { look }: ImageRendering): Statistics[] {
  if (look.expression) wrong('must have Statistics, because it stretches an expression');
  const numbers = look.bands ?? (bands.length >= 3 ? [1, 2, 3] : [1]);
  return numbers.map(
    (number) => bands[number - 1]?.statistics ?? wrong(`has no statistics of band ${number}`),
  );
}

/** Colours are of one band: the first that is shown, and its range. */
function takeFirst({ bands, rescale }: Look): Look {
  return {
    ...(bands ? { bands: bands.slice(0, 1) } : {}),
    ...(rescale ? { rescale: rescale.slice(0, 1) } : {}),
  };
}

/** Values and colours `[value, red, green, blue]`, or the name of a ramp. */
function readColormap(args: Members): NonNullable<Look['colormap']> {
  const name = args['ColorRamp'] ?? args['ColorrampName'] ?? args['ColormapName'];
  const colors = typeof name === 'string' ? ramp(name.toLowerCase().replaceAll(' ', '')) : undefined;
  if (colors) return { kind: 'ramp', colors };
  if (name !== undefined) wrong('must name a known colour ramp');
  const list = readList(args, 'Colormap');
  if (list.length > LIMITS.colormapEntries) wrong(`must have at most ${LIMITS.colormapEntries} colours`);
  const rows = list.map((row) => readNumbers(row));
  if (!rows.every((row) => row.length >= 4 && row.every(Number.isFinite)))
    wrong('must have a Colormap of [value, red, green, blue]');
  return {
    kind: 'values',
    values: rows.map(([value]) => value!),
    colors: rows.map(([, r, g, b]): Color => [shade(r!), shade(g!), shade(b!), 255]),
  };
}

const readNumbers = (row: unknown) =>
  (Array.isArray(row) ? row : []).map((one) => scalarNumber('renderingRule', one));
const shade = (value: number) => Math.min(255, Math.max(0, Math.round(value)));

/** The normalised difference of two bands, -1 to 1. */
function index(collection: RasterCollection, infrared: number, visible: number): Look {
  const [first] = listBands(collection, [infrared]);
  const [second] = listBands(collection, [visible]);
  return parseExpression(`(b${first}-b${second})/(b${first}+b${second})`);
}

const USER_DEFINED = 0;
const NDVI = 1;

function arithmetic(collection: RasterCollection, args: Members): Look {
  const method = readNumber(args, 'Method', USER_DEFINED);
  const text = args['BandIndexes'] ?? args['BandIndices'];
  if (typeof text !== 'string') wrong('must have the string BandIndexes');
  if (method === USER_DEFINED) return { ...parseExpression(text.toLowerCase()) };
  if (method !== NDVI) wrong(`has the method ${method}. Use ${USER_DEFINED} or ${NDVI}`);
  const [infrared = Number.NaN, visible = Number.NaN] = text.trim().split(/\s+/).map(Number);
  return index(collection, infrared - 1, visible - 1);
}

function parseExpression(text: string): Look {
  try {
    const expression = parseBandMath(text);
    if (expression.length !== 1 && expression.length !== 3) wrong('must have one expression, or three');
    return { expression, ...(/\//.test(text) ? { rescale: [[-1, 1]] } : {}) };
  } catch (error) {
    if (!(error instanceof BandMathError)) throw error;
    return wrong(error.message);
  }
}

function relief(args: Members): StyleLayer {
  const azimuth = readNumber(args, 'Azimuth', 315);
  const factor = readNumber(args, 'ZFactor', 1);
  const paint = {
    'hillshade-illumination-direction': ((azimuth % 360) + 360) % 360,
    'hillshade-exaggeration': Math.min(1, Math.max(0, factor / 2)),
  };
  return { id: 'relief', type: 'hillshade', paint } as StyleLayer;
}
