import { ApiError } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type {
  Candidate,
  Place,
  PlaceQuery,
  ReverseQuery,
  SuggestQuery,
} from '../../core/geocoding/geocoding.js';
import type { TaskContext } from '../kit/run-task.js';
import type { Geocoder, GeocoderAbilities, GeocoderFacts, PlaceSuggestion } from './geocoder.js';
import { inTime } from './in-time.js';

/** Health of a provider, from requests of this process. The server sends no separate health requests. */
export interface ProviderHealth {
  isHealthy: boolean;
  /** Milliseconds since 1970. */
  lastChecked: number | null;
  responseTimeMs: number | null;
  errorMessage: string | null;
}

export interface GeocodingProvider {
  readonly name: string;
  readonly abilities: GeocoderAbilities;
  readonly health: ProviderHealth;
}

/** A provider, and what it is for one caller. */
export interface ProviderCall {
  readonly provider: GeocodingProvider;
  readonly geocoder: Geocoder;
}

type Ask<T> = (one: ProviderCall, bounded: TaskContext) => Promise<T>;

export function untried(): ProviderHealth {
  return { isHealthy: true, lastChecked: null, responseTimeMs: null, errorMessage: null };
}

/** Providers that are tried one after another until one responds. An empty result also counts as a response. */
export class ProviderChain implements Geocoder {
  readonly name: string;

  /** At least one of them. */
  constructor(
    private readonly chain: readonly ProviderCall[],
    private readonly timeoutMs: number,
  ) {
    this.name = chain[0]!.geocoder.name;
  }

  /** Metadata for documents. These requests do not change the health of providers. */
  async facts(x: TaskContext): Promise<GeocoderFacts> {
    let failure: unknown;
    for (const { geocoder, provider } of this.chain) {
      try {
        return await this.#inTime((bounded) => geocoder.facts(bounded), x, provider.name);
      } catch (error) {
        if (x.signal?.aborted || !isOfProvider(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  find(x: TaskContext, queries: readonly PlaceQuery[]): Promise<Candidate[][]> {
    const batches = this.chain.filter(({ provider }) => provider.abilities.supportsBatch);
    const chain = queries.length > 1 && batches.length > 0 ? batches : this.chain;
    return this.#first(chain, ({ geocoder }, bounded) => geocoder.find(bounded, queries), x);
  }

  suggest(x: TaskContext, query: SuggestQuery): Promise<PlaceSuggestion[]> {
    return this.#first(
      this.chain,
      async ({ provider, geocoder }, bounded) => {
        const suggestions = await geocoder.suggest(bounded, query);
        return suggestions.map(({ text, key }) => ({ text, key: `${provider.name} ${key}` }));
      },
      x,
    );
  }

  reverse(x: TaskContext, query: ReverseQuery): Promise<{ place: Place; metres: number } | undefined> {
    return this.#first(this.chain, ({ geocoder }, bounded) => geocoder.reverse(bounded, query), x);
  }

  async place(x: TaskContext, key: string, language: string | undefined): Promise<Place | undefined> {
    const space = key.indexOf(' ');
    const one = this.chain.find(({ provider }) => provider.name === key.slice(0, space));
    const own = key.slice(space + 1);
    return one && this.#first([one], ({ geocoder }, bounded) => geocoder.place(bounded, own, language), x);
  }

  async #first<T>(chain: readonly ProviderCall[], ask: Ask<T>, x: TaskContext): Promise<T> {
    let failure: unknown;
    for (const one of chain) {
      const { health } = one.provider;
      const started = performance.now();
      try {
        const answer = await this.#inTime((bounded) => ask(one, bounded), x, one.provider.name);
        note(health, { isHealthy: true, responseTimeMs: performance.now() - started, errorMessage: null });
        return answer;
      } catch (error) {
        if (x.signal?.aborted || !isOfProvider(error)) throw error;
        failure = error;
        if (isOfThisServer(error)) continue;
        const { message } = error as Error;
        note(health, {
          isHealthy: false,
          responseTimeMs: performance.now() - started,
          errorMessage: message,
        });
      }
    }
    throw failure;
  }

  #inTime<T>(work: (bounded: TaskContext) => Promise<T>, x: TaskContext, name: string): Promise<T> {
    const late = () =>
      new ApiError(
        'gateway-timeout',
        `The geocoder ${name} did not respond in ${this.timeoutMs / 1000} s. Retry later.`,
      );
    return inTime(work, x, { ms: this.timeoutMs, late });
  }
}

function note(health: ProviderHealth, now: Omit<ProviderHealth, 'lastChecked'>): void {
  Object.assign(health, now, { lastChecked: Date.now() });
}

/** Whether the provider failed. Errors of the client would be the same for other providers. */
function isOfProvider(error: unknown): boolean {
  return error instanceof ApiError ? error.status >= 500 : error instanceof TaskFailure;
}

/** Whether this server is too busy for requests, which does not concern the provider's health. */
function isOfThisServer(error: unknown): boolean {
  return error instanceof TaskFailure && error.code === 'queue-full';
}
