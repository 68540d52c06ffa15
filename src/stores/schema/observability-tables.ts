/** Latency of the requests of one protocol in one process, in one period of a resolution. */
export interface LatencyTable {
  /** Seconds of the period: 60, 300 or 3600. */
  resolution: number;
  /** Milliseconds since 1970, by the clock of the state. */
  bucket_start: number;
  /** Process that served the requests. */
  replica: string;
  protocol: string;
  requests: number;
  /** Requests that failed in the server. */
  errors: number;
  max_ms: number;
  /** Pairs of a bucket of `LatencySums` and its number of requests, as one list. */
  counts_json: string;
}

/** Condition of one process in one period of a resolution. */
export interface VitalsTable {
  resolution: number;
  bucket_start: number;
  replica: string;
  /** Number of observations. */
  samples: number;
  /** Worst status: 0 healthy, 1 degraded, 2 unhealthy. */
  status: number;
  cache_hits: number;
  cache_lookups: number;
  requests: number;
  errors: number;
  /** The most database connections in use, and the maximum at that time. */
  db_active: number;
  db_capacity: number;
  /** The most jobs of each kind, as `{"Queued|embedded": 3}`. */
  queue_json: string;
  /** Null: not known. */
  alert_pending: number | null;
  alert_dead: number | null;
}
