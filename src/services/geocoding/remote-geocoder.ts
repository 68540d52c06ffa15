import { LRUCache } from 'lru-cache';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import type { GeocoderAnswer, GeocoderRequest } from '../../core/exchange/ingest.js';
import type {
  Candidate,
  Place,
  PlaceFilter,
  PlaceQuery,
  ReverseQuery,
  SuggestQuery,
} from '../../core/geocoding/geocoding.js';
import { GEOCODING_LIMITS } from '../../core/geocoding/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { timelyFailure } from '../connections/remote-failure.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import type { Geocoder, GeocoderFacts, PlaceSuggestion } from './geocoder.js';

export interface RemoteGeocoderDeps {
  readonly pools: Pools;
  /** Address of the GeocodeServer. */
  readonly url: string;
  readonly timeoutMs: number;
  /** Milliseconds for which responses are cached. 0 disables the cache. */
  readonly keptMs: number;
}

/** The GeocodeServer of another server, which `remote.allow` has to let in. */
export class RemoteGeocoder implements Geocoder {
  readonly #answers: LRUCache<string, GeocoderAnswer> | undefined;

  constructor(
    readonly name: string,
    private readonly deps: RemoteGeocoderDeps,
  ) {
    const { keptMs } = deps;
    this.#answers = keptMs > 0 ? new LRUCache({ max: GEOCODING_LIMITS.geocodeKept, ttl: keptMs }) : undefined;
  }

  async facts(): Promise<GeocoderFacts> {
    return { languages: [] };
  }

  /** Sends queries one after another, because batches are meant for local data. */
  async find(x: TaskContext, queries: readonly PlaceQuery[]): Promise<Candidate[][]> {
    if (queries.length > 1)
      throw badParameter(
        'addresses',
        `must have one record, because ${this.name} is another server without batches`,
      );
    const [query] = queries;
    if (!query) return [];
    const { text, parts, limit } = query;
    const { candidates } = await this.#ask(x, 'findAddressCandidates', {
      ...(text === undefined ? parts : { SingleLine: text }),
      ...ofFilter(query),
      ...(query.near ? { location: query.near.join(',') } : {}),
      maxLocations: String(limit),
      outFields: '*',
      outSR: '4326',
    });
    return [candidates.slice(0, limit)];
  }

  async suggest(x: TaskContext, query: SuggestQuery): Promise<PlaceSuggestion[]> {
    const { suggestions } = await this.#ask(x, 'suggest', {
      text: query.text,
      maxSuggestions: String(query.limit),
      ...ofFilter(query),
      ...(query.near ? { location: query.near.join(',') } : {}),
    });
    // The text is needed in addition to the key.
    return suggestions
      .slice(0, query.limit)
      .map(({ text, key }) => ({ text, key: JSON.stringify([text, key]) }));
  }

  async reverse(x: TaskContext, query: ReverseQuery): Promise<{ place: Place; metres: number } | undefined> {
    const { types, ...filter } = query;
    const { candidates } = await this.#ask(x, 'reverseGeocode', {
      location: query.at.join(','),
      distance: String(query.distance),
      outSR: '4326',
      ...(types ? { featureTypes: types.join(',') } : {}),
      ...ofFilter(filter),
    });
    const [nearest] = candidates;
    return nearest && { place: nearest.place, metres: Number.NaN };
  }

  async place(x: TaskContext, key: string, language: string | undefined): Promise<Place | undefined> {
    const [text, magicKey] = parseKey(key);
    if (text === undefined) return undefined;
    const { candidates } = await this.#ask(x, 'findAddressCandidates', {
      SingleLine: text,
      maxLocations: '1',
      outFields: '*',
      outSR: '4326',
      ...(magicKey ? { magicKey } : {}),
      ...(language === undefined ? {} : { langCode: language }),
    });
    return candidates[0]?.place;
  }

  async #ask(
    x: TaskContext,
    verb: GeocoderRequest['verb'],
    parameters: Readonly<Record<string, string>>,
  ): Promise<GeocoderAnswer> {
    const { pools, url, timeoutMs } = this.deps;
    const question = JSON.stringify([verb, parameters]);
    const before = this.#answers?.get(question);
    if (before) return before;
    try {
      const answer = await runTask(x, pools, 'ingest.geocoder', { url, timeoutMs, verb, parameters });
      this.#answers?.set(question, answer);
      return answer;
    } catch (error) {
      const failure = timelyFailure('geocoder', error);
      // If requests to the server are not allowed, the settings are wrong, not the client's request.
      if (failure instanceof ApiError && failure.status < 500)
        throw new ApiError('bad-gateway', failure.message, { cause: failure });
      throw failure;
    }
  }
}

function ofFilter({ window, countries, types, language }: PlaceFilter): Record<string, string> {
  return {
    ...(window ? { searchExtent: [window.west, window.south, window.east, window.north].join(',') } : {}),
    ...(countries ? { countryCode: countries.join(',') } : {}),
    ...(types ? { category: types.join(',') } : {}),
    ...(language === undefined ? {} : { langCode: language }),
  };
}

function parseKey(key: string): [text?: string, magicKey?: string] {
  try {
    const [text, magicKey] = JSON.parse(key) as unknown[];
    return typeof text === 'string' && typeof magicKey === 'string' ? [text, magicKey] : [];
  } catch {
    return [];
  }
}
