import { resolve } from 'node:path';
import type { Config } from '../../core/config/config.js';
import { parseBucketUrl } from '../../core/sources/storage.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { BucketStorage } from './bucket.js';
import { FolderStorage } from './folder.js';
import type { Storage } from './storage.js';

/** The storage that a configuration names. */
export function openStorage({ storage, data }: Config, pools: Pools): Storage {
  const bucket = parseBucketUrl(storage.url);
  return bucket ? new BucketStorage(bucket, pools) : new FolderStorage(resolve(data.directory));
}
