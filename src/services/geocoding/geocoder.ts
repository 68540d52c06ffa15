import type {
  Candidate,
  Place,
  PlaceQuery,
  PlaceWindow,
  ReverseQuery,
  SuggestQuery,
} from '../../core/geocoding/geocoding.js';
import type { TaskContext } from '../kit/run-task.js';

/** A suggestion during typing, and the key of its place. */
export interface PlaceSuggestion {
  readonly text: string;
  readonly key: string;
}

/** Metadata of a geocoder for its document. */
export interface GeocoderFacts {
  readonly window?: PlaceWindow;
  readonly languages: readonly string[];
}

/** Abilities of a geocoder in the notation of the contract. */
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

/** Finds places by words, and addresses of places. */
export interface Geocoder {
  readonly name: string;
  facts(x: TaskContext): Promise<GeocoderFacts>;
  /** Best first, for each query. */
  find(x: TaskContext, queries: readonly PlaceQuery[]): Promise<Candidate[][]>;
  suggest(x: TaskContext, query: SuggestQuery): Promise<PlaceSuggestion[]>;
  reverse(x: TaskContext, query: ReverseQuery): Promise<{ place: Place; metres: number } | undefined>;
  /** The place of a suggestion. Undefined if it no longer exists. */
  place(x: TaskContext, key: string, language: string | undefined): Promise<Place | undefined>;
}
