import type { Config } from '../../core/config/config.js';
import { parseBucketUrl } from '../../core/sources/storage.js';
import { objectUrl } from './places.js';

/** Hosts that files can be read from: the hosts of the configuration, and the host of the server's bucket. */
export function remoteHosts({ remote, storage }: Pick<Config, 'remote' | 'storage'>): readonly string[] {
  const bucket = parseBucketUrl(storage.url);
  if (!bucket) return remote.allow;
  return [...remote.allow, new URL(objectUrl(process.env)('AwsS3', bucket.bucket, 'any')).host];
}
