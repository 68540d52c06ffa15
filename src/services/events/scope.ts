import { hasFeatures } from '../../core/abilities.js';
import type { Box } from '../../core/box.js';
import type { CatalogSnapshot, VectorCollection } from '../../core/collection.js';
import { and, Cql2Error, check, type Expression } from '../../core/cql2/index.js';
import { CRS84 } from '../../core/crs.js';
import type { TimeRange } from '../../core/params.js';
import { during } from '../filters.js';

/** What a subscriber wants to hear of. */
export interface Interest {
  /** Layer ids; all that may be read when absent. */
  readonly layers: readonly number[] | undefined;
  /** CRS84; west > east crosses the antimeridian. */
  readonly bbox: Box | undefined;
  /** Checked against the one layer of the interest. */
  readonly filter: Expression | undefined;
  readonly datetime: TimeRange | undefined;
}

/** What a subscription may see of one collection, at the moment of a catalog. */
export interface Scope {
  readonly collection: VectorCollection;
  /** JSON of the filter that features must pass; undefined when all do. */
  readonly filter: string | undefined;
  /** Names of the attributes that may be read; undefined: all. */
  readonly fields: ReadonlySet<string> | undefined;
  /** Names the fields, for answers that are made once for all who may read the same. */
  readonly mask: string;
}

/** The scopes of an interest: one for each collection that it speaks of and its principal may read. */
export function scopesOf(interest: Interest, visible: CatalogSnapshot): Map<number, Scope> {
  const scopes = new Map<number, Scope>();
  for (const collection of visible.collections) {
    if (!hasFeatures(collection)) continue;
    if (interest.layers && !interest.layers.includes(collection.layerId)) continue;
    if (mayAsk(interest.filter, collection)) scopes.set(collection.layerId, scopeOf(interest, collection));
  }
  return scopes;
}

/** A filter that names what may not be read any more would tell it by what it lets through. */
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

export function scopeOf({ filter, datetime }: Interest, collection: VectorCollection): Scope {
  const { rule, source } = collection;
  const whole = and(rule?.rows, filter, during(source, datetime));
  const masked = rule && source.fields.length < rule.stored.fields.length;
  const fields = masked ? new Set(source.fields.map(({ name }) => name)) : undefined;
  return {
    collection,
    filter: whole === undefined ? undefined : JSON.stringify(whole),
    fields,
    mask: fields ? [...fields].join('\u0000') : '',
  };
}

/** Somebody with an interest: a subscription, or several that are told together. */
export interface Listener {
  readonly interest: Interest;
  /** What of a layer may be seen now; undefined: nothing. */
  scope(layerId: number, visible: CatalogSnapshot): Scope | undefined;
}
