import { ValueType } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK, resources, metrics as sdkMetrics } from '@opentelemetry/sdk-node';
import { ExportWatch } from './export-watch.js';
import { Counter, Gauge, getInstrumentUnit, type Histogram, type Instrument } from './instruments.js';
import type { Log } from './log.js';
import { LogExport } from './log-export.js';
import { instruments } from './metrics.js';
import { enableTracing } from './spans.js';

const { AggregationTemporality, DataPointType, PeriodicExportingMetricReader } = sdkMetrics;
type ScopeMetrics = sdkMetrics.ScopeMetrics;
type MetricData = ScopeMetrics['metrics'][number];

const SCOPE = { name: 'Graticule', version: '1.0.0' };
const EXPORT_MS = 10_000;
const SHUTDOWN_MS = 1500;

/** Running export of telemetry. */
export interface Otlp {
  /** Pushes what waits, as long as the collector takes it in time. */
  shutdown(): Promise<void>;
}

/** Pushes traces, metrics and the log over OTLP. The metrics are the cells that the scrape shows, read at export time. */
export function startOtlp(endpoint: string, serviceVersion: string, log: Log): Otlp {
  const { base, resource, watch, logs } = shared(endpoint, serviceVersion, log);
  const started = hrTime();
  const traceExporter = new OTLPTraceExporter({ url: `${base}/v1/traces` });
  const metricExporter = new OTLPMetricExporter({ url: `${base}/v1/metrics` });
  watch.follow('traces', traceExporter, (spans) => spans.length);
  watch.follow('metrics', metricExporter, ({ scopeMetrics }) =>
    scopeMetrics.reduce((sum, { metrics }) => sum + metrics.length, 0),
  );
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: EXPORT_MS,
    metricProducers: [
      {
        collect: async () => ({
          errors: [],
          resourceMetrics: {
            resource,
            scopeMetrics: [
              { scope: SCOPE, metrics: instruments().map((instrument) => metricData(instrument, started)) },
            ],
          },
        }),
      },
    ],
  });
  const sdk = new NodeSDK({
    resource,
    traceExporter,
    metricReaders: [reader],
    logRecordProcessors: [logs.processor],
    instrumentations: [],
  });
  sdk.start();
  enableTracing();
  log.copyTo(logs);
  return { shutdown: () => inTime(sdk.shutdown()) };
}

/** Exports only the log, for a process without other telemetry. */
export function startLogExport(endpoint: string, serviceVersion: string, log: Log): Otlp {
  const { resource, logs } = shared(endpoint, serviceVersion, log);
  const sdk = new NodeSDK({
    resource,
    spanProcessors: [],
    metricReaders: [],
    logRecordProcessors: [logs.processor],
    instrumentations: [],
  });
  sdk.start();
  log.copyTo(logs);
  return { shutdown: () => inTime(sdk.shutdown()) };
}

function shared(endpoint: string, serviceVersion: string, log: Log) {
  const base = endpoint.replace(/\/+$/, '');
  const resource = resources.resourceFromAttributes({
    'service.name': 'graticule',
    'service.version': serviceVersion,
  });
  const watch = new ExportWatch(log);
  return { base, resource, watch, logs: new LogExport(`${base}/v1/logs`, log.process, watch) };
}

/** Limits the wait, because an unavailable collector must not delay the end of the process. */
async function inTime(work: Promise<void>): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    late = setTimeout(resolve, SHUTDOWN_MS);
  });
  await Promise.race([work.catch(() => {}), patience]);
  clearTimeout(late);
}

type HrTime = [number, number];

function hrTime(): HrTime {
  const ms = Date.now();
  return [Math.floor(ms / 1000), (ms % 1000) * 1e6];
}

function metricData(instrument: Instrument, startTime: HrTime): MetricData {
  const endTime = hrTime();
  const descriptor = {
    name: instrument.dottedName,
    description: instrument.help,
    unit: getInstrumentUnit(instrument.dottedName),
    valueType: ValueType.DOUBLE,
  };
  const common = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE };
  const point = <T>(labels: Readonly<Record<string, string>>, value: T) => ({
    startTime,
    endTime,
    attributes: { ...labels },
    value,
  });
  if (instrument instanceof Counter) {
    const dataPoints = instrument.samples().map(({ labels, value }) => point(labels, value));
    return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints } as MetricData;
  }
  if (instrument instanceof Gauge) {
    const dataPoints = instrument.samples().map(({ labels, value }) => point(labels, value));
    return { ...common, dataPointType: DataPointType.GAUGE, dataPoints } as MetricData;
  }
  return {
    ...common,
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: histogramPoints(instrument, point),
  } as MetricData;
}

function histogramPoints(
  histogram: Histogram,
  point: (labels: Readonly<Record<string, string>>, value: unknown) => unknown,
) {
  return histogram.samples().map(({ labels, counts, sum, count }) =>
    point(labels, {
      buckets: { boundaries: [...histogram.bounds], counts: [...counts] },
      sum,
      count,
      min: undefined,
      max: undefined,
    }),
  );
}
