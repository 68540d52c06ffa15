import { type ExpressionBuilder, type ExpressionWrapper, type SqlBool, sql } from 'kysely';
import { countBy } from '../../core/features/count-by.js';
import { hasEnded } from '../database/instance.js';
import type { StateDb } from '../schema/database.js';
import type { StateTables } from '../schema/schema.js';
import { getVocabulary } from '../schema/vocabulary.js';

/** Maximum numbers of jobs that run at the same time on all servers together. */
export interface JobLimits {
  /** Limits by kind. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Limit for each owner. Default: no limit. */
  readonly perOwner?: number | undefined;
  /** Limit for all owners of a tenant. Default: no limit. */
  readonly perTenant?: number | undefined;
}

export const NO_LIMITS: JobLimits = { kinds: {} };

type Counts = ReadonlyMap<string, number>;

/** Numbers of jobs that run on all servers together. Jobs that only wait for other jobs count only for their kind. */
export interface RunningShares {
  readonly ofKind: Counts;
  readonly ofOwner: Counts;
  readonly ofTenant: Counts;
  /** Holders of leases whose process has ended for certain: their jobs run no more. */
  readonly ended: readonly string[];
}

export function hasLimits({ kinds, perOwner, perTenant }: JobLimits): boolean {
  return perOwner !== undefined || perTenant !== undefined || Object.keys(kinds).length > 0;
}

export function hasShareLeft(counts: Counts, name: string, limit: number | undefined): boolean {
  return limit === undefined || (counts.get(name) ?? 0) < limit;
}

/** Counts the jobs with a valid lease. */
export async function runningShares(trx: StateDb, waiting: readonly string[]): Promise<RunningShares> {
  const rows = await trx
    .selectFrom('jobs')
    .select(['kind', 'owner', 'tenant', 'lease_owner'])
    .select((w) => w('lease_expires_at', '>', getVocabulary(trx).now()).as('isHeld'))
    .where('state', '=', 'Running')
    .execute();
  const holders = new Set(rows.flatMap(({ lease_owner }) => lease_owner ?? []));
  const ended = [...holders].filter(hasEnded);
  const leases = rows.filter(({ isHeld, lease_owner }) => isHeld && !ended.includes(lease_owner ?? ''));
  const working = leases.filter(({ kind }) => !waiting.includes(kind));
  return {
    ofKind: countBy(leases, ({ kind }) => kind),
    ofOwner: countBy(working, ({ owner }) => owner),
    ofTenant: countBy(
      working.flatMap(({ tenant }) => tenant ?? []),
      (tenant) => tenant,
    ),
    ended,
  };
}

type Jobs = ExpressionBuilder<StateTables, 'jobs'>;

/** Condition that excludes jobs of owners and tenants at their limit. */
export function withinLimits(
  { ofOwner, ofTenant }: RunningShares,
  limits: JobLimits,
  waiting: readonly string[],
) {
  return (w: Jobs): ExpressionWrapper<StateTables, 'jobs', SqlBool> => {
    const owners = namesAt(ofOwner, limits.perOwner);
    const tenants = namesAt(ofTenant, limits.perTenant);
    return w.or([
      w('kind', 'in', waiting),
      w.and([w('owner', 'not in', owners), w.or([w('tenant', 'is', null), w('tenant', 'not in', tenants)])]),
    ]);
  };
}

/** Number of running jobs of a job's tenant. For a job without a tenant, of its owner. */
export function writeTenantCountSql({ ofTenant, ofOwner }: RunningShares) {
  const owner = countSql('owner', ofOwner);
  return sql<number>`CASE WHEN tenant IS NULL THEN ${owner} ELSE ${countSql('tenant', ofTenant)} END`;
}

/** Number of running jobs of a job's owner. */
export function writeOwnerCountSql({ ofOwner }: RunningShares) {
  return countSql('owner', ofOwner);
}

function countSql(column: 'owner' | 'tenant', counts: Counts) {
  if (counts.size === 0) return sql<number>`0`;
  const cases = [...counts].map(([name, count]) => sql`WHEN ${name} THEN ${sql.lit(count)}`);
  return sql<number>`CASE ${sql.ref(column)} ${sql.join(cases, sql` `)} ELSE 0 END`;
}

function namesAt(counts: Counts, limit: number | undefined): string[] {
  return [...counts.keys()].filter((name) => !hasShareLeft(counts, name, limit));
}
