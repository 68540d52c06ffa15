import { hasIntegerIds, type VectorSource } from '../sources/vector-source.js';
import type { VectorCollection } from './collection.js';

/** Sources with generated integer ids, for clients that require them (GeoServices). */

/** Results of `useGeneratedIds`: each source has one result, because other code caches values by source object. */
const results = new WeakMap<VectorSource, VectorSource>();

/** The source with generated integers as ids and the key as a field. Unchanged if its ids are integers. */
export function useGeneratedIds(source: VectorSource): VectorSource {
  const { generatedIds, fields } = source;
  if (!generatedIds || usesGeneratedIds(source)) return source;
  let result = results.get(source);
  if (!result) {
    const ids = { idColumn: generatedIds.column, idType: 'integer', idGenerated: true } as const;
    results.set(source, (result = { ...source, ...ids, fields: [generatedIds.key, ...fields] }));
  }
  return result;
}

/** Whether the source is a result of `useGeneratedIds`. */
export function usesGeneratedIds({ generatedIds, idColumn }: VectorSource): boolean {
  return generatedIds !== undefined && generatedIds.column === idColumn;
}

/** Whether features have integer ids, stored or generated. */
export function canHaveIntegerIds(source: VectorSource): boolean {
  return hasIntegerIds(source) || source.generatedIds !== undefined;
}

/** The collection with generated ids in its source, and in the source to which the rules of the caller apply. */
export function useGeneratedCollectionIds(collection: VectorCollection): VectorCollection {
  const { source, rule } = collection;
  if (!source.generatedIds) return collection;
  const stored = rule && { rule: { ...rule, stored: useGeneratedIds(rule.stored) } };
  return { ...collection, source: useGeneratedIds(source), ...stored };
}
