/** Places and addresses by words, and words by places. Longitude and latitude are in degrees (OGC:CRS84). */

import type { ItemsTask } from '../features/features.js';

/** Fields of reference data, in address order. */
export const PLACE_FIELDS = [
  'name',
  'houseNumber',
  'street',
  'neighborhood',
  'city',
  'subregion',
  'region',
  'postal',
  'country',
  'countryCode',
  'type',
] as const;
export type PlaceField = (typeof PLACE_FIELDS)[number];

/** Fields of `fieldMap`: fields of a place, and `name_xx`, its name in language `xx`. */
export const REFERENCE_FIELDS = [...PLACE_FIELDS, 'address', 'language', 'x', 'y', 'rank'] as const;
export type ReferenceField = (typeof REFERENCE_FIELDS)[number] | `name_${string}`;

/** A place as an index keeps it; what is not known is empty. */
export type PlaceText = Readonly<Record<PlaceField, string>>;

export interface Place extends PlaceText {
  readonly id: number;
  /** In one line. */
  readonly label: string;
  /** Language of the label; empty if unknown. */
  readonly language: string;
  readonly x: number;
  readonly y: number;
  /** Rank such as the population. The higher rank wins between equal matches. */
  readonly rank: number;
}

export type PlaceType = 'PointAddress' | 'StreetName' | 'Postal' | 'Locality' | 'POI';

/** Kind of place, derived from its fields. */
export function placeType({ houseNumber, street, name, city, postal }: PlaceText): PlaceType {
  if (street !== '') return houseNumber === '' ? 'StreetName' : 'PointAddress';
  if (name !== '') return 'POI';
  return postal !== '' && city === '' ? 'Postal' : 'Locality';
}

export interface Candidate {
  readonly place: Place;
  /** Score from 0 to 100, see docs/reference/apis/geocoding.md. */
  readonly score: number;
}

/** Longitudes and latitudes; west > east across the antimeridian. */
export interface PlaceWindow {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** Filter of places. */
export interface PlaceFilter {
  readonly window?: PlaceWindow;
  /** Codes or names of countries, in lower case. */
  readonly countries?: readonly string[];
  /** Types, as the data or as `placeType` has them, in lower case. */
  readonly types?: readonly string[];
  /** Language of the labels. */
  readonly language?: string;
}

/** Text in one line, or the parts of an address. */
export interface PlaceWords {
  readonly text?: string;
  readonly parts?: Readonly<Partial<Record<PlaceField | 'address', string>>>;
}

export interface PlaceQuery extends PlaceWords, PlaceFilter {
  /** Position near which places are preferred. */
  readonly near?: readonly [x: number, y: number];
  readonly limit: number;
}

export interface SuggestQuery extends PlaceFilter {
  readonly text: string;
  readonly near?: readonly [x: number, y: number];
  readonly limit: number;
}

export interface ReverseQuery extends PlaceFilter {
  readonly at: readonly [x: number, y: number];
  /** Metres. */
  readonly distance: number;
}

/** Skipped row, counted from 1 after the header. */
export interface SkippedRow {
  readonly rowNumber: number;
  readonly reason: string;
}

export interface ColumnReport {
  readonly column: string;
  readonly status: 'supported' | 'ignored';
  readonly detail?: string;
}

export interface ReferenceImport {
  readonly recordsImported: number;
  readonly recordsSkipped: number;
  readonly report: ColumnReport[];
  /** The first ones. */
  readonly skippedRows: SkippedRow[];
}

/** Error in a part of the reference data form. */
export interface ReferenceProblem {
  readonly problem: { readonly part: 'referenceData' | 'fieldMap' | 'mode'; readonly detail: string };
}

/** Extension of an index that is being written. */
export const DRAFT_ENDING = '.draft';

export interface ReferenceTask {
  /** The CSV file. */
  readonly file: string;
  /** Index that is replaced completely. */
  readonly index: string;
  /** Fields by columns. Default: by column names. */
  readonly fieldMap?: Readonly<Record<string, string>>;
  readonly mode: 'replace' | 'append';
}

/** Description of an index. */
export interface LocatorInfo {
  /** Changes with each import. */
  readonly stamp: string;
  readonly places: number;
  readonly window: PlaceWindow;
  readonly languages: readonly string[];
}

/** Fields that a collection can provide. */
type SearchedField = PlaceField | 'address' | 'rank';
/** Fields of a collection by meaning. */
export type SearchedFields = Readonly<Partial<Record<SearchedField, string>>>;

export interface FeatureCandidate extends Candidate {
  /** Id of the feature. */
  readonly key: string;
  /** Distance from the requested point. */
  readonly metres?: number;
}

export interface FeatureCandidates {
  readonly candidates: FeatureCandidate[];
  /** Whether more features exist than were read. */
  readonly more: boolean;
}

/** An index, by its file. */
interface IndexFile {
  readonly index: string;
}

export interface GeocodingTasks {
  /** Takes reference data into an index, which stays as it was unless all of it is done. */
  'geocoding.import': { input: ReferenceTask; output: ReferenceImport | ReferenceProblem };
  /** Removes indexes of imports that ended before these were whole. */
  'geocoding.sweep': { input: { folder: string }; output: undefined };
  'vector.locator': { input: IndexFile; output: LocatorInfo };
  /** Best first. `batch`: queries of the request, which is several tasks. */
  'vector.geocode': {
    input: IndexFile & { queries: readonly PlaceQuery[]; batch?: number };
    output: Candidate[][];
  };
  'vector.suggest': { input: IndexFile & SuggestQuery; output: { stamp: string; places: Place[] } };
  'vector.reverseGeocode': {
    input: IndexFile & ReverseQuery;
    output: { place: Place; metres: number } | null;
  };
  /** Features that a page of a collection has, as GeoJSON in CRS84: best first, or the one that is nearest to a point. */
  'vector.geocodeFeatures': {
    input: {
      items: ItemsTask;
      fields: SearchedFields;
      query: PlaceQuery;
      at?: readonly [x: number, y: number];
    };
    output: FeatureCandidates;
  };
  'vector.place': {
    input: IndexFile & { id: number; stamp: string; language?: string };
    output: Place | null;
  };
}
