import { plainFields } from '../../core/access/field-masks.js';
import { hasFeatures } from '../../core/catalog/abilities.js';
import {
  type CatalogSnapshot,
  type Collection,
  type VectorCollection,
  whole,
} from '../../core/catalog/collection.js';
import { findCollection } from '../../core/catalog/find.js';
import { useGeneratedCollectionIds, useGeneratedIds } from '../../core/catalog/generated-ids.js';
import { withoutSurface } from '../../core/catalog/other-surfaces.js';
import type { CheckOptions, Expression } from '../../core/cql2/index.js';
import { type Crs, defaultCrs } from '../../core/geometry/crs.js';
import type { Principal } from '../../core/http/operation.js';
import type { Field, VectorSource } from '../../core/sources/vector-source.js';

/** A collection as one principal may read it: hidden fields and hidden rows do not exist. */
export interface CollectionView {
  readonly collection: VectorCollection;
  /** The collection without hidden data, for documents and pages. */
  readonly visible: VectorCollection;
  /** The source for queries of the store. */
  readonly source: VectorSource;
  /** Attributes that are shown. */
  readonly fields: readonly Field[];
  /** Fields for filters, sorting, grouping and writing. Their readable values are the stored values. */
  readonly queryables: readonly Field[];
  /** True when a rule keeps something. */
  readonly masked: boolean;
  /** Filter of the visible rows. Default: all rows. */
  readonly rows: Expression | undefined;
}

/** The catalog of this moment, and the same as a principal may read it. */
export interface Catalogs {
  catalog(): CatalogSnapshot;
  visible(principal: Principal): CatalogSnapshot;
}

/** A collection as a principal may read it. Throws 404 for an unknown collection, 401 or 403 for one that may not be read. */
export function findView(deps: Catalogs, principal: Principal, collectionId: string): CollectionView {
  const visible = findCollection(deps.visible(principal), collectionId);
  asVector(visible);
  // Stored rows include all attributes, also for callers who can read only some of them.
  const collection = whole(findCollection(deps.catalog(), collectionId) as VectorCollection);
  const { fields } = visible.source;
  const source = visible.rule?.stored ?? collection.source;
  return {
    collection,
    visible,
    source,
    fields,
    queryables: plainFields(fields),
    masked: visible.rule !== undefined,
    rows: visible.rule?.rows,
  };
}

/** The view with numbers as ids, for clients that only support these. */
export function numberedView(view: CollectionView): CollectionView {
  if (!view.source.generatedIds) return view;
  const visible = useGeneratedCollectionIds(view.visible);
  const { fields } = visible.source;
  return {
    ...view,
    visible,
    fields,
    queryables: plainFields(fields),
    collection: useGeneratedCollectionIds(view.collection),
    source: useGeneratedIds(view.source),
  };
}

/** Only vector collections have items. */
function asVector(collection: Collection): asserts collection is VectorCollection {
  if (!hasFeatures(collection)) throw withoutSurface('feature collection', collection);
}

/** Fields and CRS for filters of this view. */
export function filterOptions(
  { collection, queryables: fields }: CollectionView,
  filterCrs: Crs = defaultCrs(collection),
): CheckOptions {
  return { ...collection.source, fields, filterCrs };
}
