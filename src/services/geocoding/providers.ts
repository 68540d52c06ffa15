import { ApiError } from '../../core/errors.js';
import { TaskFailure } from '../../core/failure.js';
import type { Candidate, Place, PlaceQuery, ReverseQuery, SuggestQuery } from '../../core/geocoding.js';
import type { TaskContext } from '../run-task.js';
import type { Geocoder, GeocoderAbilities, GeocoderFacts, Suggestion } from './geocoder.js';

/** What requests told of a provider; nobody asks it for the sake of it. Of this process. */
export interface ProviderHealth {
  isHealthy: boolean;
  /** Milliseconds since 1970. */
  lastChecked: number | null;
  responseTimeMs: number | null;
  errorMessage: string | null;
}

export interface Provider {
  readonly name: string;
  readonly abilities: GeocoderAbilities;
  readonly health: ProviderHealth;
}

/** A provider, and what it is for one caller. */
export interface Asked {
  readonly provider: Provider;
  readonly geocoder: Geocoder;
}

export function untried(): ProviderHealth {
  return { isHealthy: true, lastChecked: null, responseTimeMs: null, errorMessage: null };
}

/** Providers that are asked one after the other, until one answers: no place is an answer, too. */
export class ProviderChain implements Geocoder {
  readonly name: string;

  /** At least one of them. */
  constructor(
    private readonly chain: readonly Asked[],
    private readonly timeoutMs: number,
  ) {
    this.name = chain[0]!.geocoder.name;
  }

  facts(x: TaskContext): Promise<GeocoderFacts> {
    return this.#first(this.chain, ({ geocoder }) => geocoder.facts(x), x);
  }

  find(x: TaskContext, queries: readonly PlaceQuery[]): Promise<Candidate[][]> {
    const batches = this.chain.filter(({ provider }) => provider.abilities.supportsBatch);
    const chain = queries.length > 1 && batches.length > 0 ? batches : this.chain;
    return this.#first(chain, ({ geocoder }) => geocoder.find(x, queries), x);
  }

  suggest(x: TaskContext, query: SuggestQuery): Promise<Suggestion[]> {
    return this.#first(
      this.chain,
      async ({ provider, geocoder }) => {
        const suggestions = await geocoder.suggest(x, query);
        return suggestions.map(({ text, key }) => ({ text, key: `${provider.name} ${key}` }));
      },
      x,
    );
  }

  reverse(x: TaskContext, query: ReverseQuery): Promise<{ place: Place; metres: number } | undefined> {
    return this.#first(this.chain, ({ geocoder }) => geocoder.reverse(x, query), x);
  }

  async place(x: TaskContext, key: string, language: string | undefined): Promise<Place | undefined> {
    const space = key.indexOf(' ');
    const one = this.chain.find(({ provider }) => provider.name === key.slice(0, space));
    return one && this.#first([one], ({ geocoder }) => geocoder.place(x, key.slice(space + 1), language), x);
  }

  async #first<T>(chain: readonly Asked[], ask: (one: Asked) => Promise<T>, x: TaskContext): Promise<T> {
    let failure: unknown;
    for (const one of chain) {
      const { health } = one.provider;
      const started = performance.now();
      try {
        const answer = await inTime(ask(one), this.timeoutMs, one.provider.name);
        note(health, { isHealthy: true, responseTimeMs: performance.now() - started, errorMessage: null });
        return answer;
      } catch (error) {
        if (x.signal?.aborted || !isOfProvider(error)) throw error;
        failure = error;
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
}

function note(health: ProviderHealth, now: Omit<ProviderHealth, 'lastChecked'>): void {
  Object.assign(health, now, { lastChecked: Date.now() });
}

/** What the client did wrong no other provider makes right. */
function isOfProvider(error: unknown): boolean {
  return error instanceof ApiError ? error.status >= 500 : error instanceof TaskFailure;
}

async function inTime<T>(work: Promise<T>, ms: number, name: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new ApiError('gateway-timeout', `The geocoder ${name} did not answer in ${ms / 1000} s.`)),
      ms,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    // What comes too late is nobody's.
    work.catch(() => {});
  }
}
