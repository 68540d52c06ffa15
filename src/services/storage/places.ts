import { realpath } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { ApiError, badMember } from '../../core/errors/errors.js';
import { isBelow } from '../../core/files/folders.js';
import { isPath } from '../../core/sources/sources.js';

/** Providers of registered rasters: objects in buckets, and files in published folders. */

export type StorageProvider = 'Local' | 'AwsS3' | 'AzureBlob';

export const PROVIDERS: readonly StorageProvider[] = ['Local', 'AwsS3', 'AzureBlob'];

/** An object of a provider. `key` is a path in the bucket, without a leading slash. */
export interface ObjectPlace {
  provider: StorageProvider;
  bucket: string;
  key: string;
}

/** An object to register. */
export interface FoundObject {
  /** Path of a file or store, or a URL. */
  readonly path: string;
  /** The published folder or the bucket with the object. */
  readonly container: string;
}

/** Names an object among all that are registered. */
export const formatObjectPlace = ({ provider, bucket, key }: ObjectPlace): string =>
  `${provider}/${bucket}/${key}`;

/** The URL of an object; throws an Error whose message may be shown for a bucket that cannot be. */
export type UrlOf = (provider: 'AwsS3' | 'AzureBlob', bucket: string, key: string) => string;

const MAX_KEY = 1024;

/** Throws `invalid-request` for a key that is not a plain relative path. */
export function requireKey(member: string, key: string): void {
  const wrong = (detail: string) => {
    throw badMember(member, detail);
  };
  if (key.length > MAX_KEY) wrong(`must have at most ${MAX_KEY} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be there.
  if (/[\\\u0000-\u001f\u007f]/.test(key)) wrong('must not contain backslashes and control characters');
  const parts = key.replace(/\/$/, '').split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..'))
    wrong("must be a relative path without empty parts and '..'");
}

/** The error for an object that does not exist, or not for the caller. */
export const absentObject = ({ bucket, key }: Pick<ObjectPlace, 'bucket' | 'key'>): ApiError =>
  new ApiError(
    'not-found',
    `There is no '${key.slice(0, 200)}' in '${bucket.slice(0, 100)}' that you can read.`,
  );

/**
 * A file or folder below a published folder, which `bucket` names by its path or its last part. Throws `not-found` for a
 * missing file, and `invalid-request` for a folder that is not published or a link that leads out of it.
 */
export async function findLocal(
  folders: readonly string[],
  { bucket, key }: Pick<ObjectPlace, 'bucket' | 'key'>,
): Promise<FoundObject> {
  const folder = folders.filter(isPath).find((one) => one === bucket || basename(resolve(one)) === bucket);
  if (folder === undefined)
    throw new ApiError('invalid-request', `There is no published folder '${bucket.slice(0, 100)}'.`);
  const missing = (): never => {
    throw absentObject({ bucket, key });
  };
  const root = await realpath(folder).catch(missing);
  const path = await realpath(resolve(root, key)).catch(missing);
  if (!isBelow(path, root))
    throw new ApiError('invalid-request', 'The link refers to a file outside the published folder.');
  return { path, container: root };
}

/**
 * URLs of objects by the standard environment variables: `AWS_ENDPOINT_URL` for an S3-compatible store,
 * `AZURE_STORAGE_ACCOUNT` for the account of containers.
 */
export function objectUrl(env: NodeJS.ProcessEnv): UrlOf {
  return (provider, bucket, key) => {
    const path = key.split('/').map(encodeURIComponent).join('/');
    if (provider === 'AwsS3') return s3Url(env, bucket, path);
    if (!/^[a-z0-9](-?[a-z0-9]){2,62}$/.test(bucket))
      throw new ApiError('invalid-request', 'bucket: must be the name of a container.');
    const account = env['AZURE_STORAGE_ACCOUNT'];
    if (!account)
      throw new ApiError(
        'invalid-request',
        'The environment variable AZURE_STORAGE_ACCOUNT is not set. Set it to the name of the storage account.',
      );
    return `https://${account}.blob.core.windows.net/${bucket}/${path}`;
  };
}

/** The address of a source that is read over HTTP; objects of stores are `s3://bucket/key` and `az://container/key`. */
export function resolveSourceUrl(source: string): string {
  const [, scheme, bucket, key] = /^(s3|az):\/\/([^/]+)\/(.+)$/i.exec(source) ?? [];
  if (scheme === undefined) return source;
  const provider = scheme.toLowerCase() === 's3' ? 'AwsS3' : 'AzureBlob';
  return objectUrl(process.env)(provider, bucket!, key!);
}

function s3Url(env: NodeJS.ProcessEnv, bucket: string, path: string): string {
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket) || bucket.includes('..'))
    throw new ApiError('invalid-request', 'bucket: must be the name of a bucket.');
  const endpoint = env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL'];
  if (endpoint) return `${endpoint.replace(/\/$/, '')}/${bucket}/${path}`;
  const region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'];
  return `https://${bucket}.s3.${region ? `${region}.` : ''}amazonaws.com/${path}`;
}
