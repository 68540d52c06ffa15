import type { PlaceFilter } from '../../core/geocoding/geocoding.js';
import { GEOCODING_LIMITS } from '../../core/geocoding/limits.js';
import { buildPlaceCondition, type Condition } from './conditions.js';
import { bounded, type Db, type PlaceRow } from './index-file.js';
import { countAllowedEdits, editDistance, hasDigit, splitWords } from './words.js';

/** Maximum number of index words that count as one word of a query. */
const MAX_ALIKE = 8;
/** Words of the index that are compared with it. */
const COMPARED = 200;

/** Word in a full text query. It comes from `splitWords` and contains only letters and digits, so quotes are safe. */
const exact = (word: string) => `"${word}"`;
const beginning = (word: string) => (word.length < 3 || hasDigit(word) ? exact(word) : `"${word}" *`);

/** Words of an index that a few edits make of a word, the closest first. */
function alike(db: Db, word: string, deadline: number): string[] {
  const edits = countAllowedEdits(word);
  if (edits === 0) return [];
  const text = bounded(word);
  const trigrams = Array.from({ length: text.length - 2 }, (_, i) => text.slice(i, i + 3));
  const query = [...new Set(trigrams)].map((one) => `"${one}"`).join(' OR ');
  const terms = db
    .prepare(
      `SELECT t.term FROM trigrams g JOIN terms t ON t.id = g.rowid
       WHERE trigrams MATCH ? AND gr_before(?) AND length(t.term) BETWEEN ? AND ? ORDER BY g.rank LIMIT ?`,
    )
    .pluck()
    .all(query, deadline, word.length - edits, word.length + edits, COMPARED) as string[];
  return terms
    .map((term) => ({ term, distance: editDistance(word, term, edits) }))
    .filter(({ distance }) => distance > 0 && distance <= edits)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, MAX_ALIKE)
    .map(({ term }) => term);
}

/** Rows of an index whose words match, high ranks first. */
export class Matcher {
  readonly #db: Db;
  readonly #deadline: number;
  readonly #condition: Condition;
  readonly #groups = new Map<string, string>();

  /** Its statements end at the deadline, in milliseconds since 1970. */
  constructor(db: Db, filter: PlaceFilter, deadline: number) {
    this.#db = db;
    this.#deadline = deadline;
    this.#condition = buildPlaceCondition(filter, deadline);
  }

  /** Places that have all words, in their own names or anywhere. */
  all(words: readonly string[], column?: 'own'): PlaceRow[] {
    return this.#rows(words.map(exact), column);
  }

  /** Same as `all`, except that a word can be the start of a word or have a few wrong letters. */
  nearlyAll(words: readonly string[]): PlaceRow[] {
    return this.#rows(words.map((word) => this.#group(word)));
  }

  /** Places that have all words, of which the last one can be incomplete. */
  begun(words: readonly string[], column?: 'own'): PlaceRow[] {
    const last = words.at(-1)!;
    return this.#rows([...words.slice(0, -1).map(exact), `"${last}" *`], column);
  }

  #group(word: string): string {
    let group = this.#groups.get(word);
    if (group === undefined) {
      const others = alike(this.#db, word, this.#deadline).flatMap(splitWords).map(exact);
      group = `(${[beginning(word), ...others].join(' OR ')})`;
      this.#groups.set(word, group);
    }
    return group;
  }

  #rows(groups: readonly string[], column?: 'own'): PlaceRow[] {
    if (groups.length === 0) return [];
    const { sql, values } = this.#condition;
    const query = column ? `${column} : (${groups.join(' AND ')})` : groups.join(' AND ');
    return this.#db
      .prepare(
        `SELECT p.* FROM words w JOIN places p ON p.id = w.rowid WHERE words MATCH ?${sql}
         ORDER BY w.rowid LIMIT ${GEOCODING_LIMITS.geocodeRows}`,
      )
      .all(query, ...values) as PlaceRow[];
  }
}
