import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { ApiError, badParameter } from '../core/errors.js';
import { LIMITS } from '../core/limits.js';
import type { Reply } from '../core/operation.js';
import type { ReplyStore } from '../stores/replies.js';
import type { Log } from './telemetry/log.js';

/** A request that a client may send again without doing the work twice (draft-ietf-httpapi-idempotency-key-header). */
export interface RepeatableRequest {
  /** Value of Idempotency-Key. */
  readonly key: string;
  readonly principal: string;
  /** What the principal proved itself by: stored answers cannot be read without it. */
  readonly credential: string;
  /** Method, path and query. */
  readonly target: string;
  /** Hash of the body, once all of it has come; reads what is left of it. */
  bodyHash(): Promise<string>;
}

const KEY = /^[\x21-\x7e]{1,255}$/;
const PRUNE_MS = 3_600_000;

/** Answers requests with an idempotency key once: whoever repeats one gets the first answer, for a day. */
export class Idempotency {
  readonly #timer: NodeJS.Timeout;

  constructor(
    readonly store: ReplyStore,
    readonly instance: string,
    readonly log: Log,
  ) {
    this.#timer = setInterval(() => void this.#prune(), PRUNE_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /**
   * Does the work and keeps its answer; or gives the answer that was kept. Throws 400 for a key that is none, 409 while
   * the first request runs, 422 for a key that was used for another request.
   */
  async once(request: RepeatableRequest, work: () => Promise<Reply>): Promise<Reply> {
    if (!KEY.test(request.key)) throw badParameter('Idempotency-Key', 'must be 1 to 255 visible characters');
    const { principal, target } = request;
    const keyed = { principal, keyHash: hashOf(request.key), target };
    const first = await this.store.begin(keyed, this.instance);
    if (first.target !== target) throw otherRequest('another operation');
    if (first.state === 'running') throw running();
    if (first.state === 'lost') throw lostKeyError();
    if (first.state === 'answered') {
      if ((await request.bodyHash()) !== first.bodyHash) throw otherRequest('another body');
      return replayed(first.sealed, request);
    }
    let reply: Reply;
    try {
      reply = await work();
    } catch (error) {
      await this.store.release(keyed);
      throw error;
    }
    await this.#keep(keyed, request, reply);
    return reply;
  }

  /** The work is done: what goes wrong here must not tell the client otherwise. */
  async #keep(
    keyed: Parameters<ReplyStore['finish']>[0],
    request: RepeatableRequest,
    reply: Reply,
  ): Promise<void> {
    try {
      if (reply.status >= 400) await this.store.release(keyed);
      else
        await this.store.finish(keyed, {
          bodyHash: await request.bodyHash(),
          sealed: sealed(reply, request),
        });
    } catch (error) {
      this.log.write('idempotency.answer.failed', { Error: String(error) });
    }
  }

  #prune(): Promise<void> {
    return this.store
      .prune()
      .catch((error) => this.log.write('idempotency.answers.left', { Error: String(error) }));
  }
}

function otherRequest(what: string): ApiError {
  return new ApiError('unprocessable', `The Idempotency-Key was used for a request with ${what}.`);
}

function running(): ApiError {
  return new ApiError('conflict', 'A request with this Idempotency-Key is being answered.', {
    headers: { 'retry-after': '1' },
  });
}

function lostKeyError(): ApiError {
  return new ApiError(
    'conflict',
    'The server ended while it answered a request with this Idempotency-Key. Look whether it was carried out before you send it with another key.',
  );
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
    ...{ mediaType, headers, etag, cacheControl },
    body: body === undefined ? undefined : Buffer.from(body as string).toString('base64'),
  };
  const text = JSON.stringify(parts);
  if (text.length > LIMITS.idempotentReplyBytes) return null;
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', secretOf(request), nonce);
  const bytes = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return bytes.toString('base64');
}

function replayed(text: string | null, request: RepeatableRequest): Reply {
  if (text === null)
    throw new ApiError('conflict', 'The request was carried out; its answer is too large to be kept.');
  const { body, ...head } = opened(text, request);
  return {
    ...head,
    ...(body === undefined ? {} : { body: Buffer.from(body, 'base64') }),
    headers: { ...head.headers, 'idempotency-replayed': 'true' },
  };
}

function opened(text: string, request: RepeatableRequest): ReplyParts {
  const bytes = Buffer.from(text, 'base64');
  const cipher = createDecipheriv('aes-256-gcm', secretOf(request), bytes.subarray(0, 12));
  cipher.setAuthTag(bytes.subarray(-16));
  try {
    const clear = Buffer.concat([cipher.update(bytes.subarray(12, -16)), cipher.final()]);
    return JSON.parse(clear.toString('utf8')) as ReplyParts;
  } catch {
    throw new ApiError('conflict', 'The request was carried out; its answer was for other credentials.');
  }
}

function secretOf({ credential, key }: RepeatableRequest): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', credential, key, 'graticule idempotency', 32));
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
