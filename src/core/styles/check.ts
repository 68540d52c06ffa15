import { latest, validateStyleMin } from '@maplibre/maplibre-gl-style-spec';
import type { RasterLook } from '../rasters/raster-look.js';
import { escapePointerName, findBoundsProblem, type StyleProblem } from './bounds.js';
import { MAX_FONTS, unknownFont } from './fonts.js';
import { getLayerSourceType, layerTypesFor } from './layer-types.js';
import { STYLE_LIMITS } from './limits.js';
import { checkedLook, LOOK, LookError } from './look.js';
import { COLLECTION_SOURCE, type StyleDocument, type StyleLayer } from './model.js';

/** Use of a style: its collection and the permitted references. */
export interface StyleUse {
  /** Identifier of the collection: the name of its layer in vector tiles. */
  readonly id: string;
  readonly kind: 'vector' | 'raster';
  /** Why clients may not be sent to a host for icons or glyphs; undefined when they may. Absent: to none. */
  readonly urlProblem?: (url: URL) => string | undefined;
  /** Why bands cannot be shown that way; undefined when they can. Absent: all can. */
  readonly lookProblem?: (look: RasterLook) => string | undefined;
}

/** A style that can be drawn, stored and served. */
export interface CheckedStyle {
  /** All of its layers name the collection as their source, whatever the author wrote. */
  readonly document: StyleDocument;
  /** Layers of the style that draw the collection. */
  readonly layers: readonly StyleLayer[];
}

export class StyleError extends Error {
  override readonly name = 'StyleError';

  /** One or more. */
  constructor(readonly problems: readonly StyleProblem[]) {
    super(`${problems[0]!.path || '/'}: ${problems[0]!.detail}`);
  }
}

type Json = Record<string, unknown>;

/** Types of layers that draw no source. */
const UNSOURCED: readonly string[] = ['background'];

/** Checks an untrusted MapLibre style document. Throws `StyleError`. Large documents take a second. */
export function checkStyle(value: unknown, use: StyleUse): CheckedStyle {
  const layers = ownLayers(value, use);
  return checked(value as Json, use, layers, layerProblems(layers));
}

/** The same with the long part of the work done elsewhere: `find` is `layerProblems`. */
export async function checkStyleBy(
  find: (layers: readonly Json[]) => Promise<StyleProblem[]>,
  value: unknown,
  use: StyleUse,
): Promise<CheckedStyle> {
  const layers = ownLayers(value, use);
  return checked(value as Json, use, layers, await find(layers));
}

/** Problems of layers according to the style specification and the renderer. */
export function layerProblems(layers: readonly Json[]): StyleProblem[] {
  return [
    ...layers.flatMap((layer, i) => readProblems(layer, i)),
    ...layers.flatMap((layer, i) => undrawable(layer, `/layers/${i}`)),
  ].slice(0, STYLE_LIMITS.styleErrors);
}

function ownLayers(value: unknown, use: StyleUse): Json[] {
  const large = findBoundsProblem(value);
  if (large) throw new StyleError([large]);
  if (!isObject(value)) refuse('', 'must be an object');
  if (value['version'] !== 8) refuse('/version', 'must be 8, the version of the style specification');
  const list = value['layers'];
  if (!Array.isArray(list)) refuse('/layers', 'must be an array');
  if (list.length > STYLE_LIMITS.styleLayers)
    refuse('/layers', `must have at most ${STYLE_LIMITS.styleLayers} layers`);
  const layers = list.map((layer, i) => ownLayer(layer, `/layers/${i}`, use));
  requireUnique(layers);
  return layers;
}

function checked(
  value: Json,
  use: StyleUse,
  layers: readonly Json[],
  all: readonly StyleProblem[],
): CheckedStyle {
  const looks = layers.flatMap((layer, i) => lookProblems(layer, `/layers/${i}`, use));
  const problems = [...all, ...looks];
  if (problems.length > 0) throw new StyleError(problems.slice(0, STYLE_LIMITS.styleErrors));
  const document = {
    version: 8,
    ...named(value),
    ...resources(value, use),
    sources: { [COLLECTION_SOURCE]: { type: use.kind } },
    layers,
  } as unknown as StyleDocument;
  return { document, layers: drawnLayers(document) };
}

/** The layers of a checked document that draw the collection. */
export function drawnLayers({ layers }: StyleDocument): StyleLayer[] {
  return layers
    .filter(({ type }) => !UNSOURCED.includes(type))
    .map(({ ...layer }: Json) => {
      delete layer['source'];
      delete layer['source-layer'];
      return layer as unknown as StyleLayer;
    });
}

function refuse(path: string, detail: string): never {
  throw new StyleError([{ path, detail }]);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function named({ name, metadata }: Json): Json {
  if (name !== undefined && typeof name !== 'string') refuse('/name', 'must be a string');
  if (metadata !== undefined && !isObject(metadata)) refuse('/metadata', 'must be an object');
  return { ...(name === undefined ? {} : { name }), ...(metadata === undefined ? {} : { metadata }) };
}

/** The layer with the collection as its source. */
function ownLayer(layer: unknown, path: string, { kind, id }: StyleUse): Json {
  if (!isObject(layer)) refuse(path, 'must be an object');
  if (typeof layer['id'] !== 'string' || layer['id'] === '') refuse(`${path}/id`, 'must be a string');
  if ('ref' in layer)
    refuse(
      `${path}/ref`,
      'is a member of an older style specification. Repeat the members of the layer instead',
    );
  const type = layer['type'];
  if (UNSOURCED.includes(type as string)) return layer;
  const types = layerTypesFor(kind);
  if (!types.includes(type as string))
    refuse(`${path}/type`, `must be one of ${types.join(', ')} for a ${kind} collection`);
  const { source: _source, 'source-layer': _layer, ...own } = layer;
  return { ...own, source: COLLECTION_SOURCE, ...(kind === 'vector' ? { 'source-layer': id } : {}) };
}

function requireUnique(layers: readonly Json[]): void {
  const visited = new Set<unknown>();
  layers.forEach(({ id }, i) => {
    if (visited.has(id)) refuse(`/layers/${i}/id`, 'must differ from the ids of other layers');
    visited.add(id);
  });
}

/** Problems of a layer according to the style specification. */
function readProblems(layer: Json, index: number): StyleProblem[] {
  const type = layer['type'] as string;
  const sources = { [COLLECTION_SOURCE]: { type: getLayerSourceType(type) } };
  const key = `layers[${index}]`;
  try {
    const errors = validateStyleMin.layer({
      key,
      value: layer,
      arrayIndex: 0,
      style: { version: 8, sources, layers: [layer] },
      styleSpec: latest,
    }) as { message: string }[];
    return errors.map(({ message }) => createProblem(message));
  } catch {
    // The validator trips over some values that it does not expect.
    return [{ path: `/layers/${index}`, detail: 'must be a layer of a MapLibre style' }];
  }
}

/** Maximum characters of a validator message, which quotes its input. */
const MAX_DETAIL = 300;

/** `layers[0].paint.line-width: number expected` with its place as a JSON pointer. */
function createProblem(message: string): StyleProblem {
  const [, place = '', detail = message] = /^(\S*?): (.*)$/s.exec(message) ?? [];
  const path = place.split(/[.[\]]+/).filter((name) => name !== '');
  return {
    path: path.map((name) => `/${escapePointerName(name)}`).join(''),
    detail: detail.slice(0, MAX_DETAIL),
  };
}

/** Expressions that use the geometry. Layers are drawn from tiles, which do not contain the complete geometry. */
const OF_GEOMETRY: readonly unknown[] = ['within', 'distance'];

/** Constructs of the specification that this server cannot draw. */
function undrawable(layer: Json, path: string): StyleProblem[] {
  const problems: StyleProblem[] = [];
  for (const part of ['filter', 'layout', 'paint'])
    visit(layer[part], `${path}/${part}`, (value, at) => {
      if (!Array.isArray(value) || !OF_GEOMETRY.includes(value[0]) || !isObject(value[1])) return;
      problems.push({ path: at, detail: `the expression "${value[0]}" cannot be drawn by this server` });
    });
  const font = (layer['layout'] as Json | undefined)?.['text-font'];
  for (const fonts of fontsIn(font)) {
    const unknown = unknownFont(fonts);
    const detail =
      unknown === undefined
        ? `must have at most ${MAX_FONTS} names`
        : `there is no font "${unknown.slice(0, MAX_DETAIL)}"`;
    if (unknown !== undefined || fonts.length > MAX_FONTS)
      problems.push({ path: `${path}/layout/text-font`, detail });
  }
  return problems;
}

/** Lists of fonts in a value of `text-font`: the value itself, lists in an expression, or in stops of a function. */
function fontsIn(value: unknown): string[][] {
  if (isTexts(value)) return [value];
  const fonts: string[][] = [];
  visit(value, '', (part) => {
    if (Array.isArray(part) && part[0] === 'literal' && isTexts(part[1])) fonts.push(part[1]);
    else if (isObject(part) && Array.isArray(part['stops']))
      fonts.push(...part['stops'].map((stop) => (stop as unknown[])?.[1]).filter(isTexts));
  });
  return fonts;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

/** Problems of the rendering settings of a raster layer. */
function lookProblems({ type, metadata }: Json, path: string, { lookProblem }: StyleUse): StyleProblem[] {
  if (metadata !== undefined && !isObject(metadata))
    return [{ path: `${path}/metadata`, detail: 'must be an object' }];
  const look = metadata?.[LOOK];
  if (type !== 'raster' || look === undefined) return [];
  const at = `${path}/metadata/${escapePointerName(LOOK)}`;
  try {
    const problem = lookProblem?.(checkedLook(look));
    return problem === undefined ? [] : [{ path: at, detail: problem }];
  } catch (error) {
    if (!(error instanceof LookError)) throw error;
    const [, place = '', detail = error.message] = /^([\w.]*): (.*)$/s.exec(error.message) ?? [];
    const names = place.split('.').filter((name) => name !== '');
    return [{ path: at + names.map((name) => `/${name}`).join(''), detail: detail.slice(0, MAX_DETAIL) }];
  }
}

function visit(value: unknown, path: string, use: (value: unknown, path: string) => void): void {
  use(value, path);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value)) visit(part, `${path}/${escapePointerName(name)}`, use);
}

const OURS = {
  sprite: /^(?:https?:\/\/[^/?#]+)?(?:\/[^?#]*)?(\/ogc\/maps\/sprites\/[\w-]+)$/,
  glyphs: /^(?:https?:\/\/[^/?#]+)?(?:\/[^?#]*)?(\/ogc\/maps\/fonts\/\{fontstack\}\/\{range\}\.pbf)$/,
};

/** URLs of icons and glyphs: paths of this server without a host name, or permitted other URLs. */
function resources(value: Json, use: StyleUse): Json {
  const members: Json = {};
  for (const name of ['sprite', 'glyphs'] as const) {
    const member = value[name];
    if (member === undefined) continue;
    if (typeof member !== 'string') refuse(`/${name}`, 'must be a string with one URL');
    members[name] = OURS[name].exec(member)?.[1] ?? elsewhere(member, `/${name}`, use);
    if (name === 'glyphs' && !/\{fontstack\}.*\{range\}/.test(member))
      refuse('/glyphs', 'must contain {fontstack} and {range}');
  }
  return members;
}

function elsewhere(text: string, path: string, { urlProblem }: StyleUse): string {
  let url: URL | undefined;
  try {
    url = new URL(text.replaceAll(/[{}]/g, ''));
  } catch {
    refuse(path, 'must be a URL of this server, or start with https:');
  }
  if (url.protocol !== 'https:') refuse(path, 'must start with https:');
  const problem = urlProblem
    ? urlProblem(url)
    : `${url.host} is not an allowed host. Add it to the setting remote.allow`;
  if (problem !== undefined) refuse(path, problem);
  return text;
}
