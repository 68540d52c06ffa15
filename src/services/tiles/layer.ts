import { readable, type VectorCollection } from '../../core/catalog/collection.js';
import { and } from '../../core/cql2/index.js';
import type { TileLayer } from '../../core/tasks/vector-tasks.js';
import type { TileSelection } from './request.js';

/** The vector tile layer of a collection, by its settings and the request. */
export function buildTileLayer(
  collection: VectorCollection,
  selection: TileSelection | undefined,
): TileLayer {
  const { source, fields, filter } = readable(collection);
  const { maxFeatures, maxBytes } = collection.tiles ?? {};
  const names = listTileProperties(collection, selection?.properties) ?? fields;
  const narrowed = and(filter, selection?.filters.get(collection.id));
  return {
    name: collection.id,
    version: collection.rule?.version ?? collection.version,
    cursor: collection.cursor,
    source,
    ...(names ? { fields: names } : {}),
    filter: narrowed,
    ...(maxFeatures === undefined ? {} : { maxFeatures }),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  };
}

/** Names of the attributes that tiles carry, in the order of the collection; undefined when that is all of them. */
export function listTileProperties(
  { source, tiles }: VectorCollection,
  properties: readonly string[] | undefined = undefined,
): string[] | undefined {
  const allowed = tiles?.properties;
  if (!allowed && !properties) return undefined;
  const names = source.fields.map(({ name }) => name);
  return names.filter((name) => (allowed?.includes(name) ?? true) && (properties?.includes(name) ?? true));
}
