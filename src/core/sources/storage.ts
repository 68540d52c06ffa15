/** Tasks on a bucket in which all servers keep their files. Objects are whole or not there at all. */

/** Bucket, and the key prefix of the objects of this service. */
export interface Bucket {
  readonly bucket: string;
  /** Empty, or with a slash at its end. */
  readonly prefix: string;
}

/** Current state of an object. */
export interface StoredObject {
  readonly bytes: number;
  /** Changes with the content. */
  readonly tag: string;
}

/**
 * Storage tasks. Keys are relative to the prefix of the bucket. Tasks fail with `store-unavailable` if the bucket
 * does not respond.
 */
export interface StorageTasks {
  /** Sends a file, in parts that the store checks by CRC-32. */
  'storage.put': { input: Bucket & { key: string; path: string; mediaType: string }; output: StoredObject };
  /** Null: there is no such object. */
  'storage.stat': { input: Bucket & { key: string }; output: StoredObject | null };
  /** Some bytes of the object that has this tag; fails with `source-missing` when it is another one now. */
  'storage.read': {
    input: Bucket & { key: string; tag: string; start: number; length: number };
    output: Uint8Array;
  };
  /** Removes an object; a missing object is not an error. */
  'storage.remove': { input: Bucket & { key: string }; output: null };
  /** Lists keys with a prefix. */
  'storage.list': { input: Bucket & { begin: string }; output: string[] };
}

/** Parses `s3://bucket/prefix`; undefined for other text. */
export function parseBucketUrl(url: string): Bucket | undefined {
  const [, bucket, path = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(url) ?? [];
  if (bucket === undefined || bucket.includes('..')) return undefined;
  const parts = path.split('/').filter((part) => part !== '');
  if (parts.some((part) => part === '.' || part === '..' || !/^[\w.=-]+$/.test(part))) return undefined;
  return { bucket, prefix: parts.map((part) => `${part}/`).join('') };
}
