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

/** The completion event of a request. */
export interface RequestEvent {
  method: string;
  path: string;
  status: number;
  durationMs: number;
  protocol: string;
  operation: string;
  bytes: number;
  correlationId: string;
  principal: string;
  traceId: string | undefined;
  spanId: string | undefined;
  quiet: boolean;
}

export interface Log {
  verbose(message: string, properties?: Properties): void;
  info(message: string, properties?: Properties): void;
  warn(message: string, properties?: Properties): void;
  error(message: string, properties?: Properties): void;
  request(event: RequestEvent): void;
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
  return {
    ...plain(logger),
    request(event) {
      if (event.quiet ? logs.probes : logs.request) destination.write(clefLine(event, options.process));
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
    request(event) {
      const level = event.quiet ? 'trace' : 'info';
      logger[level](
        `${event.method} ${event.path} ${event.status} ${event.durationMs.toFixed(1)} ms ${event.bytes} B`,
      );
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
    secondText = new Date(whole * 1000).toISOString().slice(0, 20);
  }
  const rest = ms - whole * 1000;
  return `${secondText}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z`;
}

const PLAIN = /^[\w\-./{}:~@ ]*$/;

/** A JSON string; paths hardly ever hold anything to escape. */
function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Written by hand: one event per request is the hottest line of the log. Paths carry no query string. */
function clefLine(e: RequestEvent, process: string): string {
  const trace = e.traceId ? `,"@tr":"${e.traceId}","@sp":"${e.spanId}"` : '';
  const level = e.quiet ? ',"@l":"Verbose"' : e.status >= 500 ? ',"@l":"Error"' : '';
  return (
    `{"@t":"${now()}","@mt":"{Method} {Path} answered {StatusCode} in {DurationMs} ms"${level}${trace},` +
    `"Method":"${e.method}","Path":${quoted(e.path)},"StatusCode":${e.status},` +
    `"DurationMs":${e.durationMs.toFixed(2)},"Protocol":"${e.protocol}","Operation":"${e.operation}",` +
    `"Bytes":${e.bytes},"CorrelationId":"${e.correlationId}","Principal":${quoted(e.principal)},"Process":"${process}"}\n`
  );
}
