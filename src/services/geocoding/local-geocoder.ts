import type {
  Candidate,
  Place,
  PlaceQuery,
  ReverseQuery,
  SuggestQuery,
} from '../../core/geocoding/geocoding.js';
import { GEOCODING_LIMITS } from '../../core/geocoding/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import type { Geocoder, GeocoderFacts, PlaceSuggestion } from './geocoder.js';
import { inTime, ONE_REQUEST } from './in-time.js';

/** The index of a locator, which threads of the vector pool read. */
export class LocalGeocoder implements Geocoder {
  constructor(
    readonly name: string,
    private readonly index: string,
    private readonly pools: Pools,
  ) {}

  async facts(x: TaskContext): Promise<GeocoderFacts> {
    const { window, languages } = await runTask(x, this.pools, 'vector.locator', { index: this.index });
    return { window, languages };
  }

  find(x: TaskContext, queries: readonly PlaceQuery[]): Promise<Candidate[][]> {
    return inTime((bounded) => this.#find(bounded, queries), x, ONE_REQUEST);
  }

  async suggest(x: TaskContext, query: SuggestQuery): Promise<PlaceSuggestion[]> {
    const { stamp, places } = await runTask(x, this.pools, 'vector.suggest', { index: this.index, ...query });
    return places.map(({ label, id }) => ({ text: label, key: `${id} ${stamp}` }));
  }

  async reverse(x: TaskContext, query: ReverseQuery): Promise<{ place: Place; metres: number } | undefined> {
    return (
      (await runTask(x, this.pools, 'vector.reverseGeocode', { index: this.index, ...query })) ?? undefined
    );
  }

  async place(x: TaskContext, key: string, language: string | undefined): Promise<Place | undefined> {
    const [, id, stamp] = /^(\d{1,15}) ([\w-]+)$/.exec(key) ?? [];
    if (id === undefined || stamp === undefined) return undefined;
    const input = {
      index: this.index,
      id: Number(id),
      stamp,
      ...(language === undefined ? {} : { language }),
    };
    return (await runTask(x, this.pools, 'vector.place', input)) ?? undefined;
  }

  /** A large batch is several tasks, so that other requests get turns in between. */
  async #find(x: TaskContext, queries: readonly PlaceQuery[]): Promise<Candidate[][]> {
    const candidates: Candidate[][] = [];
    const batch = queries.length;
    for (let i = 0; i < batch; i += GEOCODING_LIMITS.geocodeTurn) {
      const input = { index: this.index, queries: queries.slice(i, i + GEOCODING_LIMITS.geocodeTurn), batch };
      // A batch that was admitted is not refused half way.
      candidates.push(...(await runTask(x, this.pools, 'vector.geocode', input, { begun: i > 0 })));
    }
    return candidates;
  }
}
