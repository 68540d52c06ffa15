import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { Param } from '../../../core/http/operation.js';
import { flag } from '../../../core/http/params.js';
import type { OpsHealthSnapshot } from '../../../services/observability/health/ops-health.js';
import type { LatencySums } from '../../../services/observability/latency/latencies.js';
import {
  PERIOD_LENGTHS,
  type PeriodLength,
  RESOLUTION_SECONDS,
} from '../../../services/observability/latency/periods.js';
import { HEALTH_STATUSES, type Vitals } from '../../../services/observability/latency/vitals.js';
import { KEPT_MS } from '../../../stores/observability/health-periods.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { enumeration } from '../../admin/params.js';

const { report } = createRowBuilders(['opsHealth']);

const S = Type.String();
const I = Type.Integer();
const D = Type.Number();
const B = Type.Boolean();
const OptionalInteger = Type.Union([I, Type.Null()]);
const OptionalNumber = Type.Union([D, Type.Null()]);
const StatusSchema = Type.Enum([...HEALTH_STATUSES]);
/** Extension of the contract. */
const missingInstances = Type.Array(S, {
  description: 'Processes that did not respond within a second. Their newest requests are missing.',
});
const errorRate = Type.Number({
  description: 'Share of the requests that failed in the server: status 5xx other than 501.',
});

const LATENCY = {
  requestCount: I,
  errorCount: I,
  errorRate,
  p50Ms: Type.Number({ description: 'Percentiles differ from the exact ones by at most 3.2 %.' }),
  p95Ms: D,
  p99Ms: D,
  maxMs: D,
};
const DAY_MS = 86_400_000;
const WINDOW = /^(\d{1,5})([mhd])$/;
const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: DAY_MS };

const window: Param<number> = {
  name: 'window',
  in: 'query',
  description: 'Length of the history, in minutes, hours or days: `90m`, `24h`, `7d`.',
  schema: Type.String({ pattern: WINDOW.source, default: '24h' }),
  parse(raw = '24h') {
    const [, count, unit] = WINDOW.exec(raw) ?? [];
    const ms = Number(count) * (UNIT_MS[unit!] ?? 0);
    if (!(ms > 0))
      throw badParameter('window', 'must be a number of minutes, hours or days above 0, for example 24h');
    return ms;
  },
};

/** Latency, errors and condition of all processes. */
export const opsHealth = group({ tag: 'Observability', scope: 'observability', envelope: 'raw' }, [
  report('GET /observability/ops-health', 'Get Ops Health Snapshot', {
    description:
      'Condition and latency of all processes. It responds within 2.5 seconds also if the state or a database does not respond.',
    data: Type.Object({
      generatedAt: TimestampSchema,
      overallStatus: StatusSchema,
      health: Type.Object({
        status: StatusSchema,
        totalDurationMs: D,
        entries: Type.Array(
          Type.Object({ name: S, status: StatusSchema, durationMs: D, description: OptionalStringSchema }),
        ),
      }),
      servingLatency: Type.Object({
        windowSeconds: Type.Number({ description: 'At most 300: the current minute and four before it.' }),
        clusterReplicaCount: OptionalInteger,
        protocols: Type.Array(Type.Object({ protocol: S, ...LATENCY })),
        missingInstances,
      }),
      database: Type.Object({
        activeConnections: I,
        connectionPoolUtilization: OptionalNumber,
        hasConnectionPoolData: B,
        connectionAcquisitionFailures: Type.Integer({ description: 'Since the start of each process.' }),
        connectionAcquisitionTimeouts: I,
        cacheHitRatio: Type.Number({
          description: 'Tile cache, since the start of each process. 0 without lookups.',
        }),
        errorRate,
      }),
      geoprocessing: Type.Object({
        available: Type.Boolean({ description: 'Whether the state responded.' }),
        totalActive: I,
        buckets: Type.Array(Type.Object({ status: S, backend: S, count: I })),
      }),
      alertDispatch: Type.Object({
        dispatcherEnabled: Type.Boolean({ description: 'Whether a channel has a target.' }),
        dispatcherRunning: B,
        storagePollFailing: B,
        pendingCount: OptionalInteger,
        retryingCount: OptionalInteger,
        deadLetteredCount: OptionalInteger,
        oldestItemAgeSeconds: OptionalInteger,
        lastPollAt: OptionalTimestampSchema,
        channels: Type.Array(
          Type.Object({
            channel: S,
            paused: B,
            pendingCount: I,
            retryingCount: I,
            deadLetteredCount: I,
            oldestItemAgeSeconds: I,
          }),
        ),
      }),
      deploy: Type.Object({
        status: Type.Enum(['ready', 'blocked']),
        readyForCoordinatedDeploy: B,
        pendingMigrationsCount: I,
        pendingContractScriptsCount: Type.Integer({
          description: 'Pending steps that remove parts of the state. They are steps of the migration.',
        }),
        platformRelease: Type.Object({
          releaseDeclared: B,
          releaseVersion: OptionalStringSchema,
          isCoVersioned: Type.Boolean({ description: 'Whether all processes run this release.' }),
          skewedIds: Type.Array(S, { description: 'Processes that run another release.' }),
        }),
      }),
    }),
    async answer(_x, { opsHealth: service }) {
      return describeSnapshot(await service.snapshot());
    },
  }),
  report('GET /observability/ops-health/history', 'Get Ops Health History', {
    description:
      'Latency and condition by period, in order of time. Periods of one minute are kept for 48 hours, of five minutes for 14 days, of one hour for 400 days. The last period has not ended.',
    params: {
      resolution: enumeration('resolution', PERIOD_LENGTHS, 'Length of the periods.', '1m'),
      window,
      perReplica: flag('perReplica', false, 'Separate series for each process.'),
    },
    errors: [400, 503],
    data: Type.Object({
      generatedAt: TimestampSchema,
      from: TimestampSchema,
      to: TimestampSchema,
      resolution: Type.Enum([...PERIOD_LENGTHS]),
      windowSeconds: D,
      perReplica: B,
      latency: Type.Array(
        Type.Object({
          protocol: S,
          replicaId: OptionalStringSchema,
          points: Type.Array(Type.Object({ bucketStart: TimestampSchema, ...LATENCY })),
        }),
      ),
      vitals: Type.Array(
        Type.Object({
          bucketStart: TimestampSchema,
          replicaId: OptionalStringSchema,
          overallStatus: StatusSchema,
          cacheHitRatio: D,
          errorRate,
          dbActiveConnections: I,
          dbPoolUtilization: OptionalNumber,
          gpQueueTotal: I,
          gpQueueBreakdown: Type.Record(Type.String(), I),
          alertPending: OptionalInteger,
          alertDeadLettered: OptionalInteger,
        }),
      ),
      missingInstances,
    }),
    async answer({ params }, { opsHealth: service }) {
      const resolution = params.resolution ?? '1m';
      const { window: windowMs, perReplica } = params;
      requireKept(resolution, windowMs);
      const seconds = RESOLUTION_SECONDS[resolution];
      const { now, from, latency, vitals, missing } = await service.history({
        ...{ resolution: seconds, windowMs, perReplica },
      });
      return {
        ...{ generatedAt: timestamp(now), from: timestamp(from), to: timestamp(now), resolution },
        ...{ windowSeconds: windowMs / 1000, perReplica },
        latency: latency.map(({ protocol, replica, points }) => ({
          protocol,
          replicaId: replica ?? null,
          points: points.map(({ start, sums }) => ({
            bucketStart: timestamp(start),
            ...describeLatency(sums),
          })),
        })),
        vitals: vitals.map(({ start, replica, vitals: one }) => ({
          ...{ bucketStart: timestamp(start), replicaId: replica ?? null },
          ...describeVitals(one),
        })),
        missingInstances: missing,
      };
    },
  }),
]);

/** Throws if the periods are not kept for so long. */
function requireKept(resolution: PeriodLength, windowMs: number): void {
  const kept = KEPT_MS.get(RESOLUTION_SECONDS[resolution])!;
  if (windowMs <= kept) return;
  const longer = PERIOD_LENGTHS.find((one) => KEPT_MS.get(RESOLUTION_SECONDS[one])! >= windowMs);
  const remedy =
    longer === undefined ? 'Use a shorter window' : `Use a shorter window, or resolution=${longer}`;
  const limit = kept <= 2 * DAY_MS ? `${kept / UNIT_MS['h']!}h` : `${kept / DAY_MS}d`;
  throw badParameter('window', `must be at most ${limit} with resolution=${resolution}. ${remedy}`);
}

const ratio = (part: number, all: number) => (all === 0 ? 0 : part / all);
const round = (ms: number) => Math.round(ms * 1000) / 1000;

function describeLatency(sums: LatencySums) {
  return {
    requestCount: sums.requests,
    errorCount: sums.errors,
    errorRate: ratio(sums.errors, sums.requests),
    p50Ms: round(sums.percentile(0.5)),
    p95Ms: round(sums.percentile(0.95)),
    p99Ms: round(sums.percentile(0.99)),
    maxMs: round(sums.maxMs),
  };
}

function describeVitals(vitals: Vitals) {
  const { status, cacheHits, cacheLookups, requests, errors, dbActive, dbCapacity, queue } = vitals;
  return {
    overallStatus: status,
    cacheHitRatio: ratio(cacheHits, cacheLookups),
    errorRate: ratio(errors, requests),
    dbActiveConnections: dbActive,
    dbPoolUtilization: dbCapacity === 0 ? null : dbActive / dbCapacity,
    gpQueueTotal: Object.values(queue).reduce((sum, count) => sum + count, 0),
    gpQueueBreakdown: queue,
    alertPending: vitals.alertPending,
    alertDeadLettered: vitals.alertDead,
  };
}

function describeSnapshot(snapshot: OpsHealthSnapshot) {
  const { status, totalDurationMs, entries, latency, missing, replicas, windowSeconds } = snapshot;
  const protocols = [...latency].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    generatedAt: new Date().toISOString(),
    overallStatus: status,
    health: {
      ...{ status, totalDurationMs: round(totalDurationMs) },
      entries: entries.map((entry) => ({ ...entry, durationMs: round(entry.durationMs) })),
    },
    servingLatency: {
      ...{ windowSeconds: round(windowSeconds), clusterReplicaCount: replicas },
      protocols: protocols.map(([protocol, sums]) => ({ protocol, ...describeLatency(sums) })),
      missingInstances: missing,
    },
    database: describeDatabase(snapshot),
    geoprocessing: {
      available: snapshot.jobs !== undefined,
      totalActive: (snapshot.jobs ?? []).reduce((sum, { count }) => sum + count, 0),
      buckets: snapshot.jobs ?? [],
    },
    alertDispatch: describeDispatch(snapshot),
    deploy: describeDeploy(snapshot),
  };
}

function describeDatabase({ reports, latency }: OpsHealthSnapshot) {
  const sum = (read: (report: OpsHealthSnapshot['reports'][number]) => number) =>
    reports.reduce((all, report) => all + read(report), 0);
  const capacity = sum(({ connections }) => connections?.capacity ?? 0);
  const active = sum(({ connections }) => connections?.active ?? 0);
  const sums = [...latency.values()];
  const requests = sums.reduce((all, one) => all + one.requests, 0);
  const errors = sums.reduce((all, one) => all + one.errors, 0);
  return {
    activeConnections: active,
    connectionPoolUtilization: capacity === 0 ? null : active / capacity,
    hasConnectionPoolData: capacity > 0,
    connectionAcquisitionFailures: sum(({ connections }) => connections?.failures ?? 0),
    connectionAcquisitionTimeouts: sum(({ connections }) => connections?.timeouts ?? 0),
    cacheHitRatio: ratio(
      sum(({ cacheHits }) => cacheHits),
      sum(({ cacheLookups }) => cacheLookups),
    ),
    errorRate: ratio(errors, requests),
  };
}

const wholeSeconds = (ms: number) => Math.floor(Math.max(0, ms) / 1000);

function describeDispatch({ channels, dispatch }: OpsHealthSnapshot) {
  const configured = (channels ?? []).filter(
    ({ isConfigured, pendingCount, deadLetterCount }) => isConfigured || pendingCount + deadLetterCount > 0,
  );
  const sum = (read: (one: (typeof configured)[number]) => number) =>
    channels ? configured.reduce((all, one) => all + read(one), 0) : null;
  const oldest = configured.flatMap(({ oldestMs }) => oldestMs ?? []);
  return {
    dispatcherEnabled: dispatch.isEnabled,
    dispatcherRunning: dispatch.isRunning,
    storagePollFailing: dispatch.isFailing,
    pendingCount: sum(({ pendingCount }) => pendingCount),
    retryingCount: sum(({ failedCount }) => failedCount),
    deadLetteredCount: sum(({ deadLetterCount }) => deadLetterCount),
    oldestItemAgeSeconds: oldest.length === 0 ? null : wholeSeconds(Math.max(...oldest)),
    lastPollAt: dispatch.at === undefined ? null : timestamp(dispatch.at),
    channels: configured.map((one) => ({
      channel: one.channel,
      paused: one.paused,
      pendingCount: one.pendingCount,
      retryingCount: one.failedCount,
      deadLetteredCount: one.deadLetterCount,
      oldestItemAgeSeconds: wholeSeconds(one.oldestMs ?? 0),
    })),
  };
}

/** Whether a coordinated release can start, and whether all processes run the release. */
export function describeDeploy({ deploy, missing, status }: OpsHealthSnapshot) {
  const { pendingMigrations = 0, skewed = [] } = deploy ?? {};
  const isReady =
    deploy !== undefined &&
    pendingMigrations + skewed.length + missing.length === 0 &&
    status !== 'Unhealthy';
  return {
    status: isReady ? ('ready' as const) : ('blocked' as const),
    readyForCoordinatedDeploy: isReady,
    pendingMigrationsCount: pendingMigrations,
    pendingContractScriptsCount: deploy?.pendingRemovals ?? 0,
    platformRelease: {
      releaseDeclared: deploy?.isDeclared ?? false,
      releaseVersion: deploy?.release ?? null,
      isCoVersioned: deploy !== undefined && skewed.length === 0,
      skewedIds: [...skewed],
    },
  };
}
