import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import { sumConnectionCounts } from '../../core/sources/connection-counts.js';
import type { PoolStatus } from '../../core/tasks/tasks.js';
import { watchLoop } from '../../native/index.js';
import { ALERT_INSTRUMENTS } from './alert-metrics.js';
import { CACHE_INSTRUMENTS } from './cache-metrics.js';
import { CHANNEL_INSTRUMENTS } from './channel-metrics.js';
import { EVENT_INSTRUMENTS } from './event-metrics.js';
import { FEDERATION_INSTRUMENTS } from './federation-metrics.js';
import { GEOMETRY_INSTRUMENTS } from './geometry-metrics.js';
import { HOST_INSTRUMENTS } from './host-metrics.js';
import { Counter, Gauge, Histogram, type Instrument } from './instruments.js';
import { LICENCE_INSTRUMENTS } from './licence-metrics.js';
import { ORCHESTRATION_INSTRUMENTS } from './orchestration-metrics.js';
import { PROCESS_INSTRUMENTS } from './process-metrics.js';
import { SPEC_INSTRUMENTS } from './spec-metrics.js';
import { STORE_INSTRUMENTS, watchConnections } from './store-metrics.js';
import { TELEMETRY_INSTRUMENTS } from './telemetry-metrics.js';

/** Every instrument is declared here, once; scrape and OTLP read the same cells. Names are the contract's. */

const MILLISECONDS = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];
/** Fewer buckets for metrics with many label sets, because each bucket of each set is a line of the scrape. */
const FEW_MILLISECONDS = [1, 5, 25, 100, 500, 2500, 10_000];

export const httpRequestDuration = new Histogram({
  name: 'svc_http_request_duration_ms',
  help: 'Time from the request header to the last byte of the response',
  labels: ['method', 'endpoint', 'status_code'],
  bounds: FEW_MILLISECONDS,
});
export const httpRequests = new Counter({
  name: 'svc_http_request_total',
  help: 'Completed HTTP requests',
  labels: ['method', 'endpoint', 'status_code'],
});
export const httpActive = new Gauge({
  name: 'svc_http_active_requests',
  help: 'HTTP requests in progress',
});
export const servingDuration = new Histogram({
  name: 'svc_serving_request_duration_ms',
  help: 'Latency of data requests by protocol and operation',
  labels: ['svc_protocol', 'svc_operation', 'status_class'],
  bounds: FEW_MILLISECONDS,
});
export const requestErrors = new Counter({
  name: 'svc_request_error_total',
  help: 'Error responses of all APIs',
  labels: ['service_type', 'operation', 'error_code', 'in_band'],
});
export const geoServicesErrors = new Counter({
  name: 'svc_geoservices_error_total',
  help: 'Errors in GeoServices responses',
  labels: ['service_type', 'operation', 'error_code'],
});
export const applicationErrors = new Counter({
  name: 'svc_application_errors_total',
  help: 'Unexpected failures by type',
  labels: ['error_type', 'operation', 'service_type'],
});
export const tileCacheHits = new Counter({ name: 'svc.tile.cache.hits', help: 'Tile cache hits' });
export const tileCacheMisses = new Counter({ name: 'svc.tile.cache.misses', help: 'Tile cache misses' });
export const tileCacheGenerated = new Counter({
  name: 'svc.tile.cache.generated',
  help: 'Tiles rendered or encoded for the cache',
});
export const tileCacheDeleted = new Counter({
  name: 'svc.tile.cache.deleted',
  help: 'Invalidated tiles',
});
export const tileJobQueue = new Gauge({
  name: 'svc.tile.jobs.queue_depth',
  help: 'Waiting tile jobs',
});
export const tileJobs = new Counter({
  name: 'svc.tile.jobs.total',
  help: 'Ended tile job runs',
  labels: ['operation', 'status'],
});
export const tilesProcessed = new Counter({
  name: 'svc.tile.jobs.tiles_processed',
  help: 'Tiles processed by jobs, including empty tiles',
});
export const tileJobDuration = new Histogram({
  name: 'svc.tile.jobs.duration_ms',
  help: 'Duration of tile job runs',
  bounds: [100, 1000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000],
});
export const tileArchives = new Counter({ name: 'svc.tile.archives.total', help: 'Written tile archives' });
export const tileArchiveSize = new Histogram({
  name: 'svc.tile.archives.size_bytes',
  help: 'Size of written tile archives',
  bounds: [1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11],
});
export const tileCacheExpired = new Counter({
  name: 'svc.tile.cache.expired',
  help: 'Expired tiles',
});
export const tileCacheFailed = new Counter({
  name: 'svc.tile.cache.failed',
  help: 'Failed tiles',
});
export const tileCacheReleased = new Counter({
  name: 'svc.tile.cache.bytes_released',
  help: 'Bytes freed by invalidation',
});
export const operationDuration = new Histogram({
  name: 'svc_operation_duration_ms',
  help: 'Duration of worker tasks by name, including queueing',
  labels: ['operation'],
  bounds: MILLISECONDS,
});
export const operationCounter = new Counter({
  name: 'svc_operation_total',
  help: 'Worker tasks by name and outcome',
  labels: ['operation', 'outcome'],
});
export const admissions = new Counter({
  name: 'execution.admission.evaluated',
  help: 'Worker tasks that were admitted, or refused because too many wait',
  labels: ['outcome'],
});
export const inspections = new Counter({
  name: 'svc_catalog_inspections_total',
  help: 'Inspections of source files: made (the file was opened) or kept from an earlier start',
  labels: ['origin'],
});
export const scenesLost = new Counter({
  name: 'svc_raster_scenes_lost_total',
  help: 'Unreadable rasters missing in mosaics',
});
const poolQueued = new Gauge({
  name: 'svc_pool_queued_tasks',
  help: 'Tasks waiting',
  labels: ['pool'],
});
const poolRunning = new Gauge({
  name: 'svc_pool_running_tasks',
  help: 'Tasks running',
  labels: ['pool'],
});
const poolWorkers = new Gauge({
  name: 'svc_pool_workers',
  help: 'Threads or processes',
  labels: ['pool'],
});
const eventLoopDelay = new Gauge({
  name: 'svc_gateway_event_loop_delay_ms',
  help: 'Delay of the gateway thread beyond its sampling interval since the last read',
  labels: ['quantile'],
});
const eventLoopTurn = new Histogram({
  name: 'svc_gateway_event_loop_turn_ms',
  help: 'CPU time of each event-loop iteration of the gateway',
  bounds: [0.1, 0.25, 0.5, 1, 2, 5, 10, 25, 50, 100, 250],
});
const eventLoopLongestTurn = new Gauge({
  name: 'svc_gateway_event_loop_longest_turn_ms',
  help: 'Longest event-loop iteration of the gateway since the last read, in CPU time',
});
const INSTRUMENTS: readonly Instrument[] = [
  ...CHANNEL_INSTRUMENTS,
  ...ALERT_INSTRUMENTS,
  ...EVENT_INSTRUMENTS,
  ...STORE_INSTRUMENTS,
  ...FEDERATION_INSTRUMENTS,
  ...GEOMETRY_INSTRUMENTS,
  ...HOST_INSTRUMENTS,
  ...CACHE_INSTRUMENTS,
  ...PROCESS_INSTRUMENTS,
  ...SPEC_INSTRUMENTS,
  ...ORCHESTRATION_INSTRUMENTS,
  ...TELEMETRY_INSTRUMENTS,
  ...LICENCE_INSTRUMENTS,
  httpRequestDuration,
  httpRequests,
  httpActive,
  servingDuration,
  requestErrors,
  geoServicesErrors,
  applicationErrors,
  tileCacheHits,
  tileCacheMisses,
  tileCacheGenerated,
  tileCacheDeleted,
  tileJobQueue,
  tileJobs,
  tilesProcessed,
  tileJobDuration,
  tileArchives,
  tileArchiveSize,
  tileCacheExpired,
  tileCacheFailed,
  tileCacheReleased,
  operationDuration,
  operationCounter,
  admissions,
  inspections,
  scenesLost,
  poolQueued,
  poolRunning,
  poolWorkers,
  eventLoopDelay,
  eventLoopTurn,
  eventLoopLongestTurn,
];

export function instruments(): readonly Instrument[] {
  return INSTRUMENTS;
}

/**
 * Milliseconds between two samples of the event loop's delay. Each wakes the thread: ten times as many took 2 % of a core
 * from an idle server. Nothing long escapes, because `watchLoop` measures every turn.
 */
const LOOP_SAMPLE_MS = 50;

/** The registry behind the scrape: our instruments and Node's own process metrics. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
  // The registry only uses the name and get() of a metric, which these families have.
  for (const instrument of INSTRUMENTS) registry.registerMetric(instrument as unknown as Metric);
  return registry;
}

/** Milliseconds of formatting at a time. */
const SCRAPE_SLICE_MS = 1;

/**
 * Writes all instruments as Prometheus text. Many label sets make it long, so the loop gets its turn between
 * instruments.
 */
export async function exposition(registry: Registry): Promise<string> {
  let text = '';
  let since = performance.now();
  for (const { name } of registry.getMetricsAsArray()) {
    text += `${await registry.getSingleMetricAsString(name)}\n\n`;
    if (performance.now() - since < SCRAPE_SLICE_MS) continue;
    await new Promise(setImmediate);
    since = performance.now();
  }
  return text;
}

/** Samples the gateway thread's delay; the gauge shows the quantiles since the last scrape. */
export function watchEventLoop(): IntervalHistogram {
  const histogram = monitorEventLoopDelay({ resolution: LOOP_SAMPLE_MS });
  histogram.enable();
  const ms = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - LOOP_SAMPLE_MS);
  eventLoopDelay.observe((gauge) => {
    gauge.cell('0.5').set(ms(histogram.percentile(50)));
    gauge.cell('0.99').set(ms(histogram.percentile(99)));
    gauge.cell('1').set(ms(histogram.max));
    histogram.reset();
  });
  const turns = watchLoop(eventLoopTurn.bounds);
  eventLoopTurn.observe((turn) => {
    const { counts, sum, count, largest } = turns();
    Object.assign(turn.cell(), { counts, sum, count });
    eventLoopLongestTurn.cell().set(largest);
  });
  return histogram;
}

/** Shows the state of the pools, and of connections to databases, in gauges. */
export function watchPools(status: () => PoolStatus[]): void {
  watchConnections(
    () => status().find(({ connections }) => connections)?.connections ?? sumConnectionCounts([]),
  );
  poolQueued.observe((gauge) => {
    for (const pool of status()) {
      gauge.cell(pool.name).set(pool.queued);
      poolRunning.cell(pool.name).set(pool.running);
      poolWorkers.cell(pool.name).set(pool.workers);
    }
  });
}
