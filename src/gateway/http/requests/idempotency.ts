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
  /** What the principal proved itself by: stored answers cannot be read without it. */
  readonly credential: string;
  /** Method, path, query, and the headers that change what the body means. */
  readonly target: string;
  /** Hash of the body, once all of it has come; reads what is left of it. */
  bodyHash(): Promise<string>;
}

const KEY = /^[\x21-\x7e]{1,255}$/;
const PRUNE_MS = 3_600_000;
/** How often it is tried again to write what became of requests, and of how many at most. */
const RETRY_MS = 2000;
const MAX_OPEN = 10_000;

/** Answers requests with an idempotency key once: whoever repeats one gets the first answer, for a day. */
export class Idempotency {
  readonly #timers: NodeJS.Timeout[];
  /** What became of requests, and could not be written yet. */
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
   * Does the work and keeps its answer; or gives the answer that was kept. Throws 400 for a key that is none, 409 while
   * the first request runs, 422 for a key that was used for another request. What the work does elsewhere than in the state
   * may become true only while it is held: others may have been told that it was lost.
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
      // The answer may be all that was lost: without this the key would be in use for as long as this process runs.
      void this.#conclude(() => this.store.withdraw(keyed, this.instance, claim));
      throw error;
    }
  }

  async #renew(keyed: KeyedRequest): Promise<PresenceMark | undefined> {
    // In this order: from now on nobody is told that it is lost, and who was told before is seen.
    await this.cluster.appear();
    const mark = this.cluster.presence.mark();
    return (await this.store.holds(keyed, this.instance)) ? mark : undefined;
  }

  async #keep(keyed: KeyedRequest, request: RepeatableRequest, reply: Reply): Promise<void> {
    const stored = { bodyHash: await request.bodyHash(), sealed: sealed(reply, request) };
    await this.#conclude(() => this.store.finish(keyed, stored));
  }

  /** The work is over: what goes wrong here must not tell the client otherwise, and is done later. */
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

/** Whether the work may have been done though it failed: what should have said so is gone. */
function isUncertain(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  if (error instanceof TaskFailure) return UNCERTAIN.has(code as string);
  return code === STATE_UNREACHABLE;
}

/** The parts of an answer that are kept. */
type ReplyParts = Pick<Reply, 'status' | 'mediaType' | 'headers' | 'etag' | 'cacheControl'> & {
  body: string | undefined;
};

/** Some answers hold secrets, which are stored nowhere else: without the client's own credential they stay closed. */
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
