import type { RasterInfo } from '../../core/rasters.js';
import type { Pools } from '../../core/tasks.js';
import type { RegisteredRaster } from '../../stores/rasters.js';
import { INSPECT_DEADLINE_MS } from '../publish/source.js';
import { placeOf, type UrlOf } from './places.js';
import { type RegisteredRasters, refusalOf } from './registered.js';

/** What a cloud raster remembers of its registration. */
export interface CloudAbout {
  provider: 'AwsS3' | 'AzureBlob';
  bucket: string;
  objectKey: string;
}

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
    private readonly deps: { pools: Pools; urlOf: UrlOf },
  ) {}

  list(layerId: number): Promise<CloudRaster[]> {
    return this.registered.list<CloudAbout>('cloud', layerId);
  }

  /** Throws `not-found`. */
  get(id: number): Promise<CloudRaster> {
    return this.registered.get<CloudAbout>('cloud', id);
  }

  /** Throws `not-found` for the layer, `conflict`, and `invalid-request` for what cannot be read or does not fit. */
  async register({
    createLayer,
    provider,
    bucket,
    objectKey,
    ...wanted
  }: NewCloudRaster): Promise<CloudRaster> {
    const about = { provider, bucket, objectKey };
    const place = placeOf({ provider, bucket, key: objectKey });
    await this.registered.requireLayer(wanted.layerId, createLayer);
    await this.registered.refuseTwice('cloud', wanted.layerId, place);
    const raster = await this.#scan(about);
    this.registered.requireFit(wanted.layerId, raster);
    const acquired = raster.acquired ?? null;
    return this.registered.add({ ...wanted, kind: 'cloud', about, place, parts: [raster], acquired });
  }

  /** Reads its metadata again. Throws as `register` does. */
  async refresh(id: number): Promise<CloudRaster> {
    const { about } = await this.get(id);
    const parts = [await this.#scan(about)];
    return this.registered.change<CloudAbout>('cloud', id, { parts, scannedAt: Date.now() });
  }

  /** Throws `not-found`. */
  remove(id: number): Promise<void> {
    return this.registered.remove('cloud', id);
  }

  async #scan({ provider, bucket, objectKey }: CloudAbout): Promise<RasterInfo> {
    try {
      const source = { kind: 'remote', url: this.deps.urlOf(provider, bucket, objectKey) } as const;
      return await this.deps.pools.run('raster.inspect', { source }, { deadlineMs: INSPECT_DEADLINE_MS });
    } catch (error) {
      throw refusalOf(error);
    }
  }
}
