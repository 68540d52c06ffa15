import { rm } from 'node:fs/promises';
import type { RasterSource } from '../../core/rasters/rasters.js';
import type { Bucket, StoredObject } from '../../core/sources/storage.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { WrittenContainer } from '../../core/tiles/archives.js';
import { objectUrl } from './places.js';
import { PUBLISHED, type Storage, type TakeOptions, taken } from './storage.js';

const CHUNK_BYTES = 1_048_576;

/** Files as objects of a bucket, which all servers of a state share. */
export class BucketStorage implements Storage {
  readonly folder = undefined;

  constructor(
    private readonly bucket: Bucket,
    private readonly pools: Pools,
  ) {}

  /** SQLite files are not read over HTTP. */
  publishes(container: WrittenContainer): boolean {
    return container === 'pmtiles';
  }

  async take(path: string, key: string, { mediaType, signal, isNew = false }: TakeOptions): Promise<void> {
    if (isNew && (await this.stat(key))) throw taken();
    await this.pools.run('storage.put', { ...this.bucket, key, path, mediaType }, { signal });
    await rm(path, { force: true });
  }

  async stat(key: string): Promise<StoredObject | undefined> {
    return (await this.pools.run('storage.stat', { ...this.bucket, key })) ?? undefined;
  }

  /** No request is sent before the first byte is read. */
  async *read(key: string, tag: string, start: number, length: number): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < length; at += CHUNK_BYTES) {
      const part = { start: start + at, length: Math.min(CHUNK_BYTES, length - at) };
      yield await this.pools.run('storage.read', { ...this.bucket, key, tag, ...part });
    }
  }

  async remove(key: string): Promise<void> {
    await this.pools.run('storage.remove', { ...this.bucket, key });
  }

  keys(begin: string): Promise<string[]> {
    return this.pools.run('storage.list', { ...this.bucket, begin });
  }

  locate(key: string): string {
    return objectUrl(process.env)('AwsS3', this.bucket.bucket, this.bucket.prefix + key);
  }

  locateRaster(key: string): RasterSource {
    return { kind: 'remote', url: this.locate(key) };
  }

  async listPublished(): Promise<string[]> {
    return (await this.keys(PUBLISHED)).map((key) => this.locate(key));
  }
}
