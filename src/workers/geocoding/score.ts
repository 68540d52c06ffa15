import { PLACE_FIELDS, type PlaceField, type PlaceWords } from '../../core/geocoding/geocoding.js';
import { GEOCODING_LIMITS } from '../../core/geocoding/limits.js';
import { metresBetween } from '../../core/geocoding/sphere.js';
import { type PlaceRow, parsePlaceNames } from './index-file.js';
import { hasDigit, likeness, splitWords } from './words.js';

/** Scores of places, explained in docs/reference/apis/geocoding.md. */

/**
 * Weights of the parts of the score: the query's words that the place has, and the place's own words that the query
 * has.
 */
const ASKED = 0.75;
const OWN = 0.25;
/**
 * Maximum deduction for the distance from the requested location, and the metres at which it reaches two thirds of
 * it.
 */
const FAR = 5;
const FAR_METRES = 100_000;
/** Words that are less alike are different. */
const MIN_ALIKE = 0.6;
const NUMBER_WEIGHT = 3;
const MAX_WEIGHT = 8;

/** Minimum score of candidates. */
export const MIN_SCORE = 50;

interface ScoredRow {
  readonly row: PlaceRow;
  readonly score: number;
}

/** Sorts by score, best first, then by rank, highest first, and then by id. */
export const byScore = (a: ScoredRow, b: ScoredRow) =>
  b.score - a.score || b.row.rank - a.row.rank || a.row.id - b.row.id;

export interface QueryWord {
  readonly word: string;
  readonly weight: number;
  /** Fields in which the word is searched. Default: all fields. */
  readonly fields?: ReadonlySet<string>;
}

/** In which fields of a place a part of an address may be. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  address: ['address', 'houseNumber', 'street', 'name'],
  city: ['city', 'name', 'address', 'neighborhood'],
  region: ['region', 'subregion'],
  country: ['country', 'countryCode'],
  countryCode: ['country', 'countryCode'],
};

/** The words of a query, none twice. */
export function queryWords({ text, parts }: PlaceWords): QueryWord[] {
  const words: QueryWord[] = splitWords(text ?? '').map((word) => ({ word, weight: computeWeight(word) }));
  for (const [part, value] of Object.entries(parts ?? {})) {
    const fields = new Set(PARTS[part] ?? [part]);
    for (const word of splitWords(value ?? '')) words.push({ word, weight: computeWeight(word), fields });
  }
  const distinct = words.filter(
    ({ word, fields }, i) => words.findIndex((one) => one.word === word && one.fields === fields) === i,
  );
  return distinct.slice(0, GEOCODING_LIMITS.geocodeWords);
}

/** Longer words have a greater weight. */
const computeWeight = (word: string) => (hasDigit(word) ? NUMBER_WEIGHT : Math.min(MAX_WEIGHT, word.length));

/** Scores places for one query. */
export class Scorer {
  readonly #words: readonly QueryWord[];
  readonly #near: readonly [x: number, y: number] | undefined;
  readonly #total: number;
  /** Cached results of comparing pairs of words. */
  readonly #alike = new Map<string, number>();

  constructor(words: readonly QueryWord[], near?: readonly [x: number, y: number]) {
    this.#words = words;
    this.#near = near;
    this.#total = words.reduce((sum, { weight }) => sum + weight, 0);
  }

  /** 0 to 100. */
  score(row: PlaceRow): number {
    const fields = fieldWords(row);
    const asked = this.#words.reduce((sum, word) => sum + word.weight * this.#best(word, fields), 0);
    const own = Math.max(0, ...ownNames(row).map((words) => this.#covered(words)));
    const score = 100 * ((ASKED * asked) / this.#total + OWN * own);
    return Math.round((score - this.#farness(row)) * 100) / 100;
  }

  #best(
    { word, fields: wanted }: QueryWord,
    fields: readonly (readonly [field: string, words: string[]])[],
  ): number {
    let best = 0;
    for (const [field, words] of fields)
      if (!wanted || wanted.has(field))
        for (const one of words) best = Math.max(best, this.#likeness(word, one));
    return best;
  }

  /** The part of some words that the query has. */
  #covered(words: readonly string[]): number {
    const sum = words.reduce(
      (total, word) => total + Math.max(0, ...this.#words.map((one) => this.#likeness(one.word, word))),
      0,
    );
    return words.length === 0 ? 0 : sum / words.length;
  }

  #likeness(word: string, other: string): number {
    const key = `${word} ${other}`;
    let value = this.#alike.get(key);
    if (value === undefined) {
      const alike = likeness(word, other);
      value = alike < MIN_ALIKE ? 0 : alike;
      this.#alike.set(key, value);
    }
    return value;
  }

  #farness({ x, y }: PlaceRow): number {
    if (!this.#near) return 0;
    return FAR * (1 - Math.exp(-metresBetween(this.#near, [x, y]) / FAR_METRES));
  }
}

function fieldWords(row: PlaceRow): (readonly [field: string, words: string[]])[] {
  const texts: (readonly [string, string])[] = PLACE_FIELDS.filter((field) => field !== 'type').map(
    (field: PlaceField) => [field, row[field]] as const,
  );
  const names = parsePlaceNames(row).map((name) => ['name', name] as const);
  return [...texts, ...names, ['address', row.address] as const]
    .filter(([, text]) => text !== '')
    .map(([field, text]) => [field, splitWords(text)] as const);
}

/** Returns the names of a place: its name in any language, or its street with the number; otherwise its area. */
function ownNames(row: PlaceRow): string[][] {
  const { name, houseNumber, street, address, city, postal, region } = row;
  const names = [name, ...parsePlaceNames(row), `${houseNumber} ${street}`]
    .map(splitWords)
    .filter((words) => words.length > 0);
  if (names.length > 0) return names;
  return [splitWords([address, city, postal, region].find((text) => text !== '') ?? '')];
}
