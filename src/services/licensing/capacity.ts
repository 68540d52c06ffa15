import {
  CAPACITY_WINDOW_MS,
  type CapacityState,
  computeP95,
  countSurgeDays,
  DEFAULT_BURST,
  DEFAULT_GRACE_DAYS,
  type DeploymentRole,
  exceedsTerms,
  findCeiling,
  findGraceEnd,
  findWarnings,
  judgeCapacity,
  type Topology,
} from '../../core/licensing/capacity.js';
import type { CapacityTerms } from '../../core/licensing/licence.js';
import type { Instance, InstanceStore } from '../../stores/database/instances.js';
import type { CapacityStore, MeteredMinutes, SurgeRow } from '../../stores/licensing/capacity.js';
import { surgeChanges } from '../telemetry/licence-metrics.js';
import type { Log } from '../telemetry/log.js';
import type { Licences } from './licences.js';

export interface CapacityDeps {
  readonly licences: Pick<Licences, 'enabled' | 'valid' | 'now'>;
  readonly store: CapacityStore;
  readonly instances: Pick<InstanceStore, 'alive'>;
  readonly log: Pick<Log, 'write'>;
  readonly role: DeploymentRole;
  readonly topology: Topology;
  readonly localUnits: number;
  /** Whether the servers share a Redis, which does not take part in the measurement. */
  readonly hasRedis: boolean;
}

export interface CapacityReport {
  readonly state: CapacityState;
  readonly role: DeploymentRole;
  readonly topology: Topology;
  readonly isExcluded: boolean;
  readonly localUnits: number;
  readonly hasRedis: boolean;
  readonly currentUnits: number;
  readonly p95Units: number;
  readonly ceiling: number | null;
  readonly burstMultiplier: number;
  readonly gracePeriodDays: number;
  readonly graceStartedAt: number | null;
  readonly graceExpiresAt: number | null;
  readonly liveCount: number;
  readonly productionCount: number;
  readonly excludedCount: number;
  readonly warning80Percent: boolean;
  readonly warning100Percent: boolean;
  readonly meteringGap: boolean;
  readonly messages: readonly string[];
  readonly surge: {
    readonly isActive: boolean;
    readonly activatedAt: number | null;
    readonly reason: string | null;
    readonly annualDays: number | null;
    readonly usedDays: number;
    readonly remainingDays: number | null;
  };
  readonly terms: CapacityTerms | undefined;
}

const MINUTE_MS = 60_000;
/** Share of minutes without a measurement that is a gap. */
const GAP_SHARE = 0.01;

/** Serving units of live processes. */
export interface ServingUnits {
  readonly units: number;
  readonly production: number;
  readonly excluded: number;
  /** Live processes of a release that does not report its units. */
  readonly silent: number;
}

/** Sums the units of the servers with the role production. The processes of a server share its CPUs. */
export function sumServingUnits(alive: readonly Instance[]): ServingUnits {
  const servers = new Map<string, number>();
  let [production, excluded, silent] = [0, 0, 0];
  for (const { server, servingUnits, deploymentRole } of alive) {
    if (deploymentRole === undefined) silent += 1;
    else if (deploymentRole !== 'production') excluded += 1;
    else production += 1;
    if (deploymentRole === 'production' && servingUnits !== undefined)
      servers.set(server, Math.max(servers.get(server) ?? 0, servingUnits));
  }
  return { units: [...servers.values()].reduce((sum, one) => sum + one, 0), production, excluded, silent };
}

/** Capacity that the servers of a state use, compared with the licence. It warns, and refuses no request. */
export class Capacity {
  #logged: CapacityState | undefined;
  #lastPrune = Number.NEGATIVE_INFINITY;

  constructor(private readonly deps: CapacityDeps) {}

  /** Measures the minute that just ended. Call it every minute. */
  async meter(): Promise<void> {
    const { licences, store, instances, log } = this.deps;
    if (!licences.enabled) return;
    const now = licences.now();
    const { units } = sumServingUnits(await instances.alive());
    await store.meter(Math.floor(now / MINUTE_MS) * MINUTE_MS - MINUTE_MS, units);
    if (now - this.#lastPrune > 3_600_000) {
      this.#lastPrune = now;
      await store.prune(now - CAPACITY_WINDOW_MS);
    }
    const { state, messages } = await this.report();
    const isWarning = !['NotConfigured', 'Excluded', 'Normal'].includes(state);
    if (isWarning && state !== this.#logged)
      log.write('licence.capacity', { State: state, Reason: messages[0] ?? state });
    this.#logged = state;
  }

  /** The present capacity. It starts and ends the grace period. */
  async report(): Promise<CapacityReport> {
    const { licences, store, instances, role, topology, localUnits, hasRedis } = this.deps;
    const now = licences.now();
    const terms = licences.enabled ? licences.valid?.terms : undefined;
    const [alive, minutes, surges] = await Promise.all([
      instances.alive(),
      store.minutes(now - CAPACITY_WINDOW_MS),
      store.surges(Date.UTC(new Date(now).getUTCFullYear(), 0, 1)),
    ]);
    const { units: current, production, excluded, silent } = sumServingUnits(alive);
    const p95 = minutes.first === null ? current : computeP95(minutes.counts);
    const surge = describeSurge(surges, terms, now);
    const isExcluded = role !== 'production';
    const use = { terms, current, p95, isExcluded, isSurging: surge.isActive, now };
    const graceStartedAt = await this.#grace(exceedsTerms(use) && !surge.isActive && !isExcluded, now);
    const state = judgeCapacity({ ...use, graceStartedAt });
    const gap = findGap(minutes, now, silent, licences.enabled);
    return {
      ...{ state, role, topology, isExcluded, localUnits, hasRedis, currentUnits: current, p95Units: p95 },
      ceiling: terms ? findCeiling(terms) : null,
      burstMultiplier: terms?.burstMultiplier ?? DEFAULT_BURST,
      gracePeriodDays: terms?.gracePeriodDays ?? DEFAULT_GRACE_DAYS,
      graceStartedAt: terms ? graceStartedAt : null,
      graceExpiresAt: terms && graceStartedAt !== null ? findGraceEnd(graceStartedAt, terms) : null,
      ...{ liveCount: alive.length, productionCount: production, excludedCount: excluded },
      ...findWarnings(use),
      meteringGap: gap.length > 0,
      messages: [...explain(state, use, surge.remainingDays), ...gap],
      ...{ surge, terms },
    };
  }

  async #grace(exceeds: boolean, now: number): Promise<number | null> {
    const { store } = this.deps;
    const startedAt = await store.graceStartedAt();
    if (exceeds) return startedAt ?? (await store.startGrace(now));
    if (startedAt !== null) await store.endGrace();
    return null;
  }

  /** Starts or ends surge mode. Returns the reason if the licence does not allow it. */
  async setSurge(enabled: boolean, by: string, reason: string | null): Promise<string | undefined> {
    const { terms, surge } = await this.report();
    if (enabled && !terms) return 'No valid licence with capacity is in force, so surge mode has no effect.';
    if (enabled && surge.remainingDays !== null && surge.remainingDays <= 0)
      return `The licence allows ${surge.annualDays} days of surge mode a year, and all are used.`;
    if (await this.deps.store.setSurge(enabled, this.deps.licences.now(), by, reason))
      surgeChanges.cell(String(enabled)).inc();
    return undefined;
  }
}

function describeSurge(rows: readonly SurgeRow[], terms: CapacityTerms | undefined, now: number) {
  const open = rows.find(({ ended_at }) => ended_at === null);
  const usedDays = countSurgeDays(
    rows.map(({ started_at, ended_at }) => ({ startedAt: started_at, endedAt: ended_at })),
    now,
  );
  const annualDays = terms?.annualSurgeDays ?? null;
  const remainingDays = annualDays === null ? null : Math.max(0, annualDays - usedDays);
  return {
    // Surge mode without days left has no effect until the next year.
    isActive: open !== undefined && (remainingDays === null || remainingDays > 0),
    activatedAt: open?.started_at ?? null,
    reason: open?.reason ?? null,
    ...{ annualDays, usedDays, remainingDays },
  };
}

/** Reasons why the measurements are incomplete. */
function findGap({ counts, first, last }: MeteredMinutes, now: number, silent: number, isEnabled: boolean) {
  const messages: string[] = [];
  if (silent > 0)
    messages.push(`${silent} processes are of a release that does not report its serving units.`);
  if (first === null || last === null) return messages;
  const due = Math.floor(now / MINUTE_MS) - first / MINUTE_MS;
  const measured = counts.reduce((sum, { minutes }) => sum + minutes, 0);
  // The current minute has not ended, and the one before may not be stored yet.
  const missing = due - 1 - measured;
  if (isEnabled && missing > due * GAP_SHARE)
    messages.push(
      `${missing} of ${due - 1} minutes were not measured, because no server ran or the state did not respond.`,
    );
  return messages;
}

function explain(
  state: CapacityState,
  { current, p95, terms }: { current: number; p95: number; terms: CapacityTerms | undefined },
  surgeDays: number | null,
): string[] {
  const most = terms?.maxSustainedServingUnits;
  const use = `${p95} serving units are the 95th percentile of 30 days, and ${current} are in use now; the licence includes ${most}`;
  switch (state) {
    case 'NotConfigured':
      return ['No valid licence with capacity is in force.'];
    case 'Excluded':
      return ['This server does not count, because licensing.deploymentRole is not production.'];
    case 'Normal':
      return [];
    case 'Surge':
      return [
        surgeDays === null
          ? 'Surge mode is on.'
          : `Surge mode is on, with ${surgeDays.toFixed(1)} days left this year.`,
      ];
    case 'GraceExpired':
      return [`${use}. The grace period has ended.`];
    default:
      return [`${use}.`];
  }
}
