import type { ResponseStage } from '../../core/http/operation.js';
import type { Peers } from '../cluster/peers.js';
import { type ClusterRecords, sortGathered } from './observer.js';
import { RecentItems } from './recent-items.js';

/** Duration of a part of a request. */
export interface StageTime {
  readonly stage: ResponseStage;
  readonly ms: number;
  /** Process and thread, or tier of the cache. */
  readonly place: string | undefined;
}

/** Duration of all tasks of a name. */
export interface TaskTime {
  readonly task: string;
  readonly ms: number;
  readonly count: number;
}

/** A completed request with the durations of its parts. It contains no query string and no values. */
export interface RequestRecord {
  /** Milliseconds since 1970 of the end of the request. */
  readonly at: number;
  readonly instance: string;
  readonly requestId: string;
  readonly traceId: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly operation: string;
  readonly protocol: string;
  readonly statusCode: number;
  readonly durationMs: number;
  readonly bytes: number;
  /** Id of the principal. */
  readonly actor: string;
  readonly isKeyed: boolean;
  readonly tasks: readonly TaskTime[];
  readonly stages: readonly StageTime[];
}

/** Milliseconds from which the server keeps a request, whoever the caller is. */
export const SLOW_REQUEST_MS = 250;
/** Places by class. A flood of one class removes no request of another class. */
const CAPACITY = { slowKeyed: 200, slowAnonymous: 200, recent: 300 } as const;
const PATH_CHARACTERS = 500;
const REQUESTS = 'observability.requests';

/** Selection of requests in a question between processes. */
type RequestQuery = { readonly requestId: string } | { readonly minDurationMs: number };

/**
 * The last slow requests, and the last requests of callers with a key that a worker processed, of this process and the
 * other processes. They are kept in memory.
 */
export class RequestRecords {
  readonly #rings = {
    slowKeyed: new RecentItems<RequestRecord>(CAPACITY.slowKeyed),
    slowAnonymous: new RecentItems<RequestRecord>(CAPACITY.slowAnonymous),
    recent: new RecentItems<RequestRecord>(CAPACITY.recent),
  };

  static readonly capacity = Object.values(CAPACITY).reduce((sum, part) => sum + part, 0);

  constructor(
    /** Names this process. */
    readonly instance: string,
    private readonly peers: Pick<Peers, 'answer' | 'gather'>,
  ) {
    peers.answer(REQUESTS, (query) => this.#select(query as RequestQuery));
  }

  /** Whether `note` would keep a request. */
  keeps(about: Pick<RequestRecord, 'durationMs' | 'isKeyed'> & { readonly hasStages: boolean }): boolean {
    return about.durationMs >= SLOW_REQUEST_MS || (about.isKeyed && about.hasStages);
  }

  note(request: Omit<RequestRecord, 'at' | 'instance'>): void {
    const { durationMs, isKeyed, path } = request;
    const ring = durationMs < SLOW_REQUEST_MS ? 'recent' : isKeyed ? 'slowKeyed' : 'slowAnonymous';
    const record = { ...request, path: path.slice(0, PATH_CHARACTERS) };
    this.#rings[ring].add({ ...record, at: Date.now(), instance: this.instance });
  }

  /** Requests of at least this duration, newest first. */
  async list(minDurationMs: number): Promise<ClusterRecords<RequestRecord>> {
    return sortGathered(await this.peers.gather<RequestRecord[]>(REQUESTS, { minDurationMs }));
  }

  /** Requests with an id. Clients can send the same id several times. */
  async find(requestId: string): Promise<ClusterRecords<RequestRecord>> {
    return sortGathered(await this.peers.gather<RequestRecord[]>(REQUESTS, { requestId }));
  }

  #select(query: RequestQuery): RequestRecord[] {
    const all = Object.values(this.#rings).flatMap((ring) => ring.list());
    return 'requestId' in query
      ? all.filter(({ requestId }) => requestId === query.requestId)
      : all.filter(({ durationMs }) => durationMs >= query.minDurationMs);
  }
}
