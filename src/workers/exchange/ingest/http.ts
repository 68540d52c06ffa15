import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { TaskFailure } from '../../../core/errors/failure.js';
import {
  type Download,
  type DownloadTask,
  IMPORT_HEADER,
  type RemoteRequest,
} from '../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { type AllowedHosts, refused } from '../../storage/remote/allowed-hosts.js';
import type { Cancellation } from '../../threads/cancellation.js';

/** Settings of a thread for requests to other servers. */
export interface RemoteAccess {
  readonly allowed: AllowedHosts;
  readonly cancellation: Cancellation;
}

export interface RemoteAnswer {
  readonly status: number;
  /** Media type without parameters, in lower case. Empty if the server does not state it. */
  readonly mediaType: string;
  readonly bytes: Buffer;
}

const agents = {
  'http:': new HttpAgent({ keepAlive: true }),
  'https:': new HttpsAgent({ keepAlive: true }),
};

/** Headers of every request. */
const own: Record<string, string> = { 'accept-encoding': 'identity', 'user-agent': 'graticule' };

/** Says in every request from which server it comes. */
export function nameServer(mark: string): void {
  own[IMPORT_HEADER] = mark;
}

/**
 * Returns the response to a GET, or to a POST if there is a form or JSON, with any status. The response can have at
 * most that many bytes.
 */
export function get(
  request: RemoteRequest,
  asking: RemoteAccess,
  maxBytes: number = EXCHANGE_LIMITS.remotePageBytes,
): Promise<RemoteAnswer> {
  return ask(request, asking, async (response) => {
    const bytes = await buildBody(response, maxBytes);
    return { status: response.statusCode ?? 0, mediaType: findMediaType(response) ?? '', bytes };
  });
}

/** Writes the response to a GET into a new file, which exists only when it is complete. */
export async function download(task: DownloadTask, asking: RemoteAccess): Promise<Download> {
  try {
    return await ask(task, asking, (response, signal) => write(response, task, signal));
  } catch (error) {
    await rm(task.path, { force: true });
    throw error;
  }
}

/**
 * Sends a request and reads its response. Rejects with `invalid-input` for forbidden requests, `source-unreadable`
 * for redirects, `too-large`, `source-missing` for 404 and 410 of downloads, `store-unavailable` without a response,
 * and `deadline-exceeded`.
 */
async function ask<T>(
  { url: text, timeoutMs, headers, form, json }: RemoteRequest,
  { allowed, cancellation }: RemoteAccess,
  read: (response: IncomingMessage, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const url = new URL(text);
  const problem = allowed.problemOf(url);
  if (problem !== undefined) throw forbidden(`Requests to the other server are not allowed: ${problem}.`);
  cancellation.check();
  const stop = new AbortController();
  const late = setTimeout(() => stop.abort(lateFailure(url)), timeoutMs);
  const end = cancellation.onRequest(() => stop.abort(cancelled()));
  try {
    const response = await responseTo(url, { headers: headers ?? {}, form, json }, allowed, stop.signal);
    try {
      refuseRedirection(response);
      return await read(response, stop.signal);
    } finally {
      // The rest of a response must not remain on the connection for the next request.
      if (!response.readableEnded) response.destroy();
    }
  } catch (error) {
    if (stop.signal.aborted) throw stop.signal.reason;
    throw error instanceof TaskFailure || isOfDisk(error) ? error : unavailable(url, String(error));
  } finally {
    clearTimeout(late);
    end();
  }
}

function responseTo(
  url: URL,
  {
    headers,
    form,
    json,
  }: Pick<RemoteRequest, 'form' | 'json'> & { headers: Readonly<Record<string, string>> },
  allowed: AllowedHosts,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const secure = url.protocol === 'https:';
  const body = json ?? (form && new URLSearchParams(form).toString());
  const bodyType = json === undefined ? 'application/x-www-form-urlencoded' : 'application/json';
  return new Promise((resolve, reject) => {
    const call = (secure ? httpsRequest : httpRequest)(url, {
      agent: agents[secure ? 'https:' : 'http:'],
      lookup: allowed.lookupOf(url),
      signal,
      ...(body === undefined ? {} : { method: 'POST' }),
      headers: {
        ...own,
        ...(body === undefined ? {} : { 'content-type': bodyType }),
        ...headers,
      },
    });
    // Errors of the allow list only: the address behind a name.
    call.on('error', (error) => reject(error instanceof TaskFailure ? forbidden(error.message) : error));
    call.on('response', resolve);
    call.end(body);
  });
}

function refuseRedirection({ statusCode = 0, headers }: IncomingMessage): void {
  if (statusCode >= 300 && statusCode < 400) throw refused('it is redirected, which is not followed');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw refused('the host compresses a response that was requested uncompressed');
}

async function buildBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    parts.push(part);
  }
  requireWhole(response, size);
  return Buffer.concat(parts);
}

async function write(
  response: IncomingMessage,
  { url, path, maxBytes }: DownloadTask,
  signal: AbortSignal,
): Promise<Download> {
  const { statusCode = 0 } = response;
  if (statusCode === 404 || statusCode === 410)
    throw new TaskFailure('source-missing', `${new URL(url).host} has no such file.`);
  if (statusCode >= 500) throw unavailable(new URL(url), `answers ${statusCode}`);
  if (statusCode !== 200) throw refused(`the host returned ${statusCode}`);
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  let bytes = 0;
  const bounded = async function* (parts: AsyncIterable<Buffer>) {
    for await (const part of parts) {
      bytes += part.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      yield part;
    }
  };
  await pipeline(response, bounded, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }), {
    signal,
  });
  requireWhole(response, bytes);
  return { bytes, mediaType: findMediaType(response) };
}

/** Throws if a connection ended early, because the response is then incomplete. */
function requireWhole(response: IncomingMessage, size: number): void {
  const { 'content-length': length } = response.headers;
  if (!response.complete || (length !== undefined && Number(length) !== size))
    throw new TaskFailure('store-unavailable', 'The response of the remote server was truncated.');
}

function findMediaType({ headers }: IncomingMessage): string | undefined {
  return (
    /^[^;]*/
      .exec(headers['content-type'] ?? '')?.[0]
      .trim()
      .toLowerCase() || undefined
  );
}

/** Socket errors also occur during writes, and they concern the other server. */
const OF_SOCKETS = /^(EPROTO|EPIPE|ECONN\w+|ENOTCONN)$/;

const isOfDisk = (error: unknown) => {
  const { code, syscall } = (error ?? {}) as { code?: string; syscall?: string };
  if (OF_SOCKETS.test(code ?? '')) return false;
  return code === 'ENOSPC' || code === 'EDQUOT' || syscall === 'open' || syscall === 'write';
};

const forbidden = (message: string) => new TaskFailure('invalid-input', message);

const cancelled = () => new TaskFailure('cancelled', 'The task was cancelled.');

function tooLarge(maxBytes: number): TaskFailure {
  return new TaskFailure('too-large', `The response of the remote server has more than ${maxBytes} bytes.`);
}

function lateFailure({ host }: URL): TaskFailure {
  return new TaskFailure('deadline-exceeded', `${host} did not respond in time. Retry later.`);
}

function unavailable({ host }: URL, cause: string): TaskFailure {
  return new TaskFailure('store-unavailable', `${host} does not respond. Retry later.`, cause);
}
