import { isDrawable } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, RasterCollection, VectorCollection } from '../../core/catalog/collection.js';
import { layerFailure } from '../../core/catalog/unread.js';
import { notFound } from '../../core/errors/errors.js';
import { LIMITS } from '../../core/kit/limits.js';
import { checkStyleBy, drawnLayers, type StyleUse } from '../../core/styles/check.js';
import { styleDocument } from '../../core/styles/document.js';
import { COLLECTION_SOURCE, type LayerStyle, type StyleDocument } from '../../core/styles/model.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { StoredStyle, StyleChange, StyleRevision, StyleStore } from '../../stores/styles/styles.js';
import type { Announcements } from '../cluster/announcements.js';
import { lookProblem } from '../rasters/looks.js';

export interface StylesDeps {
  store: StyleStore;
  pools: Pools;
  catalog(): CatalogSnapshot;
  /** Draws layers in these styles from now on. */
  restyle(styles: readonly LayerStyle[]): void;
  announcements: Pick<Announcements, 'on'>;
  /** Waits until every process has applied the stored styles. */
  settle(): Promise<unknown>;
  /** Allowed external references of documents. */
  allowed: Pick<StyleUse, 'urlProblem'>;
}

export type StyledCollection = VectorCollection | RasterCollection;

/** A submitted document, with the other changes. */
export interface StylePut extends Omit<StyleChange, 'document'> {
  /** Unchecked document. Null for the default style of the layer. */
  readonly document?: unknown;
}

/** Styles of layers: kept in versions, and drawn by every process that shares the state. */
export class Styles {
  readonly #deps: StylesDeps;

  constructor(deps: StylesDeps) {
    this.#deps = deps;
    deps.announcements.on('style', (layerIds) =>
      this.load(layerIds === 'all' ? undefined : (layerIds as number[])),
    );
  }

  /** Applies stored styles: all, or those of these layers. */
  async load(layerIds?: readonly number[]): Promise<void> {
    this.#deps.restyle((await this.#deps.store.latest(layerIds)).map(layerStyle));
  }

  /** Throws `not-found` for a layer that is not there, or is a tile archive. */
  styled(layerId: number): StyledCollection {
    const catalog = this.#deps.catalog();
    const collection = catalog.byLayerId(layerId);
    if (!collection) throw layerFailure(catalog, layerId);
    if (!isDrawable(collection)) throw notFound('style of the tile archive', collection.id);
    return collection;
  }

  /** Throws `not-found`. */
  requireLayer(layerId: number): void {
    const catalog = this.#deps.catalog();
    if (!catalog.byLayerId(layerId)) throw layerFailure(catalog, layerId);
  }

  /** The active version. Undefined if no style was set. */
  current(layerId: number): Promise<StoredStyle | undefined> {
    return this.#deps.store.current(layerId);
  }

  /** Throws `not-found` for a version that is not kept. */
  async version(layerId: number, version: number): Promise<StoredStyle> {
    const entry = await this.#deps.store.version(layerId, version);
    if (!entry) throw notFound('style version', `${version}`);
    return entry;
  }

  /** Versions that are kept, newest first. */
  history(layerId: number): Promise<StyleRevision[]> {
    return this.#deps.store.history(layerId);
  }

  /** The document in use: the last one that was set, or the default of the collection. */
  documentOf(collection: StyledCollection, stored: StoredStyle | undefined): StyleDocument {
    const put = stored?.document;
    return put && kindOf(put) === collection.kind ? put : styleDocument(collection);
  }

  /**
   * Adds a version. Once it resolves the version is durable, and all processes that respond within a second use it.
   * Throws `StyleError` for a document that cannot be drawn, and `not-found`.
   */
  async put(layerId: number, { document, ...change }: StylePut): Promise<StoredStyle> {
    const { store, settle } = this.#deps;
    if (document === undefined || document === null) this.requireLayer(layerId);
    const checked =
      document === null
        ? { document }
        : document
          ? { document: await this.check(this.styled(layerId), document) }
          : {};
    const stored = await store.put(layerId, { ...change, ...checked });
    await settle();
    return stored;
  }

  /** The document in stored form. Throws `StyleError` if it cannot be drawn. */
  async check(collection: StyledCollection, document: unknown): Promise<StyleDocument> {
    const { pools, allowed } = this.#deps;
    const find = (layers: readonly Record<string, unknown>[]) =>
      pools.run(
        'vector.styleProblems',
        { json: JSON.stringify(layers) },
        { deadlineMs: LIMITS.requestDeadlineMs },
      );
    const use = { ...styleUse(collection), ...allowed };
    return (await checkStyleBy(find, document, use)).document;
  }
}

function styleUse(collection: StyledCollection): StyleUse {
  const { id, kind } = collection;
  return { id, kind, lookProblem: (look) => lookProblem(collection, look) };
}

function kindOf({ sources }: StyleDocument): 'vector' | 'raster' {
  return sources[COLLECTION_SOURCE]!.type as 'vector' | 'raster';
}

function layerStyle({ layerId, version, documentVersion, document }: StoredStyle): LayerStyle {
  return {
    layerId,
    revision: version,
    ...(document
      ? {
          kind: kindOf(document),
          style: { version: documentVersion, layers: drawnLayers(document), document },
        }
      : { kind: 'vector' as const, style: undefined }),
  };
}
