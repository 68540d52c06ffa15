import { rm } from 'node:fs/promises';
import { hasCoverage } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot, QuarantineEntry } from '../../../core/catalog/collection.js';
import { isDistant } from '../../../core/catalog/raster-sources.js';
import { layerFailure } from '../../../core/catalog/unread.js';
import { ApiError, notFound } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { RasterInfo } from '../../../core/rasters/rasters.js';
import type { NewRaster, RasterChange, RegisteredRaster } from '../../../stores/rasters/rasters.js';
import type { RegisteredKind } from '../../../stores/schema/schema.js';
import type { State } from '../../../stores/state/state.js';
import type { CopyRight, Derivations } from '../../access/rules/derivations.js';
import type { CopySourceLayer } from '../../access/rules/rules.js';
import { createCollectionId } from '../../kit/slug.js';
import { mismatch } from '../../rasters/mosaic.js';
import { absentObject, type FoundObject, type ObjectPlace } from '../../storage/places.js';
import type { Storage } from '../../storage/storage.js';
import type { LayerFinder } from '../copies/shown-layers.js';
import type { FolderNames } from '../folder-names.js';
import { findPlace } from '../publish/data-places.js';
import { connectedRasters, type StoreOf } from './connection-rasters.js';
import { importedPath, type LayerRasters } from './layers.js';

export interface RegisteredDeps {
  state: Pick<State, 'rasters' | 'collections'>;
  catalog(): CatalogSnapshot;
  /** Names of collections in the data folders of several servers. Undefined with one server. */
  names?: Pick<FolderNames, 'refuse'>;
  dataDir: string;
  storage: Pick<Storage, 'remove'>;
  shownLayers: Pick<LayerFinder, 'at'>;
  derivations: Pick<Derivations, 'extend' | 'record'>;
  /** Waits until every process shows the registration. */
  settle(): Promise<void>;
}

/** Principal that registers a raster. */
export interface Registrant {
  readonly by: string;
  readonly right: CopyRight;
}

/** Largest id that a request may give to a new layer: those after it are given by the server, and stay 32 bit. */
const MAX_NEW_LAYER = 1_000_000;

/**
 * Registered rasters in the state database, for the catalog. They are published from their stored scans, so an
 * unavailable object store does not delay a start.
 */
export async function registeredIn(
  { rasters, collections }: RegisteredDeps['state'],
  storeOf: StoreOf,
): Promise<LayerRasters> {
  return {
    rasters: await connectedRasters(await rasters.list(), storeOf),
    slugOf: (layerId) => collections.slugOf(layerId),
  };
}

/** Rasters that operators register with layers. A raster is durable, and published, once a method has resolved. */
export class RegisteredRasters {
  constructor(readonly deps: RegisteredDeps) {}

  list<A>(kind: RegisteredKind, layerId: number): Promise<RegisteredRaster<A>[]> {
    return this.deps.state.rasters.list<A>({ kind, layerId });
  }

  /** Registered rasters of all layers. */
  all<A>(kind: RegisteredKind): Promise<RegisteredRaster<A>[]> {
    return this.deps.state.rasters.list<A>({ kind });
  }

  /** Throws `not-found`. */
  async get<A>(kind: RegisteredKind, id: number): Promise<RegisteredRaster<A>> {
    return (await this.deps.state.rasters.get<A>(kind, id)) ?? missing(kind, id);
  }

  /**
   * Checks the layer of a registration. Throws `not-found` for a missing layer that may not be created, and
   * `conflict` for a layer of another server. Throws `invalid-request` for a layer that cannot contain rasters.
   */
  async requireLayer(layerId: number, mayMake: boolean): Promise<void> {
    const catalog = this.deps.catalog();
    const collection = catalog.byLayerId(layerId);
    if (collection && !hasCoverage(collection))
      throw new ApiError(
        'invalid-request',
        `layerId: layer ${layerId} ('${collection.id}') is not a raster layer.`,
      );
    if (collection) return;
    if ((await this.deps.state.rasters.list({ layerId })).length > 0) return;
    if (!mayMake) throw layerFailure(catalog, layerId);
    const slug = await this.deps.state.collections.slugOf(layerId);
    if (slug === undefined && (layerId < 1 || layerId > MAX_NEW_LAYER))
      throw new ApiError(
        'invalid-request',
        `layerId: must be an integer from 1 to ${MAX_NEW_LAYER} for a new layer.`,
      );
    if (slug !== undefined) await this.deps.names?.refuse(slug);
  }

  /** Throws `conflict` when the layer has a raster of that kind and place. */
  async refuseTwice(kind: RegisteredKind, layerId: number, place: string): Promise<void> {
    const there = await this.deps.state.rasters.list({ kind, layerId });
    if (there.some((one) => one.dataKey === place)) twice(layerId);
  }

  /** Throws `invalid-request` when a raster does not go together with those of its layer. */
  requireFit(layerId: number, raster: RasterInfo | undefined): void {
    const collection = this.deps.catalog().byLayerId(layerId);
    if (!raster || !hasCoverage(collection)) return;
    const problem = mismatch(collection.raster, raster);
    if (problem !== undefined) throw new ApiError('invalid-request', problem);
  }

  /**
   * Reads an object for a new registration in a layer. Returns the layers that show it already: the layer becomes a copy of
   * them. Throws `not-found` if one of them does not exist for the caller, as for a missing object.
   */
  async readNew<T>(
    object: Pick<ObjectPlace, 'bucket' | 'key'>,
    { right, layerId }: Pick<Registrant, 'right'> & { layerId: number },
    { find, read }: { find(): Promise<FoundObject>; read(path: string): Promise<T> },
  ): Promise<{ read: T; sources: CopySourceLayer[] }> {
    const { path, container } = await find();
    const id = await this.deps.state.collections.slugOf(layerId);
    const sources = await this.deps.shownLayers.at(await findPlace(path), id);
    right.require(sources, absentObject(object));
    try {
      return { read: await read(path), sources };
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'invalid-request') throw error;
      // The reason why an object cannot be read would reveal that it exists.
      if (right.has(await this.deps.shownLayers.at(await findPlace(container)))) throw error;
      throw absentObject(object);
    }
  }

  /** Records a layer as a copy of the layers that show data of a path or URL, before it shows that path itself. */
  async nameSources(layerId: number, path: string, by: string): Promise<void> {
    const id = await this.deps.state.collections.slugOf(layerId);
    if (id === undefined) return;
    await this.deps.derivations.extend(id, await this.deps.shownLayers.at(await findPlace(path), id), by);
  }

  /** Throws `conflict` for a place that the layer has. */
  async add<A>(
    raster: NewRaster<A>,
    { sources, by }: { sources: readonly CopySourceLayer[]; by: string },
  ): Promise<RegisteredRaster<A>> {
    const { state, settle, derivations } = this.deps;
    const id = await this.#makeLayer(raster.layerId, raster.name);
    await derivations.extend(id, sources, by);
    const added = (await state.rasters.add(raster)) ?? twice(raster.layerId);
    await settle();
    return added;
  }

  /** Throws `not-found`. */
  async change<A>(kind: RegisteredKind, id: number, to: RasterChange): Promise<RegisteredRaster<A>> {
    const changed = (await this.deps.state.rasters.change<A>(id, to)) ?? missing(kind, id);
    await this.deps.settle();
    return changed;
  }

  /** Removes the registration, and of an import the file. Throws `not-found`. */
  async remove(kind: RegisteredKind, id: number): Promise<void> {
    const { dataKey, grids, layerId } = await this.get(kind, id);
    if (!(await this.deps.state.rasters.remove(kind, id))) missing(kind, id);
    await this.deps.settle();
    await this.#forgetSources(layerId);
    // Last: a file without a row is swept at the next start, a row without a file would be a broken layer.
    if (kind !== 'import') return;
    const { storage, dataDir } = this.deps;
    if (grids[0] && isDistant(grids[0].source)) await storage.remove(`rasters/${dataKey}`);
    else await rm(importedPath(dataDir, dataKey), { force: true });
  }

  /** A deleted layer is not a copy of any layer. */
  async #forgetSources(layerId: number): Promise<void> {
    const { state, catalog, derivations } = this.deps;
    const isAwaited = ({ awaited = [] }: QuarantineEntry) => awaited.some((one) => one.layerId === layerId);
    if (catalog().byLayerId(layerId) || catalog().quarantined.some(isAwaited)) return;
    if ((await state.rasters.list({ layerId })).length > 0) return;
    const id = await state.collections.slugOf(layerId);
    if (id !== undefined) await derivations.record(id, [], 'system');
  }

  /** Returns the id of the collection. */
  async #makeLayer(layerId: number, name: string): Promise<string> {
    const { collections } = this.deps.state;
    const base = createCollectionId(name);
    for (let n = 1; ; n++) {
      const id = await collections.slugOf(layerId);
      if (id !== undefined) return id;
      await collections.take(layerId, n === 1 ? base : `${base}-${n}`);
    }
  }
}

/**
 * Converts an error of reading a raster. Errors in the raster itself become errors of the request. All other errors
 * are server errors, which can be temporary.
 */
export function convertRasterError(error: unknown): unknown {
  if (!(error instanceof TaskFailure)) return error;
  switch (error.code) {
    case 'invalid-input':
    case 'source-unreadable':
    case 'source-missing':
    case 'too-large':
    case 'no-data':
      return new ApiError('invalid-request', error.message, { cause: error.cause_ });
    default:
      return error;
  }
}

const WORDS: Readonly<Record<RegisteredKind, string>> = {
  import: 'imported raster',
  cloud: 'cloud raster',
  multidim: 'multidimensional coverage',
  zarr: 'Zarr store',
};

function missing(kind: RegisteredKind, id: number): never {
  throw notFound(WORDS[kind], `${id}`);
}

function twice(layerId: number): never {
  throw new ApiError('conflict', `Layer ${layerId} already has this raster.`);
}
