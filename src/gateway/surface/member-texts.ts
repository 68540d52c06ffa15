import type { Collection } from '../../core/catalog/collection.js';
import { stringifyExactly } from '../../core/values/json.js';
import { type JsonText, objectText } from '../../core/values/json-text.js';

interface MemberText {
  readonly baseUrl: string;
  readonly text: JsonText;
}

/**
 * JSON texts of collections in lists, so that a request for thousands of collections does not delay other requests. A text is
 * valid until its collection changes or a request has another base URL.
 */
export class MemberTexts {
  readonly #texts = new WeakMap<Collection, MemberText>();

  /** The document of a list: `collections`, then other members. */
  write<C extends Collection>(
    baseUrl: string,
    collections: readonly C[],
    describe: (collection: C) => unknown,
    others: Readonly<Record<string, unknown>>,
  ): JsonText {
    const texts = collections.map((collection) => this.#find(baseUrl, collection, describe));
    const rest = Object.entries(others).map(([name, value]) => [name, stringifyExactly(value)] as const);
    return objectText([['collections', `[${texts.join(',')}]`], ...rest]);
  }

  #find<C extends Collection>(
    baseUrl: string,
    collection: C,
    describe: (collection: C) => unknown,
  ): JsonText {
    const kept = this.#texts.get(collection);
    if (kept?.baseUrl === baseUrl) return kept.text;
    const text = stringifyExactly(describe(collection));
    this.#texts.set(collection, { baseUrl, text });
    return text;
  }
}
