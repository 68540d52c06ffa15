/** Places and addresses by words, and words by places. Longitude and latitude are in degrees (OGC:CRS84). */

import type { ItemsTask } from '../features/features.js';

/** What columns of reference data may say, in the order of an address. */
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

/** Fields of `fieldMap`: those of a place, and `name_xx`, its name in the language `xx`. */
export const REFERENCE_FIELDS = [...PLACE_FIELDS, 'address', 'language', 'x', 'y', 'rank'] as const;
export type ReferenceField = (typeof REFERENCE_FIELDS)[number] | `name_${string}`;

/** A place as an index keeps it; what is not known is empty. */
export type PlaceText = Readonly<Record<PlaceField, string>>;

export interface Place extends PlaceText {
  readonly id: number;
  /** In one line. */
  readonly label: string;
  /** Language of the name that the label has; empty when nobody said. */
  readonly language: string;
  readonly x: number;
  readonly y: number;
  /** Population, for instance: of places that fit alike the one of the higher rank goes first. */
  readonly rank: number;
}

export type PlaceType = 'PointAddress' | 'StreetName' | 'Postal' | 'Locality' | 'POI';

/** What kind of thing a place is, by the fields that it has. */
export function placeType({ houseNumber, street, name, city, postal }: PlaceText): PlaceType {
  if (street !== '') return houseNumber === '' ? 'StreetName' : 'PointAddress';
  if (name !== '') return 'POI';
  return postal !== '' && city === '' ? 'Postal' : 'Locality';
}

export interface Candidate {
  readonly place: Place;
  /** 0 to 100: docs/reference/apis/geocoding.md says how. */
  readonly score: number;
}

/** Longitudes and latitudes; west > east across the antimeridian. */
export interface PlaceWindow {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** What holds for each place that is found. */
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
  /** Places near it go before others. */
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

/** A row that was left out, counted from 1 after the line of names. */
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

/** What the sender of reference data has to change, by the part of the form that is wrong. */
export interface ReferenceProblem {
  readonly problem: { readonly part: 'referenceData' | 'fieldMap' | 'mode'; readonly detail: string };
}

/** How the name of an index that is being written ends. */
export const DRAFT_ENDING = '.draft';

export interface ReferenceTask {
  /** The CSV file. */
  readonly file: string;
  /** The index that is replaced as a whole. */
  readonly index: string;
  /** Fields by columns; by the names of the columns when absent. */
  readonly fieldMap?: Readonly<Record<string, string>>;
  readonly mode: 'replace' | 'append';
}

/** What is told of an index. */
export interface LocatorInfo {
  /** Changes with each import. */
  readonly stamp: string;
  readonly places: number;
  readonly window: PlaceWindow;
  readonly languages: readonly string[];
}

/** What fields of a collection may say. */
type SearchedField = PlaceField | 'address' | 'rank';
/** Fields of a collection by what they say. */
export type SearchedFields = Readonly<Partial<Record<SearchedField, string>>>;

export interface FeatureCandidate extends Candidate {
  /** Id of the feature. */
  readonly key: string;
  /** From the point that was asked for. */
  readonly metres?: number;
}

export interface FeatureCandidates {
  readonly candidates: FeatureCandidate[];
  /** There are more features than were read. */
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
