import { type Candidate, type Place, placeType } from '../../../core/geocoding/geocoding.js';
import { CRS84, type Crs } from '../../../core/geometry/crs.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { transformPoints } from '../../../native/index.js';
import type { GeocoderFacts } from '../../../services/geocoding/geocoder.js';
import { CURRENT_VERSION, createSpatialReference } from '../layer-documents.js';
import { GEOSERVICES_LIMITS } from '../limits.js';

/** Documents of a GeocodeServer. */

type FieldType = 'esriFieldTypeString' | 'esriFieldTypeDouble' | 'esriFieldTypeInteger';

/** Attributes of candidates. */
const CANDIDATE_FIELDS: readonly (readonly [name: string, type: FieldType, length?: number])[] = [
  ['Loc_name', 'esriFieldTypeString', 64],
  ['Status', 'esriFieldTypeString', 1],
  ['Score', 'esriFieldTypeDouble'],
  ...(
    [
      ...['Match_addr', 'LongLabel', 'Addr_type', 'Type', 'PlaceName', 'AddNum', 'StName', 'StAddr', 'Nbrhd'],
      ...['City', 'Subregion', 'Region', 'Postal', 'Country', 'CntryName', 'LangCode'],
    ] as const
  ).map((name) => [name, 'esriFieldTypeString', LIMITS.geocodeValue] as const),
  ['Rank', 'esriFieldTypeDouble'],
  ['X', 'esriFieldTypeDouble'],
  ['Y', 'esriFieldTypeDouble'],
];

/** Address fields of requests, and their other names. */
const ADDRESS_FIELDS = ['Address', 'Neighborhood', 'City', 'Subregion', 'Region', 'Postal', 'CountryCode'];

export function geocodeDocument(name: string | undefined, { window, languages }: GeocoderFacts) {
  const spatialReference = createSpatialReference(CRS84);
  const field = (one: string, type: FieldType, length?: number) => ({
    name: one,
    type,
    alias: one,
    required: false,
    ...(length === undefined ? {} : { length }),
  });
  return {
    currentVersion: CURRENT_VERSION,
    serviceDescription: name ?? '',
    addressFields: ADDRESS_FIELDS.map((one) =>
      field(one, 'esriFieldTypeString', GEOSERVICES_LIMITS.geocodeText),
    ),
    singleLineAddressField: field('SingleLine', 'esriFieldTypeString', GEOSERVICES_LIMITS.geocodeText),
    candidateFields: CANDIDATE_FIELDS.map(([one, type, length]) => field(one, type, length)),
    spatialReference,
    ...(window
      ? {
          extent: {
            xmin: window.west,
            ymin: window.south,
            xmax: window.east,
            ymax: window.north,
            spatialReference,
          },
        }
      : {}),
    locatorProperties: {
      MaxBatchSize: LIMITS.geocodeBatch,
      SuggestedBatchSize: GEOSERVICES_LIMITS.geocodeSuggestedBatch,
      maxLocations: LIMITS.geocodeCandidates,
      maxSuggestions: GEOSERVICES_LIMITS.geocodeSuggestions,
    },
    supportedLanguages: languages,
    capabilities: 'Geocode,ReverseGeocode,Suggest',
  };
}

/** A point in the spatial reference of the response. */
function pointIn({ x, y }: Place, crs: Crs): { x: number; y: number } {
  if (crs.proj === CRS84.proj) return { x, y };
  const point = Float64Array.of(x, y);
  transformPoints(point, CRS84.proj, crs.proj);
  const [east, north] = point as unknown as [number, number];
  return { x: east, y: north };
}

/** A place outside the domain of the spatial reference is omitted. */
const isThere = ({ location }: { location: { x: number; y: number } }) =>
  Number.isFinite(location.x) && Number.isFinite(location.y);

export interface CandidateFormat {
  readonly locator: string;
  readonly crs: Crs;
  /** Names of attributes in lower case; `*` for all, undefined for none. */
  readonly fields: ReadonlySet<string> | '*' | undefined;
}

export function candidatesDocument(candidates: readonly Candidate[], writing: CandidateFormat) {
  return {
    spatialReference: createSpatialReference(writing.crs),
    candidates: candidates.map((one) => buildCandidate(one, writing)).filter(isThere),
  };
}

function buildCandidate({ place, score }: Candidate, { locator, crs, fields }: CandidateFormat) {
  const all = fields === undefined ? {} : buildAttributes(place, score, locator);
  const attributes =
    fields instanceof Set
      ? Object.fromEntries(Object.entries(all).filter(([name]) => fields.has(name.toLowerCase())))
      : all;
  return { address: place.label, location: pointIn(place, crs), score, attributes };
}

function buildAttributes(place: Place, score: number, locator: string) {
  return {
    Loc_name: locator,
    Status: 'M',
    Score: score,
    Match_addr: place.label,
    LongLabel: place.label,
    Addr_type: placeType(place),
    Type: place.type,
    ...buildParts(place),
    LangCode: place.language,
    Rank: place.rank,
    X: place.x,
    Y: place.y,
  };
}

function buildParts(place: Place) {
  const { name, houseNumber, street, neighborhood, city, subregion, region, postal } = place;
  return {
    PlaceName: name,
    AddNum: houseNumber,
    StName: street,
    StAddr: [houseNumber, street].filter((part) => part !== '').join(' '),
    Nbrhd: neighborhood,
    City: city,
    Subregion: subregion,
    Region: region,
    Postal: postal,
    Country: place.countryCode,
    CntryName: place.country,
  };
}

export function reverseDocument(place: Place, crs: Crs) {
  const { name, houseNumber, street, neighborhood, city, subregion, region, postal } = place;
  return {
    address: {
      Match_addr: place.label,
      LongLabel: place.label,
      ShortLabel: name === '' ? [houseNumber, street].filter((part) => part !== '').join(' ') || city : name,
      Addr_type: placeType(place),
      Type: place.type,
      PlaceName: name,
      AddNum: houseNumber,
      Address: [houseNumber, street].filter((part) => part !== '').join(' '),
      Neighborhood: neighborhood,
      City: city,
      Subregion: subregion,
      Region: region,
      Postal: postal,
      CountryCode: place.countryCode,
      CntryName: place.country,
    },
    location: { ...pointIn(place, crs), spatialReference: createSpatialReference(crs) },
  };
}

/** One location for each record, in their order; `Status` is M for a match, T for one of several, U for none. */
export function batchDocument(
  found: readonly { readonly id: number; readonly candidates: readonly Candidate[] }[],
  { locator, crs }: Pick<CandidateFormat, 'locator' | 'crs'>,
) {
  return {
    spatialReference: createSpatialReference(crs),
    locations: found.map(({ id, candidates }) => {
      const [best, second] = candidates;
      if (!best)
        return { address: '', score: 0, attributes: { ResultID: id, Status: 'U', Score: 0, Match_addr: '' } };
      const one = buildCandidate(best, { locator, crs, fields: '*' });
      const Status = second && second.score === best.score ? 'T' : 'M';
      return { ...one, attributes: { ResultID: id, ...one.attributes, Status } };
    }),
  };
}
