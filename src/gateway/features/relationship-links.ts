import { plainFields } from '../../core/access/field-masks.js';
import { hasFeatures, isServed } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, VectorCollection } from '../../core/catalog/collection.js';
import type { Expression } from '../../core/cql2/ast.js';
import { equals, print } from '../../core/cql2/index.js';
import { GEOJSON_FORMAT, linkType } from '../../core/http/media.js';
import type { Exchange } from '../../core/http/operation.js';
import { FEATURES_PATH } from '../../core/http/paths.js';
import { parseJsonExactly } from '../../core/values/json.js';
import {
  findFieldType,
  getRelationshipFields,
  toComparableValue,
} from '../../services/catalog/layers/relationship-fields.js';
import type { CollectionView } from '../../services/features/view.js';
import type { Link } from '../surface/common.js';

/**
 * Links from a GeoJSON feature to the related features of other layers, one for each relationship of its layer. A
 * link is omitted if the feature has no value, or if the caller may not read the other layer or its field.
 */
export function relatedLinks(
  x: Exchange,
  view: CollectionView,
  catalog: CatalogSnapshot,
  feature: string,
): Link[] {
  const { relationships = [], source } = view.collection;
  if (relationships.length === 0) return [];
  const { id, properties } = parseJsonExactly(feature, 'all') as {
    id: unknown;
    properties: Record<string, unknown>;
  };
  const plain = new Set(plainFields(view.fields).map(({ name }) => name));
  return relationships.flatMap((relationship) => {
    const { own, other } = getRelationshipFields(relationship);
    const related = catalog.byLayerId(relationship.relatedLayerId);
    if (!related || !hasFeatures(related) || !isServed(related, 'OgcFeatures')) return [];
    const type = findFieldType(other, related);
    if (type === undefined) return [];
    const value = toComparableValue(
      own === source.idColumn ? id : plain.has(own) ? properties[own] : null,
      type,
    );
    return value === undefined ? [] : [linkTo(x, related, relationship.name, equals(other, value))];
  });
}

function linkTo({ baseUrl }: Exchange, { id }: VectorCollection, title: string, filter: Expression): Link {
  return {
    href: `${baseUrl}${FEATURES_PATH}/collections/${id}/items?filter=${encodeURIComponent(print(filter))}`,
    rel: 'related',
    type: linkType(GEOJSON_FORMAT),
    title,
  };
}
