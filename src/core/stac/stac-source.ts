/** Sources that are imagery of STAC APIs: `stac+https://host/path?collections=…&asset=…`. */

import { Cql2Error, parseText } from '../cql2/index.js';
import { TaskFailure } from '../errors/failure.js';
import type { Box } from '../geometry/box.js';
import { LIMITS } from '../kit/limits.js';
import { STAC_LIMITS } from './limits.js';

/** Order or merge method of overlapping scenes. */
const SCENE_MERGES = [
  ...(['first', 'newest', 'lowest-cloud'] as const),
  ...(['highest', 'lowest', 'mean', 'median', 'standard-deviation', 'count'] as const),
] as const;
export type SceneMerge = (typeof SCENE_MERGES)[number];

export interface StacSource {
  /** Address in the configuration. */
  readonly address: string;
  /** URL of the landing page of the API. */
  readonly url: string;
  readonly name: string;
  readonly collections: readonly string[];
  readonly assets: readonly string[];
  /** Bands to read, counted from 1 over all assets. Default: all. */
  readonly bands?: readonly number[];
  readonly bbox?: Box;
  readonly datetime?: string;
  /** CQL2 text. */
  readonly filter?: string;
  readonly merge: SceneMerge;
  /** Whether it is searched once for all, or for each window. */
  readonly search: 'static' | 'window';
  /** Maximum scenes of the mosaic, or of one search for a window. */
  readonly maxScenes: number;
  /** Milliseconds between two searches of one kind. */
  readonly refreshMs: number;
  /** Whether requests for assets use the object store credentials of the environment. */
  readonly credentials: 'none' | 'environment';
  /** CRS of the mosaic. Default: the common CRS of the scenes, otherwise degrees. */
  readonly crs?: string;
}

const REFRESH_S = { min: 30, usual: 600, max: 86_400 };
/** Names of collections, assets and bands in one list, and characters of one. */
const MAX_NAMES = 32;
const MAX_NAME = 200;

type Setting = keyof typeof SETTINGS;

/** Settings in the query of the address, with their parsers. */
const SETTINGS = {
  collections: names,
  asset: (text: string) => [named('asset', text)],
  assets: names,
  bands: (text: string) => text.split(',').map((one) => integer('bands', one, 1, 256)),
  bbox: box,
  datetime: instants,
  filter: cql2,
  merge: (text: string) =>
    SCENE_MERGES.find((one) => one === text) ?? wrong('merge', `must be one of ${SCENE_MERGES.join(', ')}`),
  search: (text: string) =>
    (['static', 'window'] as const).find((one) => one === text) ??
    wrong('search', 'must be static or window'),
  items: (text: string) => integer('items', text, 1, STAC_LIMITS.stacScenes),
  refresh: (text: string) => integer('refresh', text, REFRESH_S.min, REFRESH_S.max),
  crs: (text: string) =>
    /^(EPSG:\d{4,6}|OGC:CRS84)$/i.test(text) ? text.toUpperCase() : wrong('crs', 'must be EPSG:code'),
  credentials: (text: string) =>
    (['none', 'environment'] as const).find((one) => one === text) ??
    wrong('credentials', 'must be none or environment'),
  name: (text: string) => named('name', text),
} as const;

/** Throws `invalid-input` for a source that is not sound. */
export function stacSource(address: string): StacSource {
  const url = parseAddress(address);
  const { asset, assets = asset, collections, ...said } = readSettings(url.searchParams);
  if (asset && assets !== asset) wrong('asset', 'cannot be combined with assets');
  if (!assets) wrong('asset', 'is required, or assets, to name what to read from the items');
  if (!collections) wrong('collections', 'must name the collections to search');
  const { search = 'static', refresh = REFRESH_S.usual, merge = 'newest', items, name, ...rest } = said;
  const { credentials = 'none' } = said;
  const usual = search === 'static' ? STAC_LIMITS.stacScenesDefault : STAC_LIMITS.stacWindowScenesDefault;
  if (search === 'window' && items !== undefined && items > STAC_LIMITS.stacWindowScenes)
    wrong('items', `must be at most ${STAC_LIMITS.stacWindowScenes} if search is window`);
  return {
    ...rest,
    address,
    collections,
    assets,
    merge,
    search,
    credentials,
    maxScenes: items ?? usual,
    refreshMs: refresh * 1000,
    url: `${url.origin}${url.pathname}`,
    name: name ?? [...collections, ...assets].join('-'),
  };
}

function parseAddress(address: string): URL {
  const text = address.replace(/^stac\+/i, '');
  if (!URL.canParse(text)) throw new TaskFailure('invalid-input', 'The source is not a URL.');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw new TaskFailure('invalid-input', 'The URL of a STAC API must not have credentials.');
  return url;
}

type Settings = { [S in Setting]?: Exclude<ReturnType<(typeof SETTINGS)[S]>, never> };

function readSettings(query: URLSearchParams): Settings {
  const settings: Record<string, unknown> = {};
  for (const [name, text] of query) {
    const read = Object.hasOwn(SETTINGS, name) ? SETTINGS[name as Setting] : undefined;
    if (!read)
      wrong(name.slice(0, 50), `is not a setting of a STAC API. Use ${Object.keys(SETTINGS).join(', ')}`);
    if (name in settings) wrong(name, 'is given twice');
    settings[name] = read(text);
  }
  return settings as Settings;
}

/** APIs take no dates without times: they mean whole days. */
function instants(text: string): string {
  if (!/^[-\d:.TZ+/]{4,80}$/i.test(text))
    return wrong(
      'datetime',
      'must be an instant or an interval start/end, for example 2026-01-01T00:00:00Z/..',
    );
  const [first = '', last = first, ...more] = text.split('/');
  if (more.length > 0)
    return wrong(
      'datetime',
      'must be an instant or an interval start/end, for example 2026-01-01T00:00:00Z/..',
    );
  const start = DATE.test(first) ? `${first}T00:00:00Z` : first;
  const end = DATE.test(last) ? `${last}T23:59:59.999Z` : last;
  return start === end ? start : `${start}/${end}`;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;

function names(text: string): readonly string[] {
  const list = text.split(',').map((one) => named('a list', one));
  if (list.length > MAX_NAMES) wrong('a list', `has more than ${MAX_NAMES} names`);
  return [...new Set(list)];
}

function named(setting: string, text: string): string {
  const name = text.trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be there.
  if (name === '' || name.length > MAX_NAME || /[\u0000-\u001f\u007f]/.test(name))
    wrong(setting, 'must have plain names');
  return name;
}

function integer(setting: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > max)
    wrong(setting, `must be an integer from ${min} to ${max}`);
  return value;
}

function cql2(text: string): string {
  if (text.length > LIMITS.filterCharacters) wrong('filter', 'is too long');
  try {
    parseText(text);
    return text;
  } catch (error) {
    if (!(error instanceof Cql2Error)) throw error;
    return wrong('filter', error.message);
  }
}

function box(text: string): Box {
  const numbers = text.split(',').map(Number);
  const [west, south, east, north] = numbers as [number, number, number, number];
  const isBox = numbers.length === 4 && numbers.every(Number.isFinite) && south <= north;
  if (!isBox || Math.max(Math.abs(west), Math.abs(east)) > 180 || Math.max(-south, north) > 90)
    wrong('bbox', 'must be west, south, east, north in degrees');
  return [west, south, east, north];
}

function wrong(setting: string, detail: string): never {
  throw new TaskFailure('invalid-input', `${setting}: ${detail}.`);
}
