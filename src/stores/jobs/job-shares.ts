import { type ExpressionBuilder, type ExpressionWrapper, type SqlBool, sql } from 'kysely';
import { countBy } from '../../core/features/count-by.js';
import { hasEnded } from '../database/instance.js';
import type { StateDb } from '../schema/database.js';
import type { StateTables } from '../schema/schema.js';
import { getVocabulary } from '../schema/vocabulary.js';

/** How many jobs run at a time on all servers together. */
export interface JobLimits {
  /** Of a kind. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Of one owner; absent: as many as there is room for. */
  readonly perOwner?: number | undefined;
  /** Of all owners of one tenant. */
  readonly perTenant?: number | undefined;
}

export const NO_LIMITS: JobLimits = { kinds: {} };

type Counts = ReadonlyMap<string, number>;

/** The jobs that run on all servers together. Those which only wait for others count as jobs of their kind alone. */
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

/** Counts the jobs whose lease holds. */
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

/** Leaves out jobs of who has as many as may run. */
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

/** How many jobs of a job's tenant run; of one without a tenant, those of its owner. */
export function writeTenantCountSql({ ofTenant, ofOwner }: RunningShares) {
  const owner = countSql('owner', ofOwner);
  return sql<number>`CASE WHEN tenant IS NULL THEN ${owner} ELSE ${countSql('tenant', ofTenant)} END`;
}

/** How many jobs of a job's owner run. */
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
