import { ACQUISITION_BOUNDS, type ConnectionTotals } from '../../core/sources/connection-counts.js';
import { Counter, Gauge, Histogram } from './instruments.js';

/** Instruments of stores, their connections, and jobs. */

/** Few: each is a line for every layer and kind of query. */
const QUERY_MS = [2.5, 10, 50, 250, 1000, 10_000];
const QUERY = ['query_type', 'layer_id'] as const;

export const databaseQueryDuration = new Histogram({
  name: 'svc_database_query_duration_ms',
  help: 'Duration of data source queries, including queueing',
  labels: QUERY,
  bounds: QUERY_MS,
});
export const databaseQueries = new Counter({
  name: 'svc_database_query_total',
  help: 'Data source queries',
  labels: QUERY,
});
export const databaseQueryRecords = new Histogram({
  name: 'svc_database_query_records',
  help: 'Records returned by data source queries: features, events, rows',
  labels: QUERY,
  bounds: [0, 1, 10, 100, 1000, 10_000],
});
export const transactionDuration = new Histogram({
  name: 'svc_transaction_duration_ms',
  help: 'Duration of edit transactions, including queueing',
  bounds: QUERY_MS,
});
export const transactions = new Counter({
  name: 'svc_transaction_total',
  help: 'Edit transactions',
  labels: ['outcome'],
});
const acquisition = new Histogram({
  name: 'svc_db_connection_acquisition_duration_ms',
  help: 'Time to get a database connection',
  bounds: ACQUISITION_BOUNDS,
});
const acquisitionFailures = new Counter({
  name: 'svc_db_connection_acquisition_failures_total',
  help: 'Failed attempts to get a database connection',
});
const acquisitionTimeouts = new Counter({
  name: 'svc_db_connection_timeouts_total',
  help: 'Timed-out attempts to get a database connection',
});
const activeConnections = new Gauge({
  name: 'svc_db_active_connections',
  help: 'Database connections in use by a task',
});
const activeConnectionsDotted = new Gauge({
  name: 'svc.db.connections.active',
  help: 'Database connections in use by a task',
});
const poolSize = new Gauge({ name: 'svc_db_pool_size', help: 'Open database connections' });
const poolUtilization = new Gauge({
  name: 'svc_db_pool_utilization_ratio',
  help: 'Connections in use / maximum connections of the databases in use',
});

const stateStatements = new Counter({
  name: 'svc_state_statements_total',
  help: 'Statements sent to the state database by this process',
});

export const jobsSubmitted = new Counter({ name: 'svc.execution.job.submitted', help: 'Jobs submitted' });
export const jobTransitions = new Counter({
  name: 'svc.execution.job.transitions_total',
  help: 'State changes of jobs',
  labels: ['svc_controlplane_target_kind', 'svc_controlplane_execution_status'],
});
export const jobQueue = new Gauge({
  name: 'svc.execution.queue.depth',
  help: 'Waiting and running jobs',
  labels: ['svc_controlplane_execution_status', 'svc_controlplane_backend'],
});
export const jobCycles = new Counter({
  name: 'svc.execution.reconcile.cycle',
  help: 'Searches for waiting or abandoned jobs',
});
/** Uploads by where they are. */
export const uploads = { receiving: 0, waiting: 0 };
export const uploadQueue = new Gauge({
  name: 'svc_upload_queue_depth',
  help: 'Uploads in progress in this gateway, and uploads waiting for import',
}).observe((gauge) => gauge.cell().set(uploads.receiving + uploads.waiting));
export const jobDuration = new Histogram({
  name: 'svc.execution.job.duration_ms',
  help: 'Duration of job runs',
  labels: ['svc_controlplane_target_kind'],
  bounds: [100, 1000, 10_000, 60_000, 600_000, 3_600_000],
});

export const auditChainBroken = new Gauge({
  name: 'svc.audit.chain_broken',
  help: '1 if the last verification found an error in the audit chain',
});

/** Shows the statements that are sent to the state database. */
export function watchStatements(count: () => number): void {
  stateStatements.observe((counter) => {
    counter.cell().value = count();
  });
}

/** Shows the connections that threads count, in all their instruments. */
export function watchConnections(totals: () => ConnectionTotals): void {
  const show = () => {
    const { capacity, open, active, acquisitions, waitMs, failures, timeouts, buckets } = totals();
    Object.assign(acquisition.cell(), { counts: buckets, sum: waitMs, count: acquisitions });
    acquisitionFailures.cell().value = failures;
    acquisitionTimeouts.cell().value = timeouts;
    activeConnections.cell().set(active);
    activeConnectionsDotted.cell().set(active);
    poolSize.cell().set(open);
    poolUtilization.cell().set(capacity === 0 ? 0 : active / capacity);
  };
  // This metric is read first in its family, so the rest is read after it.
  acquisition.observe(show);
}

export const STORE_INSTRUMENTS = [
  databaseQueryDuration,
  databaseQueries,
  databaseQueryRecords,
  transactionDuration,
  transactions,
  acquisition,
  acquisitionFailures,
  acquisitionTimeouts,
  activeConnections,
  activeConnectionsDotted,
  poolSize,
  poolUtilization,
  stateStatements,
  jobsSubmitted,
  jobTransitions,
  jobDuration,
  jobQueue,
  jobCycles,
  uploadQueue,
  auditChainBroken,
];
