import { metrics as sdkMetrics } from '@opentelemetry/sdk-node';
import * as prom from 'prom-client';
import { Counter, Gauge, Histogram } from '../src/services/telemetry/instruments.js';
import { cost, pin } from './support/core.js';
import { option, publish } from './support/report.js';

/**
 * Recording what one request of a cached tile records: two histograms, two counters, and a gauge up and down. Label sets are
 * looked up once, as the server does; 40 operations take turns.
 */
const rounds = option('rounds', 9);
const requests = option('requests', 1_000_000);
const OPERATIONS = 40;
const BOUNDS = [1, 5, 25, 100, 500, 2500, 10_000];
const REQUEST_LABELS = ['method', 'endpoint', 'status_code'];
const SERVING_LABELS = ['svc_protocol', 'svc_operation', 'status_class'];

const requestValues = (i: number) => ['GET', `/ogc/collections/{collectionId}/operation-${i}`, '200'];
const servingValues = (i: number) => ['OgcFeatures', `operation-${i}`, '2xx'];
const named = (names: readonly string[], values: readonly string[]) =>
  Object.fromEntries(names.map((name, i) => [name, values[i]!]));
const operations = Array.from({ length: OPERATIONS }, (_, i) => i);

/** Records a request of one operation. */
type Recorder = (operation: number, ms: number) => void;

function ownRecorder(): Recorder {
  const spec = (name: string, labels: readonly string[] = []) => ({ name, help: 'Bench', labels });
  const duration = new Histogram({ ...spec('svc_duration_ms', REQUEST_LABELS), bounds: BOUNDS });
  const total = new Counter(spec('svc_requests', REQUEST_LABELS));
  const serving = new Histogram({ ...spec('svc_serving_ms', SERVING_LABELS), bounds: BOUNDS });
  const hits = new Counter(spec('svc_hits', ['cache_name'])).cell('tile');
  const active = new Gauge(spec('svc_active')).cell();
  const cells = operations.map((i) => ({
    duration: duration.cell(...requestValues(i)),
    total: total.cell(...requestValues(i)),
    serving: serving.cell(...servingValues(i)),
  }));
  return (operation, ms) => {
    active.add(1);
    hits.inc();
    const cell = cells[operation]!;
    cell.duration.observe(ms);
    cell.total.inc();
    cell.serving.observe(ms);
    active.add(-1);
  };
}

function promRecorder(): Recorder {
  const registers = [new prom.Registry()];
  const spec = (name: string, labelNames: string[] = []) => ({ name, help: 'Bench', labelNames, registers });
  const duration = new prom.Histogram({ ...spec('duration', REQUEST_LABELS), buckets: BOUNDS });
  const total = new prom.Counter(spec('requests', REQUEST_LABELS));
  const serving = new prom.Histogram({ ...spec('serving', SERVING_LABELS), buckets: BOUNDS });
  const hits = new prom.Counter(spec('hits', ['cache_name'])).labels('tile');
  const active = new prom.Gauge(spec('active'));
  const children = operations.map((i) => ({
    duration: duration.labels(...requestValues(i)),
    total: total.labels(...requestValues(i)),
    serving: serving.labels(...servingValues(i)),
  }));
  return (operation, ms) => {
    active.inc();
    hits.inc();
    const child = children[operation]!;
    child.duration.observe(ms);
    child.total.inc();
    child.serving.observe(ms);
    active.dec();
  };
}

function otelRecorder(): Recorder {
  const exporter = new sdkMetrics.InMemoryMetricExporter(sdkMetrics.AggregationTemporality.CUMULATIVE);
  const reader = new sdkMetrics.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meter = new sdkMetrics.MeterProvider({ readers: [reader] }).getMeter('bench');
  const advice = { advice: { explicitBucketBoundaries: BOUNDS } };
  const duration = meter.createHistogram('duration', advice);
  const total = meter.createCounter('requests');
  const serving = meter.createHistogram('serving', advice);
  const hits = meter.createCounter('hits');
  const active = meter.createUpDownCounter('active');
  const cache = { cache_name: 'tile' };
  const labels = operations.map((i) => ({
    request: named(REQUEST_LABELS, requestValues(i)),
    serving: named(SERVING_LABELS, servingValues(i)),
  }));
  return (operation, ms) => {
    active.add(1);
    hits.add(1, cache);
    const { request, serving: served } = labels[operation]!;
    duration.record(ms, request);
    total.add(1, request);
    serving.record(ms, served);
    active.add(-1);
  };
}

pin(1);
const recorders: Record<string, Recorder> = {
  Graticule: ownRecorder(),
  'prom-client, children made once': promRecorder(),
  'OpenTelemetry SDK': otelRecorder(),
};
const figures = Object.keys(recorders).map((name) => ({
  name,
  rounds: { 'CPU us/request': [] as number[] },
}));
for (let round = 0; round <= rounds; round++)
  for (const [i, record] of Object.values(recorders).entries()) {
    const { cpuMs } = cost(1, () => {
      for (let n = 0; n < requests; n++) record(n % OPERATIONS, (n % 97) / 4);
    });
    if (round > 0) figures[i]!.rounds['CPU us/request'].push((cpuMs * 1000) / requests);
  }

const [own, ...others] = figures;
publish({
  bench: 'instruments',
  command: `./run bench instruments --rounds ${rounds} --requests ${requests}`,
  about: `What ${requests} requests of a cached tile record: two histograms, two counters, a gauge up and down; ${OPERATIONS} operations in turns, label sets looked up once. On core 1.`,
  figures,
  ratios: others.map(({ name, rounds: { 'CPU us/request': cpu } }) => ({
    what: `CPU: ${name} / Graticule`,
    rounds: own!.rounds['CPU us/request'].map((micros, n) => cpu[n]! / micros),
    goal: 1,
  })),
});
process.exit(0);
