import { ANY } from '../../core/access/access.js';
import { notFound } from '../../core/errors/errors.js';
import { formatActor, type Principal } from '../../core/http/operation.js';
import type { JobQuery, JobRow } from '../../stores/jobs/jobs.js';
import { permits } from '../access/permissions.js';

/** Members that identify the owner of an object. */
interface Ownership {
  readonly owner: string;
  /** Null and absent: of no tenant. */
  readonly tenant?: string | null | undefined;
}

/** Whether the caller is the owner. */
export function isOwn({ owner }: Ownership, principal: Principal): boolean {
  return owner === formatActor(principal);
}

/** Whether the object exists for the caller: a caller of a tenant sees no objects of other tenants. */
export function isInTenant({ tenant }: Ownership, { tenantId }: Principal): boolean {
  return tenantId === undefined || tenant === tenantId;
}

/** Whether an upload, or a file that a job made, exists for the caller: its owner, and administrators (`*`). */
export function isOwnFile(one: Ownership, principal: Principal): boolean {
  return isOwn(one, principal) || (principal.permissions.includes(ANY) && isInTenant(one, principal));
}

/** Whether an import job exists for the caller: a job of the caller, or any job for callers who may see all jobs. */
export function isOwnImport(one: Ownership, principal: Principal): boolean {
  return isOwn(one, principal) || (permits(principal, 'admin:jobs:read') && isInTenant(one, principal));
}

/** The rules of `isOwnImport` as a condition of a query. */
export function buildImportQuery(principal: Principal): Pick<JobQuery, 'owner' | 'tenant'> {
  if (permits(principal, 'admin:jobs:read')) return { tenant: principal.tenantId };
  return { owner: formatActor(principal) };
}

/** Whether the caller may end an import: its own one, or any as who manages jobs. */
export function endsImport(one: Ownership, principal: Principal): boolean {
  return isOwn(one, principal) || (permits(principal, 'admin:jobs:write') && isInTenant(one, principal));
}

/**
 * The job if it exists for the caller by one of these rules. Throws the error for an unknown id otherwise. `what`
 * names the kind in that error.
 */
export function requireJob(
  job: JobRow,
  principal: Principal,
  rule: (job: JobRow, principal: Principal) => boolean,
  what = 'job',
): JobRow {
  if (!rule(job, principal)) throw notFound(what, job.id);
  return job;
}
