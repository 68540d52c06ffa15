import type { Tenant, TenantStatus } from '../../core/access/rate-limits.js';
import { ApiError, notFound } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import type { TenantUsage, TenantUsageStore } from '../../stores/access/tenant-usage.js';
import type { DocumentStore, StoredDocument } from '../../stores/state/documents.js';

import { Tally } from './tally.js';

export const TENANT_KIND = 'tenant';

export interface NewTenant {
  readonly tenantId: string;
  readonly displayName?: string;
  readonly plan?: string | null;
  readonly layers?: readonly string[];
  readonly requestsPerDay?: number;
}

/** Tenants whose requests are counted between two writes. */
const MAX_COUNTED = 100_000;
const DAY_MS = 86_400_000;

/** Allowed next statuses of a tenant. A deleted tenant stays deleted. */
const NEXT: Readonly<Record<TenantStatus, readonly TenantStatus[]>> = {
  Active: ['Suspended', 'Deleted'],
  Suspended: ['Active', 'Deleted'],
  Deleted: [],
};

/** Tenants, the admission of their callers, and the counts of their requests. */
export class Tenants {
  #tenants: ReadonlyMap<string, Tenant> = new Map();
  readonly #requests: Tally;
  /** Requests of a day, by tenant, as all processes had written them when this one looked last. */
  #written: { readonly day: string; readonly requests: Map<string, number> } = {
    day: '',
    requests: new Map(),
  };

  constructor(
    private readonly documents: DocumentStore,
    private readonly usage: TenantUsageStore,
    private readonly settle: () => Promise<void>,
    onError: (error: unknown) => void,
  ) {
    this.#requests = new Tally((counts) => this.#write(counts), MAX_COUNTED, onError);
  }

  async #write(counts: ReadonlyMap<string, number>): Promise<void> {
    const day = formatDay(Date.now());
    this.#keep(day, await this.usage.add(day, counts));
  }

  #keep(day: string, requests: ReadonlyMap<string, number>): void {
    if (this.#written.day !== day) this.#written = { day, requests: new Map() };
    for (const [id, count] of requests) this.#written.requests.set(id, count);
  }

  async load(): Promise<void> {
    const stored = await this.documents.list<Tenant>(TENANT_KIND);
    this.#tenants = new Map(stored.map(({ id, body }) => [id, body]));
    if (!stored.some(({ body }) => body.requestsPerDay !== undefined)) return;
    const day = formatDay(Date.now());
    const usages = await this.usage.list(day);
    this.#keep(day, new Map(usages.map(({ tenantId, requests }) => [tenantId, requests])));
  }

  planOf(tenantId: string): string | undefined {
    return this.#tenants.get(tenantId)?.plan ?? undefined;
  }

  /** The caller, bound to the layers of its tenant. Throws `forbidden` for one whose tenant is not active, or not there. */
  admitted(principal: Principal): Principal {
    const { tenantId } = principal;
    if (tenantId === undefined) return principal;
    const tenant = this.#tenants.get(tenantId);
    if (tenant?.status !== 'Active')
      throw new ApiError('forbidden', 'The tenant is not active. An administrator can activate it.');
    return tenant.layers ? { ...principal, layers: common(principal.layers, tenant.layers) } : principal;
  }

  /** Counts a request of a tenant. Throws `too-many-requests` when it has had those of the day. */
  count({ tenantId }: Principal): void {
    if (tenantId === undefined) return;
    const max = this.#tenants.get(tenantId)?.requestsPerDay;
    if (max !== undefined && this.#requestsToday(tenantId) >= max) throw usedUp(max);
    this.#requests.add(tenantId);
  }

  #requestsToday(tenantId: string): number {
    const { day, requests } = this.#written;
    const written = day === formatDay(Date.now()) ? (requests.get(tenantId) ?? 0) : 0;
    return written + this.#requests.unwritten(tenantId);
  }

  list(): Promise<StoredDocument<Tenant>[]> {
    return this.documents.list<Tenant>(TENANT_KIND);
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<StoredDocument<Tenant>> {
    return (await this.documents.get<Tenant>(TENANT_KIND, id)) ?? missing(id);
  }

  /** Throws `conflict` when there is one of the id, deleted ones included. */
  async create(
    { tenantId, displayName, plan, layers, requestsPerDay }: NewTenant,
    by: string,
  ): Promise<StoredDocument<Tenant>> {
    const tenant: Tenant = {
      displayName: displayName ?? tenantId,
      plan: plan ?? null,
      status: 'Active',
      suspendedAt: null,
      deletedAt: null,
      ...(layers ? { layers } : {}),
      ...(requestsPerDay === undefined ? {} : { requestsPerDay }),
    };
    const stored = await this.#rules().create(TENANT_KIND, tenantId, tenant, by);
    await this.settle();
    return stored;
  }

  /**
   * Changes the status of a tenant. Throws `not-found`, and `conflict` for a status that cannot follow the present
   * one.
   */
  async become(id: string, status: TenantStatus, by: string): Promise<StoredDocument<Tenant>> {
    const now = new Date().toISOString();
    const change = (tenant: Tenant): Tenant => {
      if (!NEXT[tenant.status].includes(status))
        throw new ApiError(
          'conflict',
          `status: the tenant is ${tenant.status.toLowerCase()} and cannot be ${status.toLowerCase()}.`,
        );
      return {
        ...tenant,
        status,
        suspendedAt: status === 'Suspended' ? now : status === 'Active' ? null : tenant.suspendedAt,
        deletedAt: status === 'Deleted' ? now : null,
      };
    };
    const stored = await this.#rules().update(TENANT_KIND, id, by, change);
    await this.settle();
    return stored;
  }

  /** Requests by tenant and day, those of this process up to now included. */
  async usages(): Promise<TenantUsage[]> {
    await this.#requests.flush();
    return this.usage.list();
  }

  close(): Promise<void> {
    return this.#requests.close();
  }

  #rules(): DocumentStore {
    return this.documents.announcing('access');
  }
}

/** UTC, `2026-11-24`. */
const formatDay = (time: number) => new Date(time).toISOString().slice(0, 10);

function usedUp(max: number): ApiError {
  const seconds = Math.ceil((DAY_MS - (Date.now() % DAY_MS)) / 1000);
  return new ApiError(
    'too-many-requests',
    `The tenant has reached its limit of ${max} requests a day. Retry after midnight UTC.`,
    {
      headers: { 'retry-after': String(seconds) },
    },
  );
}

function common(a: readonly string[] | undefined, b: readonly string[]): readonly string[] {
  return a ? a.filter((name) => b.includes(name)) : b;
}

function missing(id: string): never {
  throw notFound(TENANT_KIND, id);
}
