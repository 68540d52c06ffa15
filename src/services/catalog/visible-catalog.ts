import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { LayerName } from '../../core/access/access.js';
import { shownField } from '../../core/access/field-masks.js';
import { hasFeatures } from '../../core/catalog/abilities.js';
import type {
  AwaitedCollection,
  CatalogSnapshot,
  Collection,
  QuarantineEntry,
  ReadRule,
  VectorCollection,
} from '../../core/catalog/collection.js';
import type { Expression } from '../../core/cql2/ast.js';
import { and } from '../../core/cql2/index.js';
import type { Principal } from '../../core/http/operation.js';
import type { Field, Mask, VectorSource } from '../../core/sources/vector-source.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { Access, AccessPolicy } from '../access/access.js';
import { isLayerInScope } from '../access/rules/policy.js';
import { stylesWithout } from '../styles/visible-styles.js';
import { Measurements } from './visible-facts.js';

/** Audiences whose view of one catalog is kept. */
const MAX_VIEWS = 1000;

/** Rules that determine the data that a principal can read. */
export interface ReadAccess {
  readonly policy: AccessPolicy;
  /** Changes with the rules. */
  version(): number;
  /** Principals of one audience read the same. */
  audienceOf(principal: Principal): string;
  /** Whether a collection whose source cannot be read is shown to a principal. Default: shown. */
  readonly awaited?: (principal: Principal, collection: AwaitedCollection) => 'shown' | 'refused' | 'hidden';
  /** The layers that a collection is a copy of. Default: none. */
  sourcesOf?(id: string): readonly LayerName[];
}

/** A policy that never changes. */
export function fixedReading(policy: AccessPolicy): ReadAccess {
  const formatAudience = ({ kind, id, permissions }: Principal) => JSON.stringify([kind, id, permissions]);
  return { policy, version: () => 0, audienceOf: formatAudience };
}

/**
 * The catalog as each principal can read it. Unreadable collections are omitted, masked attributes are not fields,
 * and the collection's row filter excludes hidden rows. Every API takes its collections from here, so a rule applies
 * to all APIs. A restricted collection has a separate version, so caches keep it separate.
 */
export class VisibleCatalog {
  readonly #reading: ReadAccess;
  readonly #current: () => CatalogSnapshot;
  #of: CatalogSnapshot | undefined;
  #version = Number.NaN;
  readonly #views = new LRUCache<string, CatalogSnapshot>({ max: MAX_VIEWS });
  readonly #measurements: Measurements | undefined;
  #last: { principal: Principal; visible: CatalogSnapshot } | undefined;

  /** Without pools, the rows that rules leave are not counted. */
  constructor(current: () => CatalogSnapshot, reading: ReadAccess, pools?: Pick<Pools, 'run'>) {
    this.#current = current;
    this.#reading = reading;
    this.#measurements = pools && new Measurements(pools, () => this.#forget());
  }

  #forget(): void {
    this.#views.clear();
    this.#last = undefined;
  }

  /** The catalog of a principal. If the principal can read everything, this is the complete catalog itself. */
  of(principal: Principal): CatalogSnapshot {
    const snapshot = this.#current();
    const version = this.#reading.version();
    if (this.#of !== snapshot || this.#version !== version) {
      this.#of = snapshot;
      this.#version = version;
      this.#forget();
    }
    if (this.#last?.principal === principal) return this.#last.visible;
    const audience = this.#reading.audienceOf(principal);
    let visible = this.#views.get(audience);
    if (!visible) this.#views.set(audience, (visible = this.#restricted(snapshot, principal)));
    this.#last = { principal, visible };
    return visible;
  }

  #withSources(collection: Collection, snapshot: CatalogSnapshot): Collection {
    const sources = this.#reading.sourcesOf?.(collection.id) ?? [];
    const derivedFrom = sources.flatMap(({ id }) => snapshot.byId(id) ?? []);
    return derivedFrom.length > 0 ? { ...collection, derivedFrom } : collection;
  }

  /**
   * An unreadable source, with its former collections that a principal can read. Its other collections are refused as
   * if they were published.
   */
  #unread(one: QuarantineEntry, principal: Principal, refused: AwaitedCollection[]): QuarantineEntry {
    const { awaited = [] } = one;
    const within = awaited.filter((collection) => isLayerInScope(principal, collection));
    const shown = within.filter((collection) => {
      const outcome = this.#reading.awaited?.(principal, collection) ?? 'shown';
      if (outcome === 'refused') refused.push(collection);
      return outcome === 'shown';
    });
    return shown.length === awaited.length ? one : { ...one, awaited: shown };
  }

  #restricted(snapshot: CatalogSnapshot, principal: Principal): CatalogSnapshot {
    const { policy } = this.#reading;
    const refused: AwaitedCollection[] = [];
    const collections = snapshot.collections.flatMap((collection) => {
      if (collection.isDisabled) return [];
      const access = policy(principal, collection, 'read');
      if (access.allowed)
        return [narrowed(this.#withSources(collection, snapshot), access, this.#measurements)];
      // Layers of other tenants are hidden: a refusal would reveal them.
      if (isLayerInScope(principal, collection)) refused.push(collection);
      return [];
    });
    const same =
      collections.length === snapshot.collections.length &&
      collections.every((collection, i) => collection === snapshot.collections[i]);
    const quarantined = snapshot.quarantined.map((one) => this.#unread(one, principal, refused));
    if (same && quarantined.every((one, i) => one === snapshot.quarantined[i])) return snapshot;
    const why = principal.kind === 'anonymous' ? 'unauthenticated' : 'forbidden';
    return snapshot.with({ collections, quarantined, refused: { collections: refused, why } });
  }
}

/**
 * A collection of which only some rows and fields are readable. A restricted collection becomes more restricted.
 * `scope` names the callers to which the restriction applies.
 */
export function narrowed(
  collection: Collection,
  { filter, fields, masks }: Pick<Access, 'filter' | 'fields' | 'masks'>,
  measurements: Measurements | undefined,
  scope: ReadRule['scope'] = 'caller',
): Collection {
  if (!hasFeatures(collection) || (filter === undefined && fields === undefined)) return collection;
  const name = formatName([filter ?? null, fields ?? null, ...(masks ? [[...masks]] : [])]);
  const { source, version, origin, rule } = collection;
  const stored = withMasks(rule?.stored ?? source, masks);
  const rows = and(rule?.rows, filter);
  const within = filter === undefined ? undefined : withinRows(collection, stored, rows!, measurements);
  const measure = within ? within.measure : rule?.measure;
  return {
    ...(within?.collection ?? collection),
    version: `${version}-${name}`,
    origin: `${origin}-${name}`,
    source: fields ? shownSource(source, fields, masks) : source,
    ...(fields ? stylesWithout(collection, listHiddenFields(collection, fields)) : {}),
    rule: { scope, rows, stored, version: rule?.version ?? version, ...(measure ? { measure } : {}) },
  };
}

function withMasks(source: VectorSource, masks: Access['masks']): VectorSource {
  return masks ? { ...source, fields: source.fields.map((field) => withMask(field, masks)) } : source;
}

function withMask(field: Field, masks: ReadonlyMap<string, Mask>): Field {
  const mask = masks.get(field.name);
  return mask ? { ...field, mask } : field;
}

/** The source as described to callers: without hidden fields, and with the masked form of masked fields. */
function shownSource(source: VectorSource, names: readonly string[], masks: Access['masks']): VectorSource {
  const fields = withMasks(source, masks).fields.filter(({ name, mask }) => mask || names.includes(name));
  return { ...source, fields: fields.map(shownField) };
}

const formatName = (parts: unknown) =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);

function listHiddenFields({ source }: VectorCollection, fields: readonly string[]): string[] {
  return source.fields.map(({ name }) => name).filter((name) => !fields.includes(name));
}

/** Removes counts, extents and texts computed from all rows, for callers who can read only some rows. */
function withinRows(
  collection: VectorCollection,
  stored: VectorSource,
  rows: Expression,
  measurements: Measurements | undefined,
): { collection: VectorCollection; measure?: ReadRule['measure'] } {
  const {
    extent84: _,
    extent: _all,
    countEstimated: _count,
    warning: _warning,
    assumedCrs,
    stac: _stac,
    ...rest
  } = collection;
  // The reason has coordinates of all features, and titles of other collections.
  const assumed = assumedCrs && { assumedCrs: { ...assumedCrs, because: undefined } };
  const key = `${collection.id} ${collection.version} ${collection.cursor} ${collection.activity ?? ''} ${formatName(rows)}`;
  const facts = measurements?.factsOf(key);
  const { featureCount, extent84, extent } = facts ?? {};
  return {
    collection: { ...rest, ...assumed, featureCount, extent84, ...(extent ? { extent } : {}) },
    ...(measurements && !facts
      ? { measure: () => measurements.measure(key, { ...collection, source: stored }, rows) }
      : {}),
  };
}
