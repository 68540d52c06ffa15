import { ApiError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import { computeClientNetwork } from '../../core/kit/networks.js';
import { STREAM_LIMITS } from '../../core/streams/limits.js';

/** Client that opens a session, with its address. */
export interface Visitor {
  readonly principal: Principal;
  readonly address: string;
}

export interface SessionLimits {
  /** Sessions of all. */
  readonly total: number;
  /** Sessions of anonymous clients of one address. */
  readonly perAddress: number;
  readonly perKey: number;
}

/** The part of all sessions that only clients with a key can have. */
const RESERVED = 0.25;
const RETRY_SECONDS = '10';

/** Limits sessions, so that no client takes all of them, and clients without a key leave some to clients with one. */
export class SessionQuotas {
  #anonymous = 0;
  #all = 0;
  /** Sessions by key id, or by address. */
  readonly #counts = new Map<string, number>();
  /** Characters of the filters of their subscriptions. */
  readonly #filters = new Map<string, number>();

  constructor(private readonly limits: SessionLimits) {}

  get total(): number {
    return this.limits.total;
  }

  /** Why this client cannot have another session; undefined when it can. */
  refusal(visitor: Visitor): ApiError | undefined {
    const { total, perAddress, perKey } = this.limits;
    const isAnonymous = visitor.principal.kind === 'anonymous';
    const full =
      this.#all >= total || (isAnonymous && this.#anonymous >= total - Math.floor(total * RESERVED));
    if (full) return refused('unavailable', 'The server has too many sessions. Retry later.');
    const own = this.#counts.get(formatName(visitor)) ?? 0;
    if (own < (isAnonymous ? perAddress : perKey)) return undefined;
    const whose = isAnonymous ? 'address' : 'key';
    return refused('too-many-requests', `This ${whose} has too many sessions. Close one first.`);
  }

  /** The error if this client cannot have another filter of this length. Undefined if it can. */
  filterRefusal(visitor: Visitor, characters: number): ApiError | undefined {
    if (characters === 0) return undefined;
    const isAnonymous = visitor.principal.kind === 'anonymous';
    const max = isAnonymous ? STREAM_LIMITS.streamFiltersPerAddress : STREAM_LIMITS.streamFiltersPerKey;
    if ((this.#filters.get(formatName(visitor)) ?? 0) + characters <= max) return undefined;
    const whose = isAnonymous ? 'this address' : 'this key';
    return refused(
      'too-many-requests',
      `filter: the filters of all subscriptions of ${whose} can have at most ${max} characters as JSON.`,
    );
  }

  /** Counts the characters of a filter, or less when it ends. */
  addFilter(visitor: Visitor, characters: number): void {
    add(this.#filters, formatName(visitor), characters);
  }

  take(visitor: Visitor): void {
    this.#count(visitor, 1);
  }

  release(visitor: Visitor): void {
    this.#count(visitor, -1);
  }

  #count(visitor: Visitor, change: 1 | -1): void {
    this.#all += change;
    if (visitor.principal.kind === 'anonymous') this.#anonymous += change;
    add(this.#counts, formatName(visitor), change);
  }
}

function add(counts: Map<string, number>, name: string, change: number): void {
  const count = (counts.get(name) ?? 0) + change;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}

function refused(code: 'unavailable' | 'too-many-requests', detail: string): ApiError {
  return new ApiError(code, detail, { headers: { 'retry-after': RETRY_SECONDS } });
}

function formatName({ principal, address }: Visitor): string {
  return principal.kind === 'anonymous' ? `address ${computeClientNetwork(address)}` : `key ${principal.id}`;
}
