import type {
  Candidate,
  GeocodingTasks,
  PlaceFilter,
  PlaceQuery,
  PlaceWindow,
} from '../../core/geocoding/geocoding.js';
import { windowAround } from '../../core/geocoding/sphere.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Cancellation } from '../threads/cancellation.js';
import { buildPlace, type Db, openPlaceIndex, type PlaceRow } from './index-file.js';
import { Matcher } from './match.js';
import { byScore, MIN_SCORE, type QueryWord, queryWords, Scorer } from './score.js';

/** Scores above which no better match is searched, and above which no word is dropped. */
const SURE = 95;
const LIKELY = 80;
/** Metres around a location within which places are searched separately. */
const NEARBY = 50_000;

/** Task `vector.geocode`. */
export function geocode(
  { index, queries }: GeocodingTasks['vector.geocode']['input'],
  cancellation?: Cancellation,
): GeocodingTasks['vector.geocode']['output'] {
  const db = openPlaceIndex(index);
  const deadline = Date.now() + LIMITS.requestDeadlineMs;
  return queries.map((query) => {
    cancellation?.check();
    return findPlaces(db, query, deadline);
  });
}

function findPlaces(db: Db, query: PlaceQuery, deadline: number): Candidate[] {
  const words = queryWords(query);
  if (words.length === 0) return [];
  const search = new Search(new Scorer(words, query.near));
  const matcher = new Matcher(db, query, deadline);
  const texts = words.map(({ word }) => word);
  search.add(matcher.all(texts, 'own'));
  search.add(matcher.all(texts));
  const near = query.near && !query.window ? nearFilter(query, windowAround(query.near, NEARBY)) : undefined;
  if (near) search.add(new Matcher(db, near, deadline).all(texts));
  if (search.best < SURE) search.add(matcher.nearlyAll(texts));
  if (search.best < LIKELY) for (const fewer of shortened(words)) search.add(matcher.nearlyAll(fewer));
  return search.candidates(query);
}

const nearFilter = (filter: PlaceFilter, window: PlaceWindow): PlaceFilter => ({ ...filter, window });

/** Returns the words without each one of them, followed by each of the longest words as a single word. */
function shortened(words: readonly QueryWord[]): string[][] {
  if (words.length < 2) return [];
  const texts = words.map(({ word }) => word);
  const without = words.length === 2 ? [] : texts.map((_, i) => texts.filter((_text, j) => j !== i));
  const heaviest = [...words].sort((a, b) => b.weight - a.weight).slice(0, 3);
  return [...without, ...heaviest.map(({ word }) => [word])];
}

/** Places that were found so far, and their scores. */
class Search {
  readonly #scores = new Map<number, { row: PlaceRow; score: number }>();
  best = 0;

  constructor(private readonly scorer: Scorer) {}

  add(rows: readonly PlaceRow[]): void {
    for (const row of rows) {
      if (this.#scores.has(row.id)) continue;
      const score = this.scorer.score(row);
      this.#scores.set(row.id, { row, score });
      this.best = Math.max(this.best, score);
    }
  }

  candidates({ limit, language }: PlaceQuery): Candidate[] {
    return [...this.#scores.values()]
      .filter(({ score }) => score >= MIN_SCORE)
      .sort(byScore)
      .slice(0, limit)
      .map(({ row, score }) => ({ place: buildPlace(row, language), score }));
  }
}
