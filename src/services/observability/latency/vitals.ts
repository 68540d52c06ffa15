/** Condition of the server or of a part of it. */
export const HEALTH_STATUSES = ['Healthy', 'Degraded', 'Unhealthy'] as const;
export type HealthStatus = (typeof HEALTH_STATUSES)[number];

export function chooseWorst(statuses: readonly HealthStatus[]): HealthStatus {
  const ranks = statuses.map((status) => HEALTH_STATUSES.indexOf(status));
  return HEALTH_STATUSES[Math.max(0, ...ranks)]!;
}

/** Condition of a process at one time. */
export interface Observation {
  readonly status: HealthStatus;
  /** Tile cache since the start of the process. */
  readonly cacheHits: number;
  readonly cacheLookups: number;
  readonly dbActive: number;
  readonly dbCapacity: number;
  /** Open jobs of the state, as `{"Queued|embedded": 3}`. */
  readonly queue: Readonly<Record<string, number>>;
  /** Null: not known. */
  readonly alertPending: number | null;
  readonly alertDead: number | null;
}

/** Condition of a process in a period. Counts belong to the period. */
export interface Vitals extends Observation {
  readonly samples: number;
  readonly requests: number;
  readonly errors: number;
}

const highest = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : Math.max(a, b));

function joinQueues(
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): Record<string, number> {
  const joined: Record<string, number> = { ...a };
  for (const [key, count] of Object.entries(b)) joined[key] = Math.max(joined[key] ?? 0, count);
  return joined;
}

/** Members that are joined in the same way over time and over processes: jobs and alerts belong to the state. */
function joinCommon(a: Vitals, b: Vitals) {
  return {
    samples: a.samples + b.samples,
    status: chooseWorst([a.status, b.status]),
    cacheHits: a.cacheHits + b.cacheHits,
    cacheLookups: a.cacheLookups + b.cacheLookups,
    requests: a.requests + b.requests,
    errors: a.errors + b.errors,
    queue: joinQueues(a.queue, b.queue),
    alertPending: highest(a.alertPending, b.alertPending),
    alertDead: highest(a.alertDead, b.alertDead),
  };
}

/** Vitals of one process in two periods: the highest numbers of connections count. */
export function joinPeriods(a: Vitals, b: Vitals): Vitals {
  const { dbActive, dbCapacity } = b.dbActive > a.dbActive ? b : a;
  return { ...joinCommon(a, b), dbActive, dbCapacity };
}

/** Vitals of two processes in one period: each process has separate connections. */
export function joinReplicas(a: Vitals, b: Vitals): Vitals {
  return {
    ...joinCommon(a, b),
    dbActive: a.dbActive + b.dbActive,
    dbCapacity: a.dbCapacity + b.dbCapacity,
  };
}
