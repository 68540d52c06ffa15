import pino from 'pino';
import { exceptionText } from '../../core/errors/exception-text.js';
import { formatLogMessage, LOG_EVENTS, type LogEventName, type LogLevel } from '../../core/kit/log-events.js';
import { LineWriter } from './line-writer.js';
import { RequestLines } from './request-lines.js';

const PINO_LEVELS = {
  Verbose: 'trace',
  Debug: 'debug',
  Information: 'info',
  Warning: 'warn',
  Error: 'error',
  Fatal: 'fatal',
} as const satisfies Record<LogLevel, pino.Level>;

const CLEF_NAMES: Record<string, LogLevel> = {
  trace: 'Verbose',
  debug: 'Debug',
  info: 'Information',
  warn: 'Warning',
  error: 'Error',
  fatal: 'Fatal',
};

export type Properties = Record<string, unknown>;

/** Common facts about requests of one operation, method and status. Their reporter keeps it. */
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
  /** Whether the path is known to need no escaping: ASCII without special characters. */
  readonly plainPath: boolean;
  readonly correlationId: string;
  /** The id as ASCII, where that is at hand. */
  readonly correlationBytes: Uint8Array | undefined;
  readonly principal: { readonly id: string };
  /** The span of the request; the span of the caller where the server records none. */
  readonly trace: { readonly traceId: string; readonly spanId: string } | undefined;
}

/** Properties of an event that describe an exception (CLEF, `@x`). */
export const exception = (thrown: unknown): Properties => ({ '@x': exceptionText(thrown) });

/** Receiver of log lines in addition to standard output. */
export interface LogReceiver {
  write(event: LogEventName, properties: Properties, text: string): void;
  request(kind: RequestKind, event: RequestEvent, durationMs: number, bytes: number): void;
}

/** Receiver of the lines of the levels Warning, Error and Fatal, whatever the level of the log. */
export interface LineObserver {
  noteLine(event: LogEventName, properties: Properties, message: string): void;
}

export interface Log {
  /** The kind of process that writes. */
  readonly process: string;
  /** Writes a line of a kind. Its text is `text`, or else the text of the kind. */
  write(event: LogEventName, properties?: Properties, text?: string): void;
  /**
   * Logs a request: the time of the last byte (`performance.now`), the milliseconds from the first byte to it, and
   * the bytes of the body.
   */
  request(kind: RequestKind, event: RequestEvent, at: number, durationMs: number, bytes: number): void;
  /** Sends the lines also to `receiver` from now on. */
  copyTo(receiver: LogReceiver): void;
  /** Shows the severe lines also to `observer` from now on. */
  showTo(observer: LineObserver): void;
  flush(): void;
}

const COMPLETED = LOG_EVENTS['http.request.completed'];

/** Level of the completion event of requests of one kind. */
export function getRequestLogLevel({ quiet, status }: RequestKind): LogLevel {
  if (quiet) return 'Verbose';
  if (status < 500 || status === 501) return COMPLETED.level;
  return isUnavailable(status) ? 'Warning' : 'Error';
}

/** Whether a server, a database or a remote host is busy or does not respond, which is not a fault of the program. */
export const isUnavailable = (status: number): boolean => status >= 502 && status <= 504;

const FLUSH_MS = 100;

/**
 * Structured log on standard output: compact JSON (CLEF) in production, readable lines on a terminal.
 * Lines are gathered and written together; `flush` writes what is waiting.
 */
export function createLog(options: {
  level: LogLevel;
  pretty: boolean;
  process: string;
  /** File descriptor for the lines. Default: standard output. */
  output?: number;
}): Log {
  if (options.pretty) return prettyLog(options);
  const destination = new LineWriter(options.output ?? 1);
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
  const chooseConstant = (kind: RequestKind): string => {
    let text = constants.get(kind);
    if (text === undefined) constants.set(kind, (text = constantMembers(kind, options.process)));
    return text;
  };
  const lines = new RequestLines(destination, chooseConstant);
  const timer = setInterval(() => {
    destination.flush();
    lines.setClock();
  }, FLUSH_MS);
  timer.unref();
  const copies = new Copies();
  return {
    process: options.process,
    ...plain(logger, copies),
    request(kind, event, at, durationMs, bytes) {
      if (!(kind.quiet ? logs.probes : logs.request)) return;
      copies.receiver?.request(kind, event, durationMs, bytes);
      if (lines.write(kind, event, at, durationMs, bytes)) return;
      destination.writeAscii(clefLine(chooseConstant(kind), event, durationMs, bytes));
    },
    flush: () => destination.flushSync(),
  };
}

/** The receiver of a log's lines, once there is one. */
class Copies {
  receiver: LogReceiver | undefined;
  observer: LineObserver | undefined;
}

const SEVERE: ReadonlySet<LogLevel> = new Set(['Warning', 'Error', 'Fatal']);

function plain(logger: pino.Logger, copies: Copies): Pick<Log, 'write' | 'copyTo' | 'showTo'> {
  return {
    write(event, properties = {}, text) {
      const { id, level } = LOG_EVENTS[event];
      const isWritten = logger.isLevelEnabled(PINO_LEVELS[level]);
      const observer = SEVERE.has(level) ? copies.observer : undefined;
      if (!isWritten && !observer) return;
      const message = text ?? formatLogMessage(event, properties);
      observer?.noteLine(event, properties, message);
      if (!isWritten) return;
      logger[PINO_LEVELS[level]]({ '@i': id, ...properties }, message);
      copies.receiver?.write(event, properties, message);
    },
    showTo(observer) {
      copies.observer = observer;
    },
    copyTo(receiver) {
      copies.receiver = receiver;
    },
  };
}

function prettyLog(options: { level: LogLevel; process: string }): Log {
  const target = pino.transport({
    target: 'pino-pretty',
    options: { translateTime: 'HH:MM:ss', ignore: 'pid,hostname,@i', messageFormat: '{@i} {msg}' },
  });
  const logger = pino({ level: PINO_LEVELS[options.level], base: {} }, target);
  const copies = new Copies();
  return {
    process: options.process,
    ...plain(logger, copies),
    request(kind, event, _at, durationMs, bytes) {
      const level = kind.quiet ? 'trace' : 'info';
      if (!logger.isLevelEnabled(level)) return;
      const took = `${durationMs.toFixed(1)} ms ${bytes} B`;
      logger[level]({ '@i': COMPLETED.id }, `${kind.method} ${event.path} ${kind.status} ${took}`);
      copies.receiver?.request(kind, event, durationMs, bytes);
    },
    flush: () => logger.flush(),
  };
}

let second = 0;
let secondText = '';
let millisecond = 0;
let text = '';

/** Start of a line with the ISO time. Many lines share a millisecond, and more share a second. */
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
  const level = getRequestLogLevel(kind);
  const members = {
    '@i': COMPLETED.id,
    '@mt': '{Method} {Path} {StatusCode} {DurationMs} ms',
    // Readers take what has no level for Information.
    ...(level === 'Information' ? {} : { '@l': level }),
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
  const { principal, trace: at } = e;
  const trace = at ? `,"@tr":"${at.traceId}","@sp":"${at.spanId}"` : '';
  const numbers = `"DurationMs":${milliseconds(durationMs)},"Bytes":${bytes}`;
  const who = `"CorrelationId":"${e.correlationId}","Principal":${loggedPath(principal.id)}`;
  return `${now()}Z",${constant},${numbers},"Path":${loggedPath(e.path)},${who}${trace}}\n`;
}
