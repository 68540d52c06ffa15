import { hasIntegerIds, type VectorSource } from '../sources/vector-source.js';
import type { VectorCollection } from './collection.js';

/** Layers whose keys are no whole numbers, as clients see them that know features by whole numbers alone. */

const sources = new WeakMap<VectorSource, VectorSource>();

/** The source with the numbers of its keys as ids, and the key as a field; the same where ids are whole numbers. */
export function numberedSource(source: VectorSource): VectorSource {
  const { numbers, fields } = source;
  if (!numbers || isNumbered(source)) return source;
  let image = sources.get(source);
  if (!image) {
    const ids = { idColumn: numbers.column, idType: 'integer', idGenerated: true } as const;
    sources.set(source, (image = { ...source, ...ids, fields: [numbers.key, ...fields] }));
  }
  return image;
}

/** Whether the ids of a source are the numbers of its keys. */
export function isNumbered({ numbers, idColumn }: VectorSource): boolean {
  return numbers !== undefined && numbers.column === idColumn;
}

/** Whether whole numbers stand for the features: their keys, or numbers of these. */
export function hasNumbers(source: VectorSource): boolean {
  return hasIntegerIds(source) || source.numbers !== undefined;
}

/** The collection of `numberedSource`. */
export function toNumberedCollection(collection: VectorCollection): VectorCollection {
  const { source, rule } = collection;
  if (!source.numbers) return collection;
  const stored = rule && { rule: { ...rule, stored: numberedSource(rule.stored) } };
  return { ...collection, source: numberedSource(source), ...stored };
}
