import { ApiError } from '../../../core/errors/errors.js';
import type { ConnectionTotals } from '../../../core/sources/connection-counts.js';
import type { HealthPeriodStore } from '../../../stores/observability/health-periods.js';
import type { Peers } from '../../cluster/peers.js';
import { withDeadline } from '../../kit/deadline.js';
import { shareWork } from '../../kit/shared-work.js';
import type { HostCheck } from '../host-checks.js';
import type { HealthMinutes, RecentLatency } from '../latency/health-minutes.js';
import {
  joinLatency,
  joinVitals,
  type LatencySeries,
  readPeriodRows,
  type VitalsPoint,
} from '../latency/history.js';
import { addLatencies, type ProtocolLatencies } from '../latency/latencies.js';
import { findPeriod, type PeriodRows } from '../latency/periods.js';
import type { StateClock } from '../latency/state-clock.js';
import { chooseWorst, type HealthStatus, type Observation } from '../latency/vitals.js';
import { checkReadiness, type ReadinessDeps } from './readiness.js';

/** Waiting and running work of a kind. */
interface WorkCount {
  readonly status: string;
  readonly backend: string;
  readonly count: number;
}

interface ChannelBacklog {
  readonly channel: string;
  readonly paused: boolean;
  readonly isConfigured: boolean;
  readonly pendingCount: number;
  readonly failedCount: number;
  readonly deadLetterCount: number;
  readonly oldestMs: number | null;
}

interface DispatchActivity {
  /** Whether a channel has a target. */
  readonly isEnabled: boolean;
  readonly isRunning: boolean;
  /** The last search for waiting alerts, in milliseconds since 1970. */
  readonly at: number | undefined;
  readonly isFailing: boolean;
}

export interface OpsHealthDeps extends ReadinessDeps {
  /** Names this process. */
  readonly instance: string;
  readonly release: string;
  /** Release that all servers must run. Empty: none is declared. */
  readonly declaredRelease: string;
  readonly peers: Pick<Peers, 'answer' | 'gather'>;
  readonly clock: StateClock;
  readonly store: Pick<HealthPeriodStore, 'latency' | 'vitals'>;
  connections(): ConnectionTotals | undefined;
  /** Tile cache since the start of the process. */
  cache(): { readonly hits: number; readonly misses: number };
  /** Parts of the machine on which clients depend. The server responds without them. */
  hostChecks(): readonly HostCheck[];
  /** Number of sources and layers that cannot be published. */
  quarantined(): number;
  openJobs(): Promise<WorkCount[]>;
  channels(): Promise<ChannelBacklog[]>;
  /** Receivers of webhooks and alerts, with the failed attempts since their last success. */
  receivers(): Promise<{ readonly name: string; readonly failures: number; readonly pending: number }[]>;
  dispatch(): DispatchActivity;
  /** Steps that the schema of the state lacks, and those of them that remove parts. */
  pendingMigrations(): Promise<{ readonly count: number; readonly removals: number }>;
  /** Releases of the processes that share the state. */
  releases(): Promise<{ readonly name: string; readonly release: string }[]>;
}

export interface HealthEntry {
  readonly name: string;
  readonly status: HealthStatus;
  readonly durationMs: number;
  readonly description: string | null;
}

/** Report of a process about itself. */
interface ProcessReport extends RecentLatency {
  readonly cacheHits: number;
  readonly cacheLookups: number;
  readonly connections: Pick<ConnectionTotals, 'active' | 'capacity' | 'failures' | 'timeouts'> | null;
}

export interface OpsHealthSnapshot {
  readonly status: HealthStatus;
  readonly totalDurationMs: number;
  readonly entries: readonly HealthEntry[];
  readonly windowSeconds: number;
  readonly replicas: number;
  readonly missing: readonly string[];
  readonly latency: ProtocolLatencies;
  readonly reports: readonly ProcessReport[];
  /** Undefined: the state did not respond. */
  readonly jobs: readonly WorkCount[] | undefined;
  readonly channels: readonly ChannelBacklog[] | undefined;
  readonly dispatch: DispatchActivity;
  readonly deploy: DeployState | undefined;
}

interface DeployState {
  readonly pendingMigrations: number;
  readonly pendingRemovals: number;
  /** The declared release, or the release of this process. */
  readonly release: string;
  readonly isDeclared: boolean;
  /** Processes that run another release. */
  readonly skewed: readonly string[];
}

export interface HistoryRequest {
  /** Seconds of the periods. */
  readonly resolution: number;
  readonly windowMs: number;
  readonly perReplica: boolean;
}

export interface OpsHealthHistory {
  readonly now: number;
  readonly from: number;
  readonly latency: readonly LatencySeries[];
  readonly vitals: readonly VitalsPoint[];
  readonly missing: readonly string[];
}

/** Milliseconds that each part of the report can take. An operator waits for all of them at the same time. */
const PATIENCE_MS = 1500;
/** A long history takes longer. */
const HISTORY_MS = 10_000;
const LATE = 'timed out';

const REPORT = 'observability.health-report';
const ROWS = 'observability.health-rows';

/** Condition of all processes that share the state, now and by period. It is reported also while the state hangs. */
export class OpsHealth {
  readonly #deps: OpsHealthDeps;
  readonly #ping: () => Promise<void>;
  readonly #jobs: () => Promise<WorkCount[]>;
  readonly #channels: () => Promise<ChannelBacklog[]>;
  readonly #receivers: OpsHealthDeps['receivers'];
  readonly #deploy: () => Promise<DeployState>;

  constructor(deps: OpsHealthDeps) {
    this.#deps = deps;
    // While the state hangs, requests of monitors must not use up its connections.
    this.#ping = shareWork(() => deps.pingState());
    this.#jobs = shareWork(() => deps.openJobs());
    this.#channels = shareWork(() => deps.channels());
    this.#receivers = shareWork(() => deps.receivers());
    this.#deploy = shareWork(() => this.#readDeploy());
  }

  /** Responds to other processes from now on, with the minutes of this one. */
  serve(minutes: HealthMinutes): void {
    this.#deps.peers.answer(REPORT, () => this.#report(minutes));
    this.#deps.peers.answer(ROWS, (about) => {
      const { resolution, from } = about as { resolution: number; from: number };
      return minutes.list(resolution, from);
    });
  }

  /** Condition of this process, for its history. */
  async observe(): Promise<Observation> {
    const [entries, jobs, channels] = await Promise.all([
      this.#check(),
      inTime(this.#jobs()),
      inTime(this.#channels()),
    ]);
    const { hits, misses } = this.#deps.cache();
    const connections = this.#deps.connections();
    const sum = (read: (one: ChannelBacklog) => number) =>
      channels ? channels.reduce((all, one) => all + read(one), 0) : null;
    return {
      status: chooseWorst(entries.map(({ status }) => status)),
      ...{ cacheHits: hits, cacheLookups: hits + misses },
      ...{ dbActive: connections?.active ?? 0, dbCapacity: connections?.capacity ?? 0 },
      queue: Object.fromEntries(
        (jobs ?? []).map(({ status, backend, count }) => [`${status}|${backend}`, count]),
      ),
      alertPending: sum(({ pendingCount }) => pendingCount),
      alertDead: sum(({ deadLetterCount }) => deadLetterCount),
    };
  }

  /** Resolves within two seconds, also if the state or a database does not respond. */
  async snapshot(): Promise<OpsHealthSnapshot> {
    const started = performance.now();
    const [checked, { answers, missing }, jobs, channels, deploy] = await Promise.all([
      this.#check(),
      this.#deps.peers.gather<ProcessReport>(REPORT),
      inTime(this.#jobs()),
      inTime(this.#channels()),
      inTime(this.#deploy()),
    ]);
    const totalDurationMs = performance.now() - started;
    const entries = [...checked, ...missing.map(describeMissing)];
    const latency: ProtocolLatencies = new Map();
    for (const report of answers) addLatencies(latency, report.latency);
    return {
      status: chooseWorst(entries.map(({ status }) => status)),
      totalDurationMs,
      entries,
      windowSeconds: Math.max(...answers.map(({ windowMs }) => windowMs)) / 1000,
      replicas: answers.length + missing.length,
      missing,
      latency,
      reports: answers,
      jobs,
      channels,
      dispatch: this.#deps.dispatch(),
      deploy,
    };
  }

  /** Throws `unavailable` if the state does not respond. */
  async history({ resolution, windowMs, perReplica }: HistoryRequest): Promise<OpsHealthHistory> {
    const { clock, store, peers } = this.#deps;
    const now = clock.now();
    const from = findPeriod(now - windowMs, resolution);
    const { answers, missing } = await peers.gather<PeriodRows>(ROWS, { resolution, from });
    const reading = readPeriodRows(store, { resolution, from, to: now }, answers);
    const rows = await withDeadline(reading, HISTORY_MS, LATE).catch((error: Error) => {
      if (error.message !== LATE) throw error;
      throw new ApiError('unavailable', 'The state does not respond. Send the request again.');
    });
    return {
      ...{ now, from, missing },
      latency: await joinLatency(rows.latency, perReplica),
      vitals: joinVitals(rows.vitals, perReplica),
    };
  }

  #report(minutes: HealthMinutes): ProcessReport {
    const { hits, misses } = this.#deps.cache();
    const found = this.#deps.connections();
    const { active, capacity, failures, timeouts } = found ?? {};
    return {
      ...minutes.recent(),
      ...{ cacheHits: hits, cacheLookups: hits + misses },
      connections: found ? ({ active, capacity, failures, timeouts } as ConnectionTotals) : null,
    };
  }

  async #check(): Promise<HealthEntry[]> {
    const deps = { ...this.#deps, pingState: this.#ping };
    const [checks, receivers] = await Promise.all([
      checkReadiness(deps, PATIENCE_MS),
      inTime(this.#receivers()),
    ]);
    const { isFailing } = this.#deps.dispatch();
    const quarantined = this.#deps.quarantined();
    const entry = (name: string, problem: string | undefined): HealthEntry => ({
      ...{ name, status: problem === undefined ? 'Healthy' : 'Degraded', durationMs: 0 },
      description: problem ?? null,
    });
    return [
      ...checks.map(
        ({ name, healthy, isLate, detail, durationMs }): HealthEntry => ({
          name,
          status: healthy ? (isLate ? 'Degraded' : 'Healthy') : 'Unhealthy',
          durationMs,
          description: detail ?? (healthy ? null : 'does not respond'),
        }),
      ),
      ...this.#deps.hostChecks().map(({ name, status, description }) => ({
        ...{ name, status, durationMs: 0 },
        description: status === 'Healthy' ? null : description,
      })),
      entry('catalog', quarantined > 0 ? `${quarantined} sources or layers are not published` : undefined),
      entry('deliveries', describeReceivers(receivers ?? [])),
      entry('alert-dispatch', isFailing ? 'waiting alerts cannot be read from the state' : undefined),
    ];
  }

  async #readDeploy(): Promise<DeployState> {
    const { pendingMigrations, releases, declaredRelease } = this.#deps;
    const release = declaredRelease || this.#deps.release;
    const [pending, running] = await Promise.all([pendingMigrations(), releases()]);
    const skewed = running.filter((one) => one.release !== release).map(({ name }) => name);
    return {
      ...{ pendingMigrations: pending.count, pendingRemovals: pending.removals },
      ...{ release, isDeclared: declaredRelease !== '', skewed },
    };
  }
}

/** Failed attempts from which a receiver is a problem: also the first repetition failed. */
const FAILING = 2;

function describeReceivers(receivers: Awaited<ReturnType<OpsHealthDeps['receivers']>>): string | undefined {
  const failing = receivers.filter(({ failures }) => failures >= FAILING);
  if (failing.length === 0) return undefined;
  return failing
    .map(
      ({ name, failures, pending }) => `${name} failed ${failures} times in a row, ${pending} messages wait`,
    )
    .join('; ');
}

/** Undefined if the work fails or takes too long. */
function inTime<T>(work: Promise<T>): Promise<T | undefined> {
  return withDeadline(work, PATIENCE_MS, LATE).catch(() => undefined);
}

function describeMissing(name: string): HealthEntry {
  const description = 'did not respond within a second; its requests are not included';
  return { name: `process:${name}`, status: 'Degraded', durationMs: 1000, description };
}
