/** Rate limits as stored. */

export const RATE_SCOPES = ['plan', 'tenant', 'api-key', 'endpoint', 'address'] as const;
/** Group of requests that one rate limit counts: a tenant, a key or user, an operation, an address. */
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
  /** The only layers that exist for callers of the tenant. Default: all layers. */
  readonly layers?: readonly string[];
  /** Maximum requests of its callers in a UTC day. Default: no limit. */
  readonly requestsPerDay?: number;
}

export type TenantStatus = 'Active' | 'Suspended' | 'Deleted';
