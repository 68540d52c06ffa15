import { TaskFailure } from '../../../core/errors/failure.js';
import type { GeocoderAnswer, GeocoderRequest } from '../../../core/exchange/ingest.js';
import type { Place } from '../../../core/geocoding/geocoding.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { refused } from '../../storage/remote/allowed-hosts.js';
import { requireNoError, wellAnswered } from './discover/index.js';
import { get, type RemoteAccess } from './http.js';
import { listJsonObjects, object, parseObject, type RemoteJson, string } from './json.js';

/**
 * Task `ingest.geocoder`: sends a request to the GeocodeServer of another server. Fails like `get`, and with
 * `source-unreadable` for responses that are not from a GeocodeServer.
 */
export async function askGeocoder(
  { url: base, verb, parameters, ...request }: GeocoderRequest,
  asking: RemoteAccess,
): Promise<GeocoderAnswer> {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${verb}`;
  for (const [name, value] of Object.entries({ ...parameters, f: 'json' })) url.searchParams.set(name, value);
  const headers = { accept: 'application/json' };
  const answer = await get({ ...request, url: url.href, headers }, asking);
  const document = parseObject(wellAnswered(answer, url.href).bytes);
  if (verb === 'reverseGeocode' && isNothing(document)) return { candidates: [], suggestions: [] };
  requireNoError(document);
  switch (verb) {
    case 'findAddressCandidates':
      return { candidates: readList(document, 'candidates').flatMap(readCandidate), suggestions: [] };
    case 'suggest':
      return { candidates: [], suggestions: readList(document, 'suggestions').flatMap(readSuggestion) };
    case 'reverseGeocode':
      return { candidates: parseReverse(document), suggestions: [] };
  }
}

/** Servers return 400 if no address is found. */
const isNothing = (document: RemoteJson) => object(document['error'])['code'] === 400;

function readList(document: RemoteJson, name: string): RemoteJson[] {
  if (!Array.isArray(document[name])) throw refused(`its response has no ${name}`);
  return listJsonObjects(document[name]).slice(0, LIMITS.geocodeCandidates);
}

function readCandidate(candidate: RemoteJson): GeocoderAnswer['candidates'] {
  const place = findPlace(
    text(candidate, 'address'),
    object(candidate['location']),
    object(candidate['attributes']),
  );
  const score = Number(candidate['score']);
  return place && Number.isFinite(score) ? [{ place, score: Math.min(100, Math.max(0, score)) }] : [];
}

function readSuggestion(suggestion: RemoteJson): GeocoderAnswer['suggestions'] {
  const [text_, key] = [string(suggestion['text']), string(suggestion['magicKey'])];
  if (text_ === undefined || suggestion['isCollection'] === true) return [];
  return [
    {
      text: text_.slice(0, LIMITS.geocodeValue),
      key: key !== undefined && key.length <= LIMITS.geocodeValue ? key : '',
    },
  ];
}

function parseReverse(document: RemoteJson): GeocoderAnswer['candidates'] {
  const address = object(document['address']);
  const label = text(address, 'Match_addr') || text(address, 'LongLabel') || text(address, 'Address');
  const place = findPlace(label, object(document['location']), address);
  if (!place)
    throw new TaskFailure('source-unreadable', 'The response of the other geocoder has no location.');
  return [{ place, score: 100 }];
}

/** Returns a location in WGS 84, the CRS of the request. Undefined without coordinates. */
function findPlace(label: string, { x, y }: RemoteJson, attributes: RemoteJson): Place | undefined {
  if (!isDegrees(x, 180) || !isDegrees(y, 90)) return undefined;
  const of = (...names: string[]) =>
    names.map((name) => text(attributes, name)).find((one) => one !== '') ?? '';
  return {
    id: 0,
    label,
    x,
    y,
    rank: 0,
    language: of('LangCode'),
    name: of('PlaceName'),
    houseNumber: of('AddNum'),
    street: of('StName'),
    neighborhood: of('Nbrhd', 'Neighborhood'),
    city: of('City'),
    subregion: of('Subregion'),
    region: of('Region'),
    postal: of('Postal'),
    country: of('CntryName'),
    countryCode: of('Country', 'CountryCode'),
    type: of('Type', 'Addr_type'),
  };
}

const isDegrees = (value: unknown, most: number): value is number =>
  typeof value === 'number' && Math.abs(value) <= most;

const text = (json: RemoteJson, name: string) => (string(json[name]) ?? '').slice(0, LIMITS.geocodeValue);
