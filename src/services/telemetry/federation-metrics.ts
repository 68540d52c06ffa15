import type { RemoteRead } from '../../core/observability/task-scope.js';
import { Counter, Histogram } from './instruments.js';

/** Instruments of federated sources. */

const duration = new Histogram({
  name: 'svc_federation_source_duration_ms',
  help: 'Duration of requests to federated sources',
  labels: ['source', 'outcome'],
  bounds: [5, 25, 100, 250, 1000, 2500, 10_000],
});
const requests = new Counter({
  name: 'svc_federation_source_requests_total',
  help: 'Requests to federated sources',
  labels: ['source', 'outcome'],
});
const rows = new Counter({
  name: 'svc_federation_source_rows_total',
  help: 'Features in responses of federated sources',
  labels: ['source'],
});

export const FEDERATION_INSTRUMENTS = [duration, requests, rows];

/** Counts a request to a federated source. */
export function countFederatedRead({ source, outcome, durationMs, rows: count }: RemoteRead): void {
  duration.cell(source, outcome).observe(durationMs);
  requests.cell(source, outcome).inc();
  rows.cell(source).inc(count);
}
