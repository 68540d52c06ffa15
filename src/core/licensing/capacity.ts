import type { CapacityTerms } from './licence.js';

/** Positions are the numbers of the wire. */
export const CAPACITY_STATES = [
  'NotConfigured',
  'Excluded',
  'Normal',
  'ApproachingBand',
  'Burst',
  'Grace',
  'GraceExpired',
  'Surge',
] as const;
export type CapacityState = (typeof CAPACITY_STATES)[number];

export const DEPLOYMENT_ROLES = ['production', 'development', 'test', 'staging', 'cold-dr'] as const;
export type DeploymentRole = (typeof DEPLOYMENT_ROLES)[number];

export const TOPOLOGIES = ['single-node', 'virtual-machine', 'replica-set', 'serverless'] as const;
export type Topology = (typeof TOPOLOGIES)[number];

/** Milliseconds of the minutes that the 95th percentile includes. */
export const CAPACITY_WINDOW_MS = 30 * 86_400_000;
export const DEFAULT_BURST = 1.5;
export const DEFAULT_GRACE_DAYS = 30;
const APPROACHING = 0.8;
const DAY_MS = 86_400_000;

/** Number of minutes with the same serving units. */
export interface UnitCount {
  readonly units: number;
  readonly minutes: number;
}

/** The 95th percentile by linear interpolation between the closest ranks. Zero without minutes. */
export function computeP95(counts: readonly UnitCount[]): number {
  const sorted = counts.filter(({ minutes }) => minutes > 0).toSorted((a, b) => a.units - b.units);
  const total = sorted.reduce((sum, { minutes }) => sum + minutes, 0);
  if (total === 0) return 0;
  const rank = 0.95 * (total - 1);
  const lower = Math.floor(rank);
  const [below, above] = [findRank(sorted, lower), findRank(sorted, Math.min(lower + 1, total - 1))];
  return below + (above - below) * (rank - lower);
}

function findRank(sorted: readonly UnitCount[], rank: number): number {
  let passed = 0;
  for (const { units, minutes } of sorted) {
    passed += minutes;
    if (rank < passed) return units;
  }
  return sorted.at(-1)!.units;
}

export interface CapacityUse {
  readonly terms: CapacityTerms | undefined;
  /** Whether the role of this deployment does not count. */
  readonly isExcluded: boolean;
  readonly current: number;
  readonly p95: number;
  readonly isSurging: boolean;
  readonly graceStartedAt: number | null;
  readonly now: number;
}

export const findCeiling = ({ maxSustainedServingUnits, burstMultiplier = DEFAULT_BURST }: CapacityTerms) =>
  maxSustainedServingUnits * burstMultiplier;

export const findGraceEnd = (startedAt: number, { gracePeriodDays = DEFAULT_GRACE_DAYS }: CapacityTerms) =>
  startedAt + gracePeriodDays * DAY_MS;

/** Whether the use is above the licence, so that the grace period runs. */
export function exceedsTerms({
  terms,
  current,
  p95,
}: Pick<CapacityUse, 'terms' | 'current' | 'p95'>): boolean {
  return terms !== undefined && (p95 > terms.maxSustainedServingUnits || current > findCeiling(terms));
}

/** The state of the capacity. No state refuses a request. */
export function judgeCapacity(use: CapacityUse): CapacityState {
  const { terms, current, p95, now } = use;
  if (!terms) return 'NotConfigured';
  if (use.isExcluded) return 'Excluded';
  if (use.isSurging) return 'Surge';
  if (exceedsTerms(use))
    return now >= findGraceEnd(use.graceStartedAt ?? now, terms) && use.graceStartedAt !== null
      ? 'GraceExpired'
      : 'Grace';
  const most = terms.maxSustainedServingUnits;
  if (current > most) return 'Burst';
  return Math.max(current, p95) >= most * APPROACHING ? 'ApproachingBand' : 'Normal';
}

/** Shares of the licensed units that are reached. */
export function findWarnings({ terms, current, p95 }: Pick<CapacityUse, 'terms' | 'current' | 'p95'>) {
  const share = terms ? Math.max(current, p95) / terms.maxSustainedServingUnits : 0;
  return { warning80Percent: share >= APPROACHING, warning100Percent: share >= 1 };
}

/** A time with surge mode. It continues while `endedAt` is null. */
export interface SurgePeriod {
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/** Days with surge mode in the calendar year (UTC) of a time, until this time. Periods may overlap. */
export function countSurgeDays(periods: readonly SurgePeriod[], now: number): number {
  const yearStart = Date.UTC(new Date(now).getUTCFullYear(), 0, 1);
  let covered = yearStart;
  let ms = 0;
  for (const { startedAt, endedAt } of periods.toSorted((a, b) => a.startedAt - b.startedAt)) {
    const end = Math.min(endedAt ?? now, now);
    const start = Math.max(startedAt, covered);
    if (end > start) ms += end - start;
    covered = Math.max(covered, end);
  }
  return ms / DAY_MS;
}
