import { hasFeatures } from '../../../core/abilities.js';
import type { CatalogSnapshot, Collection, VectorCollection } from '../../../core/collection.js';
import type { CheckOptions, Expression } from '../../../core/cql2/index.js';
import { type Crs, defaultCrs } from '../../../core/crs.js';
import { notFound } from '../../../core/errors.js';
import type { Principal } from '../../../core/operation.js';
import type { Field } from '../../../core/vector-source.js';
import { findCollection } from '../common.js';

/** A collection as one principal may read it: masked fields and hidden rows do not exist. */
export interface View {
  readonly collection: VectorCollection;
  /** The same without what is masked: for documents and pages. */
  readonly visible: VectorCollection;
  /** Attributes that may be read, filtered and sorted by. */
  readonly fields: readonly Field[];
  /** True when some attributes are masked. */
  readonly masked: boolean;
  /** Rows that exist; all when absent. */
  readonly rows: Expression | undefined;
}

interface ViewDeps {
  catalog(): CatalogSnapshot;
  visible(principal: Principal): CatalogSnapshot;
}

/** Throws 404 for an unknown collection, 401 or 403 for one that may not be read. */
export function viewOf(deps: ViewDeps, principal: Principal, collectionId: string): View {
  const visible = findCollection(deps.visible(principal), collectionId);
  asVector(visible);
  // Stored rows are named by all their attributes, also for those who may not read some.
  const collection = findCollection(deps.catalog(), collectionId) as VectorCollection;
  const { fields } = visible.source;
  return { collection, visible, fields, masked: visible.rule !== undefined, rows: visible.rule?.rows };
}

/** Only vector collections have items. */
export function asVector(collection: Collection): asserts collection is VectorCollection {
  if (!hasFeatures(collection)) throw notFound('feature collection', collection.id);
}

/** What filters of this view may name. */
export function filterOptions(
  { collection, fields }: View,
  filterCrs: Crs = defaultCrs(collection),
): CheckOptions {
  return { ...collection.source, fields, filterCrs };
}
