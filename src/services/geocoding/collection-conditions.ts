import {
  ALL_FEATURES,
  and,
  combineWithOr,
  type Expression,
  equals,
  literalPattern,
  NO_FEATURES,
} from '../../core/cql2/index.js';
import type { PlaceField, PlaceFilter, PlaceType, SearchedFields } from '../../core/geocoding/geocoding.js';
import type { FieldType, VectorSource } from '../../core/sources/vector-source.js';
import { readNumber } from '../../core/values/exact-number.js';

/**
 * Conditions on the features of a collection for a place search. They can match unsuitable features, but miss no
 * suitable one.
 */

export class PlaceConditions {
  constructor(
    private readonly source: VectorSource,
    private readonly fields: SearchedFields,
  ) {}

  /** Each of the words is in one of the fields. */
  having(names: readonly string[], words: readonly string[]): Expression | undefined {
    const inOne = (word: string) =>
      combineWithOr(names.map((name) => this.#matches(name, word, `%${literalPattern(word)}%`)));
    return and(...words.map(inOne));
  }

  /** The countries and types of a filter. */
  of({ countries, types }: PlaceFilter): Expression | undefined {
    return and(
      countries &&
        combineWithOr(
          countries.flatMap((value) => [this.#is('countryCode', value), this.#is('country', value)]),
        ),
      types && combineWithOr(types.flatMap((value) => [this.#is('type', value), this.#isOfType(value)])),
    );
  }

  #is(field: PlaceField, value: string): Expression {
    const name = this.fields[field];
    return name === undefined ? NO_FEATURES : this.#matches(name, value, literalPattern(value));
  }

  /** Matches a text field by a pattern, and a number field by its value. Fields of other types match no word. */
  #matches(name: string, word: string, pattern: string): Expression {
    const type = this.#typeOf(name);
    if (type === 'string') return like(name, pattern);
    const number = type === 'integer' || type === 'number' ? readNumber(word) : undefined;
    return number === undefined ? NO_FEATURES : equals(name, number);
  }

  #typeOf(name: string): FieldType | undefined {
    return this.source.fields.find((field) => field.name === name)?.type;
  }

  /** Condition for a place type, in accordance with `placeType`. */
  #isOfType(type: string): Expression {
    const conditions: Readonly<Record<Lowercase<PlaceType>, () => Expression>> = {
      pointaddress: () => all(this.#has('street'), this.#has('houseNumber')),
      streetname: () => all(this.#has('street'), this.#hasNot('houseNumber')),
      poi: () => all(this.#hasNot('street'), this.#has('name')),
      postal: () =>
        all(this.#hasNot('street'), this.#hasNot('name'), this.#has('postal'), this.#hasNot('city')),
      locality: () => all(this.#hasNot('street'), this.#hasNot('name')),
    };
    return Object.hasOwn(conditions, type) ? conditions[type as Lowercase<PlaceType>]() : NO_FEATURES;
  }

  #has(field: PlaceField): Expression {
    const name = this.fields[field];
    return name === undefined ? NO_FEATURES : { op: 'not', args: [equals(name, null)] };
  }

  /** Condition for a missing or empty value. */
  #hasNot(field: PlaceField): Expression {
    const name = this.fields[field];
    if (name === undefined) return ALL_FEATURES;
    return combineWithOr([
      equals(name, null),
      ...(this.#typeOf(name) === 'string' ? [equals(name, '')] : []),
    ]);
  }
}

const all = (...conditions: readonly Expression[]): Expression => and(...conditions) ?? ALL_FEATURES;

/** In any case, without accents. */
function like(field: string, pattern: string): Expression {
  const folded = (operand: string | { property: string }) => ({
    op: 'casei',
    args: [{ op: 'accenti', args: [operand] }],
  });
  return { op: 'like', args: [folded({ property: field }), folded(pattern)] };
}
