import pino from 'pino';
import { exceptionText } from '../../core/exception-text.js';
import { LineWriter } from './line-writer.js';
import { RequestLines } from './request-lines.js';

/** Levels as the CLEF readers name them. */
export const LOG_LEVELS = ['Verbose', 'Debug', 'Information', 'Warning', 'Error', 'Fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const PINO_LEVELS: Record<LogLevel, string> = {
  Verbose: 'trace',
  Debug: 'debug',
  Information: 'info',
  Warning: 'warn',
  Error: 'error',
  Fatal: 'fatal',
};

const CLEF_NAMES: Record<string, LogLevel> = {
  trace: 'Verbose',
  debug: 'Debug',
  info: 'Information',
  warn: 'Warning',
  error: 'Error',
  fatal: 'Fatal',
};

export type Properties = Record<string, unknown>;

/** What requests of one operation, method and status have in common. Kept by who reports them. */
export interface RequestKind {
  readonly method: string;
  readonly status: number;
  readonly protocol: string;
  readonly operation: string;
  /** Health probes: written at Verbose level only. */
  readonly quiet: boolean;
}

/** The completion event of one request. */
export interface RequestEvent {
  readonly path: string;
  /** True when it is known that the path can be written as it is: ASCII, nothing to escape. */
  readonly plainPath: boolean;
  readonly correlationId: string;
  /** The id as ASCII, where that is at hand. */
  readonly correlationBytes: Uint8Array | undefined;
  readonly principal: { readonly id: string };
  readonly span: { readonly traceId: string; readonly spanId: string } | undefined;
}

/** The properties of an event that tell what was thrown (CLEF, `@x`). */
export const exception = (thrown: unknown): Properties => ({ '@x': exceptionText(thrown) });

export interface Log {
  verbose(message: string, properties?: Properties): void;
  info(message: string, properties?: Properties): void;
  warn(message: string, properties?: Properties): void;
  error(message: string, properties?: Properties): void;
  /** When the last byte went out (`performance.now`), milliseconds from the first to it, and bytes of the body. */
  request(kind: RequestKind, event: RequestEvent, at: number, durationMs: number, bytes: number): void;
  flush(): void;
}

const FLUSH_MS = 100;

/**
 * Structured log on standard output: compact JSON (CLEF) in production, readable lines on a terminal.
 * Lines are gathered and written together; `flush` writes what is waiting.
 */
export function createLog(options: { level: LogLevel; pretty: boolean; process: string }): Log {
  if (options.pretty) return prettyLog(options);
  const destination = new LineWriter(1);
  const logger = pino(
    {
      level: PINO_LEVELS[options.level],
      base: { Process: options.process },
      messageKey: '@m',
      timestamp: () => `,"@t":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ '@l': CLEF_NAMES[label] ?? label }) },
    },
    destination,
  );
  const logs = { request: logger.isLevelEnabled('info'), probes: logger.isLevelEnabled('trace') };
  const constants = new WeakMap<RequestKind, string>();
  const constantOf = (kind: RequestKind): string => {
    let text = constants.get(kind);
    if (text === undefined) constants.set(kind, (text = constantMembers(kind, options.process)));
    return text;
  };
  const lines = new RequestLines(destination, constantOf);
  const timer = setInterval(() => {
    destination.flush();
    lines.setClock();
  }, FLUSH_MS);
  timer.unref();
  return {
    ...plain(logger),
    request(kind, event, at, durationMs, bytes) {
      if (!(kind.quiet ? logs.probes : logs.request)) return;
      if (lines.write(kind, event, at, durationMs, bytes)) return;
      destination.writeAscii(clefLine(constantOf(kind), event, durationMs, bytes));
    },
    flush: () => destination.flushSync(),
  };
}

function plain(logger: pino.Logger): Omit<Log, 'request' | 'flush'> {
  return {
    verbose: (message, properties) => logger.trace(properties ?? {}, message),
    info: (message, properties) => logger.info(properties ?? {}, message),
    warn: (message, properties) => logger.warn(properties ?? {}, message),
    error: (message, properties) => logger.error(properties ?? {}, message),
  };
}

function prettyLog(options: { level: LogLevel; process: string }): Log {
  const target = pino.transport({
    target: 'pino-pretty',
    options: { translateTime: 'HH:MM:ss', ignore: 'pid,hostname' },
  });
  const logger = pino({ level: PINO_LEVELS[options.level], base: {} }, target);
  return {
    ...plain(logger),
    request(kind, event, _at, durationMs, bytes) {
      const level = kind.quiet ? 'trace' : 'info';
      const took = `${durationMs.toFixed(1)} ms ${bytes} B`;
      logger[level](`${kind.method} ${event.path} ${kind.status} ${took}`);
    },
    flush: () => logger.flush(),
  };
}

let second = 0;
let secondText = '';
let millisecond = 0;
let text = '';

/** The beginning of a line with the ISO time. Many lines share a millisecond, and more a second. */
function now(): string {
  const ms = Date.now();
  if (ms === millisecond) return text;
  millisecond = ms;
  const whole = Math.floor(ms / 1000);
  if (whole !== second) {
    second = whole;
    secondText = `{"@t":"${new Date(whole * 1000).toISOString().slice(0, 20)}`;
  }
  const rest = ms - whole * 1000;
  text = secondText + (rest < 10 ? '00' : rest < 100 ? '0' : '') + rest;
  return text;
}

const NOT_ASCII = /[^ -~]/g;

/** A text, such as a path, as a JSON string of ASCII. */
export function loggedPath(path: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(path).replace(NOT_ASCII, escaped);
}

/** Two decimal places, as text: made once, `toFixed` is slow. */
const HUNDREDTHS = Array.from({ length: 100 }, (_, i) => `.${String(i).padStart(2, '0')}`);

function milliseconds(ms: number): string {
  const hundredths = Math.round(ms * 100);
  const whole = Math.floor(hundredths / 100);
  return whole + HUNDREDTHS[hundredths - whole * 100]!;
}

/** The members that a kind of request always has. */
function constantMembers(kind: RequestKind, process: string): string {
  const level = kind.quiet ? 'Verbose' : kind.status >= 500 && kind.status !== 501 ? 'Error' : undefined;
  const members = {
    '@mt': '{Method} {Path} {StatusCode} {DurationMs} ms',
    ...(level ? { '@l': level } : {}),
    Method: kind.method,
    StatusCode: kind.status,
    Protocol: kind.protocol,
    Operation: kind.operation,
    Process: process,
  };
  return JSON.stringify(members).slice(1, -1);
}

/** An event of any kind, as text. All of it is ASCII. */
function clefLine(constant: string, e: RequestEvent, durationMs: number, bytes: number): string {
  const { principal, span } = e;
  const trace = span ? `,"@tr":"${span.traceId}","@sp":"${span.spanId}"` : '';
  const numbers = `"DurationMs":${milliseconds(durationMs)},"Bytes":${bytes}`;
  const who = `"CorrelationId":"${e.correlationId}","Principal":${loggedPath(principal.id)}`;
  return `${now()}Z",${constant},${numbers},"Path":${loggedPath(e.path)},${who}${trace}}\n`;
}
