import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { ApiError, badParameter } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { STATE_UNREACHABLE } from '../../../core/errors/storage-faults.js';
import { HTTP_LIMITS } from '../../../core/http/limits.js';
import type { Reply } from '../../../core/http/operation.js';
import type { Hold, PresenceMark } from '../../../core/values/presence.js';
import type { Cluster } from '../../../services/cluster/cluster.js';
import type { Log } from '../../../services/telemetry/log.js';
import type { FirstRequest, KeyedRequest, ReplyStore } from '../../../stores/streams/replies.js';

/** A request that a client may send again without doing the work twice (draft-ietf-httpapi-idempotency-key-header). */
export interface RepeatableRequest {
  /** Value of Idempotency-Key. */
  readonly key: string;
  readonly principal: string;
  /** Credential of the principal, which encrypts stored responses. */
  readonly credential: string;
  /** Method, path, query, and the headers that change what the body means. */
  readonly target: string;
  /** Hash of the body, once all of it has come; reads what is left of it. */
  bodyHash(): Promise<string>;
}

const KEY = /^[\x21-\x7e]{1,255}$/;
const PRUNE_MS = 3_600_000;
/** Interval of retries for writing outcomes, and maximum pending outcomes. */
const RETRY_MS = 2000;
const MAX_OPEN = 10_000;

/** Executes requests with an idempotency key once: repetitions get the first response for a day. */
export class Idempotency {
  readonly #timers: NodeJS.Timeout[];
  /** Outcomes of requests that could not be written yet. */
  readonly #open = new Set<() => Promise<void>>();
  #concluding = false;

  constructor(
    readonly store: ReplyStore,
    readonly instance: string,
    readonly log: Log,
    readonly cluster: Pick<Cluster, 'presence' | 'appear'>,
  ) {
    this.#timers = [
      setInterval(() => void this.#prune(), PRUNE_MS).unref(),
      setInterval(() => void this.#concludeOpen(), RETRY_MS).unref(),
    ];
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /**
   * Executes the work and stores its response, or returns the stored response. Throws 400 for an invalid key, 409
   * while the first request is running, and 422 if the key was used for another request. Work outside the state may
   * take effect only while `hold` is held, because others may have been told that the request was lost.
   */
  async once(request: RepeatableRequest, work: (hold: Hold) => Promise<Reply>): Promise<Reply> {
    if (!KEY.test(request.key))
      throw badParameter('Idempotency-Key', 'must be 1 to 255 printable ASCII characters');
    const { principal, target } = request;
    const keyed = { principal, keyHash: computeHash(request.key), target };
    const { presence } = this.cluster;
    const hold = { mark: presence.mark(), renew: () => this.#renew(keyed) };
    const first = await this.#begin(keyed);
    if (first.target !== target) throw otherRequest('another operation, Content-Crs or Geometry-Loss');
    if (first.state === 'running') throw running();
    if (first.state === 'lost') throw lostKeyError();
    if (first.state === 'answered') {
      if ((await request.bodyHash()) !== first.bodyHash) throw otherRequest('another body');
      return replayed(first.sealed, request);
    }
    let reply: Reply;
    try {
      reply = await work(hold);
    } catch (error) {
      await this.#conclude(() => (isUncertain(error) ? this.store.lose(keyed) : this.store.release(keyed)));
      throw error;
    }
    if (reply.status >= 400) await this.#conclude(() => this.store.release(keyed));
    else await this.#keep(keyed, request, reply);
    return reply;
  }

  async #begin(keyed: KeyedRequest): Promise<FirstRequest> {
    const claim = this.store.nextClaim();
    try {
      return await this.store.begin(keyed, this.instance, claim);
    } catch (error) {
      // Only the response can be lost. Otherwise the key would remain in use while this process runs.
      void this.#conclude(() => this.store.withdraw(keyed, this.instance, claim));
      throw error;
    }
  }

  async #renew(keyed: KeyedRequest): Promise<PresenceMark | undefined> {
    // The order matters: first prevent that other callers are told that the edit is lost, then read earlier reports.
    await this.cluster.appear();
    const mark = this.cluster.presence.mark();
    return (await this.store.holds(keyed, this.instance)) ? mark : undefined;
  }

  async #keep(keyed: KeyedRequest, request: RepeatableRequest, reply: Reply): Promise<void> {
    const stored = { bodyHash: await request.bodyHash(), sealed: sealed(reply, request) };
    await this.#conclude(() => this.store.finish(keyed, stored));
  }

  /** The work is complete. A failure here must not change the response, and is retried later. */
  async #conclude(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.log.write('idempotency.answer.failed', { Error: String(error) });
      if (this.#open.size < MAX_OPEN) this.#open.add(write);
    }
  }

  async #concludeOpen(): Promise<void> {
    if (this.#concluding) return;
    this.#concluding = true;
    try {
      for (const write of this.#open) {
        await write();
        this.#open.delete(write);
      }
    } catch {
      // The state is still away.
    } finally {
      this.#concluding = false;
    }
  }

  #prune(): Promise<void> {
    return this.store
      .prune()
      .catch((error) => this.log.write('idempotency.answers.left', { Error: String(error) }));
  }
}

function otherRequest(what: string): ApiError {
  return new ApiError(
    'unprocessable',
    `Idempotency-Key: was used for a request with ${what}. Use another key.`,
  );
}

function running(): ApiError {
  return new ApiError(
    'conflict',
    'Idempotency-Key: a request with this key is in progress. Retry after it has ended.',
    {
      headers: { 'retry-after': '1' },
    },
  );
}

function lostKeyError(): ApiError {
  return new ApiError(
    'conflict',
    'Idempotency-Key: the server or its database failed during the request with this key. Check whether the change was made before you send it with another key.',
  );
}

const UNCERTAIN = new Set(['outcome-unknown', 'absent', 'worker-lost']);

/** Whether the work may be complete although the task failed, because only the confirmation was lost. */
function isUncertain(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  if (error instanceof TaskFailure) return UNCERTAIN.has(code as string);
  return code === STATE_UNREACHABLE;
}

/** Stored parts of a response. */
type ReplyParts = Pick<Reply, 'status' | 'mediaType' | 'headers' | 'etag' | 'cacheControl'> & {
  body: string | undefined;
};

/**
 * Encrypts a response with the credential of the client, because some responses contain secrets that are stored
 * nowhere else.
 */
function sealed(reply: Reply, request: RepeatableRequest): string | null {
  const { status, mediaType, headers, etag, cacheControl, body } = reply;
  if (reply.encoding || (typeof body !== 'string' && body !== undefined && !(body instanceof Uint8Array)))
    return null;
  const parts: ReplyParts = {
    status,
    mediaType,
    headers,
    etag,
    cacheControl,
    body: body === undefined ? undefined : Buffer.from(body as string).toString('base64'),
  };
  const text = JSON.stringify(parts);
  if (text.length > HTTP_LIMITS.idempotentReplyBytes) return null;
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', buildSecret(request), nonce);
  const bytes = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return bytes.toString('base64');
}

function replayed(text: string | null, request: RepeatableRequest): Reply {
  if (text === null)
    throw new ApiError('conflict', 'The request was completed before. Its response is too large to repeat.');
  const { body, ...head } = opened(text, request);
  return {
    ...head,
    ...(body === undefined ? {} : { body: Buffer.from(body, 'base64') }),
    headers: { ...head.headers, 'idempotency-replayed': 'true' },
  };
}

function opened(text: string, request: RepeatableRequest): ReplyParts {
  const bytes = Buffer.from(text, 'base64');
  const cipher = createDecipheriv('aes-256-gcm', buildSecret(request), bytes.subarray(0, 12));
  cipher.setAuthTag(bytes.subarray(-16));
  try {
    const clear = Buffer.concat([cipher.update(bytes.subarray(12, -16)), cipher.final()]);
    return JSON.parse(clear.toString('utf8')) as ReplyParts;
  } catch {
    throw new ApiError(
      'conflict',
      'The request was completed before, with other credentials. Its response is not repeated.',
    );
  }
}

function buildSecret({ credential, key }: RepeatableRequest): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', credential, key, 'graticule idempotency', 32));
}

function computeHash(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
