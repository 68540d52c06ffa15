import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { TaskFailure } from '../../core/errors/failure.js';
import type { StorageTasks } from '../../core/sources/storage.js';
import type { Cancellation } from '../threads/cancellation.js';

type Input<N extends keyof StorageTasks> = StorageTasks[N]['input'];
type Output<N extends keyof StorageTasks> = StorageTasks[N]['output'];

/** Bytes of a part of an upload, of which some are on their way at a time. */
const PART_BYTES = 16 * 1_048_576;
const PARTS_AT_ONCE = 4;

let client: S3Client | undefined;

/** Region, endpoint and credentials come from the SDK's standard sources: environment, files, the machine's role. */
function s3(): S3Client {
  const endpoint = process.env['AWS_ENDPOINT_URL_S3'] ?? process.env['AWS_ENDPOINT_URL'];
  const region = process.env['AWS_REGION'] ?? process.env['AWS_DEFAULT_REGION'] ?? 'us-east-1';
  // Stores with a configured endpoint do not have a host for each bucket.
  client ??= new S3Client({ region, ...(endpoint ? { endpoint, forcePathStyle: true } : {}) });
  return client;
}

export async function put(
  { bucket, prefix, key, path, mediaType }: Input<'storage.put'>,
  cancellation: Cancellation,
): Promise<Output<'storage.put'>> {
  const { size } = await stat(path);
  const upload = new Upload({
    client: s3(),
    params: { Bucket: bucket, Key: prefix + key, Body: createReadStream(path), ContentType: mediaType },
    partSize: PART_BYTES,
    queueSize: PARTS_AT_ONCE,
  });
  const stop = cancellation.onRequest(() => void upload.abort());
  try {
    await upload.done();
  } catch (error) {
    cancellation.check();
    throw createFailure(error);
  } finally {
    stop();
  }
  const stored = await readObjectHead({ bucket, prefix, key });
  if (stored?.bytes !== size)
    throw new TaskFailure('store-unavailable', 'The object store did not store the complete file.');
  return stored;
}

export async function readObjectHead({
  bucket,
  prefix,
  key,
}: Input<'storage.stat'>): Promise<Output<'storage.stat'>> {
  try {
    const { ContentLength, ETag } = await s3().send(
      new HeadObjectCommand({ Bucket: bucket, Key: prefix + key }),
    );
    return { bytes: ContentLength ?? 0, tag: ETag ?? '' };
  } catch (error) {
    if (readStatus(error) === 404) return null;
    throw createFailure(error);
  }
}

export async function read({
  bucket,
  prefix,
  key,
  tag,
  start,
  length,
}: Input<'storage.read'>): Promise<Output<'storage.read'>> {
  const Range = `bytes=${start}-${start + length - 1}`;
  try {
    const { Body } = await s3().send(
      new GetObjectCommand({ Bucket: bucket, Key: prefix + key, IfMatch: tag, Range }),
    );
    const data = await Body!.transformToByteArray();
    if (data.byteLength !== length)
      throw new TaskFailure('source-missing', 'The object has fewer bytes than it had.');
    return data;
  } catch (error) {
    if ([404, 412, 416].includes(readStatus(error) ?? 0))
      throw new TaskFailure('source-missing', 'The object has changed.');
    throw createFailure(error);
  }
}

export async function remove({ bucket, prefix, key }: Input<'storage.remove'>): Promise<null> {
  try {
    await s3().send(new DeleteObjectCommand({ Bucket: bucket, Key: prefix + key }));
    return null;
  } catch (error) {
    throw createFailure(error);
  }
}

export async function listObjectKeys({ bucket, prefix, begin }: Input<'storage.list'>): Promise<string[]> {
  const keys: string[] = [];
  try {
    for (let token: string | undefined, more = true; more; more = token !== undefined) {
      const page = await s3().send(
        new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix + begin, ContinuationToken: token }),
      );
      for (const { Key } of page.Contents ?? []) keys.push(Key!.slice(prefix.length));
      token = page.NextContinuationToken;
    }
    return keys;
  } catch (error) {
    throw createFailure(error);
  }
}

function readStatus(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

function createFailure(error: unknown): TaskFailure {
  if (error instanceof TaskFailure) return error;
  const { name } = error as Error;
  const code = error instanceof S3ServiceException ? ` (${name})` : '';
  return new TaskFailure(
    'store-unavailable',
    `The object store returned an unexpected response${code}.`,
    `${error}`,
  );
}
