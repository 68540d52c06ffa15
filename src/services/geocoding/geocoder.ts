import type {
  Candidate,
  Place,
  PlaceQuery,
  PlaceWindow,
  ReverseQuery,
  SuggestQuery,
} from '../../core/geocoding/geocoding.js';
import type { TaskContext } from '../kit/run-task.js';

/** A text that is offered while somebody types, and what the geocoder knows its place by. */
export interface PlaceSuggestion {
  readonly text: string;
  readonly key: string;
}

/** What is told of a geocoder in its document. */
export interface GeocoderFacts {
  readonly window?: PlaceWindow;
  readonly languages: readonly string[];
}

/** What a geocoder can do, as the contract has it. */
export interface GeocoderAbilities {
  readonly supportsForwardGeocode: boolean;
  readonly supportsReverseGeocode: boolean;
  readonly supportsBatch: boolean;
  readonly supportsSuggest: boolean;
  readonly supportsStructuredInput: boolean;
  readonly requiresAuthentication: boolean;
  readonly maxResultsPerRequest: number;
  readonly maxBatchSize: number;
}

/** Whoever finds places by words, and words for places. */
export interface Geocoder {
  readonly name: string;
  facts(x: TaskContext): Promise<GeocoderFacts>;
  /** Best first, for each query. */
  find(x: TaskContext, queries: readonly PlaceQuery[]): Promise<Candidate[][]>;
  suggest(x: TaskContext, query: SuggestQuery): Promise<PlaceSuggestion[]>;
  reverse(x: TaskContext, query: ReverseQuery): Promise<{ place: Place; metres: number } | undefined>;
  /** What a suggestion meant; undefined when it is there no more. */
  place(x: TaskContext, key: string, language: string | undefined): Promise<Place | undefined>;
}
