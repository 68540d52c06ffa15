import { hasIntegerIds, type VectorSource } from '../sources/vector-source.js';
import type { VectorCollection } from './collection.js';

/** Sources with generated integer ids, for clients that require them (GeoServices). */

const sources = new WeakMap<VectorSource, VectorSource>();

/** The source with generated numbers as ids and the key as a field. Unchanged if its ids are integers. */
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

/** Whether features have integer ids, stored or generated. */
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
