import type { RateLimitPolicy } from '../../core/access/rate-limits.js';
import { ApiError } from '../../core/errors/errors.js';
import type { Principal, Surface } from '../../core/http/operation.js';
import { computeClientNetwork } from '../../core/kit/networks.js';
import { boundedCache } from '../../core/values/bounded-cache.js';
import type { BucketSize, RateBucketStore } from '../../stores/access/rate-buckets.js';
import type { DocumentStore, StoredDocument } from '../../stores/state/documents.js';

export const RATE_LIMIT_KIND = 'rate limit policy';

/** A request to count. */
export interface CountedRequest {
  readonly principal: Principal;
  readonly operation: { readonly id: string; readonly surface: Surface };
  readonly path: string;
  readonly clientAddress: string;
  readonly baseUrl: string;
  header(name: string): string | undefined;
}

/** Response headers for the limit that is nearest to exhaustion (draft-ietf-httpapi-ratelimit-headers). */
export interface LimitHeaders {
  /** `"name";q=100;w=60` */
  readonly policy: string;
  /** `"name";r=12;t=30` */
  readonly state: string;
}

/** A limit with its id. */
export interface Limit {
  readonly id: string;
  readonly policy: RateLimitPolicy;
}

export interface RateLimitsOptions {
  readonly documents: DocumentStore;
  readonly buckets: RateBucketStore;
  /** Plan of a tenant. */
  planOf(tenantId: string): string | undefined;
  /** Called if buckets are unavailable. Until they return, each process counts separately. */
  onError(error: unknown): void;
}

/** Buckets that a process has tokens of. */
const MAX_BUCKETS = 50_000;
/**
 * Share of a limit that a process takes in one step, and that other processes cannot use then. With five processes at
 * most 4 % of a limit is reserved without use. Limits below 200 are taken token by token and are exact.
 * Redis is not used: it can be absent, and would be a second store with a separate clock.
 */
const SHARE = 0.01;
const SWEEP_MS = 3_600_000;
/** The longest window: after it a bucket is full again. */
export const LONGEST_WINDOW_S = 86_400;

/** Tokens that this process has taken from a bucket, and the last known remaining number. */
interface Purse {
  tokens: number;
  /** Share of tokens in the bucket and in other processes at the last request. */
  left: number;
  /** Time until which the bucket is empty. Milliseconds since 1970. */
  emptyUntil: number;
  taking: Promise<void> | undefined;
}

/** Counts requests by the active policies. Processes take tokens from buckets in the state, several at a time. */
export class RateLimits {
  #limits: readonly Limit[] = [];
  readonly #purses = boundedCache<string, Purse>(MAX_BUCKETS);
  readonly #options: RateLimitsOptions;
  readonly #timer: NodeJS.Timeout;

  constructor(options: RateLimitsOptions) {
    this.#options = options;
    const sweep = () => options.buckets.sweep(2000 * LONGEST_WINDOW_S).catch(options.onError);
    this.#timer = setInterval(() => void sweep(), SWEEP_MS).unref();
  }

  async load(): Promise<void> {
    const stored = await this.#options.documents.list<RateLimitPolicy>(RATE_LIMIT_KIND);
    const before = new Map(this.#limits.map((limit) => [limit.id, limit]));
    this.#limits = stored.filter(({ body }) => body.enabled).map(buildLimit);
    for (const limit of this.#limits) {
      const old = before.get(limit.id);
      if (old && !isSameSize(old, limit)) this.#forget(limit);
    }
  }

  /** Discards the purses of a limit, because its size changed. */
  #forget({ id }: Limit): void {
    for (const key of [...this.#purses.keys()]) if (key.startsWith(`${id} `)) this.#purses.delete(key);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /**
   * Counts a request. Undefined: no limit speaks of it. Throws, or rejects with, `too-many-requests`. A promise only when
   * tokens have to be taken first.
   */
  count(request: CountedRequest): LimitHeaders | Promise<LimitHeaders> | undefined {
    const own = ownLimit(request.principal);
    if (this.#limits.length === 0 && !own) return undefined;
    const limits = own ? [...this.#limits, own] : this.#limits;
    const counted = limits.flatMap((limit) => {
      const subject = this.#subjectOf(limit.policy, request);
      return subject === undefined ? [] : [{ limit, purse: this.#purse(limit, subject), subject }];
    });
    if (counted.length === 0) return undefined;
    return counted.every(({ purse }) => purse.tokens >= 1) ? spend(counted) : this.#countLater(counted);
  }

  async #countLater(counted: readonly LimitUse[]): Promise<LimitHeaders> {
    for (;;) {
      // Another request may have spent what this one waited for.
      const lacking = counted.find(({ purse }) => purse.tokens < 1);
      if (!lacking) return spend(counted);
      const { limit, purse, subject } = lacking;
      if (purse.emptyUntil > Date.now()) throw refusal(limit, purse);
      purse.taking ??= this.#take(limit, subject, purse).finally(() => {
        purse.taking = undefined;
      });
      await purse.taking;
    }
  }

  async #take(limit: Limit, subject: string, purse: Purse): Promise<void> {
    const size = buildSize(limit);
    const share = Math.max(1, Math.floor(size.capacity * SHARE));
    try {
      const { taken, left } = await this.#options.buckets.take(formatBucket(limit, subject), share, size);
      purse.tokens += taken;
      purse.left = left;
      // No request to the bucket before it can have another token.
      if (taken === 0) purse.emptyUntil = Date.now() + ((1 - left) / size.capacity) * size.windowMs;
    } catch (error) {
      this.#options.onError(error);
      // While the state database is unavailable, the server continues to serve requests.
      purse.tokens += share;
    }
  }

  #purse({ id }: Limit, subject: string): Purse {
    const key = `${id} ${subject}`;
    let purse = this.#purses.get(key);
    if (!purse) this.#purses.set(key, (purse = { tokens: 0, left: 0, emptyUntil: 0, taking: undefined }));
    return purse;
  }

  /** Subject that a policy counts the request for. Undefined if the policy does not apply to it. */
  #subjectOf({ scope, key }: RateLimitPolicy, request: CountedRequest): string | undefined {
    const { principal, operation, path, clientAddress } = request;
    switch (scope) {
      case 'address':
        return named(key, computeClientNetwork(clientAddress));
      case 'endpoint':
        return key === '*' || key === operation.id ? operation.id : path.startsWith(key) ? key : undefined;
      case 'api-key':
        return principal.kind === 'anonymous' ? undefined : named(key, principal.id);
      case 'tenant':
        return named(key, principal.tenantId);
      case 'plan': {
        const plan = principal.tenantId && this.#options.planOf(principal.tenantId);
        return plan && (key === '*' || key === plan) ? principal.tenantId : undefined;
      }
    }
  }

  /**
   * Remaining tokens for a key, of its policy, or of a policy for `*` or for a plan that counts the key. If several
   * limits apply, the one with the smallest remainder. Undefined if no policy applies to the key.
   */
  async status(key: string): Promise<LimitStatus | undefined> {
    const found = await Promise.all(this.#limits.map((limit) => this.#statusOf(limit, key)));
    const known = found.filter((one) => one !== undefined);
    const counted = known.filter(({ isCounted }) => isCounted);
    const named = known.filter(({ limit }) => limit.policy.key === key);
    const [nearest] = [counted, named, known].find((list) => list.length > 0) ?? [];
    if (!nearest) return undefined;
    const part = ({ limit, left }: LimitStatus) => left / limit.policy.requestsPerWindow;
    return counted.reduce<LimitStatus>((a, b) => (part(b) < part(a) ? b : a), nearest);
  }

  async #statusOf(limit: Limit, key: string): Promise<(LimitStatus & { isCounted: boolean }) | undefined> {
    const { buckets } = this.#options;
    const size = buildSize(limit);
    const subject = this.#subjectNamed(limit.policy, key);
    if (subject === undefined) return undefined;
    const left =
      subject === ANY_SUBJECT
        ? await buckets.leastLeft(`${limit.id} `, size)
        : await buckets.left(formatBucket(limit, subject), size);
    // Unspent tokens of this process are also available.
    const own = subject === ANY_SUBJECT ? 0 : (this.#purses.peek(`${limit.id} ${subject}`)?.tokens ?? 0);
    return {
      limit,
      left: Math.min(size.capacity, (left ?? size.capacity) + own),
      isCounted: left !== undefined,
    };
  }

  /**
   * Subject of a policy's bucket for a key. For the key of a policy with many subjects, the emptiest bucket.
   * Undefined if the policy does not apply to the key.
   */
  #subjectNamed({ scope, key: own }: RateLimitPolicy, key: string): string | undefined {
    if (own === key) return own === '*' || scope === 'plan' ? ANY_SUBJECT : key;
    const isOfPlan = scope === 'plan' && this.#options.planOf(key) === own;
    if (own !== '*' && !isOfPlan) return undefined;
    return scope === 'address' ? computeClientNetwork(key) : key;
  }
}

/** Subject that represents all subjects with a separate limit by one policy. */
const ANY_SUBJECT = '';

/** Remaining tokens of a limit for a subject. */
export interface LimitStatus {
  readonly limit: Limit;
  readonly left: number;
}

const isSameSize = (a: Limit, b: Limit) =>
  a.policy.requestsPerWindow === b.policy.requestsPerWindow &&
  a.policy.windowDurationSeconds === b.policy.windowDurationSeconds;

/** The limit that a caller brings along. */
function ownLimit({ id, name, limit }: Principal): Limit | undefined {
  if (!limit) return undefined;
  const window = { requestsPerWindow: limit.requests, windowDurationSeconds: limit.seconds };
  return { id, policy: { name, scope: 'api-key', key: id, ...window, enabled: true } };
}

/** The text with characters that a header allows. */
const printable = (text: string) => text.replace(/[^\x20-\x7e]/g, '?');

interface LimitUse {
  readonly limit: Limit;
  readonly purse: Purse;
  readonly subject: string;
}

function named(key: string, subject: string | undefined): string | undefined {
  return subject !== undefined && (key === '*' || key === subject) ? subject : undefined;
}

/** Spends a token of each limit, and returns the headers of the limit with the smallest remainder. */
function spend(counted: readonly LimitUse[]): LimitHeaders {
  for (const { purse } of counted) purse.tokens--;
  const nearest = counted.reduce((a, b) => (share(b) < share(a) ? b : a));
  const { limit, purse } = nearest;
  return buildHeaders(limit, purse);
}

const share = ({ limit, purse }: LimitUse) => (purse.left + purse.tokens) / limit.policy.requestsPerWindow;

function buildHeaders({ policy }: Limit, { left, tokens }: Purse): LimitHeaders {
  const { requestsPerWindow: most, windowDurationSeconds: window } = policy;
  const name = JSON.stringify(printable(policy.name));
  const remaining = Math.max(0, Math.floor(left + tokens));
  const full = Math.ceil(((most - remaining) / most) * window);
  return { policy: `${name};q=${most};w=${Math.ceil(window)}`, state: `${name};r=${remaining};t=${full}` };
}

function refusal(limit: Limit, purse: Purse): ApiError {
  const { policy, state } = buildHeaders(limit, purse);
  const retryAfter = Math.max(1, Math.ceil((purse.emptyUntil - Date.now()) / 1000));
  return new ApiError(
    'too-many-requests',
    `The rate limit '${limit.policy.name}' is exceeded. Retry after the time in Retry-After.`,
    {
      headers: { 'retry-after': String(retryAfter), 'ratelimit-policy': policy, ratelimit: state },
    },
  );
}

function buildSize({ policy }: Limit): BucketSize {
  return { capacity: policy.requestsPerWindow, windowMs: policy.windowDurationSeconds * 1000 };
}

const formatBucket = ({ id }: Limit, subject: string) => `${id} ${subject}`;

const buildLimit = ({ id, body }: StoredDocument<RateLimitPolicy>): Limit => ({ id, policy: body });
