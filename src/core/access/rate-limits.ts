/** How many requests somebody may send, as it is written down. */

export const RATE_SCOPES = ['plan', 'tenant', 'api-key', 'endpoint', 'address'] as const;
/** Whose requests are counted together: those of a tenant, a key or user, an operation, an address. */
type RateScope = (typeof RATE_SCOPES)[number];

export interface RateLimitPolicy {
  readonly name: string;
  readonly scope: RateScope;
  /**
   * Name of the plan, id of the tenant, id of the key or user, id or path prefix of operations, address. `*`: each of
   * them has the limit for itself; so has each tenant of a plan.
   */
  readonly key: string;
  readonly requestsPerWindow: number;
  readonly windowDurationSeconds: number;
  readonly enabled: boolean;
}

export interface Tenant {
  readonly displayName: string;
  readonly plan: string | null;
  readonly status: TenantStatus;
  readonly suspendedAt: string | null;
  readonly deletedAt: string | null;
  /** Layers outside of which nothing exists for callers of the tenant; all when absent. */
  readonly layers?: readonly string[];
  /** Requests of its callers that are answered in a day of UTC; any number when absent. */
  readonly requestsPerDay?: number;
}

export type TenantStatus = 'Active' | 'Suspended' | 'Deleted';
