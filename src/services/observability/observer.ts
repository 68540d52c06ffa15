import { LOG_EVENTS, type LogEventName } from '../../core/kit/log-events.js';
import type { PeerAnswers, Peers } from '../cluster/peers.js';
import type { LineObserver, Properties } from '../telemetry/log.js';
import {
  type ExceptionCounts,
  type ExceptionRecord,
  type ExceptionSeverity,
  Exceptions,
  joinCounts,
} from './exceptions.js';
import { RecentItems } from './recent-items.js';

/** A request that failed in the server, or that exceeded a rate limit. */
export interface FailedRequest {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly instance: string;
  readonly statusCode: number;
  readonly path: string;
  readonly message: string;
  readonly correlationId: string;
  /** Id of the principal. */
  readonly actor: string;
  /** Address of the client, behind trusted proxies. */
  readonly remoteIp: string;
}

/** A log line of the level Warning or above. */
export interface SevereLine {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly instance: string;
  /** Counts the severe lines of the process from 1. */
  readonly number: number;
  readonly level: 'warning' | 'error';
  /** Status of the request. 0: the line is not about a request. */
  readonly statusCode: number;
  readonly message: string;
  readonly path: string | undefined;
  readonly correlationId: string | undefined;
  readonly traceId: string | undefined;
}

/** Records of all processes, newest first, and the processes that did not respond. */
export interface ClusterRecords<T> {
  readonly items: readonly T[];
  readonly missing: readonly string[];
}

/** Places of failed requests by class. A flood of one class removes no request of another class. */
const FAILED_CAPACITY = { failed: 300, unavailable: 200, limited: 100 } as const;
type FailureClass = keyof typeof FAILED_CAPACITY;
const LINE_CAPACITY = { warning: 250, error: 250 } as const;
const MESSAGE_CHARACTERS = 1000;

const FAILED = 'observability.failed-requests';
const LINES = 'observability.lines';
const EXCEPTIONS = 'observability.exceptions';
const COUNTS = 'observability.exception-counts';

/**
 * The last failed requests, severe log lines and exceptions of this process, and those of the other processes. They
 * are kept in memory.
 */
export class Observer implements LineObserver {
  readonly #failed = {
    failed: new RecentItems<FailedRequest>(FAILED_CAPACITY.failed),
    unavailable: new RecentItems<FailedRequest>(FAILED_CAPACITY.unavailable),
    limited: new RecentItems<FailedRequest>(FAILED_CAPACITY.limited),
  };
  readonly #lines = {
    warning: new RecentItems<SevereLine>(LINE_CAPACITY.warning),
    error: new RecentItems<SevereLine>(LINE_CAPACITY.error),
  };
  readonly #exceptions: Exceptions;
  #lineCount = 0;

  static readonly failedCapacity = sumCapacity(FAILED_CAPACITY);
  static readonly lineCapacity = sumCapacity(LINE_CAPACITY);

  constructor(
    /** Names this process. */
    readonly instance: string,
    private readonly peers: Pick<Peers, 'answer' | 'gather'>,
  ) {
    this.#exceptions = new Exceptions(instance);
    peers.answer(FAILED, () => Object.values(this.#failed).flatMap((ring) => ring.list()));
    peers.answer(LINES, () => Object.values(this.#lines).flatMap((ring) => ring.list()));
    peers.answer(EXCEPTIONS, (severity) =>
      this.#exceptions.list((severity ?? undefined) as ExceptionSeverity | undefined),
    );
    peers.answer(COUNTS, () => this.#exceptions.counts(Date.now()));
  }

  /** Records a request with a status of 5xx or 429. Other statuses are ignored. */
  noteFailure(failure: Omit<FailedRequest, 'at' | 'instance'>): void {
    const kind = chooseClass(failure.statusCode);
    if (kind === undefined) return;
    const message = failure.message.slice(0, MESSAGE_CHARACTERS);
    this.#failed[kind].add({ ...failure, message, at: Date.now(), instance: this.instance });
  }

  /** Records a log line of the level Warning or above. */
  noteLine(event: LogEventName, properties: Properties, message: string): void {
    const at = Date.now();
    if ('@x' in properties) this.#exceptions.add(event, properties, at);
    const level = LOG_EVENTS[event].level === 'Warning' ? 'warning' : 'error';
    const { StatusCode, Path, CorrelationId, '@tr': traceId } = properties;
    this.#lines[level].add({
      at,
      instance: this.instance,
      number: ++this.#lineCount,
      level,
      statusCode: typeof StatusCode === 'number' ? StatusCode : 0,
      message: message.slice(0, MESSAGE_CHARACTERS),
      path: typeof Path === 'string' ? Path : undefined,
      correlationId: typeof CorrelationId === 'string' ? CorrelationId : undefined,
      traceId: typeof traceId === 'string' ? traceId : undefined,
    });
  }

  async failures(): Promise<ClusterRecords<FailedRequest>> {
    return sortGathered(await this.peers.gather<FailedRequest[]>(FAILED));
  }

  async lines(): Promise<ClusterRecords<SevereLine>> {
    return sortGathered(await this.peers.gather<SevereLine[]>(LINES));
  }

  async exceptions(severity: ExceptionSeverity | undefined): Promise<ClusterRecords<ExceptionRecord>> {
    return sortGathered(await this.peers.gather<ExceptionRecord[]>(EXCEPTIONS, severity ?? null));
  }

  async exceptionCounts(): Promise<{ counts: ExceptionCounts; missing: readonly string[] }> {
    const { answers, missing } = await this.peers.gather<ExceptionCounts>(COUNTS);
    return { counts: joinCounts(answers), missing };
  }
}

function sumCapacity(parts: Readonly<Record<string, number>>): number {
  return Object.values(parts).reduce((sum, part) => sum + part, 0);
}

function chooseClass(status: number): FailureClass | undefined {
  if (status === 429) return 'limited';
  if (status < 500 || status === 501) return undefined;
  return status >= 502 && status <= 504 ? 'unavailable' : 'failed';
}

/** Records of all processes, newest first. */
export function sortGathered<T extends { readonly at: number }>({
  answers,
  missing,
}: PeerAnswers<T[]>): ClusterRecords<T> {
  return { items: answers.flat().sort((a, b) => b.at - a.at), missing };
}
