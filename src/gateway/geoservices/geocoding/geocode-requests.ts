import { badParameter } from '../../../core/errors/errors.js';
import type {
  PlaceFilter,
  PlaceQuery,
  PlaceWindow,
  PlaceWords,
  ReverseQuery,
  SuggestQuery,
} from '../../../core/geocoding/geocoding.js';
import { CRS84, type Crs } from '../../../core/geometry/crs.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { transformBox, transformPoints } from '../../../native/index.js';
import { geometryLiteral, spatialReference } from '../../../services/geoservices/geometry.js';
import { scalarNumber } from '../../../services/geoservices/scalar.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import {
  type Members,
  naming,
  readIntegerMember,
  readObjectMember,
  readTextMember,
  requireObject,
  wholeNumber,
} from '../members.js';

/** Parameters of a GeocodeServer. Errors contain the name of the parameter. */

/** Names of the parts of an address, in lower case, by the members of requests in lower case. */
const PARTS: Readonly<Record<string, keyof NonNullable<PlaceWords['parts']>>> = {
  address: 'address',
  neighborhood: 'neighborhood',
  city: 'city',
  subregion: 'subregion',
  region: 'region',
  postal: 'postal',
  countrycode: 'countryCode',
  country: 'country',
};

const ONE_LINE = ['singleline', 'single line input'];

/** Members with their names, by these in lower case. */
function anyCase(members: Members): ReadonlyMap<string, readonly [name: string, value: unknown]> {
  return new Map(Object.entries(members).map((entry) => [entry[0].toLowerCase(), entry]));
}

/** Text in one line, or parts of an address; undefined when there is neither. */
function readWords(
  members: Members,
  name: (member: string) => string = (member) => member,
): PlaceWords | undefined {
  const lower = anyCase(members);
  const text = (member: string) => {
    const [own, value] = lower.get(member) ?? [member, undefined];
    const word = typeof value === 'number' ? String(value) : value;
    return naming(name(own), () => readTextMember({ [own]: word }, own, GEOSERVICES_LIMITS.geocodeText));
  };
  const line = ONE_LINE.map(text).find((one) => one !== undefined);
  if (line !== undefined) return { text: line };
  const parts: Record<string, string> = {};
  for (const [member, part] of Object.entries(PARTS)) {
    const value = text(member);
    if (value !== undefined) parts[part] = value;
  }
  return Object.keys(parts).length === 0 ? undefined : { parts };
}

function outSR(members: Members): Crs {
  const value = members['outSR'];
  return value === undefined || value === '' ? CRS84 : spatialReference('outSR', value);
}

const LANGUAGE = /^[a-z]{2,3}(-[a-z0-9]{2,8})?$/i;

function readLanguageCode(members: Members): string | undefined {
  const text = readTextMember(members, 'langCode', 20);
  if (text === undefined) return undefined;
  if (!LANGUAGE.test(text))
    throw badParameter('langCode', 'must be a language code, for example de or pt-BR');
  return text.toLowerCase();
}

function readFilter(members: Members, types: 'category' | 'featureTypes'): PlaceFilter {
  const window = readWindow(members);
  const countries = [...readList(members, 'countryCode'), ...readList(members, 'sourceCountry')];
  const kinds = readList(members, types);
  const language = readLanguageCode(members);
  return {
    ...(window ? { window } : {}),
    ...(countries.length > 0 ? { countries } : {}),
    ...(kinds.length > 0 ? { types: kinds } : {}),
    ...(language === undefined ? {} : { language }),
  };
}

const MAX_LISTED = 50;

/** Words with commas between them, in lower case. */
function readList(members: Members, name: string): string[] {
  const words = (readTextMember(members, name, 2000) ?? '').toLowerCase().split(',');
  const list = words.map((word) => word.trim()).filter((word) => word !== '');
  if (list.length > MAX_LISTED) throw badParameter(name, `must have at most ${MAX_LISTED} members`);
  return list;
}

function readWindow(members: Members): PlaceWindow | undefined {
  const value = members['searchExtent'];
  if (value === undefined || value === '') return undefined;
  return naming('searchExtent', () => {
    const literal = geometryLiteral(value, 'esriGeometryEnvelope', ownCrs);
    if (!('bbox' in literal)) throw badParameter('searchExtent', 'must be an envelope');
    const [west, south, east, north] = literal.bbox as [number, number, number, number];
    if (literal.crs === CRS84.proj) return inDegrees({ west, south, east, north });
    const box = transformBox([west, south, east, north], literal.crs ?? CRS84.proj, CRS84.proj);
    return inDegrees({ west: box[0], south: box[1], east: box[2], north: box[3] });
  });
}

function inDegrees(window: PlaceWindow): PlaceWindow {
  if (!Object.values(window).every(Number.isFinite))
    throw badParameter('searchExtent', 'is outside its spatial reference');
  return window;
}

const ownCrs = (own: unknown): Crs => (own === undefined ? CRS84 : spatialReference('spatialReference', own));

/** `x,y` or a point, as longitude and latitude. */
function readLocation(members: Members): [x: number, y: number] | undefined {
  const value = members['location'];
  if (value === undefined || value === '') return undefined;
  return naming('location', () => {
    const literal = geometryLiteral(value, 'esriGeometryPoint', ownCrs);
    if (!('type' in literal) || literal.type !== 'Point') throw badParameter('location', 'must be a point');
    const point = Float64Array.from(literal.coordinates as number[]);
    if (literal.crs !== undefined && literal.crs !== CRS84.proj)
      transformPoints(point, literal.crs, CRS84.proj);
    const [x, y] = point as unknown as [number, number];
    if (!(Math.abs(x) <= 180 && Math.abs(y) <= 90))
      throw badParameter(
        'location',
        'must be a longitude and a latitude, or a point of its spatial reference',
      );
    return [x, y];
  });
}

/** An integer up to `most`. */
function readCount(members: Members, name: string, { most, usual }: { most: number; usual: number }): number {
  const count = readIntegerMember(members, name) ?? usual;
  if (count === 0) throw badParameter(name, 'must be integers of at least 1');
  return Math.min(count, most);
}

export interface CandidatesRequest {
  /** Undefined if the request has a key instead. */
  readonly query: PlaceQuery | undefined;
  readonly magicKey: string | undefined;
  readonly crs: Crs;
  readonly language: string | undefined;
}

export function candidatesRequest(members: Members): CandidatesRequest {
  // The country code is a separate filter.
  const { countryCode: _, ...address } = members;
  const words = readWords(address);
  const magicKey = readTextMember(members, 'magicKey', GEOSERVICES_LIMITS.geocodeKey);
  if (!words && magicKey === undefined) throw badParameter('SingleLine', 'is required');
  const near = readLocation(members);
  const limit = readCount(members, 'maxLocations', { most: LIMITS.geocodeCandidates, usual: 20 });
  const filter = readFilter(members, 'category');
  return {
    query: words && { ...words, ...filter, ...(near ? { near } : {}), limit },
    magicKey,
    crs: outSR(members),
    language: filter.language,
  };
}

export function suggestRequest(members: Members): SuggestQuery {
  const text = readTextMember(members, 'text', GEOSERVICES_LIMITS.geocodeText);
  if (text === undefined) throw badParameter('text', 'is required');
  const near = readLocation(members);
  const limit = readCount(members, 'maxSuggestions', {
    most: GEOSERVICES_LIMITS.geocodeSuggestions,
    usual: 5,
  });
  return { text, ...readFilter(members, 'category'), ...(near ? { near } : {}), limit };
}

export function reverseRequest(members: Members): { query: ReverseQuery; crs: Crs } {
  const at = readLocation(members);
  if (!at) throw badParameter('location', 'is required');
  const value = members['distance'];
  const distance =
    value === undefined || value === '' ? GEOSERVICES_LIMITS.geocodeReach : scalarNumber('distance', value);
  if (!(distance >= 0 && distance <= GEOSERVICES_LIMITS.geocodeReachMax))
    throw badParameter('distance', `must be metres from 0 to ${GEOSERVICES_LIMITS.geocodeReachMax}`);
  return { query: { at, distance, ...readFilter(members, 'featureTypes') }, crs: outSR(members) };
}

export interface BatchRequest {
  readonly records: readonly { readonly id: number; readonly query: PlaceQuery }[];
  readonly crs: Crs;
}

/** `addresses`: a record set whose attributes are an `OBJECTID` and text in one line or parts of an address. */
export function batchRequest(members: Members): BatchRequest {
  const filter = readFilter(members, 'category');
  const set = readObjectMember(members, 'addresses');
  if (!set) throw badParameter('addresses', 'is required');
  const { records } = set;
  if (!Array.isArray(records)) throw badParameter('addresses', 'must have a list of records');
  if (records.length > LIMITS.geocodeBatch)
    throw badParameter('addresses', `must have at most ${LIMITS.geocodeBatch} records`);
  return {
    crs: outSR(members),
    records: records.map((record, i) => {
      const attributes = requireObject('addresses', requireObject('addresses', record)['attributes']);
      const id = naming('addresses', () => wholeNumber('addresses', attributes['OBJECTID'] ?? i + 1));
      const words = readWords(attributes, () => 'addresses');
      return { id, query: { ...(words ?? { text: '' }), ...filter, limit: 2 } };
    }),
  };
}
