import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError, badMember } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { makeFolder } from '../../core/files/own-folder.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { plainText } from '../../core/values/percent.js';
import { getFormatExtension, type Upload } from './upload.js';

/** A file of another server to fetch. */
export interface RemoteFileRequest {
  url: string;
  /** File name. Default: the last part of the URL's path. */
  fileName?: string | undefined;
  /** Folder for the file, which gets a generated name. */
  directory: string;
  maxBytes: number;
  /** Accepted file extensions. */
  extensions: ReadonlySet<string>;
}

export interface FetchOptions {
  signal: AbortSignal;
  /** Receives the number of received bytes at intervals. */
  onBytes?(bytes: number): void;
}

/** Milliseconds between checks of the received size. */
const LOOK_MS = 500;

/**
 * Downloads a file. Throws 400 with the name `sourceUrl` or `fileName` for a file that is not allowed or unreadable.
 * Throws 413 for a file that is too large, and 503 if the other server does not respond in time. After an error no
 * file remains.
 */
export async function fetchFile(
  { url: text, fileName, directory, maxBytes, extensions }: RemoteFileRequest,
  pools: Pick<Pools, 'run'>,
  { signal, onBytes }: FetchOptions,
): Promise<Omit<Upload, 'fields'>> {
  const url = parseSourceUrl('sourceUrl', text);
  const name = fileName ?? plainText(url.pathname.split('/').at(-1)!);
  const extension = getFormatExtension(name);
  if (!extensions.has(extension))
    throw wrong(
      fileName === undefined ? 'sourceUrl' : 'fileName',
      `must end with the extension of a format that can be imported. Send a fileName that ends with one of ${[...extensions].join(', ')}`,
    );
  await makeFolder(directory);
  const path = join(directory, randomUUID() + extension);
  const look = setInterval(
    () =>
      void stat(path).then(
        ({ size }) => onBytes?.(size),
        () => {},
      ),
    LOOK_MS,
  );
  try {
    const task = { url: url.href, path, maxBytes, timeoutMs: LIMITS.downloadMs };
    const { bytes } = await pools.run('ingest.download', task, { signal });
    onBytes?.(bytes);
    return { path, fileName: name, mediaType: '', size: bytes };
  } catch (error) {
    throw describeRefusal(error);
  } finally {
    clearInterval(look);
  }
}

/** An http or https URL without credentials. Throws 400 with the name of the member. */
export function parseSourceUrl(member: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw wrong(member, 'must be an http or https URL');
  if (url.username !== '' || url.password !== '') throw wrong(member, 'must not have credentials');
  return url;
}

function describeRefusal(error: unknown): unknown {
  if (!(error instanceof TaskFailure)) return error;
  switch (error.code) {
    case 'invalid-input':
    case 'source-unreadable':
    case 'source-missing':
      return wrong('sourceUrl', error.message);
    case 'too-large':
      return new ApiError('payload-too-large', error.message, { cause: error });
    default:
      return error;
  }
}

function wrong(name: string, detail: string): ApiError {
  return badMember(name, detail);
}
