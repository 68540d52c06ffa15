import { plainFields } from '../../core/access/field-masks.js';
import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, ReadRule, VectorCollection } from '../../core/catalog/collection.js';
import { and, Cql2Error, check, type Expression } from '../../core/cql2/index.js';
import type { Box } from '../../core/geometry/box.js';
import { CRS84 } from '../../core/geometry/crs.js';
import type { TimeRange } from '../../core/http/params.js';
import type { Field, VectorSource } from '../../core/sources/vector-source.js';
import { encodeStoredJson, stringifyExactly } from '../../core/values/json.js';
import { during } from '../filters/filters.js';

/** Interest of a subscriber. */
export interface SubscriberInterest {
  /** Layer ids. Default: all readable layers. */
  readonly layers: readonly number[] | undefined;
  /** The service that was named. */
  readonly service?: string | undefined;
  /** CRS84; west > east crosses the antimeridian. */
  readonly bbox: Box | undefined;
  /** Checked against the one layer of the interest. */
  readonly filter: Expression | undefined;
  readonly datetime: TimeRange | undefined;
}

/** Visible part of one collection for a subscription, at the time of a catalog. */
export interface Scope {
  readonly collection: VectorCollection;
  /** JSON of the filter that features must pass; undefined when all do. */
  readonly filter: string | undefined;
  /** The visible attributes by name. Undefined: all attributes in their stored form. */
  readonly fields: ReadonlyMap<string, Field> | undefined;
  /** Key of the fields, for frames that are created once for all callers with the same rights. */
  readonly mask: string;
}

/** Characters of the filter of an interest as JSON. */
export const filterLength = ({ filter }: SubscriberInterest): number =>
  filter === undefined ? 0 : encodeStoredJson(filter).length;

/**
 * The scopes of an interest: one for each included collection that its principal can read. `former` are the scopes of
 * an earlier catalog. An edit creates a new collection without changing anything that scopes depend on.
 */
export function buildScopes(
  interest: SubscriberInterest,
  visible: CatalogSnapshot,
  former?: ReadonlyMap<number, Scope>,
): Map<number, Scope> {
  const scopes = new Map<number, Scope>();
  for (const collection of visible.collections) {
    if (!hasFeatures(collection)) continue;
    if (interest.layers && !interest.layers.includes(collection.layerId)) continue;
    const before = former?.get(collection.layerId);
    if (before && isSameView(before.collection, collection, interest.filter !== undefined))
      scopes.set(collection.layerId, { ...before, collection });
    else if (mayAsk(interest.filter, collection))
      scopes.set(collection.layerId, buildScope(interest, collection));
  }
  return scopes;
}

/**
 * Whether two collections agree in everything that scopes depend on. `isExact` also compares values of different
 * objects.
 */
export function isSameView(one: VectorCollection, other: VectorCollection, isExact: boolean): boolean {
  if (one.source === other.source && one.rule === other.rule) return true;
  return isExact && buildView(one) === buildView(other);
}

const views = new WeakMap<VectorCollection, string>();

/** Names all that a scope depends on; computed once for a collection of a catalog. */
function buildView(collection: VectorCollection): string {
  let view = views.get(collection);
  if (view === undefined) {
    const { source, rule } = collection;
    view = stringifyExactly([source, rule?.rows ?? null, rule?.stored ?? null]);
    views.set(collection, view);
  }
  return view;
}

/** Whether the filter uses only readable attributes. The matches of a filter would reveal hidden attributes. */
function mayAsk(filter: Expression | undefined, { source }: VectorCollection): boolean {
  if (filter === undefined) return true;
  try {
    check(filter, { ...source, filterCrs: CRS84 });
    return true;
  } catch (error) {
    if (!(error instanceof Cql2Error)) throw error;
    return false;
  }
}

export function buildScope({ filter, datetime }: SubscriberInterest, collection: VectorCollection): Scope {
  const { rule, source } = collection;
  const whole = and(rule?.rows, filter, during(source, datetime));
  const fields = rule && findShownFields(source, rule);
  return {
    collection,
    filter: whole === undefined ? undefined : encodeStoredJson(whole),
    fields,
    mask: fields ? JSON.stringify([...fields.values()].map(({ name, mask = null }) => [name, mask])) : '',
  };
}

/** The visible attributes. Undefined if these are all attributes in their stored form. */
function findShownFields({ fields }: VectorSource, { stored }: ReadRule): Map<string, Field> | undefined {
  const isWhole = fields.length === stored.fields.length && plainFields(fields) === fields;
  if (isWhole) return undefined;
  const names = new Set(fields.map(({ name }) => name));
  return new Map(stored.fields.flatMap((field) => (names.has(field.name) ? [[field.name, field]] : [])));
}

/** An interested subscription, or several that get the same frames. */
export interface Listener {
  readonly interest: SubscriberInterest;
  /** Visible part of a layer now. Undefined if it is hidden. */
  scope(layerId: number, visible: CatalogSnapshot): Scope | undefined;
}
