import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { hasFeatures } from '../core/abilities.js';
import type { CatalogSnapshot, Collection } from '../core/collection.js';
import type { Principal } from '../core/operation.js';
import type { Access, AccessPolicy } from './access/access.js';

/** Principals whose view of one catalog is kept. */
const MAX_KEPT = 1000;

/**
 * The catalog as each principal may read it: collections that may not be read are left out, masked attributes are no
 * fields, and hidden rows are excluded by the collection's row filter. Every surface takes its collections from here, so
 * a rule holds on all of them; and because a restricted collection has a version of its own, caches keep them apart.
 */
export class VisibleCatalog {
  readonly #policy: AccessPolicy;
  readonly #current: () => CatalogSnapshot;
  #of: CatalogSnapshot | undefined;
  #seen = new LRUCache<string, CatalogSnapshot>({ max: MAX_KEPT });
  #last: { principal: Principal; visible: CatalogSnapshot } | undefined;

  constructor(current: () => CatalogSnapshot, policy: AccessPolicy) {
    this.#current = current;
    this.#policy = policy;
  }

  /** The whole catalog itself when nothing is kept from this principal. */
  of(principal: Principal): CatalogSnapshot {
    const snapshot = this.#current();
    if (this.#of !== snapshot) {
      this.#of = snapshot;
      this.#seen = new LRUCache({ max: MAX_KEPT });
      this.#last = undefined;
    }
    if (this.#last?.principal === principal) return this.#last.visible;
    const key = `${principal.kind} ${principal.id} ${principal.permissions.join(' ')}`;
    let visible = this.#seen.get(key);
    if (!visible) this.#seen.set(key, (visible = this.#restricted(snapshot, principal)));
    this.#last = { principal, visible };
    return visible;
  }

  #restricted(snapshot: CatalogSnapshot, principal: Principal): CatalogSnapshot {
    const refused = new Map<string, Collection>();
    const collections = snapshot.collections.flatMap((collection) => {
      const access = this.#policy(principal, collection, 'read');
      if (access.allowed) return [narrowed(collection, access)];
      refused.set(collection.id, collection);
      return [];
    });
    const same = collections.every((collection, i) => collection === snapshot.collections[i]);
    if (same && refused.size === 0) return snapshot;
    const why = principal.kind === 'anonymous' ? 'unauthenticated' : 'forbidden';
    return snapshot.with({ collections, refused: { collections: [...refused.values()], why } });
  }
}

function narrowed(collection: Collection, { filter, fields }: Access): Collection {
  if (!hasFeatures(collection) || (filter === undefined && fields === undefined)) return collection;
  const rule = createHash('sha1')
    .update(JSON.stringify([filter ?? null, fields ?? null]))
    .digest('hex')
    .slice(0, 8);
  const { source } = collection;
  const visible = fields ? source.fields.filter((field) => fields.includes(field.name)) : source.fields;
  return {
    ...collection,
    version: `${collection.version}-${rule}`,
    origin: `${collection.origin}-${rule}`,
    source: { ...source, fields: visible },
    rule: { rows: filter, stored: source },
  };
}
