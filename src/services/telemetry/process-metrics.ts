import { totalmem } from 'node:os';
import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { sampleHitRatios } from './cache-metrics.js';
import { Counter, Gauge, Histogram } from './instruments.js';

/** Instruments of the process: memory, garbage, and what it recovers from. */

const MEBIBYTE = 1_048_576;
/** Percent of the memory that the process may use, from which on it is an alert. */
const PRESSURE_ALERT = 90;
const SAMPLE_MS = 10_000;

const memoryUsage = new Gauge({
  name: 'svc_memory_usage_bytes',
  help: 'Memory of the gateway process',
  labels: ['kind'],
}).observe((gauge) => {
  const usage = process.memoryUsage();
  gauge.cell('rss').set(usage.rss);
  gauge.cell('heap_used').set(usage.heapUsed);
  gauge.cell('external').set(usage.external);
});
const memoryAllocated = new Gauge({
  name: 'svc_memory_allocated_bytes',
  help: 'Heap size of the gateway process in bytes',
}).observe((gauge) => gauge.cell().set(process.memoryUsage().heapTotal));
const memoryAllocatedMb = new Histogram({
  name: 'svc_memory_allocated_mb',
  help: 'Heap size of the gateway process in MiB, every ten seconds',
  bounds: [64, 128, 256, 512, 1024, 2048, 4096],
});
const memoryPressure = new Gauge({
  name: 'svc_memory_pressure_percent',
  help: 'Resident memory of the gateway process in percent of its limit',
}).observe((gauge) => gauge.cell().set(pressure()));
const memoryPressureDetailed = new Histogram({
  name: 'svc_memory_pressure_detailed',
  help: 'Resident memory of the gateway process in percent of its limit, every ten seconds',
  bounds: [10, 25, 50, 75, PRESSURE_ALERT, 95, 100],
});
export const memoryPressureAlerts = new Counter({
  name: 'svc_memory_pressure_alerts_total',
  help: `Times that the memory pressure rose to ${PRESSURE_ALERT} percent`,
});
const gcCollections = new Counter({
  name: 'svc_gc_collection_total',
  help: 'Garbage collections of the gateway thread',
  labels: ['generation'],
});
export const errorRecovery = new Histogram({
  name: 'svc_error_recovery_duration_ms',
  help: 'Time from a failure to the recovery of a database, an engine, a source or the telemetry collector',
  labels: ['subject'],
  bounds: [100, 1000, 10_000, 60_000, 600_000, 3_600_000],
});

function pressure(): number {
  const limit = process.constrainedMemory() || totalmem();
  return (100 * process.memoryUsage.rss()) / Math.min(limit, totalmem());
}

/** Takes a sample of the memory; `percent` is its pressure now. */
export function sampleMemory(percent = pressure()): void {
  memoryAllocatedMb.cell().observe(process.memoryUsage().heapTotal / MEBIBYTE);
  memoryPressureDetailed.cell().observe(percent);
  if (percent >= PRESSURE_ALERT && !pressed) memoryPressureAlerts.cell().inc();
  pressed = percent >= PRESSURE_ALERT;
}
let pressed = false;

/** Starts sampling resources that have no events. */
export function watchResources(): void {
  const sample = () => {
    sampleMemory();
    sampleHitRatios();
  };
  sample();
  setInterval(sample, SAMPLE_MS).unref();
}

/** Names of V8's collections, by their number in performance entries. */
const GENERATIONS: Readonly<Record<number, string>> = {
  1: 'minor',
  4: 'major',
  8: 'incremental',
  16: 'weak',
};

/** Counts garbage collections from now on. */
export function watchCollections(): void {
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as PerformanceEntry & { detail: { kind: number } }).detail;
      gcCollections.cell(GENERATIONS[kind] ?? 'other').inc();
    }
  }).observe({ entryTypes: ['gc'] });
}

export const PROCESS_INSTRUMENTS = [
  memoryUsage,
  memoryAllocated,
  memoryAllocatedMb,
  memoryPressure,
  memoryPressureDetailed,
  memoryPressureAlerts,
  gcCollections,
  errorRecovery,
];
