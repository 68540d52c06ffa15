import { plainFields } from '../../core/access/field-masks.js';
import { readable, type VectorCollection } from '../../core/catalog/collection.js';
import { and, type Expression, equalsAny } from '../../core/cql2/index.js';
import type {
  Candidate,
  FeatureCandidate,
  FeatureCandidates,
  Place,
  PlaceQuery,
  PlaceWords,
  ReverseQuery,
  SearchedFields,
  SuggestQuery,
} from '../../core/geocoding/geocoding.js';
import { GEOCODING_LIMITS } from '../../core/geocoding/limits.js';
import { windowAround } from '../../core/geocoding/sphere.js';
import { CRS84 } from '../../core/geometry/crs.js';
import { LIMITS } from '../../core/kit/limits.js';
import { hasIntegerIds } from '../../core/sources/vector-source.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { idLiteral, readObjectId } from '../../core/values/object-id.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import { PlaceConditions } from './collection-conditions.js';
import type { Geocoder, GeocoderFacts, PlaceSuggestion } from './geocoder.js';
import { inTime, ONE_REQUEST } from './in-time.js';
import { nearestWithin } from './nearest.js';

/** Score that makes a second search by the beginnings of words unnecessary. */
const LIKELY = 80;
const BEGINNING = 3;

/** Configured fields that the caller can read unmasked. Undefined if none of them contains words. */
export function searchedFields(
  { source }: VectorCollection,
  settings: SearchedFields,
): SearchedFields | undefined {
  const shown = new Set(plainFields(source.fields).map(({ name }) => name));
  const fields = Object.fromEntries(Object.entries(settings).filter(([, name]) => shown.has(name)));
  return wordFields(fields).length === 0 ? undefined : fields;
}

const wordFields = (fields: SearchedFields): string[] =>
  Object.entries(fields).flatMap(([field, name]) => (field === 'rank' || field === 'type' ? [] : [name]));

/**
 * Geocoder over a collection as its reader can read it. Its conditions, row rules and masks apply as in every query.
 */
export class CollectionGeocoder implements Geocoder {
  readonly name: string;
  readonly #conditions: PlaceConditions;

  constructor(
    private readonly collection: VectorCollection,
    private readonly fields: SearchedFields,
    private readonly pools: Pools,
  ) {
    this.name = collection.id;
    this.#conditions = new PlaceConditions(collection.source, fields);
  }

  async facts(): Promise<GeocoderFacts> {
    return { languages: [] };
  }

  find(x: TaskContext, queries: readonly PlaceQuery[]): Promise<Candidate[][]> {
    return inTime((bounded) => this.#findAll(bounded, queries), x, ONE_REQUEST);
  }

  async suggest(x: TaskContext, query: SuggestQuery): Promise<PlaceSuggestion[]> {
    const places = await this.#find(x, query);
    return places.map(({ place, key }) => ({ text: place.label, key }));
  }

  reverse(x: TaskContext, query: ReverseQuery): Promise<{ place: Place; metres: number } | undefined> {
    return inTime((bounded) => this.#reverse(bounded, query), x, ONE_REQUEST);
  }

  async place(x: TaskContext, key: string): Promise<Place | undefined> {
    const { source } = this.collection;
    const isNumber = hasIntegerIds(source);
    const id = isNumber ? readObjectId(key) : undefined;
    if (isNumber && id === undefined) return undefined;
    const condition = equalsAny(source.idColumn, [id === undefined ? key : idLiteral(id)]);
    const { candidates } = await this.#ask(x, condition, { text: '', limit: 1 }, [0, 0]);
    return candidates[0]?.place;
  }

  async #findAll(x: TaskContext, queries: readonly PlaceQuery[]): Promise<Candidate[][]> {
    const candidates: Candidate[][] = [];
    for (const query of queries) candidates.push(await this.#find(x, query));
    return candidates;
  }

  async #find(x: TaskContext, query: PlaceQuery | SuggestQuery): Promise<FeatureCandidate[]> {
    const words = listWords(query);
    if (words.length === 0) return [];
    const names = wordFields(this.fields);
    const conditions = this.#conditions;
    const { candidates: whole } = await this.#ask(x, conditions.having(names, words), query);
    if ((whole[0]?.score ?? 0) >= LIKELY) return whole;
    // Numbers are not shortened, because they only match completely.
    const starts = words.map((word) => (/^\d+$/.test(word) ? word : word.slice(0, BEGINNING)));
    const { candidates: beginnings } = await this.#ask(x, conditions.having(names, starts), query);
    return beginnings.length > 0 ? beginnings : whole;
  }

  /** An area around the point, or the nearest middle of a feature. */
  async #reverse(x: TaskContext, query: ReverseQuery): Promise<{ place: Place; metres: number } | undefined> {
    const { at, distance } = query;
    const request = { ...query, limit: 1 };
    const {
      candidates: [around],
    } = await this.#ask(
      x,
      this.#meets({ type: 'Point', coordinates: [...at], crs: CRS84.proj }),
      request,
      at,
    );
    if (around) return { place: around.place, metres: 0 };
    const nearest = await nearestWithin(distance, async (reach) => {
      const { west, south, east, north } = windowAround(at, reach);
      const window = this.#meets({ bbox: [west, south, east, north], crs: CRS84.proj });
      const { candidates, more } = await this.#ask(x, window, request, at);
      return { nearest: candidates[0], more };
    });
    return nearest && { place: nearest.place, metres: nearest.metres! };
  }

  #meets(geometry: object): Expression {
    const { geometryColumn } = this.collection.source;
    return { op: 's_intersects', args: [{ property: geometryColumn }, geometry as never] };
  }

  #ask(
    x: TaskContext,
    condition: Expression | undefined,
    query: PlaceQuery,
    at?: readonly [x: number, y: number],
  ): Promise<FeatureCandidates> {
    const { source, filter: rows } = readable(this.collection);
    const { window } = query;
    const box =
      window &&
      this.#meets({ bbox: [window.west, window.south, window.east, window.north], crs: CRS84.proj });
    const filter = and(rows, condition, box, this.#conditions.of(query));
    const items = {
      ...({ source, format: 'geojson', crs: CRS84.proj, swapAxes: false, precision: 7 } as const),
      filter,
      fields: [...new Set(Object.values(this.fields))],
      limit: GEOCODING_LIMITS.geocodeRows,
      offset: 0,
      maxBytes: LIMITS.geoServicesBytes,
    };
    const input = { items, fields: this.fields, query, ...(at ? { at } : {}) };
    const { layerId } = this.collection;
    return runTask(x, this.pools, 'vector.geocodeFeatures', input, { layerId });
  }
}

/** Words in their original spelling. The store folds the letters of words and data. */
function listWords({ text, parts }: PlaceWords): string[] {
  const all = [text ?? '', ...Object.values(parts ?? {})].join(' ');
  return [...new Set(all.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [])].slice(
    0,
    GEOCODING_LIMITS.geocodeWords,
  );
}
