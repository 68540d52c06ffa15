import { randomUUID } from 'node:crypto';
import { LOG_EVENTS, type LogEventName } from '../../core/kit/log-events.js';
import type { Properties } from '../telemetry/log.js';
import { RecentItems } from './recent-items.js';

/** Severities of exceptions. The number of a severity in the management API is its index plus 1. Low is not assigned. */
export const EXCEPTION_SEVERITIES = ['Low', 'Medium', 'High', 'Critical'] as const;
export type ExceptionSeverity = (typeof EXCEPTION_SEVERITIES)[number];

/** An exception that a process recorded. */
export interface ExceptionRecord {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly instance: string;
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  /** Event of the log line. */
  readonly event: LogEventName;
  readonly severity: ExceptionSeverity;
  readonly operation?: string | undefined;
  readonly path?: string | undefined;
  readonly correlationId?: string | undefined;
}

/** Counts of exceptions since the start of a process. */
export interface ExceptionCounts {
  readonly byCategory: Readonly<Record<string, number>>;
  readonly bySeverity: Readonly<Record<ExceptionSeverity, number>>;
  /** Most frequent first. */
  readonly types: readonly { readonly type: string; readonly count: number; readonly lastAt: number }[];
  /** Count of the last `RATE_MINUTES` minutes. */
  readonly recentCount: number;
}

/** Time over which the rate of exceptions is measured. */
export const RATE_MINUTES = 10;
const MINUTE_MS = 60_000;
/** Maximum number of stored exceptions of each severity. */
const CAPACITY = 500;
/** Maximum number of types with a count. Further types share the count of `OTHER`. */
const MAX_TYPES = 100;
const OTHER = 'other';

/** Events after which a process ends. */
const CRITICAL: ReadonlySet<LogEventName> = new Set(['process.exception', 'server.failed']);

/**
 * The last exceptions of a process, and their counts. Each severity has separate storage, so that frequent exceptions
 * do not displace critical ones.
 */
export class Exceptions {
  readonly #rings = new Map<ExceptionSeverity, RecentItems<ExceptionRecord>>();
  readonly #categories = new Map<string, number>();
  readonly #severities = new Map<ExceptionSeverity, number>();
  readonly #types = new Map<string, { count: number; lastAt: number }>();
  /** Counts by minute since 1970. */
  readonly #minutes = new Map<number, number>();

  constructor(private readonly instance: string) {}

  /** Records the exception of a log line. */
  add(event: LogEventName, properties: Properties, at: number): void {
    // CLEF, the format of the log, stores the stack of an exception in `@x`.
    const text = String(properties['@x']);
    const { type, message } = parseException(text);
    const severity = chooseSeverity(event);
    const record: ExceptionRecord = {
      id: randomUUID(),
      at,
      instance: this.instance,
      type,
      message,
      stack: text,
      event,
      severity,
      operation: readText(properties['Operation']),
      path: readText(properties['Path']),
      correlationId: readText(properties['CorrelationId']),
    };
    const ring = this.#rings.get(severity) ?? new RecentItems(CAPACITY);
    this.#rings.set(severity, ring);
    ring.add(record);
    this.#count(record);
  }

  #count({ event, severity, type, at }: ExceptionRecord): void {
    const category = getCategory(event);
    this.#categories.set(category, (this.#categories.get(category) ?? 0) + 1);
    this.#severities.set(severity, (this.#severities.get(severity) ?? 0) + 1);
    const name = this.#types.has(type) || this.#types.size < MAX_TYPES ? type : OTHER;
    this.#types.set(name, { count: (this.#types.get(name)?.count ?? 0) + 1, lastAt: at });
    const minute = Math.floor(at / MINUTE_MS);
    this.#minutes.set(minute, (this.#minutes.get(minute) ?? 0) + 1);
    for (const old of this.#minutes.keys()) if (old <= minute - RATE_MINUTES) this.#minutes.delete(old);
  }

  /** Exceptions of a severity, newest first. Default: of all severities. */
  list(severity: ExceptionSeverity | undefined): ExceptionRecord[] {
    const rings = severity === undefined ? [...this.#rings.values()] : [this.#rings.get(severity)];
    return rings.flatMap((ring) => ring?.list() ?? []).sort((a, b) => b.at - a.at);
  }

  counts(now: number): ExceptionCounts {
    const start = Math.floor(now / MINUTE_MS) - RATE_MINUTES;
    const recent = [...this.#minutes].filter(([minute]) => minute > start);
    return {
      byCategory: Object.fromEntries(this.#categories),
      bySeverity: countSeverities((severity) => this.#severities.get(severity) ?? 0),
      types: listTypes(this.#types),
      recentCount: recent.reduce((sum, [, count]) => sum + count, 0),
    };
  }
}

/** Sums the counts of several processes. */
export function joinCounts(all: readonly ExceptionCounts[]): ExceptionCounts {
  const byCategory: Record<string, number> = {};
  const types = new Map<string, { count: number; lastAt: number }>();
  for (const one of all) {
    for (const [category, count] of Object.entries(one.byCategory))
      byCategory[category] = (byCategory[category] ?? 0) + count;
    for (const { type, count, lastAt } of one.types) {
      const before = types.get(type) ?? { count: 0, lastAt: 0 };
      types.set(type, { count: before.count + count, lastAt: Math.max(before.lastAt, lastAt) });
    }
  }
  return {
    byCategory,
    bySeverity: countSeverities((severity) => all.reduce((sum, one) => sum + one.bySeverity[severity], 0)),
    types: listTypes(types),
    recentCount: all.reduce((sum, one) => sum + one.recentCount, 0),
  };
}

/** Types with their counts, most frequent first. */
const listTypes = (types: ReadonlyMap<string, { count: number; lastAt: number }>): ExceptionCounts['types'] =>
  [...types].map(([type, counted]) => ({ type, ...counted })).sort((a, b) => b.count - a.count);

const countSeverities = (count: (severity: ExceptionSeverity) => number) =>
  Object.fromEntries(EXCEPTION_SEVERITIES.map((severity) => [severity, count(severity)])) as Record<
    ExceptionSeverity,
    number
  >;

/** The part of the server that recorded the exception: the first word of the event. */
export const getCategory = (event: LogEventName): string => event.slice(0, event.indexOf('.'));

function chooseSeverity(event: LogEventName): ExceptionSeverity {
  if (CRITICAL.has(event)) return 'Critical';
  return LOG_EVENTS[event].level === 'Error' ? 'High' : 'Medium';
}

/** Class name and message of the first line of a stack. */
function parseException(text: string): { type: string; message: string } {
  const line = text.slice(0, text.indexOf('\n') < 0 ? text.length : text.indexOf('\n'));
  const found = /^(?:Uncaught )?([A-Za-z_$][\w$.]*)(?: \[[^\]]*\])?: (.*)$/.exec(line);
  return found ? { type: found[1]!, message: found[2]! } : { type: 'Error', message: line };
}

const readText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
