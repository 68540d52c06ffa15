import { ApiError } from '../../../core/errors/errors.js';
import type { RasterInfo, RemoteRaster } from '../../../core/rasters/rasters.js';
import { type ObjectStore, objectAddress } from '../../../core/sources/object-stores.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { RegisteredRaster } from '../../../stores/rasters/rasters.js';
import { type FoundObject, formatObjectPlace, type UrlOf } from '../../storage/places.js';
import { INSPECT_DEADLINE_MS } from '../publish/source.js';
import { type CloudAbout, remoteRaster, type StoreOf } from './connection-rasters.js';
import { convertRasterError, type RegisteredRasters, type Registrant } from './registered-rasters.js';

export interface NewCloudRaster extends CloudAbout {
  layerId: number;
  name: string;
  description: string | null;
  /** Whether a layer that is not there is made. */
  createLayer: boolean;
}

export type CloudRaster = RegisteredRaster<CloudAbout>;

/** Cloud optimized GeoTIFFs in object stores, read by ranges where they are. */
export class CloudRasters {
  constructor(
    readonly registered: RegisteredRasters,
    private readonly deps: { pools: Pools; urlOf: UrlOf; storeOf: StoreOf },
  ) {}

  list(layerId: number): Promise<CloudRaster[]> {
    return this.registered.list<CloudAbout>('cloud', layerId);
  }

  /** Throws `not-found`. */
  get(id: number): Promise<CloudRaster> {
    return this.registered.get<CloudAbout>('cloud', id);
  }

  /**
   * Registers an object of a bucket. Throws `not-found` for the layer, `conflict`, and `invalid-request` for an
   * unreadable or unsuitable object.
   */
  async register(
    { createLayer, provider, bucket, objectKey, connectionId, ...wanted }: NewCloudRaster,
    { right, by }: Registrant,
  ): Promise<CloudRaster> {
    const registration = {
      provider,
      bucket,
      objectKey,
      ...(connectionId === undefined ? {} : { connectionId }),
    };
    const dataKey = `${connectionId ?? ''}${formatObjectPlace({ provider, bucket, key: objectKey })}`;
    await this.registered.requireLayer(wanted.layerId, createLayer);
    await this.registered.refuseTwice('cloud', wanted.layerId, dataKey);
    const { layerId } = wanted;
    const { read: raster, sources } = await this.registered.readNew(
      { bucket, key: objectKey },
      { right, layerId },
      { find: () => this.#find(registration), read: () => this.#scan(registration) },
    );
    this.registered.requireFit(wanted.layerId, raster);
    const acquired = raster.acquired ?? null;
    const row = { ...wanted, registration, dataKey, grids: [raster], acquired };
    return this.registered.add({ kind: 'cloud', ...row }, { sources, by });
  }

  /** Reads its metadata again. Throws as `register` does. */
  async refresh(id: number): Promise<CloudRaster> {
    const { registration } = await this.get(id);
    const grids = [await this.#scan(registration)];
    return this.registered.change<CloudAbout>('cloud', id, { grids, scannedAt: Date.now() });
  }

  /**
   * Call before a connection changes to another bucket. Layers of its rasters become copies of the layers that show
   * the same objects there.
   */
  async nameSources(
    connectionId: string,
    [before, after]: readonly [ObjectStore, ObjectStore],
    by: string,
  ): Promise<void> {
    for (const { layerId, registration } of await this.registered.all<CloudAbout>('cloud')) {
      if (registration.connectionId !== connectionId) continue;
      const [former, present] = [before, after].map((store) => objectAddress(store, registration.objectKey));
      if (former !== present) await this.registered.nameSources(layerId, present!, by);
    }
  }

  /** Throws `not-found`. */
  remove(id: number): Promise<void> {
    return this.registered.remove('cloud', id);
  }

  /** Without the secret that it is read by. */
  async #scan(registration: CloudAbout): Promise<RasterInfo> {
    try {
      const source = await this.#sourceOf(registration);
      const options = { deadlineMs: INSPECT_DEADLINE_MS };
      const raster = await this.deps.pools.run('raster.inspect', { source }, options);
      return { ...raster, source: { kind: 'remote', url: source.url } };
    } catch (error) {
      throw convertRasterError(error);
    }
  }

  async #find(registration: CloudAbout): Promise<FoundObject> {
    const { url } = await this.#sourceOf(registration);
    const key = registration.objectKey.split('/').map(encodeURIComponent).join('/');
    return { path: url, container: url.slice(0, -key.length) };
  }

  /** Throws `unavailable` while the connection is switched off. */
  async #sourceOf({ provider, bucket, objectKey, connectionId }: CloudAbout): Promise<RemoteRaster> {
    if (connectionId === undefined)
      return { kind: 'remote', url: this.deps.urlOf(provider, bucket, objectKey) };
    const store = await this.deps.storeOf(connectionId);
    if (!store)
      throw new ApiError('unavailable', 'The connection of the raster is disabled. Enable it first.');
    return remoteRaster(store, objectKey);
  }
}
