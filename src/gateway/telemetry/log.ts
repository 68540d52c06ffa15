import pino from 'pino';
import { LineWriter } from './line-writer.js';

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
  readonly durationMs: number;
  readonly bytes: number;
  readonly correlationId: string;
  readonly principal: string;
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
}

export interface Log {
  verbose(message: string, properties?: Properties): void;
  info(message: string, properties?: Properties): void;
  warn(message: string, properties?: Properties): void;
  error(message: string, properties?: Properties): void;
  request(kind: RequestKind, event: RequestEvent): void;
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
  const timer = setInterval(() => destination.flush(), FLUSH_MS);
  timer.unref();
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
    if (text === undefined) constants.set(kind, (text = constantPart(kind, options.process)));
    return text;
  };
  return {
    ...plain(logger),
    request(kind, event) {
      if (!(kind.quiet ? logs.probes : logs.request)) return;
      if (PLAIN.test(event.path))
        destination.writeAscii(clefLine(constantOf(kind), event, `"${event.path}"`));
      else destination.write(clefLine(constantOf(kind), event, JSON.stringify(event.path)));
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
    request(kind, event) {
      const level = kind.quiet ? 'trace' : 'info';
      const took = `${event.durationMs.toFixed(1)} ms ${event.bytes} B`;
      logger[level](`${kind.method} ${event.path} ${kind.status} ${took}`);
    },
    flush: () => logger.flush(),
  };
}

let second = 0;
let secondText = '';

/** ISO time with milliseconds; the part up to the second is made once a second. */
function now(): string {
  const ms = Date.now();
  const whole = Math.floor(ms / 1000);
  if (whole !== second) {
    second = whole;
    secondText = `{"@t":"${new Date(whole * 1000).toISOString().slice(0, 20)}`;
  }
  const rest = ms - whole * 1000;
  return secondText + (rest < 10 ? '00' : rest < 100 ? '0' : '') + rest;
}

const PLAIN = /^[\w\-./{}:~@ ]*$/;

/** Two decimal places, as text: made once, `toFixed` is slow. */
const HUNDREDTHS = Array.from({ length: 100 }, (_, i) => `.${String(i).padStart(2, '0')}`);

function milliseconds(ms: number): string {
  const hundredths = Math.round(ms * 100);
  const whole = Math.floor(hundredths / 100);
  return whole + HUNDREDTHS[hundredths - whole * 100]!;
}

/** The members that a kind of request always has. */
function constantPart(kind: RequestKind, process: string): string {
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
  return `Z",${JSON.stringify(members).slice(1, -1)},"Path":`;
}

/**
 * Put together by hand: one event per request is the hottest line of the log. Paths carry no query string. All but
 * the path is ASCII: ids are checked where they are taken.
 */
function clefLine(constant: string, e: RequestEvent, path: string): string {
  const trace = e.traceId ? `,"@tr":"${e.traceId}","@sp":"${e.spanId}"` : '';
  return `${now()}${constant}${path},"DurationMs":${milliseconds(e.durationMs)},"Bytes":${e.bytes},"CorrelationId":"${e.correlationId}","Principal":"${e.principal}"${trace}}\n`;
}
