import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { StoreCredentials } from '../../../core/sources/object-stores.js';
import { type AllowedHosts, refused } from './allowed-hosts.js';
import { credentialsFor, storeHeaders } from './credentials.js';

export interface RemoteRange {
  offset: number;
  length: number;
}

/** Bytes of a resource, and the identifier of its state. */
export interface RangeAnswer {
  data: Uint8Array;
  /** Size of the complete resource. */
  size: number;
  /** Entity tag, otherwise the time of the last change, otherwise the size. */
  revision: string;
}

/** The host cannot be reached, by name or by connection: none of its files can be read. */
export class HostAway extends TaskFailure {
  constructor(cause: string) {
    super('store-unavailable', NO_ANSWER, cause);
  }
}

const NO_ANSWER = 'The remote source does not respond. Retry in a few seconds.';

/** Milliseconds for the complete response. */
const ANSWER_MS = 15_000;
const MAX_REDIRECTS = 3;
const SOCKETS = 16;

const agents = {
  'http:': new HttpAgent({ keepAlive: true, maxSockets: SOCKETS }),
  'https:': new HttpsAgent({ keepAlive: true, maxSockets: SOCKETS }),
};

/**
 * Reads a range over HTTP. Rejects with `source-unreadable` for forbidden or invalid responses, with
 * `store-unavailable` if the host does not respond in time, and with `HostAway` if it cannot be reached. A range that
 * starts at 0 can be shorter at the end of the file. `credentials` are sent only to the host of the address. Default:
 * the environment's credentials, sent to their own store. 'none' sends no credentials.
 */
export async function readRange(
  address: string,
  range: RemoteRange,
  allowed: AllowedHosts,
  credentials?: StoreCredentials | 'none',
): Promise<RangeAnswer> {
  const end = Date.now() + ANSWER_MS;
  let url = new URL(address);
  const { origin } = url;
  const headersFor = (to: URL, header: string) => {
    if (credentials === 'none') return {};
    if (!credentials) return credentialsFor(to, header, process.env);
    return to.origin === origin ? storeHeaders(to, credentials, header) : {};
  };
  for (let redirects = 0; ; redirects++) {
    allowed.check(url);
    const answer = await ask(url, range, { allowed, end, headersFor });
    if ('answer' in answer) return answer.answer;
    if (redirects === MAX_REDIRECTS) throw refused('it is redirected too often');
    const next = new URL(answer.location, url);
    if (url.protocol === 'https:' && next.protocol !== 'https:')
      throw refused('it is redirected to plain HTTP');
    url = next;
  }
}

interface RangeOptions {
  allowed: AllowedHosts;
  end: number;
  headersFor(url: URL, range: string): Record<string, string>;
}

type RangeOutcome = { answer: RangeAnswer } | { location: string };

function ask(
  url: URL,
  range: RemoteRange,
  { allowed, end, headersFor }: RangeOptions,
): Promise<RangeOutcome> {
  return new Promise((resolve, reject) => {
    const secure = url.protocol === 'https:';
    const header = `bytes=${range.offset}-${range.offset + range.length - 1}`;
    const call = (secure ? httpsRequest : httpRequest)(url, {
      agent: agents[secure ? 'https:' : 'http:'],
      lookup: allowed.lookupOf(url),
      headers: {
        ...headersFor(url, header),
        range: header,
        'accept-encoding': 'identity',
        'user-agent': 'graticule',
      },
    });
    const fail = (error: Error) => {
      clearTimeout(timer);
      call.destroy();
      reject(error instanceof TaskFailure ? error : unavailable(error.message));
    };
    // The state of requests that wait for a connection is unknown.
    let connection: 'none' | 'opening' | 'open' = 'none';
    call.on('socket', (socket) => {
      connection = call.reusedSocket ? 'open' : 'opening';
      if (connection === 'opening')
        socket.once(secure ? 'secureConnect' : 'connect', () => (connection = 'open'));
    });
    const timer = setTimeout(
      () =>
        fail(
          connection === 'opening'
            ? new HostAway('no connection in time')
            : unavailable('no response in time'),
        ),
      Math.max(1, end - Date.now()),
    );
    call.on('error', (error) =>
      fail(error instanceof TaskFailure || connection === 'open' ? error : new HostAway(error.message)),
    );
    call.on('response', (response) => {
      read(response, range).then((part) => {
        clearTimeout(timer);
        if ('location' in part) call.destroy();
        resolve(part);
      }, fail);
    });
    call.end();
  });
}

async function read(response: IncomingMessage, range: RemoteRange): Promise<RangeOutcome> {
  const { statusCode = 0, headers } = response;
  if (statusCode >= 301 && statusCode <= 308 && statusCode !== 304 && headers.location !== undefined)
    return { location: headers.location };
  if (statusCode === 404 || statusCode === 410)
    throw new TaskFailure('source-missing', 'The remote source no longer exists.');
  if (statusCode === 429 || statusCode >= 500) throw unavailable(`the host answers ${statusCode}`);
  if (statusCode === 200) throw refused('the host does not support range requests');
  if (statusCode !== 206) throw refused(`the host returned ${statusCode}`);
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
    throw refused('the host compresses ranges');
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
  const size = Number(total);
  const expected = Math.min(range.length, size - range.offset);
  if (Number(first) !== range.offset || Number(last) !== range.offset + expected - 1)
    throw refused('the host returned another range');
  const data = await buildBody(response, expected);
  const revision = headers.etag ?? headers['last-modified'] ?? String(size);
  return { answer: { data, size, revision } };
}

async function buildBody(response: IncomingMessage, expected: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(expected);
  let read = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    if (read + part.length > expected) throw refused('the host sends more than the range');
    bytes.set(part, read);
    read += part.length;
  }
  if (read < expected) throw unavailable('the answer ended early');
  return bytes;
}

function unavailable(what: string): TaskFailure {
  return new TaskFailure('store-unavailable', NO_ANSWER, what);
}
