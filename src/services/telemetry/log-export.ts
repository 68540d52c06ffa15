import { type Context, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { type LogAttributes, type Logger, logs, SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { logs as sdkLogs } from '@opentelemetry/sdk-node';
import { LOG_EVENTS, type LogEventName, type LogLevel } from '../../core/kit/log-events.js';
import type { ExportWatch } from './export-watch.js';
import {
  getRequestLogLevel,
  type LogReceiver,
  type Properties,
  type RequestEvent,
  type RequestKind,
} from './log.js';
import { telemetryLost } from './telemetry-metrics.js';

/** Lines that may wait for the collector, and that one push takes. Encoding that many takes a few milliseconds. */
const MAX_WAITING = 2048;
const BATCH = 512;
const DELAY_MS = 1000;

const SEVERITIES: Record<LogLevel, SeverityNumber> = {
  Verbose: SeverityNumber.TRACE,
  Debug: SeverityNumber.DEBUG,
  Information: SeverityNumber.INFO,
  Warning: SeverityNumber.WARN,
  Error: SeverityNumber.ERROR,
  Fatal: SeverityNumber.FATAL,
};

/** Members of a line that have OpenTelemetry names instead of log names. */
interface Marks {
  '@x'?: string;
  '@tr'?: string;
  '@sp'?: string;
}

/** Export of the log to an OTLP collector. A slow or unavailable collector only costs lines, which are counted. */
export class LogExport implements LogReceiver {
  readonly processor: sdkLogs.LogRecordProcessor;
  readonly #process: string;
  readonly #constants = new WeakMap<RequestKind, Record<string, string | number>>();
  readonly #lost = telemetryLost.cell('logs', 'queue');
  #logger: Logger | undefined;
  #waiting = 0;

  /** `process` is the kind of process whose log it is. */
  constructor(url: string, process: string, watch: ExportWatch) {
    this.#process = process;
    const exporter = new OTLPLogExporter({ url });
    watch.follow('logs', exporter, (records) => records.length);
    this.processor = new sdkLogs.BatchLogRecordProcessor({
      exporter: {
        export: (records, done) => {
          this.#waiting -= records.length;
          exporter.export(records, done);
        },
        forceFlush: () => exporter.forceFlush(),
        shutdown: () => exporter.shutdown(),
      },
      maxQueueSize: MAX_WAITING,
      maxExportBatchSize: BATCH,
      scheduledDelayMillis: DELAY_MS,
    });
  }

  write(name: LogEventName, properties: Properties, body: string): void {
    const { '@x': stack, '@tr': traceId, '@sp': spanId, ...rest } = properties as Properties & Marks;
    const attributes = { ...rest, Process: this.#process, ...(stack && { 'exception.stacktrace': stack }) };
    const context = traceId && spanId ? buildContext(traceId, spanId) : ROOT_CONTEXT;
    this.#emit(name, LOG_EVENTS[name].level, body, attributes, context);
  }

  request(kind: RequestKind, event: RequestEvent, durationMs: number, bytes: number): void {
    const { path, correlationId, principal, trace: at } = event;
    const body = `${kind.method} ${path} ${kind.status} ${durationMs.toFixed(2)} ms`;
    const attributes = {
      ...this.#constantsOf(kind),
      DurationMs: durationMs,
      Bytes: bytes,
      Path: path,
      CorrelationId: correlationId,
      Principal: principal.id,
    };
    const context = at ? buildContext(at.traceId, at.spanId) : ROOT_CONTEXT;
    this.#emit('http.request.completed', getRequestLogLevel(kind), body, attributes, context);
  }

  #emit(
    eventName: LogEventName,
    level: LogLevel,
    body: string,
    attributes: Record<string, unknown>,
    context: Context,
  ): void {
    if (this.#waiting >= MAX_WAITING) return this.#lost.inc();
    this.#waiting++;
    this.#logger ??= logs.getLogger('Graticule', '1.0.0');
    this.#logger.emit({
      eventName,
      severityNumber: SEVERITIES[level],
      severityText: level,
      body,
      attributes: { 'event.id': LOG_EVENTS[eventName].id, ...attributes } as LogAttributes,
      context,
    });
  }

  #constantsOf(kind: RequestKind): Record<string, string | number> {
    let constants = this.#constants.get(kind);
    if (!constants) {
      constants = {
        Method: kind.method,
        StatusCode: kind.status,
        Protocol: kind.protocol,
        Operation: kind.operation,
        Process: this.#process,
      };
      this.#constants.set(kind, constants);
    }
    return constants;
  }
}

function buildContext(traceId: string, spanId: string): Context {
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED });
}
