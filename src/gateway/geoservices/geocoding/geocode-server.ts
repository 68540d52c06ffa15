import { badParameter, notFound } from '../../../core/errors/errors.js';
import type { Candidate } from '../../../core/geocoding/geocoding.js';
import type { Exchange, Operation, Reply } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import type { Geocoder } from '../../../services/geocoding/geocoder.js';
import type { Geocoding } from '../../../services/geocoding/service.js';
import { common, documentFormat, readingOperation } from '../features/feature-server.js';
import { member } from '../features/query-members.js';
import { jsonReply } from '../images/in-band.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import { type Members, readTextMember } from '../members.js';
import { batchDocument, candidatesDocument, geocodeDocument, reverseDocument } from './geocode-documents.js';
import {
  batchRequest,
  type CandidatesRequest,
  candidatesRequest,
  reverseRequest,
  suggestRequest,
} from './geocode-requests.js';

export interface GeocodeDeps {
  readonly geocoding: Pick<Geocoding, 'geocoder' | 'names'>;
}

const SERVER = 'GeocodeServer';

const OUT = { outSR: member('outSR', 'Spatial reference of the response. Default: WGS 84.') };
const FILTER = {
  searchExtent: member('searchExtent', 'Only places in this envelope.'),
  location: member('location', 'Point as x,y or JSON. Places near it come first.'),
  countryCode: member('countryCode', 'Codes or names of countries.'),
  category: member('category', 'Types of places.'),
  langCode: member('langCode', 'Language of the names.'),
};

const CANDIDATES = {
  SingleLine: member('SingleLine', 'The address or the name in one line.'),
  singleLine: member('singleLine', 'The same as SingleLine.'),
  ...Object.fromEntries(
    ['address', 'neighborhood', 'city', 'subregion', 'region', 'postal'].map((part) => [
      part,
      member(part, 'Part of an address that has several parts.'),
    ]),
  ),
  maxLocations: member('maxLocations', 'Maximum number of candidates.'),
  outFields: member('outFields', 'Attributes of candidates, or * for all. Default: none.'),
  magicKey: member('magicKey', 'magicKey of a suggestion, which identifies its place.'),
  ...FILTER,
  ...OUT,
};

const SUGGEST = {
  text: member('text', 'Text that the user has typed.'),
  maxSuggestions: member('maxSuggestions', 'Maximum number of suggestions.'),
  ...FILTER,
};

const REVERSE = {
  location: member('location', 'Point: longitude,latitude, or JSON with its spatial reference.'),
  distance: member('distance', 'Maximum distance of the place in metres.'),
  featureTypes: member('featureTypes', 'Types of places.'),
  langCode: FILTER.langCode,
  ...OUT,
};

const BATCH = {
  addresses: member('addresses', 'JSON: records with an OBJECTID and an address as attributes.'),
  sourceCountry: member('sourceCountry', 'Codes or names of countries.'),
  category: FILTER.category,
  langCode: FILTER.langCode,
  ...OUT,
};

/** Operations of locators: a named one, and the default one. */
export function geocodeServerOperations(deps: GeocodeDeps): Operation[] {
  return [
    ...operationsAt(deps, { prefix: 'geocode', path: `/rest/services/${SERVER}`, pathParams: {} }),
    ...operationsAt(deps, {
      prefix: 'locator',
      path: `/rest/services/{serviceId}/${SERVER}`,
      pathParams: { serviceId: pathString('serviceId', 'Name of a locator.') },
    }),
  ];
}

type Params = Record<string, ReturnType<typeof member>>;
type Run = (x: Exchange, geocoder: Geocoder, members: Members) => Promise<unknown>;

const RESOURCES: readonly (readonly [verb: string, params: Params, summary: string, run: Run])[] = [
  ['findAddressCandidates', CANDIDATES, 'Places by their names or addresses', findCandidates],
  ['suggest', SUGGEST, 'Places whose words begin as what was typed', suggestions],
  ['reverseGeocode', REVERSE, 'The place nearest to a point', reverse],
  ['geocodeAddresses', BATCH, 'Places by many addresses', batch],
];

function operationsAt(
  deps: GeocodeDeps,
  { prefix, path, pathParams }: { prefix: string; path: string; pathParams: Params | Record<never, never> },
): Operation[] {
  const document: Run = async (x, geocoder) => geocodeDocument(geocoder.name, await geocoder.facts(x));
  const all = [['', {}, 'A locator', document] as const, ...RESOURCES];
  return all.flatMap(([verb, params, summary, run]) =>
    readingOperation({
      about: common(SERVER, verb === '' ? 'service' : verb, SERVER),
      name: verb === '' ? prefix : `${prefix}${verb[0]!.toUpperCase()}${verb.slice(1)}`,
      path: verb === '' ? path : `${path}/${verb}`,
      pathParams: pathParams as Record<string, ReturnType<typeof pathString>>,
      params,
      summary,
      async run(x, { serviceId }, members): Promise<Reply> {
        const geocoder = await deps.geocoding.geocoder(x.principal, serviceId);
        if (!geocoder) throw notFound('locator', serviceId ?? 'of the server');
        return jsonReply(await run(x, geocoder, members), documentFormat(members));
      },
    }),
  );
}

async function findCandidates(x: Exchange, geocoder: Geocoder, members: Members) {
  const request = candidatesRequest(members);
  const fields = outFields(members);
  const candidates = (await placeOfKey(x, geocoder, request)) ?? (await matches(x, geocoder, request));
  return candidatesDocument(candidates, { locator: geocoder.name, crs: request.crs, fields });
}

/** The place of a suggestion, while it is there. */
async function placeOfKey(
  x: Exchange,
  geocoder: Geocoder,
  { magicKey, language }: CandidatesRequest,
): Promise<Candidate[] | undefined> {
  if (magicKey === undefined) return undefined;
  const [locator, key] = buildKey(magicKey);
  const place = locator === geocoder.name ? await geocoder.place(x, key, language) : undefined;
  return place && [{ place, score: 100 }];
}

async function matches(x: Exchange, geocoder: Geocoder, { query }: CandidatesRequest): Promise<Candidate[]> {
  return query ? (await geocoder.find(x, [query]))[0]! : [];
}

function outFields(members: Members): ReadonlySet<string> | '*' | undefined {
  const text = readTextMember(members, 'outFields', 2000);
  if (text === undefined) return undefined;
  return text.trim() === '*' ? '*' : new Set(text.split(',').map((name) => name.trim().toLowerCase()));
}

async function suggestions(x: Exchange, geocoder: Geocoder, members: Members) {
  const list = await geocoder.suggest(x, suggestRequest(members));
  return {
    suggestions: list.map(({ text, key }) => ({
      text,
      magicKey: magicKey(geocoder.name, key),
      isCollection: false,
    })),
  };
}

/** Returns no key if clients could not send it; then the text is used. */
function magicKey(locator: string, key: string): string {
  const text = Buffer.from(`${locator}\n${key}`).toString('base64url');
  return text.length > GEOSERVICES_LIMITS.geocodeKey ? '' : text;
}

function buildKey(text: string): [locator: string, key: string] {
  const [locator = '', ...key] = Buffer.from(text, 'base64url').toString().split('\n');
  return [locator, key.join('\n')];
}

async function reverse(x: Exchange, geocoder: Geocoder, members: Members) {
  const { query, crs } = reverseRequest(members);
  const nearest = await geocoder.reverse(x, query);
  if (!nearest)
    throw badParameter('location', `has no address within ${query.distance} metres. Increase distance`);
  return reverseDocument(nearest.place, crs);
}

async function batch(x: Exchange, geocoder: Geocoder, members: Members) {
  const { records, crs } = batchRequest(members);
  const all = await geocoder.find(
    x,
    records.map(({ query }) => query),
  );
  const results = records.map(({ id }, i) => ({ id, candidates: all[i]! }));
  return batchDocument(results, { locator: geocoder.name, crs });
}
