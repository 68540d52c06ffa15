/** Object stores with the protocols of S3 and Azure Blob Storage. */

import { TaskFailure } from '../errors/failure.js';
import type { RemoteProblem } from '../errors/remote-problems.js';

/** Credentials of a store. They are secret: never logged, stored in the state or sent to a client. */
export type StoreCredentials = S3Credentials | AzureCredentials;

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

export interface AzureCredentials {
  readonly account: string;
  /** In base64. */
  readonly accountKey: string;
}

/** A bucket, or container, and who reads it. */
export interface ObjectStore {
  readonly protocol: 'S3' | 'AzureBlob';
  /** Scheme, host and port; of Azure with the account as path, where the host does not name it. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Absent: the store is public. */
  readonly credentials?: StoreCredentials;
}

export interface ListObjectsTask {
  readonly store: ObjectStore;
  /** Prefix of the keys. */
  readonly prefix: string;
  /** Cursor of the previous page. */
  readonly cursor?: string;
  /** Keys of one page, 1 to 1000. */
  readonly limit: number;
  readonly timeoutMs: number;
}

export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
  /** RFC 3339. */
  readonly modified: string | null;
}

export interface ObjectTask {
  readonly store: ObjectStore;
  readonly key: string;
  /** File to create; must not exist. Removed again when the task fails. */
  readonly path: string;
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

export interface ObjectPage {
  readonly objects: readonly ListedObject[];
  /** Undefined after the last page. */
  readonly next?: string;
}

export type ListedObjects = ObjectPage | { readonly problem: RemoteProblem };

/** Whether a key has an address: URLs drop the parts `.` and `..`, and so would lead to another object or bucket. */
export const isObjectKey = (key: string): boolean =>
  key !== '' && !/\p{Surrogate}/u.test(key) && !key.split('/').some((part) => part === '.' || part === '..');

/**
 * URL of an object in path style, which all such stores support. Throws `invalid-input` for keys without a path-style
 * URL.
 */
export function objectAddress({ endpoint, bucket }: ObjectStore, key: string): string {
  if (!isObjectKey(key))
    throw new TaskFailure(
      'invalid-input',
      "The key must be a relative path without empty parts, '.' and '..'.",
    );
  return `${endpoint}/${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`;
}
