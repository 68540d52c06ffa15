import type { Log } from './log.js';
import { errorRecovery } from './process-metrics.js';
import { telemetryExported, telemetryLost } from './telemetry-metrics.js';

export type Signal = 'traces' | 'metrics' | 'logs';

/** Result of OpenTelemetry exporters: a code other than 0 is a failure. */
type ExportResult = { code: number; error?: Error };

interface Exporter<T> {
  export(items: T, done: (result: ExportResult) => void): void;
}

/**
 * Counts items that the collector accepts and items that are lost. A failing collector is logged once, and again when
 * it accepts everything.
 */
export class ExportWatch {
  readonly #failing = new Set<Signal>();
  #failingSince = 0;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Counts the results of the exports of an exporter. `sizeOf` counts its items. */
  follow<T>(signal: Signal, exporter: Exporter<T>, sizeOf: (items: T) => number): void {
    const push = exporter.export.bind(exporter);
    exporter.export = (items, done) => {
      const size = sizeOf(items);
      push(items, (result) => {
        if (result.code === 0) this.#succeeded(signal, size);
        else this.#failed(signal, size, result.error);
        done(result);
      });
    };
  }

  #succeeded(signal: Signal, size: number): void {
    telemetryExported.cell(signal).inc(size);
    if (!this.#failing.delete(signal) || this.#failing.size > 0) return;
    errorRecovery.cell('collector').observe(performance.now() - this.#failingSince);
    this.#log.write('telemetry.export.resumed');
  }

  #failed(signal: Signal, size: number, error: Error | undefined): void {
    telemetryLost.cell(signal, 'collector').inc(size);
    const first = this.#failing.size === 0;
    this.#failing.add(signal);
    if (!first) return;
    this.#failingSince = performance.now();
    this.#log.write('telemetry.export.failed', { Signal: signal, Error: describeReason(error) });
  }
}

function describeReason(error: Error | undefined): string {
  const { message = 'no reason given', code } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  return code === undefined ? message : `${message} (${code})`;
}
