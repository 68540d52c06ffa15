import { existsSync } from 'node:fs';
import { getEditCursor, hasCoverage, hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogChange, ChangedCollection } from '../../core/catalog/catalog-change.js';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import { version } from '../../core/kit/version.js';
import type { Field } from '../../core/sources/vector-source.js';
import { ITEM_FIELDS, type StacContent, type StacPart } from '../../core/stac/stac.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { Log } from '../telemetry/log.js';
import { footprintField, hasItems } from './footprints.js';
import { rasterItems } from './raster-items.js';

/** Milliseconds after which a collection whose items could not be read is tried again. */
const RETRY_MS = 30_000;

export interface StacItemsDeps {
  pools: Pools;
  /** Path of the index. */
  path: string;
  log: Pick<Log, 'write'>;
}

/** Keeps the index of STAC items in step with the catalog. */
export class StacItems {
  readonly #deps: StacItemsDeps;
  #catalog: CatalogSnapshot | undefined;
  #fields: Promise<ReadonlyMap<string, readonly Field[]>> = Promise.resolve(new Map());
  /** Stamps of collections whose items could not be read, and the time until which they are not retried. */
  readonly #failed = new Map<string, { stamp: string; until: number }>();
  #again = 0;

  constructor(deps: StacItemsDeps) {
    this.#deps = deps;
  }

  get path(): string {
    return this.#deps.path;
  }

  /** Starts to update the index, so that searches need not wait for it. */
  follow({ before, after: catalog, changed }: CatalogChange): void {
    const concerns = ({ before: former, after }: ChangedCollection) =>
      [former, after].some((one) => one && hasItems(one));
    // The items are those of the catalog before.
    if (this.#catalog === before && !changed.some(concerns)) this.#catalog = catalog;
    this.of(catalog).catch((error) => {
      this.#deps.log.write('stac.index.failed', { Error: String(error) });
    });
  }

  /** Resolves when the index contains the items of this catalog. The result is the queryable fields by collection. */
  of(catalog: CatalogSnapshot): Promise<ReadonlyMap<string, readonly Field[]>> {
    if (this.#catalog === catalog && Date.now() < this.#again) return this.#fields;
    this.#catalog = catalog;
    this.#again = Number.POSITIVE_INFINITY;
    // Updates run one after another, so the index of the last requested catalog remains.
    const index = this.#fields.catch(() => undefined).then(() => this.#follow(catalog));
    this.#fields = index;
    index.catch(() => {
      if (this.#fields === index) this.#catalog = undefined;
    });
    return index;
  }

  async #follow(catalog: CatalogSnapshot): Promise<ReadonlyMap<string, readonly Field[]>> {
    const { pools, path } = this.#deps;
    const collections = catalog.collections.filter(hasItems);
    // A server without items needs neither an index nor a thread that makes it.
    if (collections.length === 0 && !existsSync(path)) return new Map();
    const stamps = Object.fromEntries(collections.map((one) => [one.id, formatStamp(one)]));
    let { stale, fields } = await pools.run('vector.stacState', { path, stamps });
    for (const id of stale) {
      if (this.#hasFailed(id, stamps[id]!)) continue;
      const part = { collection: id, stamp: stamps[id]!, content: await loadContent(catalog.byId(id)!) };
      fields = (await this.#index(part)) ?? fields;
    }
    return new Map(collections.map(({ id }) => [id, fields[id] ?? ITEM_FIELDS]));
  }

  async #index(part: StacPart): Promise<Record<string, Field[]> | undefined> {
    try {
      const { pools, path } = this.#deps;
      return (await pools.run('vector.stacIndex', { path, parts: [part] })).fields;
    } catch (error) {
      const { collection, stamp } = part;
      this.#deps.log.write('stac.items.unreadable', {
        Collection: collection,
        Error: String(error),
      });
      const until = Date.now() + RETRY_MS;
      this.#failed.set(collection, { stamp, until });
      this.#again = until;
      return undefined;
    }
  }

  #hasFailed(id: string, stamp: string): boolean {
    const failed = this.#failed.get(id);
    return failed !== undefined && failed.stamp === stamp && Date.now() < failed.until;
  }
}

/** Changes whenever the items of a collection may. */
function formatStamp(collection: Collection): string {
  return [version(), collection.origin, collection.layerId, getEditCursor(collection), collection.title].join(
    ' ',
  );
}

async function loadContent(collection: Collection): Promise<StacContent> {
  if (hasCoverage(collection)) return { kind: 'items', items: await rasterItems(collection) };
  if (!hasFeatures(collection)) return { kind: 'items', items: [] };
  const { source, stac } = collection;
  if (stac) return { kind: 'ingested', source };
  return { kind: 'footprints', source, temporal: footprintField(collection)!.name };
}
